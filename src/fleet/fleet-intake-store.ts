import type { Time } from '../edge/time.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { type Hour, hourAfter, hourText } from '../model/hour.ts'
import { pollMs } from '../model/limits.ts'
import type { MetricId } from '../model/metric.ts'
import type {
  CollectorScope,
  CommitStep,
  FleetStore,
  SharedIntakeStore,
  SharedTransaction,
} from '../outbox/contract/fleet-store.ts'
import type {
  CollectionOutcome,
  DueHour,
  DueHoursWanted,
  HourPlan,
  PinnedHour,
  Recorded,
} from '../outbox/contract/hours.ts'
import type { IntakeStore } from '../outbox/contract/intake-store.ts'
import { type Past, unitHold, type ValueToJudge } from '../outbox/contract/metrics.ts'
import type { OutboxHealth } from '../outbox/contract/outbox.ts'
import type { LocalOutcomes } from '../outbox/local-outcomes.ts'
import type { Log } from '../telemetry/log.ts'
import { type JobEngine, laneJob, laneQueue } from './job-engine.ts'
import { type CollectorLanes, isMachineLane, type Lane } from './lane.ts'
import type { ClaimedHour, LaneClaims } from './lane-claims.ts'

/** A claimed hour is kept for a next attempt that is this close; a later one makes a job of its own. */
export const keptForRetryMs = 60_000

interface FleetIntakeDeps {
  readonly intake: SharedIntakeStore
  readonly store: Pick<FleetStore, 'isLaneDue'>
  readonly engine: JobEngine
  readonly claims: LaneClaims
  readonly lanes: CollectorLanes
  /** Whether the definition of a collector here counts, as a transaction sees it. */
  readonly counts: (collector: string, transaction: SharedTransaction) => Promise<boolean>
  /** Hours that are read while the database is away. */
  readonly localStore: LocalHours
  /** Whether this daemon checks the blocks of a chain again once they are final. */
  readonly checksFinality: (chainId: number) => boolean
  /** Part of each commit of a check of blocks: of a correction, and that there is none. @throws Fault `lease-lost` where another daemon may check blocks again */
  readonly requireHeld: CommitStep
  readonly time: Pick<Time, 'steadyMs'>
  /** Called with errors that are mended later. */
  readonly reportFailure: (error: unknown) => void
}

/**
 * The outbox for the intake of one daemon of a fleet: it offers the hours that this daemon has claimed, and stores
 * values while it has. All else is as in the outbox below.
 */
export class FleetIntakeStore implements IntakeStore {
  readonly #deps: FleetIntakeDeps
  /** Plans under way. */
  #planning = 0
  /** The hour that each lane was planned for, until it has its job. */
  readonly #planned = new Map<Lane, Hour>()
  /** Hours that are looked at in a transaction, once for all outcomes in it, and whether their jobs have ended there. */
  readonly #lookedAtIn = new WeakMap<SharedTransaction, Map<ClaimedHour, Promise<boolean>>>()
  readonly hourStates: IntakeStore['hourStates'] = (...given) => this.#deps.intake.hourStates(...given)
  readonly setInputs: IntakeStore['setInputs'] = (...given) => this.#deps.intake.setInputs(...given)
  readonly inputs: IntakeStore['inputs'] = (...given) => this.#deps.intake.inputs(...given)
  readonly newestCollected: IntakeStore['newestCollected'] = () => this.#deps.intake.newestCollected()
  // Pins are deleted by the daemon alone that checks blocks again.
  readonly confirmPin: IntakeStore['confirmPin'] = (...given) =>
    this.#deps.intake.confirmPin(...given, this.#deps.requireHeld)
  readonly forgetPins: IntakeStore['forgetPins'] = (...given) =>
    this.#deps.intake.forgetPins(...given, this.#deps.requireHeld)
  readonly finalBlocks: IntakeStore['finalBlocks'] = chainId => this.#deps.intake.finalBlocks(chainId)
  readonly backlog: IntakeStore['backlog'] = () => this.#deps.intake.backlog()

  constructor(deps: FleetIntakeDeps) {
    this.#deps = deps
  }

  /** As the outbox. While the database is away: as this daemon knows them. */
  pasts(metrics: readonly ValueToJudge[]): Promise<readonly (Past | undefined)[]> {
    const { intake, localStore } = this.#deps
    return intake.pasts(metrics).catch((error: unknown) => localStore.pasts(metrics, error))
  }

  /** As the outbox; an error is mended later. */
  async endRetryWaits(collectors: readonly string[]): Promise<void> {
    await this.#deps.intake.endRetryWaits(collectors).catch(this.#deps.reportFailure)
  }

