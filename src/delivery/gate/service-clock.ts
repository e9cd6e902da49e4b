import { type Hour, hourAt } from '../../model/hour.ts'
import { futureMsMax } from '../../model/limits.ts'
import type { Answer } from '../../model/verdict.ts'
import { clockDoubtMs } from './limits.ts'

/** Comparison of this machine's clock with the service's. */
export interface ClockComparison {
  /** Lead of the service's clock over this machine's; `undefined` before the first answer. */
  readonly serviceAheadMs: number | undefined
  /** Takes a reading of the service's clock. @param aheadMs its lead over this machine's */
  sawService(aheadMs: number): void
  /** Whether the service should be asked, although nothing is to be sent. */
  wantsService(): boolean
  /** Notes that the service is being asked. */
  asks(witness: 'service'): void
}

/** The service's clock, as its answers show it. One for all destinations: it is one service. */
export class ServiceClock {
  readonly #comparison: ClockComparison | undefined
  #skewMs: number | undefined

  /** @param comparison gets each reading; without it the service is asked before a push only */
  constructor(comparison?: ClockComparison) {
    this.#comparison = comparison
    this.#skewMs = comparison?.serviceAheadMs
  }

  /** Lead of the service's clock over this machine's, negative when behind; `undefined` before the first answer. */
  get skewMs(): number | undefined {
    return this.#skewMs
  }

  /** Whether to ask for it although nothing is to be sent: this machine's clock is doubted. */
  get isWanted(): boolean {
    return this.#comparison?.wantsService() ?? false
  }

  /** Notes that the service is being asked. */
  asked(): void {
    this.#comparison?.asks('service')
  }

  observe(answer: Answer): void {
    if (answer.kind !== 'answered' || answer.skewMs === undefined) return
    this.#skewMs = answer.skewMs
    this.#comparison?.sawService(answer.skewMs)
  }

  /** Keeps the lead right after this machine's clock was set. @param byMs how far ahead it was set */
  machineWasSet(byMs: number): void {
    if (this.#skewMs !== undefined) this.#skewMs -= byMs
  }

  /**
   * Latest hour that the service surely accepts at an instant of this machine's clock: it rejects hours in its future.
   */
  latestHour(nowMs: number): Hour {
    return hourAt(nowMs + (this.#skewMs ?? 0) + futureMsMax - clockDoubtMs)
  }
}
