import type { Time } from '../../edge/time.ts'

/** Milliseconds within which a service next door answers. */
const nearMs = 2

/** Turns of the event loop within which a service far away mostly answers pushes that were sent together. */
const togetherTurns = 2

/** The pushes under way, and whether they will be answered soon. */
export class PushesUnderWay {
  readonly #time: Pick<Time, 'steadyMs'>
  /** When each began. */
  readonly #starts: { readonly ms: number }[] = []
  /** Duration of the latest push. */
  #tookMs = Number.POSITIVE_INFINITY

  constructor(time: Pick<Time, 'steadyMs'>) {
    this.#time = time
  }

  /** Notes that a push begins. @returns to be called when it has ended */
  begin(): () => void {
    const start = { ms: this.#time.steadyMs() }
    this.#starts.push(start)
    return () => {
      this.#starts.splice(this.#starts.indexOf(start), 1)
      this.#tookMs = this.#time.steadyMs() - start.ms
    }
  }

  /**
   * Whether answers that are here should wait for others before they are recorded. A service next door takes about as
   * long for a push as a commit does: all answers but one share a commit, and that one push keeps the service busy. To
   * wait longer for a service far away costs each lane more than a commit.
   *
   * @param turns that were waited
   */
  areMoreSoon(turns: number): boolean {
    if (this.#tookMs > nearMs) return turns < togetherTurns && this.#starts.length > 0
    const nowMs = this.#time.steadyMs()
    // One that takes longer than others mostly takes much longer.
    let soon = 0
    for (const { ms } of this.#starts) soon += nowMs - ms <= nearMs ? 1 : 0
    return soon > 1
  }
}