  /** As the outbox. Creates the jobs of lanes when no planning is in progress, so that a job sees every collector. */
  async planHours(plan: HourPlan): Promise<number> {
    this.#planning += 1
    this.#deps.localStore.expect(plan)
    try {
      const gaps = await this.#deps.intake.planHours(plan)
      const lane = await this.#deps.lanes.assigned(plan.collector)
      if (lane !== undefined) this.#planned.set(lane, plan.current)
      return gaps
    } finally {
      this.#planning -= 1
      if (this.#planning === 0) await this.#makeJobs()
    }
  }

  /**
   * Due hours that this daemon has claimed. It claims free ones first. An hour of which nothing is under way is offered with
   * all its due collectors, so that one call of a node serves them. While the database is away: those that can be read only
   * now, whether claimed or not.
   */
  async dueHours(request: DueHoursWanted): Promise<readonly DueHour[]> {
    const { localStore } = this.#deps
    await localStore.drain(request.nowMs)
    const claimedHours = await this.#claimedHours(request).catch((error: unknown) => ({ error }))
    const isFailed = 'error' in claimedHours
    const localHours = await localStore.dueHours(request, isFailed ? [] : claimedHours)
    if (!isFailed) return [...claimedHours, ...localHours]
    if (localHours.length === 0) throw claimedHours.error
    return localHours
  }

  async #claimedHours(request: DueHoursWanted): Promise<readonly DueHour[]> {
    const { claims, lanes } = this.#deps
    const underWay = (request.underWay ?? []).map(({ collector, hour }) => ({ lane: lanes.of(collector) ?? '', hour }))
    await claims.claimFree(request.current, underWay)
    const dueHourLists = await Promise.all(
      claims.trusted.map(claimed => {
        const isUnderWay = underWay.some(({ lane, hour }) => lane === claimed.lane && hour === claimed.hour)
        return this.#dueOf(claimed, request, isUnderWay)
      }),
    )
    return dueHourLists.flat()
  }

  /** Free hours are looked for once a second, whatever is due here. */
  async nextAttemptMs(afterMs: number): Promise<number> {
    return afterMs + pollMs
  }

  /**
   * As the outbox, while this daemon has claimed the hour. The commit with the last due collector ends its job. Values that
   * can be read only now are kept locally while the database is away.
   *
   * @throws Fault `hour-taken-over`, and stores nothing, when it has not
   */
  async record(outcome: CollectionOutcome, nowMs: number): Promise<Recorded> {
    const { intake, localStore } = this.#deps
    // An hour that was asked for, or is read again, is no due hour of a lane.
    if (outcome.mode === 'correct') return intake.record(outcome, nowMs, this.#deps.requireHeld)
    if (outcome.unexpected) return intake.record(outcome, nowMs)
    try {
      const recorded = await this.#recordClaimed(outcome, nowMs)
      localStore.recorded(outcome)
      return recorded
    } catch (error) {
      return localStore.keep(outcome, error)
    }
  }

  async #recordClaimed(outcome: CollectionOutcome, nowMs: number): Promise<Recorded> {
    const { intake, claims, lanes, counts, time } = this.#deps
    const { collector, hour } = outcome
    const claimedHour = claims.find({ lane: lanes.of(collector) ?? '', hour })
    if (!claimedHour) throw takenOver(hour)
    const end = { isEnded: false }
    const beforeMs = nowMs + keptForRetryMs
    try {
      // Before the transaction, which must not wait for another connection.
      const scope = await lanes.scope(time)
      const result = await intake.record(outcome, nowMs, async transaction => {
        if (!(await counts(collector, transaction))) throw takenOver(hour)
        end.isEnded = await this.#endIfLastOnce(claimedHour, { scope, beforeMs }, transaction)
      })
      if (end.isEnded) claims.forget(claimedHour)
      else if (outcome.failure) claims.noteFailure(claimedHour)
      return result
    } catch (error) {
      if (error instanceof Fault && error.code === 'hour-taken-over') claims.forget(claimedHour)
      throw error
    }
  }

  async recordGap(...[collector, hour, fault]: Parameters<IntakeStore['recordGap']>): Promise<void> {
    const { intake, claims, lanes, engine } = this.#deps
    const claimedHour = claims.find({ lane: lanes.of(collector) ?? '', hour })
    if (!claimedHour) throw takenOver(hour)
    await intake.recordGap(collector, hour, fault, async transaction => {
      if (!(await engine.keep(claimedHour.queue, claimedHour.claim.attempt, transaction))) throw takenOver(hour)
    })
  }

  /** Of its collectors alone: an hour of another one cannot be read again here, which a daemon without a fleet forgets. */
  async pinnedHours(chainId: number, upTo: Hour, limit: number): Promise<readonly PinnedHour[]> {
    const { intake, checksFinality, lanes } = this.#deps
    return checksFinality(chainId) ? intake.pinnedHours(chainId, upTo, limit, lanes.collectors) : []
  }

