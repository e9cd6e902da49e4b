import { backoffMs, isYetToCome } from '../../model/backoff.ts'
import { quarantineCapMs } from '../../model/limits.ts'
import { quarantineBaseMs } from './limits.ts'

interface Isolated<T> {
  readonly subject: T
  readonly untilMs: number
  readonly failures: number
  readonly sentence: string
}

/**
 * What the service refuses or fails on while it takes others: each is left out until its own next try, so that the others
 * are on time. Protocols by their id, metrics by id and hour.
 */
export class Isolation<T> {
  readonly #isolated = new Map<string, Isolated<T>>()
  readonly #keyOf: (subject: T) => string

  constructor(keyOf: (subject: T) => string) {
    this.#keyOf = keyOf
  }

  /** Sets something aside, each time for longer. */
  add(subject: T, sentence: string, nowMs: number, chance: number): void {
    const key = this.#keyOf(subject)
    const failures = (this.#isolated.get(key)?.failures ?? 0) + 1
    const pauseMs = backoffMs({ baseMs: quarantineBaseMs, capMs: quarantineCapMs }, failures, 0.5 + chance / 2)
    this.#isolated.set(key, { subject, untilMs: nowMs + pauseMs, failures, sentence })
  }

  /** It was accepted again, or is no more. */
  remove(subject: T): void {
    if (this.#isolated.size > 0) this.#isolated.delete(this.#keyOf(subject))
  }

  /** Whether it is set aside, tried again soon or not. */
  has(subject: T): boolean {
    return this.#isolated.has(this.#keyOf(subject))
  }

  /** Whether it is left out at an instant. */
  isAside(subject: T, nowMs: number): boolean {
    const isolated = this.#isolated.get(this.#keyOf(subject))
    return isolated !== undefined && isYetToCome(isolated.untilMs, nowMs, quarantineCapMs)
  }

  /** All that is set aside. */
  get all(): readonly T[] {
    return [...this.#isolated.values()].map(({ subject }) => subject)
  }

  /** Why something is set aside, a sentence each. */
  get sentences(): readonly string[] {
    return [...this.#isolated.values()].map(({ sentence }) => sentence)
  }
}
