import type { AppContext } from '../app/context.ts'
import { type Breakdown, type Daemon, startDaemon } from '../app/daemon.ts'
import { isSamePlace, readExistingOutbox } from '../app/open-outbox.ts'
import { oldNode } from '../config/cautions.ts'
import { changesOf } from '../config/changes.ts'
import { ConfigError } from '../config/config.ts'
import { secretFiles } from '../config/include.ts'
import { mistakesLine } from '../config/mistakes.ts'
import { isSafeNode } from '../edge/version.ts'
import { isYetToCome } from '../model/backoff.ts'
import { Fault, faultLine, isOfOutbox } from '../model/fault.ts'
import { roomLookMs } from '../model/limits.ts'
import type { Breakage } from '../outbox/contract/outbox.ts'
import type { Reloads } from '../status/observed.ts'
import { openNotReady } from '../status/server/starting.ts'
import { checkOptions } from './check-collectors.ts'
import { exitCodeOf, exitCodes } from './exit.ts'
import { openContext } from './open-context.ts'
import type { Signals } from './signals.ts'
import { counted } from './terminal.ts'
import { WatchedFiles } from './watch-files.ts'

/** Wait after a daemon's outbox broke twice in a row, to spare a failing disk. */
const breakageRestMs = 60_000

/** A request to a running daemon. */
type Change = { readonly kind: 'stop' } | { readonly kind: 'reload'; readonly next: AppContext }

/** A running daemon, or the request that came while none could be started. */
type Begun = { readonly kind: 'daemon'; readonly context: AppContext; readonly daemon: Daemon } | Change

/** Dependencies of `keepRunning`. */
interface KeepRunningDeps {
  /** The context of the first configuration; a reload makes another one. */
  readonly first: AppContext
  readonly signals: Signals
  readonly reloads: Reloads
  /** Sets the exit code. */
  readonly ended: (code: number) => void
}

/** Starts the daemon, and starts it again after a reload or when its outbox must be reopened, until it is to end. */
export async function keepRunning(deps: KeepRunningDeps): Promise<void> {
  const listening = new AbortController()
  try {
    await keep(deps, listening.signal)
  } finally {
    // A standby that has not got the role runs again: it must not find its requests taken.
    listening.abort()
  }
}

async function keep({ first, signals, reloads, ended }: KeepRunningDeps, listening: AbortSignal): Promise<void> {
  let running: Daemon | undefined
  const untilChangedFrom = (from: AppContext) =>
    untilChanged(from, { signals, reloads, listening, secretsChanged: () => running?.retry() })
  // Listening begins before the start, so that no change is missed.
  let changed = untilChangedFrom(first)
  let context = first
  let begun = await begin(first, reloads, changed)
  let brokenAtMs = 0
  for (;;) {
    running = begun.kind === 'daemon' ? begun.daemon : undefined
    const event = await endOf(begun, changed)
    running = undefined
    const { log, time } = context
    try {
      if (event.kind === 'reload') {
        changed = untilChangedFrom(event.next)
        begun = await replace(context, event.next, reloads, changed)
      } else if (event.kind === 'stop' || event.kind === 'role-lost') {
        log.info('stopped')
        if (event.kind === 'role-lost') ended(exitCodes.held)
        return
      } else {
        log.error({ reason: event.reason }, 'the outbox cannot be used: reopening it')
        const restMs = isYetToCome(brokenAtMs + breakageRestMs, time.nowMs(), breakageRestMs) ? breakageRestMs : 0
        brokenAtMs = time.nowMs()
        begun = await begin(context, reloads, changed, { ...event, restMs })
      }
    } catch (error) {
      // The log of a running daemon is read by programs: a line of plain text would break it.
      log.error({ fault: faultLine(error) }, 'ended')
      return ended(exitCodeOf(error))
    }
    if (begun.kind === 'daemon') context = begun.context
  }
}

/** Waits for the end of a daemon and stops it. */
async function endOf(begun: Begun, changed: Promise<Change>): Promise<Change | Breakdown> {
  if (begun.kind !== 'daemon') return begun
  const event = await Promise.race([changed, begun.daemon.broken])
  begun.context.log.info(event.kind === 'reload' ? 'reloading' : 'stopping')
  await begun.daemon.stop()
  return event
}

/** Why a daemon is started again, and after how many milliseconds. */
type Again = Breakage & { readonly restMs: number }

/**
 * Starts the daemon, however long its outbox is unusable; meanwhile the status server shows the reason. If the process
 * ended instead, its container would restart it in a loop without showing why.
 *
 * @param again absent at the first start, where any other error ends the command
 */
async function begin(context: AppContext, reloads: Reloads, changed: Promise<Change>, again?: Again): Promise<Begun> {
  const { log } = context
  const damage = again?.kind === 'damaged' ? again.reason : undefined
  let reason = again?.reason ?? ''
  let reported = ''
  for (let waitMs = again?.restMs ?? 0; ; ) {
    const change = waitMs > 0 ? await waitWith(reason, context, waitMs, changed) : undefined
    if (change) return change
    try {
      return { kind: 'daemon', context, daemon: await start(context, reloads, damage) }
    } catch (error) {
      const mayPassSoon = error instanceof Fault && ['outbox-unusable', 'disk-full'].includes(error.code)
      if (!again && !(error instanceof Fault && isOfOutbox(error))) throw error
      reason = faultLine(error)
      if (reason !== reported) log.error({ fault: reason }, 'the outbox cannot be opened yet: the daemon waits for it')
      reported = reason
      waitMs = mayPassSoon ? roomLookMs : breakageRestMs
    }
  }
}

