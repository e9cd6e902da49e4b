import type { Time } from '../../edge/time.ts'

/** Milliseconds within which a service next door answers. */
const nearMs = 2

/** The pushes under way, and how soon they are answered. */
export class PushesUnderWay {
  readonly #time: Pick<Time, 'steadyMs'>
  #count = 0
  /** Duration of the latest push. */
  #tookMs = Number.POSITIVE_INFINITY

  constructor(time: Pick<Time, 'steadyMs'>) {
    this.#time = time
  }

  /** Runs a push. */
  async run<T>(push: () => Promise<T>): Promise<T> {
    const startMs = this.#time.steadyMs()
    this.#count += 1
    try {
      return await push()
    } finally {
      this.#count -= 1
      this.#tookMs = this.#time.steadyMs() - startMs
    }
  }

  /**
   * Whether to wait for further answers before those that are here are recorded. A service next door takes about as long
   * for a push as a commit does: answers that share one leave more time to send, and one push keeps the service busy
   * meanwhile. One far away is kept waiting, by each wait, in all lanes.
   */
  get areMoreSoon(): boolean {
    return this.#count > 1 && this.#tookMs <= nearMs
  }
}
