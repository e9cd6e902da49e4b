import type { AppContext } from '../app/context.ts'
import { type Breakdown, type Daemon, startDaemon } from '../app/daemon.ts'
import { isSamePlace, placeOf, readExistingOutbox } from '../app/open-outbox.ts'
import { oldNode } from '../config/cautions.ts'
import { changesOf } from '../config/changes.ts'
import { ConfigError } from '../config/config.ts'
import { secretFiles } from '../config/include.ts'
import { mistakesLine } from '../config/mistakes.ts'
import type { Time } from '../edge/time.ts'
import { unlessAborted } from '../edge/unless-aborted.ts'
import { isSafeNode } from '../edge/version.ts'
import { isYetToCome } from '../model/backoff.ts'
import { Fault, type FaultCode, faultLine, isOfOutbox } from '../model/fault.ts'
import { roomLookMs } from '../model/limits.ts'
import type { Breakage } from '../outbox/contract/outbox.ts'
import { databaseNowMs } from '../outbox/open.ts'
import { openNotReady } from '../status/server/starting.ts'
import type { ReadinessCause } from '../status/snapshot.ts'
import type { Reloads } from '../status/sources.ts'
import { checkOptions } from './check-collectors.ts'
import { exitCodeOf, exitCodes } from './exit.ts'
import { readContext } from './open-context.ts'
import type { SignalRequest, Signals } from './signals.ts'
import { counted } from './terminal.ts'
import { filesAsRead, WatchedFiles } from './watch-files.ts'

/** Wait after a daemon's outbox broke twice in a row, to spare a failing disk. */
const breakageRestMs = 60_000

/** Causes of a wait for the outbox that are more than that it cannot be read. */
const causeByCode: Readonly<Partial<Record<FaultCode, ReadinessCause>>> = {
  'disk-full': 'disk-full',
  'database-read-only': 'read-only',
}

/** Why a daemon waits at its start. */
interface StartWait {
  readonly reason: string
  readonly cause: ReadinessCause
}

const refused = 'the new configuration is refused, the old one stays in force'
const waits = 'the new configuration waits for its database, the old one stays in force'

/** A request to a running daemon. */
type Change = { readonly kind: 'stop' } | { readonly kind: 'reload'; readonly next: ReadConfig }

/** A configuration that was read and checked. */
interface ReadConfig {
  readonly context: AppContext
  /** `filesAsRead` from before the check, which takes time: what is saved meanwhile is newer. */
  readonly asRead: string
}

/** A running daemon, or the request that came while none could be started. */
type Begun = { readonly kind: 'daemon'; readonly context: AppContext; readonly daemon: Daemon } | Change

/**
 * Starts the daemon, and starts it again after a reload or when its outbox must be reopened, until it is to end.
 *
 * @param first the context of the first configuration; a reload makes another one
 * @returns the exit code
 */
export async function keepRunning(first: ReadConfig, signals: Signals, reloads: Reloads): Promise<number> {
  // A standby that has not got the role runs again: it must not find its requests taken.
  using keeper = new DaemonKeeper(first, signals, reloads)
  return await keeper.run()
}

class DaemonKeeper implements Disposable {
  readonly #signals: Signals
  readonly #reloads: Reloads
  readonly #listening = new AbortController()
  #context: AppContext
  /** Resolves to the next request. Listening begins before the start, so that no change is missed. */
  #changed: Promise<Change>
  #running: Daemon | undefined

  constructor(first: ReadConfig, signals: Signals, reloads: Reloads) {
    this.#context = first.context
    this.#signals = signals
    this.#reloads = reloads
    this.#changed = this.#untilChanged(first)
  }

  [Symbol.dispose](): void {
    this.#listening.abort()
  }

  async run(): Promise<number> {
    let current = await this.#begin(this.#context)
    let brokenAtMs = 0
    for (;;) {
      const event = await this.#endOf(current)
      const { log, time } = this.#context
      try {
        if (event.kind === 'reload') {
          this.#changed = this.#untilChanged(event.next)
          current = await this.#replace(event.next.context)
        } else if (event.kind === 'stop' || event.kind === 'role-lost') {
          log.info('stopped')
          return event.kind === 'role-lost' ? exitCodes.outboxOwned : exitCodes.done
        } else {
          const restMs = isYetToCome(brokenAtMs + breakageRestMs, time.nowMs(), breakageRestMs) ? breakageRestMs : 0
          brokenAtMs = time.nowMs()
          current = await this.#begin(this.#context, { ...event, restMs })
        }
      } catch (error) {
        // The log of a running daemon is read by programs: a line of plain text would break it.
        log.error({ fault: faultLine(error) }, 'the daemon has ended')
        return exitCodeOf(error)
      }
      if (current.kind === 'daemon') this.#context = current.context
    }
  }