  /** Never rejects: the reconciler makes what is missing. The job of another machine would wait for it, however long it is gone. */
  async #makeJobs(): Promise<void> {
    const { engine, claims, reportFailure } = this.#deps
    const planned = [...this.#planned].filter(([lane]) => claims.works(lane) || !isMachineLane(lane))
    this.#planned.clear()
    const jobs = planned.map(([lane, hour]) => engine.insert(laneQueue(lane), [laneJob({ lane, hour })]))
    await Promise.all(jobs).catch(reportFailure)
  }

  /** The due collectors of a claimed hour. */
  async #dueOf(claimedHour: ClaimedHour, request: DueHoursWanted, isUnderWay: boolean): Promise<readonly DueHour[]> {
    const { intake, lanes } = this.#deps
    if (!isUnderWay && this.#deps.claims.isForAnother(claimedHour)) {
      await this.#deps.claims.release(claimedHour)
      return []
    }
    const own = new Set(lanes.collectorsOf(claimedHour.lane))
    const collectors = isUnderWay ? request.collectors.filter(id => own.has(id)) : [...own]
    const upTo = { ...request, collectors, current: claimedHour.hour, limit: 1 }
    const due = collectors.length > 0 ? await intake.dueHours(upTo) : []
    const now = due.filter(({ hour }) => hour === claimedHour.hour)
    if (now.length === 0) await this.#giveUpIdle(claimedHour, request.nowMs)
    return now
  }

  /** Gives up an hour for which nothing is under way here: what is under way is due. */
  async #giveUpIdle(claimedHour: ClaimedHour, nowMs: number): Promise<void> {
    const { store, claims, lanes, time } = this.#deps
    const scope = await lanes.scope(time)
    const isDueBefore = (beforeMs: number) => store.isLaneDue(claimedHour, scope, beforeMs)
    if (!(await isDueBefore(nowMs + keptForRetryMs))) await claims.drop(claimedHour)
    else if (!claims.works(claimedHour.lane) && !(await isDueBefore(nowMs + 1))) await claims.release(claimedHour)
  }

  /** Steps run when all outcomes of a commit are written: the first one finds what the last one would. */
  #endIfLastOnce(claimedHour: ClaimedHour, dueThere: DueThere, transaction: SharedTransaction): Promise<boolean> {
    const endings = this.#lookedAtIn.get(transaction) ?? new Map<ClaimedHour, Promise<boolean>>()
    this.#lookedAtIn.set(transaction, endings)
    const ending = endings.get(claimedHour) ?? this.#endIfLast(claimedHour, dueThere, transaction)
    endings.set(claimedHour, ending)
    return ending
  }

  /** @returns whether no collector is due, and the job has ended */
  async #endIfLast(
    claimedHour: ClaimedHour,
    { scope, beforeMs }: DueThere,
    transaction: SharedTransaction,
  ): Promise<boolean> {
    const { engine, store } = this.#deps
    const { queue, hour } = claimedHour
    const { attempt } = claimedHour.claim
    if (!(await engine.keep(queue, attempt, transaction))) throw takenOver(hour)
    if (await store.isLaneDue(claimedHour, scope, beforeMs, transaction)) return false
    await engine.complete(queue, attempt, transaction)
    return true
  }
}

/** Due collectors that keep the job of their hour. */
interface DueThere {
  readonly scope: CollectorScope
  /** Their next attempt comes before this. */
  readonly beforeMs: number
}

function takenOver(hour: Hour): Fault {
  return new Fault('hour-taken-over', `another daemon has taken over the hour ${hourText(hour)}: it stores the values`)
}

interface LocalHoursDeps {
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
  /** The newest hour of each that was stored or kept. */
  readonly #done = new Map<string, Hour>()
  /** The latest value of each of their metrics that this daemon has recorded. */
  readonly #pasts = new Map<MetricId, Past>()
  /** Whether the folder may have outcomes: a daemon before this one may have left some. */
  #mayHave = true

  constructor(deps: LocalHoursDeps) {
    this.#deps = deps
  }

