import { unwatchFile, watchFile } from 'node:fs'
import { systemTime } from '../edge/time.ts'
import { fileLookMs, parentLookMs } from './limits.ts'

/** What is asked of a process that stays up; `look` when a file it watches may have changed. */
export type SignalRequest = 'stop' | 'reload' | 'look'

/**
 * What is asked, one after the other: SIGTERM and SIGINT are `stop`, SIGHUP is `reload`, a changed file is `look`. From
 * the moment this is made no signal is lost and none ends the process by itself, also while it starts.
 */
export class Signals {
  readonly #asked: SignalRequest[] = []
  readonly #tell: (asked: SignalRequest) => void
  readonly #stopping = new AbortController()
  #told = Promise.withResolvers<void>()
  #watched = new Set<string>()

  constructor() {
    this.#tell = asked => {
      this.#asked.push(asked)
      this.#told.resolve()
    }
    const stop = () => {
      this.#tell('stop')
      this.#stopping.abort(new Error('stopped'))
    }
    process
      .on('SIGTERM', stop)
      .on('SIGINT', stop)
      .on('SIGHUP', () => this.#tell('reload'))
    if (process.env['npm_command'] !== undefined) whenOrphaned(process.ppid, stop)
  }

  /**
   * Asks to look whenever one of these files has changed, also one that is put in its place; those watched before are not
   * watched any more. Looks by the clock: mounts do not tell.
   */
  watch(files: readonly string[]): void {
    const before = this.#watched
    this.#watched = new Set(files)
    for (const file of before) if (!this.#watched.has(file)) unwatchFile(file)
    for (const file of this.#watched) {
      if (!before.has(file)) watchFile(file, { interval: fileLookMs, persistent: false }, () => this.#tell('look'))
    }
  }

  /** Aborted as soon as the process is asked to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  /** Resolves with what was asked next. */
  async next(): Promise<SignalRequest> {
    for (;;) {
      const asked = this.#asked.shift()
      if (asked) return asked
      await this.#told.promise
      this.#told = Promise.withResolvers<void>()
    }
  }

  /** Resolves when the process is to stop. */
  async untilStop(): Promise<void> {
    while ((await this.next()) !== 'stop');
  }
}

/**
 * npx and npm do not pass a signal on: they end, and what they started would live on with lock and port. It then has another
 * parent. Looking keeps no process alive.
 */
function whenOrphaned(parent: number, stop: () => void): void {
  const look = () => (process.ppid === parent ? whenOrphaned(parent, stop) : stop())
  systemTime.timeout(parentLookMs).addEventListener('abort', look, { once: true })
}
