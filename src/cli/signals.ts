import { unwatchFile, watchFile } from 'node:fs'
import { systemTime } from '../edge/time.ts'
import { unlessAborted } from '../edge/unless-aborted.ts'
import { Fault } from '../model/fault.ts'

/** Interval of checking the configuration file for a change. */
const fileLookMs = 5_000

/** Interval at which a process started by npm checks that its parent still runs. */
const parentLookMs = 1_000

/** A request to a running process; `look` when a watched file may have changed. */
export type SignalRequest = 'stop' | 'reload' | 'look'

/** The more a request asks for, the earlier it is answered. */
const inOrder: readonly SignalRequest[] = ['stop', 'reload', 'look']

/**
 * Pending requests: SIGTERM and SIGINT are `stop`, SIGHUP is `reload`, a changed file is `look`. Each is pending once,
 * however often it was asked for, and a stop goes first. From its construction on no signal is lost and none ends the
 * process directly, not even during the start.
 */
export class Signals {
  readonly #asked = new Set<SignalRequest>()
  readonly #signal: (asked: SignalRequest) => void
  readonly #stopping = new AbortController()
  #signalled = Promise.withResolvers<void>()
  #watched = new Set<string>()

  /** @param hangup the request that SIGHUP is: `stop` for what has no use once its terminal is closed */
  constructor(hangup: 'reload' | 'stop' = 'reload') {
    this.#signal = asked => {
      this.#asked.add(asked)
      this.#signalled.resolve()
    }
    const stop = () => {
      this.#signal('stop')
      this.#stopping.abort(new Fault('stopped', 'it was asked to stop'))
    }
    process
      .on('SIGTERM', stop)
      .on('SIGINT', stop)
      .on('SIGHUP', hangup === 'stop' ? stop : () => this.#signal('reload'))
    if (process.env['npm_command'] !== undefined) whenOrphaned(process.ppid, stop)
  }

  /**
   * Watches files, and no longer those before: a changed or replaced one queues `look`. It polls, because mounts send
   * no events.
   *
   * @param everyMs interval, which also keeps the process alive. Default: that of a daemon, which lives anyway
   */
  watch(files: readonly string[], everyMs?: number): void {
    const look = { interval: everyMs ?? fileLookMs, persistent: everyMs !== undefined }
    const previousFiles = this.#watched
    this.#watched = new Set(files)
    for (const file of previousFiles) if (!this.#watched.has(file)) unwatchFile(file)
    for (const file of this.#watched) {
      if (!previousFiles.has(file)) watchFile(file, look, () => this.#signal('look'))
    }
  }

  /** Aborted when the process is asked to stop. */
  get stopSignal(): AbortSignal {
    return this.#stopping.signal
  }

  /** Resolves to the next request; to `stop` once `endSignal` is aborted, without taking a request from others who wait. */
  async next(endSignal?: AbortSignal): Promise<SignalRequest> {
    for (;;) {
      if (endSignal?.aborted) return 'stop'
      const signal = inOrder.find(one => this.#asked.has(one))
      if (signal !== undefined) {
        // A reload looks at the files; a stop stays asked for, however many wait for it.
        if (signal === 'stop') return signal
        this.#asked.clear()
        return signal
      }
      const { promise } = this.#signalled
      await (endSignal ? unlessAborted(promise, endSignal).catch(() => {}) : promise)
      if (!endSignal?.aborted) this.#signalled = Promise.withResolvers<void>()
    }
  }

  /** Resolves when the process must stop. */
  async untilStop(): Promise<void> {
    while ((await this.next()) !== 'stop');
  }
}

/** Acts once a signal is aborted, at once where it is already. */
export function onceAborted(signal: AbortSignal | undefined, act: () => void): void {
  if (signal?.aborted) act()
  else signal?.addEventListener('abort', act, { once: true })
}

/**
 * Stops when the parent process changes: npx and npm end without passing on a signal, and their child would live on
 * with lock and port. The timer does not keep the process alive.
 */
function whenOrphaned(parent: number, stop: () => void): void {
  const look = () => (process.ppid === parent ? whenOrphaned(parent, stop) : stop())
  systemTime.timeout(parentLookMs).addEventListener('abort', look, { once: true })
}
