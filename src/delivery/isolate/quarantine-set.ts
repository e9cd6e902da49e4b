import { backoffMs, isYetToCome } from '../../model/backoff.ts'
import type { Hour } from '../../model/hour.ts'
import { quarantineCapMs } from '../../model/limits.ts'
import { quarantineBaseMs } from './limits.ts'

interface Quarantined<T> {
  readonly subject: T
  /** The newest hour at which it failed. */
  readonly hour: Hour
  readonly untilMs: number
  readonly failures: number
  readonly sentence: string
}

/**
 * Protocols, metrics or metric ids in quarantine. Each is skipped until its own backoff ends, so that it delays nothing
 * else, or until an hour comes that is newer than those at which it failed. It stays a member until it is removed.
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
   * @param hour at which it failed
   * @param sentence the reason, for people
   * @param chance a number from 0 up to 1, for the length of the backoff
   */
  add(subject: T, hour: Hour, sentence: string, nowMs: number, chance: number): void {
    const key = this.#keyOf(subject)
    const before = this.#members.get(key)
    const failures = (before?.failures ?? 0) + 1
    const newest = before && before.hour > hour ? before.hour : hour
    const pauseMs = backoffMs({ baseMs: quarantineBaseMs, capMs: quarantineCapMs }, failures, 0.5 + chance / 2)
    this.#members.set(key, { subject, hour: newest, untilMs: nowMs + pauseMs, failures, sentence })
  }

  /** Ends the quarantine: accepted, or deleted. */
  remove(subject: T): void {
    if (this.#members.size > 0) this.#members.delete(this.#keyOf(subject))
  }

  /** Whether it is a member, skipped at present or not. */
  has(subject: T): boolean {
    return this.#members.has(this.#keyOf(subject))
  }

  /** Whether it is skipped at an instant. @param hour that would be sent of it; default: none is newer than what failed */
  isSkipped(subject: T, nowMs: number, hour?: Hour): boolean {
    const member = this.#members.get(this.#keyOf(subject))
    if (hour !== undefined && !this.hasFailed(subject, hour)) return false
    return member !== undefined && isYetToCome(member.untilMs, nowMs, quarantineCapMs)
  }

  /** Whether it failed at an hour, or at a newer one. */
  hasFailed(subject: T, hour: Hour): boolean {
    const member = this.#members.get(this.#keyOf(subject))
    return member !== undefined && hour <= member.hour
  }

  /** Number of failures since it became a member; 0 when it is not a member. */
  failuresOf(subject: T): number {
    return this.#members.get(this.#keyOf(subject))?.failures ?? 0
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
