import { watchFile } from 'node:fs'
import { fileLookMs } from '../model/limits.ts'

/** What is asked of a process that stays up; `look` when its configuration file may have changed. */
export type Asked = 'stop' | 'reload' | 'look'

/**
 * What is asked, one after the other: SIGTERM and SIGINT are `stop`, SIGHUP is `reload`, a changed file is `look`. From
 * the moment this is made no signal is lost and none ends the process by itself, also while it starts.
 */
export class Signals {
  readonly #asked: Asked[] = []
  readonly #tell: (asked: Asked) => void
  readonly #stopping = new AbortController()
  #told = Promise.withResolvers<void>()

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
  }

  /** Asks to look whenever a file has changed, also one that is put in its place. Looks by the clock: mounts do not tell. */
  watch(file: string): void {
    watchFile(file, { interval: fileLookMs, persistent: false }, () => this.#tell('look'))
  }

  /** Aborted as soon as the process is asked to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  /** Resolves with what was asked next. */
  async next(): Promise<Asked> {
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
