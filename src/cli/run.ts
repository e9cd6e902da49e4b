import type { Command } from 'commander'
import { type Daemon, type Surroundings, startDaemon } from '../app.ts'
import { ConfigError, formatMistakes } from '../config/mistakes.ts'
import { faultLine } from '../model/fault.ts'
import { startLoadMsMax } from '../model/limits.ts'
import { checkCollectors } from './check.ts'
import { type ConfigOption, configuredCommand, setUp } from './setting.ts'
import { Signals } from './signals.ts'

/** `run`: the daemon. Ends with 0 after SIGTERM or SIGINT; SIGHUP reads the configuration again. */
export function runCommand(): Command {
  return configuredCommand('run')
    .description('the daemon: collects every full hour and delivers')
    .action(async ({ config }: ConfigOption) => {
      const signals = new Signals()
      const surroundings = setUp(config, ({ log }) => log.level)
      await checkOptions(surroundings, signals)
      if (!signals.stopping.aborted) await keepRunning(surroundings, await start(surroundings), signals)
    })
}

interface Running {
  readonly surroundings: Surroundings
  readonly daemon: Daemon
}

async function keepRunning(first: Surroundings, started: Daemon, signals: Signals): Promise<void> {
  let running: Running = { surroundings: first, daemon: started }
  for (;;) {
    const next = await untilChanged(running.surroundings, signals)
    const { log } = running.surroundings
    log.info('stopping')
    await running.daemon.stop()
    if (!next) {
      log.info('stopped')
      return
    }
    running = await replace(running.surroundings, next)
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

async function start(surroundings: Surroundings): Promise<Daemon> {
  const daemon = await startDaemon(surroundings)
  const { statusUrl, serviceHost } = daemon
  surroundings.log.info({ page: `${statusUrl}/`, service: serviceHost, config: surroundings.config.file }, 'running')
  return daemon
}

const refused = 'the new configuration is refused, the old one stays in force'

/** Resolves to the new configuration after a reload that is in order, to `undefined` when the daemon is to stop. */
async function untilChanged({ log, config }: Surroundings, signals: Signals): Promise<Surroundings | undefined> {
  while ((await signals.next()) === 'reload') {
    try {
      const next = setUp(config.file, ({ log }) => log.level)
      await checkOptions(next, signals)
      return next
    } catch (error) {
      log.error({ mistakes: error instanceof ConfigError ? formatMistakes(error.mistakes) : faultLine(error) }, refused)
    }
  }
  return undefined
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
