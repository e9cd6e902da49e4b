import { backoffMs, isYetToCome } from '../model/backoff.ts'
import { breakerBaseMs, breakerCapMs } from '../model/limits.ts'

interface Isolated {
  readonly untilMs: number
  readonly failures: number
  readonly sentence: string
}

/** Protocols the service refuses: each is left out until its own next try, so that the others are on time. */
export class Isolation {
  readonly #protocols = new Map<string, Isolated>()

  /** Sets a protocol aside, each time for longer. */
  add(protocolId: string, sentence: string, nowMs: number, chance: number): void {
    const failures = (this.#protocols.get(protocolId)?.failures ?? 0) + 1
    const pauseMs = backoffMs({ baseMs: breakerBaseMs, capMs: breakerCapMs }, failures, 0.5 + chance / 2)
    this.#protocols.set(protocolId, { untilMs: nowMs + pauseMs, failures, sentence })
  }

  /** It was accepted again. */
  remove(protocolId: string): void {
    this.#protocols.delete(protocolId)
  }

  isAside(protocolId: string, nowMs: number): boolean {
    return isYetToCome(this.#protocols.get(protocolId)?.untilMs ?? 0, nowMs, breakerCapMs)
  }

  /** Why protocols are set aside, a sentence each. */
  get sentences(): readonly string[] {
    return [...this.#protocols.values()].map(({ sentence }) => sentence)
  }
}
