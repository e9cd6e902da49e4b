import { Fault, faultLine } from '../model/fault.ts'
import { type Hour, hourAfter, hourText } from '../model/hour.ts'
import type { MetricId } from '../model/metric.ts'
import type { FleetStore, SharedIntakeStore } from '../outbox/contract/fleet-store.ts'
import type { OutboxHealth } from '../outbox/contract/health.ts'
import type { DueHour, DueHoursWanted, HourPlan } from '../outbox/contract/hours.ts'
import { type MetricKey, type Past, unitHold } from '../outbox/contract/metrics.ts'
import type { CollectionOutcome, Recorded } from '../outbox/contract/outcome.ts'
import type { LocalOutcomes } from '../outbox/local-outcomes.ts'
import type { Log } from '../telemetry/log.ts'

/** Dependencies of `LocalHours`. */
export interface LocalHoursDeps {
  readonly intake: Pick<SharedIntakeStore, 'record' | 'pasts'>
  readonly store: Pick<FleetStore, 'isDue' | 'nowMs'>
  readonly health: Pick<OutboxHealth, 'explain'>
  readonly outcomes: LocalOutcomes
  /** Whether this daemon works the lane of a collector now. */
  readonly works: (collector: string) => boolean
  readonly log: Log
}

/** Hours back to which a value is compared with a later one. */
const comparedHours = 24

/**
 * Hours of collectors that read only "now", while the database is away: this daemon reads them alone, and keeps the values
 * in its local folder. They are stored as soon as the database answers; a value that another daemon has stored stands.
 */
export class LocalHours {
  readonly #deps: LocalHoursDeps
  readonly #nowOnly = new Set<string>()
  /** The hour of each such collector that is not known to be collected or kept. */
  readonly #due = new Map<string, Hour>()
  /** The latest value of each of their metrics that this daemon has recorded. */
  readonly #pasts = new Map<MetricId, Past>()
  /** Whether the folder may have outcomes: a daemon before this one may have left some. */
  #mayHave = true

  constructor(deps: LocalHoursDeps) {
    this.#deps = deps
  }

  /** Takes note of an hour that is expected, before it is planned. */
  expect({ collector, current, oldest }: HourPlan): void {
    if (oldest < current) return
    this.#nowOnly.add(collector)
    this.#due.set(collector, current)
  }

  /**
   * Current hours that this daemon may read on its own, as the database is away. Never rejects.
   *
   * @param claimed due hours that it has claimed
   */
  async dueHours({ collectors, current }: DueHoursWanted, claimed: readonly DueHour[]): Promise<readonly DueHour[]> {
    const isClaimed = new Set(claimed.filter(({ hour }) => hour === current).map(({ collector }) => collector))
    const asked = collectors.filter(id => this.#due.get(id) === current && !isClaimed.has(id) && this.#deps.works(id))
    if (asked.length === 0) return []
    try {
      const isDue = await this.#deps.store.isDue(asked, current, Number.MAX_SAFE_INTEGER)
      if (!isDue) for (const id of asked) this.#due.delete(id)
      return []
    } catch (error) {
      return this.#isAway(error) ? asked.map(collector => ({ collector, hour: current, attempts: 0 })) : []
    }
  }

  /** The facts about metrics that this daemon knows itself, while the database is away. @throws the error otherwise */
  pasts(metrics: readonly MetricKey[], error: unknown): readonly (Past | undefined)[] {
    if (!this.#isAway(error)) throw error
    return metrics.map(({ id, hour }) => {
      const past = this.#pasts.get(id)
      const isNear =
        past?.previous && past.previous.hour < hour && past.previous.hour >= hourAfter(hour, -comparedHours)
      return isNear || !past ? past : { ...(past.unit !== undefined && { unit: past.unit }) }
    })
  }

  /** Takes note of an outcome that was stored. */
  recorded({ collector, hour, accepted, failed }: CollectionOutcome): void {
    if (!this.#nowOnly.has(collector)) return
    if (!failed && this.#due.get(collector) === hour) this.#due.delete(collector)
    for (const { metric, hold } of accepted) {
      const { id, value, unit } = metric
      if (!hold) this.#pasts.set(id, { ...(unit !== undefined && { unit }), previous: { hour, value } })
    }
  }

  /**
   * Keeps an outcome locally that the database did not take, where it can be read only now and the database is away.
   *
   * @throws `error` otherwise; Fault `outbox-unusable` when the folder cannot be written
   */
  async keep(outcome: CollectionOutcome, error: unknown): Promise<Recorded> {
    const { collector, hour, accepted } = outcome
    if (!this.#nowOnly.has(collector) || accepted.length === 0 || !(await this.#isStoppedBy(error))) throw error
    this.#deps.outcomes.keep(outcome)
    this.#mayHave = true
    this.recorded(outcome)
    const facts = {
      collector,
      hour: hourText(hour),
      metrics: accepted.length,
      fault: faultLine(this.#explained(error)),
    }
    this.#deps.log.warn(facts, 'values that can be read only now are kept in the local folder')
    return { added: accepted.length, corrected: 0 }
  }

  /** Stores what the local folder has, as far as the database takes it now. Never rejects. */
  async drain(nowMs: number): Promise<void> {
    if (!this.#mayHave) return
    this.#mayHave = false
    const { outcomes, intake, log } = this.#deps
    for (const local of outcomes.all()) {
      const { collector, hour, failed } = local.outcome
      const facts = { collector, hour: hourText(hour) }
      try {
        const outcome = await this.#judged(local.outcome)
        // It may have been away when the hour was to be planned.
        const { added } = await intake.record(failed ? outcome : { ...outcome, unexpected: true }, nowMs)
        outcomes.forget(local)
        const message = added > 0 ? 'kept values are in the database now' : 'the database has these kept values already'
        log.info({ ...facts, metrics: added }, message)
      } catch (error) {
        this.#mayHave = true
        if (this.#isAway(error)) return
        log.warn({ ...facts, fault: faultLine(this.#explained(error)) }, 'kept values cannot be stored yet')
      }
    }
    if (outcomes.count > 0) this.#mayHave = true
  }

  /** An outcome whose units are compared with those in the database, which could not be asked when it was read. */
  async #judged(outcome: CollectionOutcome): Promise<CollectionOutcome> {
    const pasts = await this.#deps.intake.pasts(outcome.accepted.map(({ metric }) => metric))
    const accepted = outcome.accepted.map((one, place) => {
      const past = pasts[place]
      const hold = one.hold ?? (past && unitHold(one.metric, past))
      return hold ? { ...one, hold } : one
    })
    return { ...outcome, accepted }
  }

  /** A claim that ran out means that another daemon has the hour, or that the database is away. */
  async #isStoppedBy(error: unknown): Promise<boolean> {
    if (!(error instanceof Fault) || error.code !== 'hour-taken-over') return this.#isAway(error)
    return this.#deps.store.nowMs().then(
      () => false,
      (failure: unknown) => this.#isAway(failure),
    )
  }

  #isAway(error: unknown): boolean {
    const fault = this.#explained(error)
    return fault instanceof Fault && (fault.code === 'database-unreachable' || fault.code === 'disk-full')
  }

  #explained(error: unknown): unknown {
    return this.#deps.health.explain(error)
  }
}
