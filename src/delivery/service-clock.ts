import { type Hour, hourAt } from '../model/hour.ts'
import { clockDoubtMs, futureMsMax } from '../model/limits.ts'
import type { Answer } from '../model/verdict.ts'

/** The service's clock, as its answers show it. One for all destinations: it is one service. */
export class ServiceClock {
  #skewMs: number | undefined

  /** How far it is ahead of this machine's, negative when behind; `undefined` while no answer has shown it. */
  get skewMs(): number | undefined {
    return this.#skewMs
  }

  observe(answer: Answer): void {
    if (answer.kind === 'answered') this.#skewMs = answer.skewMs ?? this.#skewMs
  }

  /** The latest hour the service surely takes at an instant of this machine's clock: it refuses what lies in its future. */
  latestHour(nowMs: number): Hour {
    return hourAt(nowMs + (this.#skewMs ?? 0) + futureMsMax - clockDoubtMs)
  }
}
