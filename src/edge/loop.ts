import type { Time } from './time.ts'

/** Runs one pass after another until it is stopped. */
export class Loop {
  readonly #pass: (signal: AbortSignal) => Promise<void>
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined

  /** @param pass one pass with its rest, which the signal ends; must not reject */
  constructor(pass: (signal: AbortSignal) => Promise<void>) {
    this.#pass = pass
  }

  /** Aborted by `stop`. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  /** Begins the first pass at once. No effect when it runs, or has been stopped. */
  start(): void {
    this.#running ??= this.#run()
  }

  /** Aborts the signal at once; resolves when the running pass has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) await this.#pass(signal)
  }
}

/**
 * Starts work that is done again and again, with a rest after each time.
 *
 * @param work its signal is aborted when the loop is stopped
 * @param onFailure called with its errors
 */
export function repeated(
  work: (stop: AbortSignal) => Promise<void>,
  restMs: number,
  time: Pick<Time, 'sleep'>,
  onFailure: (error: unknown) => void,
): Loop {
  const loop = new Loop(async signal => {
    await work(signal).catch(onFailure)
    await time.sleep(restMs, signal).catch(() => {})
  })
  loop.start()
  return loop
}
