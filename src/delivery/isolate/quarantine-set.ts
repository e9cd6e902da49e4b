import { backoffMs, isYetToCome } from '../../model/backoff.ts'
import { quarantineCapMs } from '../../model/limits.ts'
import { quarantineBaseMs } from './limits.ts'

interface Quarantined<T> {
  readonly subject: T
  readonly untilMs: number
  readonly failures: number
  readonly sentence: string
}

/**
 * Protocols, metrics or metric ids in quarantine. Each is skipped until its own backoff ends, so that it delays nothing
 * else, and stays a member until it is removed.
 */
export class QuarantineSet<T> {
  readonly #members = new Map<string, Quarantined<T>>()
  readonly #keyOf: (subject: T) => string

  /** @param keyOf identifies a member */
  constructor(keyOf: (subject: T) => string) {
    this.#keyOf = keyOf
  }

  get size(): number {
    return this.#members.size
  }

  /**
   * Adds a member, or prolongs its backoff after a further failure.
   *
   * @param sentence the reason, for people
   * @param chance a number from 0 up to 1, for the length of the backoff
   */
  add(subject: T, sentence: string, nowMs: number, chance: number): void {
    const key = this.#keyOf(subject)
    const failures = (this.#members.get(key)?.failures ?? 0) + 1
    const pauseMs = backoffMs({ baseMs: quarantineBaseMs, capMs: quarantineCapMs }, failures, 0.5 + chance / 2)
    this.#members.set(key, { subject, untilMs: nowMs + pauseMs, failures, sentence })
  }

  /** Ends the quarantine: accepted, or deleted. */
  remove(subject: T): void {
    if (this.#members.size > 0) this.#members.delete(this.#keyOf(subject))
  }

  /** Whether it is a member, skipped at present or not. */
  has(subject: T): boolean {
    return this.#members.has(this.#keyOf(subject))
  }

  /** Whether its backoff has not ended. */
  isSkipped(subject: T, nowMs: number): boolean {
    const member = this.#members.get(this.#keyOf(subject))
    return member !== undefined && isYetToCome(member.untilMs, nowMs, quarantineCapMs)
  }

  /** All members. */
  get all(): readonly T[] {
    return [...this.#members.values()].map(({ subject }) => subject)
  }

  /** The reason of each member, a sentence each. */
  get sentences(): readonly string[] {
    return [...this.#members.values()].map(({ sentence }) => sentence)
  }
}
