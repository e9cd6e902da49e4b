import type { Hour } from '../../model/hour.ts'
import type { KnownHeaders } from './known-headers.ts'
import { blockArrivalMs, paceHeadersMin, paceTickSecondsMax } from './limits.ts'

/** A chain is waited for while its last block is at most this many ticks before the hour; later it counts as halted. */
const ticksBehindMax = 3

/** Predicts when a chain that follows the clock makes its next block, from what look-ups observed. */
export class Pace {
  #tick: { readonly seconds: number; readonly at: number } | undefined

  /** Whether the chain was seen to follow the clock. */
  get isKnown(): boolean {
    return this.#tick !== undefined
  }

  /** Learns from the headers around an hour. */
  learn(known: KnownHeaders, hour: Hour): void {
    const { low } = known.around(hour / 1000)
    const seconds = known.tickSeconds(hour / 1000)
    if (!low || known.count < paceHeadersMin) return
    if (seconds >= 2 && seconds <= paceTickSecondsMax) {
      this.#tick = { seconds, at: low.timestampSeconds }
    }
  }

  /** Milliseconds until a block past the hour should have arrived; 0 when unknown or not soon. */
  waitMs(hour: Hour, nowMs: number): number {
    const waitMs = (this.#afterMs(hour) ?? nowMs) - nowMs
    return waitMs > 0 && waitMs <= paceTickSecondsMax * 1000 + blockArrivalMs ? waitMs : 0
  }

  /**
   * Milliseconds until asking again for a block past the hour makes sense.
   *
   * @param headSeconds timestamp of the chain's last block
   * @returns `undefined` when unknown
   */
  againMs(headSeconds: number, hour: Hour, nowMs: number): number | undefined {
    if (!this.#tick || headSeconds < hour / 1000 - ticksBehindMax * this.#tick.seconds) return undefined
    const atMs = this.#afterMs(Math.max(hour, nowMs - blockArrivalMs))
    return atMs === undefined ? undefined : Math.max(0, atMs - nowMs)
  }

  /** When the first block after an instant should have arrived. */
  #afterMs(instantMs: number): number | undefined {
    if (!this.#tick) return undefined
    const { seconds, at } = this.#tick
    const ticks = Math.floor((instantMs / 1000 - at) / seconds) + 1
    return (at + ticks * seconds) * 1000 + blockArrivalMs
  }
}
