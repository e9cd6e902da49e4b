import { backoffMs, isYetToCome } from '../../model/backoff.ts'
import { endOfTime, type Hour, hourText } from '../../model/hour.ts'
import { quarantineCapMs } from '../../model/limits.ts'
import type { Metric } from '../../model/metric.ts'
import { MetricSet, metricKey } from '../../model/metric-set.ts'
import type { DeliveryStore } from '../../outbox/contract/delivery-store.ts'

/** First pause in quarantine, doubled with each further failure up to `quarantineCapMs`; half of it at least. */
export const quarantineBaseMs = 5_000

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

  get all(): readonly T[] {
    return [...this.#members.values()].map(({ subject }) => subject)
  }

  /** The reason of each member, a sentence each. */
  get sentences(): readonly string[] {
    return [...this.#members.values()].map(({ sentence }) => sentence)
  }
}

/**
 * Way to send a due metric: `free`, in a batch with others; `alone`, since the service fails or may fail on its id;
 * `waits`, until a pause ends.
 */
type SendState = 'free' | 'alone' | 'waits'

/** Metrics of one protocol that fail alone, after which the protocol as a whole is in quarantine. */
const quarantineMetricsMax = 3

/** Suspects after which all may be tried again: many times what a list of due metrics has. */
const suspectsMax = 10_000

/** Rows of one metric id that failed alone, after which its other rows wait, too, until one of them is accepted. */
const seriesRowsMax = 2

/**
 * Protocols and metrics that the service rejects, or fails on, while it accepts others. They are skipped until a backoff
 * ends and are then tried with one metric, so that they delay nothing else. Kept in memory: a new process finds them
 * again.
 */
export class Quarantine {
  readonly #protocols = new QuarantineSet<string>(id => id)
  /** Newest due hours of the protocols in quarantine, as of `keepDue`. */
  #newestOf: ReadonlyMap<string, Hour> = new Map()
  readonly #rows = new QuarantineSet<Metric>(metricKey)
  /** Rows in quarantine by metric id. */
  readonly #rowsOf = new Map<string, number>()
  /** Metric ids of which so many rows failed that the others wait. */
  readonly #series = new QuarantineSet<string>(id => id)
  /** By metric id, the oldest hour that was accepted since one failed: the service takes newer ones, too. */
  readonly #acceptedFrom = new Map<string, Hour>()
  /** Metrics of a protocol that failed alone, since a probe of it was last accepted. */
  readonly #failedOf = new Map<string, number>()
  /** Protocols on which the service failed when nothing was known of the service itself. */
  readonly #failuresOf = new Map<string, number>()

  /** Metrics that failed alone while nothing was accepted: they or the service may be at fault. */
  #suspects = new MetricSet()

  /** Remembers metrics that failed alone while nothing was accepted. They are in no quarantine. */
  suspect(metrics: readonly Metric[]): void {
    if (this.#suspects.size >= suspectsMax) this.#suspects = new MetricSet()
    this.#suspects.add(...metrics)
  }

  /** Whether a metric failed alone, and nothing was accepted since. */
  isSuspect(metric: Metric): boolean {
    return this.#suspects.has(metric)
  }

  /** Adds a protocol that failed at an hour, each time for longer. */
  addProtocol(id: string, hour: Hour, sentence: string, nowMs: number, chance: number): void {
    this.#protocols.add(id, hour, sentence, nowMs, chance)
    this.#failedOf.delete(id)
  }

  /**
   * Adds a metric, each time for longer.
   *
   * @returns whether so many of its protocol failed that the whole protocol is to be added
   */
  addMetric(metric: Metric, reason: string, nowMs: number, chance: number): boolean {
    const isNew = !this.#rows.has(metric)
    const sentence = `the service fails on ${metric.id} of ${hourText(metric.hour)} alone (${reason})`
    if (this.#isAccepted(metric)) this.#acceptedFrom.delete(metric.id)
    if (isNew && (this.#rowsOf.get(metric.id) ?? 0) >= seriesRowsMax) {
      this.#series.add(metric.id, metric.hour, sentence, nowMs, chance)
      return false
    }
    this.#rows.add(metric, metric.hour, sentence, nowMs, chance)
    if (isNew) this.#rowsOf.set(metric.id, (this.#rowsOf.get(metric.id) ?? 0) + 1)
    const failed = (this.#failedOf.get(metric.protocolId) ?? 0) + (isNew ? 1 : 0)
    this.#failedOf.set(metric.protocolId, failed)
    return failed >= quarantineMetricsMax
  }

  /** Counts a failed push of one protocol, while it is unknown whether the service accepts anything. */
  countFailure(protocolId: string): void {
    this.#failuresOf.set(protocolId, (this.#failuresOf.get(protocolId) ?? 0) + 1)
  }

  /** Failed pushes of a protocol since something of it was accepted. */
  failuresOf(protocolId: string): number {
    return this.#failuresOf.get(protocolId) ?? 0
  }

  /** Ends the quarantine of accepted metrics and of their protocols. */
  delivered(metrics: readonly Metric[]): void {
    if (metrics.length > 0 && this.#suspects.size > 0) this.#suspects = new MetricSet()
    if (this.#isEmpty) return
    for (const metric of metrics) {
      if (this.#rowsOf.has(metric.id) && !this.#isAccepted(metric)) this.#acceptedFrom.set(metric.id, metric.hour)
      if (this.#series.hasFailed(metric.id, metric.hour)) this.#series.remove(metric.id)
      this.#release(metric)
      this.#protocols.remove(metric.protocolId)
      this.#failuresOf.delete(metric.protocolId)
    }
  }

  /** Ends the quarantine of a dead metric. */
  dead(metric: Metric): void {
    this.#release(metric)
  }

  /**
   * Ends the quarantine of what is not due any more because a person has dropped it, and looks which hours are due of
   * protocols.
   */
  async keepDue(outbox: Pick<DeliveryStore, 'stillDue' | 'dueHour'>): Promise<void> {
    const rows = this.#rows.all
    if (rows.length > 0) {
      const still = new Set(await outbox.stillDue(rows))
      for (const metric of rows) if (!still.has(metric)) this.#release(metric)
    }
    const newestOf = new Map<string, Hour>()
    for (const id of this.#protocols.all) {
      const newest = await outbox.dueHour('newest', [id], endOfTime)
      if (newest === undefined) this.#protocols.remove(id)
      else newestOf.set(id, newest)
    }
    this.#newestOf = newestOf
  }

  /** Whether a protocol is in quarantine, tried again soon or not. */
  hasProtocol(id: string): boolean {
    return this.#protocols.has(id)
  }

  /** Protocols whose pause is over at an instant, or of which a newer hour is due, to be tried with one metric. */
  protocolsToProbe(nowMs: number, isAsked: boolean): readonly string[] {
    return this.#protocols.all.filter(id => isAsked || !this.#protocols.isSkipped(id, nowMs, this.#newestOf.get(id)))
  }

  /** The hour with which a protocol is to be tried: the newest each other time; `undefined`: with any. */
  hourToProbe(id: string): Hour | undefined {
    return this.#protocols.failuresOf(id) % 2 === 1 ? this.#newestOf.get(id) : undefined
  }

  /** Due hours of protocols that are newer than those at which they failed. */
  get newHours(): readonly (readonly [protocolId: string, hour: Hour])[] {
    return [...this.#newestOf].filter(([id, hour]) => this.#protocols.has(id) && !this.#protocols.hasFailed(id, hour))
  }

  /** Whether a metric is to be sent alone, and neither it nor a newer one of its id has failed. */
  isUntried(metric: Metric, nowMs: number): boolean {
    const isNew = !this.#rows.has(metric) && !this.#series.hasFailed(metric.id, metric.hour)
    return isNew && this.sendStateOf(metric, nowMs, false) === 'alone'
  }

  /** Whether no single metric is in quarantine. */
  get isWithoutMetrics(): boolean {
    return this.#rowsOf.size === 0
  }

  /** Whether this metric of this hour failed alone. */
  hasMetric(metric: Metric): boolean {
    return this.#rows.has(metric)
  }

  /** Way to send a metric of a protocol that is not in quarantine, at an instant. */
  sendStateOf(metric: Metric, nowMs: number, isAsked: boolean): SendState {
    const rows = this.#rowsOf.get(metric.id) ?? 0
    if (rows === 0) return 'free'
    if (isAsked) return 'alone'
    if (this.#rows.has(metric)) return this.#rows.isSkipped(metric, nowMs) ? 'waits' : 'alone'
    if (this.#isAccepted(metric)) return 'free'
    return rows < seriesRowsMax || !this.#series.isSkipped(metric.id, nowMs, metric.hour) ? 'alone' : 'waits'
  }

  /** Why metrics wait, one sentence each. */
  get sentences(): readonly string[] {
    return [...this.#protocols.sentences, ...this.#rows.sentences]
  }

  #isAccepted({ id, hour }: Metric): boolean {
    const from = this.#acceptedFrom.get(id)
    return from !== undefined && hour >= from
  }

  get #isEmpty(): boolean {
    const sizes = [this.#protocols, this.#rows, this.#series, this.#rowsOf, this.#failuresOf].map(({ size }) => size)
    return sizes.every(size => size === 0)
  }

  #release(metric: Metric): void {
    if (this.#rowsOf.size === 0 || !this.#rows.has(metric)) return
    this.#rows.remove(metric)
    const rowsLeft = (this.#rowsOf.get(metric.id) ?? 1) - 1
    if (rowsLeft === 0) {
      this.#rowsOf.delete(metric.id)
      this.#acceptedFrom.delete(metric.id)
      this.#series.remove(metric.id)
    } else this.#rowsOf.set(metric.id, rowsLeft)
    this.#failedOf.delete(metric.protocolId)
  }
}
