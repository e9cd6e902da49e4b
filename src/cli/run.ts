import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { type Daemon, startDaemon } from '../app.ts'
import { ConfigError, formatMistakes } from '../config/mistakes.ts'
import { isYetToCome } from '../model/backoff.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { breakageRestMs, startLoadMsMax } from '../model/limits.ts'
import type { Breakage } from '../outbox/disk.ts'
import type { Surroundings } from '../surroundings.ts'
import { checkCollectors } from './check.ts'
import { type ConfigOption, configuredCommand, setUp } from './setting.ts'
import { Signals } from './signals.ts'
import { keepHeapSmall } from './small-heap.ts'

/** `run`: the daemon. Ends with 0 after SIGTERM or SIGINT; SIGHUP and a changed file read the configuration again. */
export function runCommand(): Command {
  return configuredCommand('run')
    .description('the daemon: collects every full hour and delivers')
    .action(async ({ config }: ConfigOption) => {
      keepHeapSmall()
      const signals = new Signals()
      const surroundings = setUp(config, ({ log }) => log.level)
      await checkOptions(surroundings, signals)
      signals.watch(surroundings.config.file)
      if (!signals.stopping.aborted) await keepRunning(surroundings, signals)
    })
}

interface Running {
  readonly surroundings: Surroundings
  readonly daemon: Daemon
}

/** What a person asks of a running daemon. */
type Change = { readonly kind: 'stop' } | { readonly kind: 'reload'; readonly next: Surroundings }

async function keepRunning(first: Surroundings, signals: Signals): Promise<void> {
  // Listened for from before a start: what is changed meanwhile is not missed.
  let changed = untilChanged(first, signals)
  let running: Running = { surroundings: first, daemon: await start(first) }
  let brokenAtMs = 0
  for (;;) {
    const { surroundings, daemon } = running
    const { log, time } = surroundings
    const event = await Promise.race([changed, daemon.broken])
    log.info('stopping')
    await daemon.stop()
    if (event.kind === 'reload') {
      changed = untilChanged(event.next, signals)
      running = await replace(surroundings, event.next)
    } else if (event.kind === 'damaged' || event.kind === 'moved') {
      log.error({ reason: event.reason }, 'the outbox cannot be used as it is: it is opened anew')
      const restMs = isYetToCome(brokenAtMs + breakageRestMs, time.nowMs(), breakageRestMs) ? breakageRestMs : 0
      brokenAtMs = time.nowMs()
      const reopened = await reopen(surroundings, event, restMs, signals)
      if (!reopened) return void log.info('stopped')
      running = { surroundings, daemon: reopened }
    } else {
      log.info('stopped')
      if (event.kind === 'role-lost') throw new Fault('outbox-held', 'another tidegauge has taken this outbox over')
      return
    }
  }
}

/** Starts again on a mended outbox, however long it takes; `undefined` when the daemon is to stop meanwhile. */
async function reopen(
  surroundings: Surroundings,
  { kind, reason }: Breakage,
  restMs: number,
  { stopping }: Signals,
): Promise<Daemon | undefined> {
  const { log, time } = surroundings
  for (let waitMs = restMs; ; waitMs = breakageRestMs) {
    if (waitMs > 0) await time.sleep(waitMs, stopping).catch(() => {})
    if (stopping.aborted) return undefined
    try {
      return await start(surroundings, kind === 'damaged' ? reason : undefined)
    } catch (error) {
      log.error({ fault: faultLine(error) }, 'the outbox cannot be opened anew yet')
    }
  }
}

/** Starts with the new configuration; when that cannot be (a taken port, a missing secret), with the old one again. */
async function replace(old: Surroundings, next: Surroundings): Promise<Running> {
  try {
    return { surroundings: next, daemon: await start(next) }
  } catch (error) {
    old.log.error({ fault: faultLine(error) }, refused)
    return { surroundings: old, daemon: await start(old) }
  }
}

async function start(surroundings: Surroundings, damage?: string): Promise<Daemon> {
  const daemon = await startDaemon(surroundings, damage)
  const { statusUrl, serviceHost } = daemon
  surroundings.log.info({ page: `${statusUrl}/`, service: serviceHost, config: surroundings.config.file }, 'running')
  return daemon
}

const refused = 'the new configuration is refused, the old one stays in force'

/** What a file holds; one that cannot be read is told about when it is loaded. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Resolves to the new configuration after a reload that is in order, or when the daemon is to stop. */
async function untilChanged({ log, config }: Surroundings, signals: Signals): Promise<Change> {
  let seen = textOf(config.file)
  for (let asked = await signals.next(); asked !== 'stop'; asked = await signals.next()) {
    const text = textOf(config.file)
    if (asked === 'look' && text === seen) continue
    seen = text
    try {
      const next = setUp(config.file, ({ log }) => log.level)
      await checkOptions(next, signals)
      return { kind: 'reload', next }
    } catch (error) {
      log.error({ mistakes: error instanceof ConfigError ? formatMistakes(error.mistakes) : faultLine(error) }, refused)
    }
  }
  return { kind: 'stop' }
}

/** A mistake in a collector's options is one of the configuration; a collector that cannot be loaded stops no other. */
async function checkOptions(surroundings: Surroundings, { stopping }: Signals): Promise<void> {
  const deadlineMs = Math.min(startLoadMsMax, surroundings.config.collect.deadlineMs)
  const { mistakes, unusable } = await checkCollectors(surroundings, deadlineMs, stopping)
  if (mistakes.length > 0) throw new ConfigError(surroundings.config.file, mistakes)
  for (const { collector, fault } of unusable) {
    const { message: reason, fix } = fault
    if (fault.code !== 'stopped')
      surroundings.log.error({ collector: collector.id, reason, fix }, 'collector cannot be loaded')
  }
}
