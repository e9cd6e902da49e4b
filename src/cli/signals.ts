/** What the system asks of a process that stays up. */
export type Asked = 'stop' | 'reload'

/**
 * What the system asks, one after the other: SIGTERM and SIGINT are `stop`, SIGHUP is `reload`. From the moment this is
 * made none is lost and none ends the process by itself, also while it starts.
 */
export class Signals {
  readonly #asked: Asked[] = []
  readonly #stopping = new AbortController()
  #told = Promise.withResolvers<void>()

  constructor() {
    const tell = (asked: Asked) => () => {
      this.#asked.push(asked)
      this.#told.resolve()
    }
    const stop = () => {
      tell('stop')()
      this.#stopping.abort(new Error('stopped'))
    }
    process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', tell('reload'))
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