/** @returns the request that came meanwhile; `undefined` when the wait is over */
async function waitWith(
  reason: string,
  { config, log, time }: AppContext,
  waitMs: number,
  changed: Promise<Change>,
): Promise<Change | undefined> {
  const waking = new AbortController()
  // It waits even without a page.
  const page = await openNotReady(config.status, reason).catch(() => undefined)
  if (page) log.debug({ page: `${page.url}/` }, 'waiting')
  const over = time.sleep(waitMs, waking.signal).then(
    () => undefined,
    () => undefined,
  )
  const change = await Promise.race([changed, over])
  waking.abort(new Error('asked for something else'))
  await page?.stop()
  return change
}

/** Starts with the new configuration; if that fails (a taken port, a missing secret), with the old one again. */
async function replace(old: AppContext, next: AppContext, reloads: Reloads, changed: Promise<Change>): Promise<Begun> {
  try {
    await requireNothingLeft(old, next)
    const begun = { kind: 'daemon', context: next, daemon: await start(next, reloads) } as const
    reloads.taken(next.config.file, next.time.nowMs())
    next.log.info({ changes: changesOf(old.config, next.config) }, 'the new configuration is in force')
    return begun
  } catch (error) {
    // A failure of the disk is not the new configuration's.
    if (isSamePlace(next.config, old.config) && error instanceof Fault && isOfOutbox(error))
      return begin(next, reloads, changed)
    old.log.error({ fault: faultLine(error) }, refused)
    reloads.refused(faultLine(error), old.time.nowMs())
    return begin(old, reloads, changed)
  }
}

/**
 * Looks for due metrics in a data folder that is left: no daemon would deliver them, and nothing would name them.
 *
 * @throws Fault `config` when there are some
 */
async function requireNothingLeft(old: AppContext, next: AppContext): Promise<void> {
  const { data, service } = old.config
  if (data.kind !== 'folder' || service.kind === 'embedded' || isSamePlace(old.config, next.config)) return
  // A folder that cannot be read may be why another one is configured.
  const backlog = await readExistingOutbox(old, async outbox => outbox?.operators.backlog()).catch(() => undefined)
  const due = backlog?.balance.due ?? 0
  if (due === 0) return
  const left = `${counted(due, 'metric')} ${due === 1 ? 'is' : 'are'} still due in ${data.folder}, and would stay there undelivered`
  throw new Fault('config', left, {
    fix: 'change data back; or save the file again once tidegauge status, with data as before, shows none due',
  })
}

async function start(context: AppContext, reloads: Reloads, damage?: string): Promise<Daemon> {
  const daemon = await startDaemon(context, reloads, damage)
  const { statusUrl, serviceHost } = daemon
  const node = process.versions.node
  if (!isSafeNode(node)) context.log.warn({ fix: oldNode(node).fix }, oldNode(node).message)
  context.log.info({ page: `${statusUrl}/`, service: serviceHost, config: context.config.file }, 'running')
  return daemon
}

const refused = 'the new configuration is refused, the old one stays in force'

/** Input of `untilChanged`. */
interface ListenDeps extends Pick<KeepRunningDeps, 'signals' | 'reloads'> {
  readonly listening: AbortSignal
  /** Called when a file of a secret has changed or appeared, and the configuration is what it was. */
  readonly secretsChanged: () => void
}

/** Resolves to the new configuration after a valid reload, or when the daemon must stop. */
async function untilChanged(
  { log, config, time, redactor, clock, place, kept }: AppContext,
  { signals, reloads, listening, secretsChanged }: ListenDeps,
): Promise<Change> {
  const watched = new WatchedFiles(config, files => signals.watch(files), { secrets: secretFiles(config) })
  const request = () => signals.next(listening)
  for (let asked = await request(); asked !== 'stop'; asked = await request()) {
    const areSecretsNew = watched.haveSecretsChanged()
    if (!watched.haveChanged() && asked === 'look') {
      if (areSecretsNew) secretsChanged()
      continue
    }
    try {
      const next = {
        ...openContext(config.file, ({ log }) => log.level),
        ...(clock && { clock }),
        ...(place && { place }),
        ...(kept && { kept }),
      }
      watched.watchAlso(next.config)
      await checkOptions(next, signals)
      return { kind: 'reload', next }
    } catch (error) {
      if (error instanceof ConfigError && error.includes.length > 0) {
        watched.watchAlso({ file: config.file, includes: error.includes, protocols: [] })
      }
      const mistakes = error instanceof ConfigError ? mistakesLine(error.mistakes) : faultLine(error)
      log.error({ mistakes }, refused)
      reloads.refused(redactor.redact(mistakes), time.nowMs())
    }
  }
  return { kind: 'stop' }
}