  /** Takes note of an hour that is expected, before it is planned: while the database is away, again and again. */
  expect({ collector, current, oldest }: HourPlan): void {
    if (oldest < current) return
    this.#nowOnly.add(collector)
    if (this.#done.get(collector) !== current) this.#due.set(collector, current)
  }

  /**
   * Current hours that this daemon may read on its own, as the database is away. Never rejects.
   *
   * @param claimed due hours that it has claimed
   */
  async dueHours({ collectors, current }: DueHoursWanted, claimed: readonly DueHour[]): Promise<readonly DueHour[]> {
    const isClaimed = new Set(claimed.filter(({ hour }) => hour === current).map(({ collector }) => collector))
    const collectorsToAsk = collectors.filter(
      id => this.#due.get(id) === current && !isClaimed.has(id) && this.#deps.works(id),
    )
    if (collectorsToAsk.length === 0) return []
    try {
      const isDue = await this.#deps.store.isDue(collectorsToAsk, current)
      if (!isDue) for (const id of collectorsToAsk) this.#due.delete(id)
      return []
    } catch (error) {
      return this.#isAway(error) ? collectorsToAsk.map(collector => ({ collector, hour: current, attempts: 0 })) : []
    }
  }

  /** The facts about metrics that this daemon knows itself, while the database is away. @throws the error otherwise */
  pasts(metrics: readonly ValueToJudge[], error: unknown): readonly (Past | undefined)[] {
    if (!this.#isAway(error)) throw error
    return metrics.map(({ id, hour, isOfNone }) => {
      const past = this.#pasts.get(id)
      const earliest = isOfNone ? 0 : hourAfter(hour, -comparedHours)
      const isNear = past?.previous && past.previous.hour < hour && past.previous.hour >= earliest
      return isNear || !past ? past : { ...(past.unit !== undefined && { unit: past.unit }) }
    })
  }

  /** Takes note of an outcome that was stored. */
  recorded({ collector, hour, acceptedValues, failure }: CollectionOutcome): void {
    if (!this.#nowOnly.has(collector)) return
    if (!failure) this.#done.set(collector, hour)
    if (!failure && this.#due.get(collector) === hour) this.#due.delete(collector)
    for (const { metric, hold } of acceptedValues) {
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
    const { collector, hour, acceptedValues } = outcome
    const cause = await this.#causeOf(error)
    if (!this.#nowOnly.has(collector) || acceptedValues.length === 0 || !this.#isAway(cause)) throw error
    this.#deps.outcomes.keep(outcome)
    this.#mayHave = true
    this.recorded(outcome)
    const facts = {
      collector,
      hour: hourText(hour),
      metrics: acceptedValues.length,
      fault: faultLine(this.#explained(cause)),
    }
    this.#deps.log.warn(facts, 'values that can be read only now are kept in the local folder')
    return { added: acceptedValues.length, corrected: 0 }
  }

  /** Stores what the local folder has, as far as the database takes it now. Never rejects. */
  async drain(nowMs: number): Promise<void> {
    if (!this.#mayHave) return
    this.#mayHave = false
    const { outcomes, intake, log } = this.#deps
    for (const localOutcome of outcomes.all()) {
      const { collector, hour, failure } = localOutcome.outcome
      const facts = { collector, hour: hourText(hour) }
      try {
        const outcome = await this.#judged(localOutcome.outcome)
        // It may have been away when the hour was to be planned.
        const { added: addedCount } = await intake.record(failure ? outcome : { ...outcome, unexpected: true }, nowMs)
        outcomes.forget(localOutcome)
        const message =
          addedCount > 0 ? 'kept values are in the database now' : 'the database has these kept values already'
        log.info({ ...facts, metrics: addedCount }, message)
      } catch (error) {
        this.#mayHave = true
        if (this.#isAway(error)) return
        log.warn({ ...facts, fault: faultLine(this.#explained(error)) }, 'kept values cannot be stored yet')
      }
    }
    if (outcomes.counts.hours > 0) this.#mayHave = true
  }

  /** An outcome whose units are compared with those in the database, which could not be asked when it was read. */
  async #judged(outcome: CollectionOutcome): Promise<CollectionOutcome> {
    const pasts = await this.#deps.intake.pasts(outcome.acceptedValues.map(({ metric }) => metric))
    const acceptedValues = outcome.acceptedValues.map((value, place) => {
      const past = pasts[place]
      const hold = value.hold ?? (past && unitHold(value.metric, past))
      return hold ? { ...value, hold } : value
    })
    return { ...outcome, acceptedValues }
  }

  /** Why an outcome was not stored: a claim that ran out means that another daemon has the hour, or that the database is away. */
  async #causeOf(error: unknown): Promise<unknown> {
    if (!(error instanceof Fault) || error.code !== 'hour-taken-over') return error
    return this.#deps.store.nowMs().then(
      () => error,
      (failure: unknown) => failure,
    )
  }

  #isAway(error: unknown): boolean {
    const fault = this.#explained(error)
    return fault instanceof Fault && ['database-unreachable', 'database-read-only', 'disk-full'].includes(fault.code)
  }

  #explained(error: unknown): unknown {
    return this.#deps.health.explain(error)
  }
}
