import { DerivedTime, systemTime } from '../../src/edge/time.ts'

/** The machine's time, which a test may set ahead: waits that are that long are over then, on any machine. */
export class LeapingTime extends DerivedTime {
  #aheadMs = 0
  #leap = new AbortController()

  constructor() {
    super(systemTime)
  }

  protected override instantMs(): number {
    return this.source.nowMs() + this.#aheadMs
  }

  override steadyMs(): number {
    return this.source.steadyMs() + this.#aheadMs
  }

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const endMs = this.steadyMs() + ms
    for (let leftMs = ms; leftMs > 0; leftMs = endMs - this.steadyMs()) {
      const leap = this.#leap.signal
      try {
        await this.source.sleep(Math.ceil(leftMs), signal ? AbortSignal.any([signal, leap]) : leap)
      } catch (error) {
        if (signal?.aborted || !leap.aborted) throw error
      }
    }
  }

  /** So many milliseconds pass at once. */
  leap(ms: number): void {
    this.#aheadMs += ms
    const leap = this.#leap
    this.#leap = new AbortController()
    leap.abort()
  }
}