  /** Waits for the end of a daemon and stops it. */
  async #endOf(current: Begun): Promise<Change | Breakdown> {
    if (current.kind !== 'daemon') return current
    this.#running = current.daemon
    const event = await Promise.race([this.#changed, current.daemon.broken])
    const { log } = current.context
    if (event.kind === 'reload') log.info('reloading')
    else if (event.kind === 'stop' || event.kind === 'role-lost') log.info('stopping')
    else log.error({ reason: event.reason }, 'the outbox cannot be used: reopening it')
    await current.daemon.stop()
    this.#running = undefined
    return event
  }

  /**
   * Starts the daemon, however long its outbox is unusable; meanwhile the status server shows the reason. If the process
   * ended instead, its container would restart it in a loop without showing why.
   *
   * @param breakage why it is started again, and after how long; absent at the first start, where any other error ends the
   * command
   */
  async #begin(context: AppContext, breakage?: Breakage & { readonly restMs: number }): Promise<Begun> {
    const { log } = context
    const damage = breakage?.kind === 'damaged' ? breakage.reason : undefined
    let reason = breakage?.reason ?? ''
    let cause: ReadinessCause = 'outbox-unread'
    let lastReason = ''
    for (let waitMs = breakage?.restMs ?? 0; ; ) {
      const change = waitMs > 0 ? await this.#waitWith({ reason, cause }, context, waitMs) : undefined
      if (change) return change
      try {
        return { kind: 'daemon', context, daemon: await start(context, this.#reloads, damage) }
      } catch (error) {
        const mayPassSoon =
          error instanceof Fault && ['outbox-unusable', 'disk-full', 'database-read-only'].includes(error.code)
        if (!breakage && !(error instanceof Fault && isOfOutbox(error))) throw error
        reason = faultLine(error)
        cause = (error instanceof Fault && causeByCode[error.code]) || 'outbox-unread'
        waitMs = mayPassSoon ? roomLookMs : breakageRestMs
        if (reason !== lastReason)
          log.error(
            { fault: reason, againSeconds: waitMs / 1_000 },
            'the outbox cannot be opened yet: the daemon waits for it',
          )
        lastReason = reason
      }
    }
  }

  /** @returns the request that came meanwhile; `undefined` when the wait is over */
  async #waitWith(
    { reason, cause }: StartWait,
    { config, log, time }: AppContext,
    waitMs: number,
  ): Promise<Change | undefined> {
    const sleepController = new AbortController()
    // It waits even without a page.
    const page = await openNotReady(config.status, reason, [cause]).catch(() => undefined)
    if (page) log.debug({ page: `${page.url}/` }, 'waiting')
    const waitEnd = time.sleep(waitMs, sleepController.signal).then(
      () => undefined,
      () => undefined,
    )
    const change = await Promise.race([this.#changed, waitEnd])
    sleepController.abort(new Error('asked for something else'))
    await page?.stop()
    return change
  }

  /** Starts with the new configuration; if that fails (a taken port, a missing secret), with the old one again. */
  async #replace(next: AppContext): Promise<Begun> {
    const [oldContext, reloads] = [this.#context, this.#reloads]
    try {
      await requireNothingLeft(oldContext, next)
      const session = { kind: 'daemon', context: next, daemon: await start(next, reloads) } as const
      reloads.taken(next.config, next.time.nowMs())
      next.log.info({ changes: changesOf(oldContext.config, next.config) }, 'the new configuration is in force')
      return session
    } catch (error) {
      // A failure of the disk is not the new configuration's, which is in force once the outbox can be opened.
      if (isSamePlace(next.config, oldContext.config) && error instanceof Fault && isOfOutbox(error)) {
        reloads.taken(next.config, next.time.nowMs())
        return this.#begin(next)
      }
      oldContext.log.error({ fault: faultLine(error) }, refused)
      reloads.refused(faultLine(error), oldContext.time.nowMs())
      return this.#begin(oldContext)
    }
  }

  /** Resolves to the new configuration after a valid reload, or when the daemon must stop. */
  async #untilChanged({ context, asRead }: ReadConfig): Promise<Change> {
    const { log, config, time, redactor } = context
    const watch = (files: readonly string[]) => this.#signals.watch(files)
    const watchedFiles = new WatchedFiles(config, watch, { secrets: secretFiles(config), asRead })
    let waitingConfig: ReadConfig | undefined
    let lastMistakes = ''
    // The first look is at what was saved since it was read.
    for (let request: SignalRequest | 'retry' = 'look'; request !== 'stop'; ) {
      const areSecretsNew = watchedFiles.haveSecretsChanged()
      const isNew = watchedFiles.haveChanged() || request === 'reload'
      if (areSecretsNew && !isNew) this.#running?.retry()
      if (isNew) [waitingConfig, lastMistakes] = [undefined, '']
      try {
        if (isNew || waitingConfig) {
          waitingConfig ??= await this.#readNext(context, watchedFiles)
          if (this.#running) await unlessAborted(requireDatabase(waitingConfig.context), this.#signals.stopSignal)
          return { kind: 'reload', next: waitingConfig }
        }
      } catch (error) {
        if (this.#signals.stopSignal.aborted) break
        if (error instanceof ConfigError && error.includes.length > 0) {
          watchedFiles.watchAlso({ file: config.file, includes: error.includes, protocols: [] })
        }
        const isWaiting = error instanceof Fault && isOfOutbox(error)
        if (!isWaiting) waitingConfig = undefined
        const mistakes = error instanceof ConfigError ? mistakesLine(error.mistakes) : faultLine(error)
        if (mistakes !== lastMistakes) {
          log.error({ mistakes }, isWaiting ? waits : refused)
          this.#reloads.refused(redactor.redact(mistakes), time.nowMs(), isWaiting)
        }
        lastMistakes = mistakes
      }
      request = await this.#request(time, waitingConfig && roomLookMs)
    }
    return { kind: 'stop' }
  }

  /** Reads and checks the saved configuration. */
  async #readNext({ config, clock, place, keptCounts }: AppContext, watchedFiles: WatchedFiles): Promise<ReadConfig> {
    const next = {
      ...readContext(config.file, ({ log }) => log.level),
      ...(clock && { clock }),
      ...(place && { place }),
      ...(keptCounts && { keptCounts }),
    }
    const asRead = filesAsRead(next.config)
    watchedFiles.watchAlso(next.config)
    await checkOptions(next, this.#signals)
    return { context: next, asRead }
  }

  /** The next request; `retry` when none came for a time. */
  async #request(time: Time, retryMs: number | undefined): Promise<SignalRequest | 'retry'> {
    const { signal } = this.#listening
    if (retryMs === undefined) return this.#signals.next(signal)
    const late = time.timeout(retryMs)
    const request = await this.#signals.next(AbortSignal.any([signal, late]))
    return request === 'stop' && late.aborted ? 'retry' : request
  }
}

/**
 * Asks whether the database of a configuration can be used, before the daemon that runs is stopped for it.
 *
 * @throws Fault of the database
 */
async function requireDatabase({ config }: AppContext): Promise<void> {
  const place = placeOf(config)
  if (place.kind === 'postgres') await databaseNowMs(place.address)
}

/**
 * Looks for due metrics in a data folder that is left: no daemon would deliver them, and nothing would name them.
 *
 * @throws Fault `config` when there are some
 */
async function requireNothingLeft(oldContext: AppContext, next: AppContext): Promise<void> {
  const { data, service } = oldContext.config
  if (data.kind !== 'folder' || service.kind === 'embedded' || isSamePlace(oldContext.config, next.config)) return
  // A folder that cannot be read may be why another one is configured.
  const backlog = await readExistingOutbox(oldContext, async outbox => outbox?.operators.backlog()).catch(
    () => undefined,
  )
  const dueCount = backlog?.balance.due ?? 0
  if (dueCount === 0) return
  const left = `${counted(dueCount, 'metric')} ${dueCount === 1 ? 'is' : 'are'} still due in ${data.folder}, and would stay there undelivered`
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
