import { type Hour, hourAt } from '../../model/hour.ts'
import { futureMsMax } from '../../model/limits.ts'
import type { Answer } from '../../model/verdict.ts'
import { clockDoubtMs } from './limits.ts'

/** Who compares this machine's clock with the service's. */
export interface ClockComparison {
  /** How far it is ahead of this machine's, where it was seen already. */
  readonly serviceAheadMs: number | undefined
  /** The service's clock was seen. @param aheadMs how far it is ahead of this machine's */
  sawService(aheadMs: number): void
  /** Whether the service should be asked, although nothing is to be sent. */
  wantsService(): boolean
  /** It is asked now. */
  asks(witness: 'service'): void
}

/** The service's clock, as its answers show it. One for all destinations: it is one service. */
export class ServiceClock {
  readonly #comparison: ClockComparison | undefined
  #skewMs: number | undefined

  /** @param comparison told of what is seen; without it nothing is asked but before a push */
  constructor(comparison?: ClockComparison) {
    this.#comparison = comparison
    this.#skewMs = comparison?.serviceAheadMs
  }

  /** How far it is ahead of this machine's, negative when behind; `undefined` while no answer has shown it. */
  get skewMs(): number | undefined {
    return this.#skewMs
  }

  /** Whether it should be asked for, although nothing is to be sent: this machine's clock is doubted. */
  get isWanted(): boolean {
    return this.#comparison?.wantsService() ?? false
  }

  /** It is asked for now. */
  asked(): void {
    this.#comparison?.asks('service')
  }

  observe(answer: Answer): void {
    if (answer.kind !== 'answered' || answer.skewMs === undefined) return
    this.#skewMs = answer.skewMs
    this.#comparison?.sawService(answer.skewMs)
  }

  /** This machine's clock was set, and is believed. @param byMs how far ahead it was set */
  machineWasSet(byMs: number): void {
    if (this.#skewMs !== undefined) this.#skewMs -= byMs
  }

  /** The latest hour the service surely takes at an instant of this machine's clock: it refuses what lies in its future. */
  latestHour(nowMs: number): Hour {
    return hourAt(nowMs + (this.#skewMs ?? 0) + futureMsMax - clockDoubtMs)
  }
}
