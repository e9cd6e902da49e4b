import type { Time } from '../edge/time.ts'
import { backoffMs, isYetToCome } from '../model/backoff.ts'
import { breakerBaseMs, breakerCapMs, retryAfterMsMax } from '../model/limits.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { type DestinationState, hurriedAtMs } from '../outbox/tables/destinations.ts'
import type { Stop } from './ports.ts'
import { cappedSentences, stopSentence } from './sentences.ts'

/** `asked`: a person wants it now, which the breaker does not hinder; the service's own `Retry-After` does. */
export type FlushOccasion = 'due' | 'asked'

/** What is to be remembered of a flush. */
export interface Flushed {
  /** Why it ended early. */
  readonly stop?: Stop
  /** What is left out, and why, a sentence each. */
  readonly left: readonly string[]
  readonly skewMs?: number
}

/** What the breaker works with. */
export interface BreakerOptions {
  readonly outbox: Pick<Outbox, 'destinations'>
  /** The destination's. */
  readonly name: string
  readonly time: Time
}

/** Opens after a failed flush, for longer each time, and closes after one that did not fail. It outlives a restart. */
export class Breaker {
  readonly #options: BreakerOptions

  constructor(options: BreakerOptions) {
    this.#options = options
  }

  /** Failed flushes in a row. */
  get failures(): number {
    return this.#state.failures
  }

  /** Whether nothing may be sent now. */
  isOpen(occasion: FlushOccasion): boolean {
    const nowMs = this.#options.time.nowMs()
    const { notBeforeMs, probeAtMs } = this.#state
    if (isYetToCome(notBeforeMs, nowMs, retryAfterMsMax)) return true
    return occasion === 'due' && isYetToCome(probeAtMs, nowMs, breakerCapMs)
  }

  /** Whether a person has asked for a flush beside this process since; to be asked once. */
  takeHurry(): boolean {
    const state = this.#state
    if (state.probeAtMs !== hurriedAtMs) return false
    try {
      this.#remember({ ...state, probeAtMs: 0 })
      return true
    } catch {
      // It would be asked again at each look; the flush shows what is wrong with the disk.
      return false
    }
  }

  /** Remembers at once that the service wants to be left alone. */
  wished(notBeforeMs: number): void {
    try {
      this.#remember({ ...this.#state, notBeforeMs })
    } catch {
      // This process knows it all the same; the flush that goes on shows what is wrong with the disk.
    }
  }

  /** Remembers a flush that sent something, or failed to. @returns what is remembered */
  flushed({ stop, left, skewMs }: Flushed): DestinationState {
    const atMs = this.#options.time.nowMs()
    const verdict = stop?.kind ?? (left.length > 0 ? 'partly-refused' : 'delivered')
    const pause = stop ? this.#pause(stop, atMs) : { notBeforeMs: this.#wishAt(atMs), probeAtMs: 0, failures: 0 }
    const sentences = [...(stop ? [stopSentence(stop)] : []), ...left]
    return this.#remember({ ...pause, ...waitingOf(sentences), ...skewOf(skewMs), lastPush: { atMs, verdict } })
  }

  /** Remembers why nothing was sent, although nothing has failed. */
  idle({ left, skewMs }: Omit<Flushed, 'stop'>): void {
    const { waiting, ...rest } = this.#state
    const now = waitingOf(left)
    // The skew is told by whoever reads the outbox; what less than a minute changes is not worth a commit.
    const isSkewNew = Math.abs((skewMs ?? rest.skewMs ?? 0) - (rest.skewMs ?? 0)) > 60_000
    if (!isSkewNew && (rest.failures > 0 || now.waiting === waiting)) return
    this.#remember({ ...rest, ...now, ...skewOf(skewMs) })
  }

  #pause(stop: Stop, nowMs: number): Pick<DestinationState, 'notBeforeMs' | 'probeAtMs' | 'failures'> {
    const failures = this.failures + 1
    // At least half of it, so that a service that is down is spared.
    const chance = 0.5 + this.#options.time.chance() / 2
    const probeAtMs = nowMs + backoffMs({ baseMs: breakerBaseMs, capMs: breakerCapMs }, failures, chance)
    const notBeforeMs = stop.kind === 'transient' ? (stop.notBeforeMs ?? 0) : 0
    return { failures, probeAtMs, notBeforeMs: Math.max(notBeforeMs, this.#wishAt(nowMs)) }
  }

  /** The service's wish that is not over yet, whichever push it answered; 0 when there is none. */
  #wishAt(nowMs: number): number {
    const { notBeforeMs } = this.#state
    return isYetToCome(notBeforeMs, nowMs, retryAfterMsMax) ? notBeforeMs : 0
  }

  get #state(): DestinationState {
    return this.#options.outbox.destinations.get(this.#options.name)
  }

  #remember(state: DestinationState): DestinationState {
    this.#options.outbox.destinations.set(this.#options.name, state)
    return state
  }
}

function waitingOf(sentences: readonly string[]): { readonly waiting?: string } {
  return sentences.length > 0 ? { waiting: cappedSentences(sentences).join('; ') } : {}
}

function skewOf(skewMs: number | undefined): { readonly skewMs?: number } {
  return skewMs === undefined ? {} : { skewMs }
}
