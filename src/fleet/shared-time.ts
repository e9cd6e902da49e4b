import { DerivedTime } from '../edge/time.ts'
import { hourAfter, hourAt } from '../model/hour.ts'

/** Longest wait for the next full hour: the clock may be set meanwhile. */
const hourWaitMsMax = 10_000

/**
 * The database's clock, which all daemons of a fleet share, carried on by this machine's steady clock. It is this
 * machine's own until the database was asked.
 */
export class SharedTime extends DerivedTime {
  /** The shared clock minus the steady one, and the error of that at most, in milliseconds. */
  #known: { readonly offsetMs: number; readonly errorMs: number } | undefined

  /**
   * Asks the database for its time. A slow answer is less exact: it corrects the clock only by what it is surely off.
   *
   * @param ask resolves to the database's clock, in milliseconds since 1970
   */
  async ask(ask: () => Promise<number>): Promise<void> {
    const sentMs = this.source.steadyMs()
    const nowMs = await ask()
    const errorMs = (this.source.steadyMs() - sentMs) / 2
    const offsetMs = nowMs - (sentMs + errorMs)
    const was = this.#known
    const offMs = was ? offsetMs - was.offsetMs : Number.POSITIVE_INFINITY
    if (!was || errorMs <= was.errorMs || Math.abs(offMs) > errorMs + was.errorMs) this.#known = { offsetMs, errorMs }
  }

  /** This machine's clock minus the shared one, in milliseconds. */
  get machineOffMs(): number {
    return this.source.nowMs() - this.nowMs()
  }

  protected instantMs(): number {
    const { offsetMs } = this.#known ?? {}
    return offsetMs === undefined ? this.source.nowMs() : this.source.steadyMs() + offsetMs
  }

  override everyHour(tick: () => void): { stop(): void } {
    const stopping = new AbortController()
    void this.#tickHourly(tick, stopping.signal)
    return { stop: () => stopping.abort(new Error('stopped')) }
  }

  /** Never rejects. */
  async #tickHourly(tick: () => void, signal: AbortSignal): Promise<void> {
    let next = hourAfter(hourAt(this.nowMs()), 1)
    while (!signal.aborted) {
      const nowMs = this.nowMs()
      if (nowMs >= next) {
        next = hourAfter(hourAt(nowMs), 1)
        tick()
      }
      await this.sleep(Math.min(next - nowMs, hourWaitMsMax), signal).catch(() => {})
    }
  }
}
