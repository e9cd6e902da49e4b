import { type BatchJob, BatchScheduler } from '../../edge/batch-scheduler.ts'
import type { FinalBlocks } from '../../model/block.ts'
import type { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import { commitRowsMax } from '../../model/limits.ts'
import { MetricSet } from '../../model/metric-set.ts'
import type { Backlog } from '../contract/delivery-store.ts'
import type { CommitStep, SharedIntakeStore } from '../contract/fleet-store.ts'
import type {
  CollectionOutcome,
  CollectionState,
  DueHour,
  DueHoursWanted,
  HourPlan,
  PinnedHour,
  Recorded,
} from '../contract/hours.ts'
import type { InputRange, MetricKey, MetricSpan, Past, StoredInputs, ValueToJudge } from '../contract/metrics.ts'
import type { OutboxHealth } from '../contract/outbox.ts'
import { FinalBlockCache } from './final-blocks.ts'
import { dueHours, endRetryWaits, hourStates, newestCollected, nextAttemptMs } from './hours.ts'
import { inputValues, setInputs } from './inputs.ts'
import { planHours, planNextHour } from './planning.ts'
import { deletePins, markGap, pinnedHours, type RecordedOutcome, recordOutcomes } from './recording.ts'
import { backlogOf, pasts } from './values.ts'
import type { StoreDatabase } from './work.ts'

/** Most metrics remembered, so that a long outage of the service costs little memory. */
const unsentMax = 100_000

/**
 * Metrics that this process enqueued and has not sent: no other process can have sent them, unless it delivered since.
 * In memory and bounded, so a metric that is not listed may be new, too.
 */
export class UnsentMetrics {
  #listed = new MetricSet()
  #size = 0

  has(metric: MetricKey): boolean {
    return this.#listed.has(metric)
  }

  add(metrics: readonly MetricKey[]): void {
    // About: one that is listed already is counted twice.
    if (this.#size + metrics.length > unsentMax) this.#size = this.#listed.size
    if (this.#size + metrics.length > unsentMax) return
    for (const metric of metrics) this.#listed.add(metric)
    this.#size += metrics.length
  }

  /** Removes metrics that may have been sent: the given ones, or all when another process may have sent them. */
  mayBeSent(metrics: Iterable<MetricKey> | 'all'): void {
    if (metrics === 'all') this.#listed = new MetricSet()
    else if (this.#size > 0) for (const metric of metrics) this.#listed.delete(metric)
    if (metrics === 'all') this.#size = 0
  }
}

interface StoreIntakeDeps {
  readonly database: StoreDatabase
  readonly health: Pick<OutboxHealth, 'recover' | 'isBeingChecked'>
  readonly unsent: UnsentMetrics
}

/** The outbox for intake. */
export class StoreIntake implements SharedIntakeStore {
  readonly #deps: StoreIntakeDeps
  readonly #outcomes: OutcomeWriter
  readonly #planner: HourPlanner

  constructor(deps: StoreIntakeDeps) {
    this.#deps = deps
    this.#outcomes = new OutcomeWriter(deps)
    this.#planner = new HourPlanner(deps.database)
  }

  planHours(plan: HourPlan): Promise<number> {
    return this.#planner.plan(plan)
  }

  dueHours(wanted: DueHoursWanted): Promise<readonly DueHour[]> {
    return this.#deps.database.readEach(() => dueHours(wanted))
  }

  nextAttemptMs(afterMs: number): Promise<number | undefined> {
    return this.#deps.database.readEach(() => nextAttemptMs(afterMs))
  }

  endRetryWaits(collectors: readonly string[]): Promise<void> {
    return this.#deps.database.write(() => endRetryWaits(collectors), { rows: 0 })
  }

  hourStates(collector: string, from: Hour, to: Hour): Promise<ReadonlyMap<Hour, CollectionState>> {
    return this.#deps.database.readEach(() => hourStates(collector, from, to))
  }

  newestCollected(): Promise<Hour | undefined> {
    return this.#deps.database.readEach(newestCollected)
  }

  async pasts(metrics: readonly ValueToJudge[]): Promise<readonly (Past | undefined)[]> {
    return metrics.length === 0 ? [] : this.#deps.database.read(() => pasts(metrics))
  }

  setInputs(collector: string, inputs: readonly MetricSpan[]): Promise<void> {
    return this.#deps.database.write(() => setInputs(collector, inputs), { rows: inputs.length })
  }

  inputs(ranges: readonly InputRange[], of: readonly Pick<DueHour, 'collector' | 'hour'>[]): Promise<StoredInputs> {
    return this.#deps.database.read(() => inputValues(ranges, of))
  }

  async record(outcome: CollectionOutcome, nowMs: number, step?: CommitStep): Promise<Recorded> {
    const { acceptedValues } = outcome
    return this.#deps.database.whileWaiting(acceptedValues.length, async () => {
      const total = { added: 0, corrected: 0 }
      for (let at = 0; at === 0 || at < acceptedValues.length; at += commitRowsMax) {
        const isPart = at + commitRowsMax < acceptedValues.length
        const part = { ...outcome, acceptedValues: acceptedValues.slice(at, at + commitRowsMax) }
        const { metrics, corrected: correctedCount } = await this.#outcomes.record(
          { outcome: part, nowMs, isPart },
          isPart ? undefined : step,
        )
        total.added += metrics
        total.corrected += correctedCount
      }
      return total
    })
  }

  recordGap(collector: string, hour: Hour, fault: Fault, step?: CommitStep): Promise<void> {
    return this.#deps.database.write(() => markGap(collector, hour, fault), withStep(step))
  }

  pinnedHours(...wanted: Parameters<SharedIntakeStore['pinnedHours']>): Promise<readonly PinnedHour[]> {
    return this.#deps.database.readEach(() => pinnedHours(...wanted))
  }

  confirmPin(
    chainId: number,
    { collector, hour, block }: Pick<PinnedHour, 'collector' | 'hour' | 'block'>,
    step?: CommitStep,
  ): Promise<void> {
    return this.#deps.database.write(() => deletePins(collector, hour, { chainId, block }), withStep(step))
  }

  forgetPins(collector: string, hour: Hour, step?: CommitStep): Promise<void> {
    return this.#deps.database.write(() => deletePins(collector, hour), withStep(step))
  }

  finalBlocks(chainId: number): FinalBlocks {
    const { database, health } = this.#deps
    return new FinalBlockCache(database, chainId, error => void health.recover(error))
  }

  backlog(): Promise<Backlog> {
    return this.#deps.database.read(backlogOf)
  }
}

function withStep(step: CommitStep | undefined): { readonly steps: readonly CommitStep[] } {
  return { steps: step ? [step] : [] }
}

interface OutcomeRequest {
  readonly recorded: RecordedOutcome
  readonly step: CommitStep | undefined
}

type OutcomeJob = BatchJob<OutcomeRequest, { readonly metrics: number; readonly corrected: number }>

/** Stores outcomes of collections, those of one tick in one commit. */
class OutcomeWriter {
  readonly #deps: StoreIntakeDeps
  readonly #scheduler: BatchScheduler<OutcomeRequest, { readonly metrics: number; readonly corrected: number }>

  constructor(deps: StoreIntakeDeps) {
    this.#deps = deps
    this.#scheduler = new BatchScheduler(jobs => this.#all(jobs), {
      sizeOf: ({ recorded }) => Math.max(1, recorded.outcome.acceptedValues.length),
      sizeMax: commitRowsMax,
      isSerial: true,
    })
  }

  record(recorded: RecordedOutcome, step: CommitStep | undefined) {
    return this.#scheduler.schedule({ recorded, step })
  }

  /** An hour of a collector is in a commit once at most. */
  async #all(jobs: readonly OutcomeJob[]): Promise<void> {
    let remainingJobs = jobs
    while (remainingJobs.length > 0) {
      const first = new Map(remainingJobs.toReversed().map(job => [hourKey(job.request.recorded), job]))
      const together = remainingJobs.filter(job => first.get(hourKey(job.request.recorded)) === job)
      await this.#together(together)
      remainingJobs = remainingJobs.filter(job => !together.includes(job))
    }
  }

  /** Stores outcomes in one commit. An outcome that cannot be stored fails alone. */
  async #together(jobs: readonly OutcomeJob[]): Promise<void> {
    const { database, unsent } = this.#deps
    const recordings = jobs.map(({ request }) => request.recorded)
    const metrics = recordings.flatMap(({ outcome }) => outcome.acceptedValues.map(({ metric }) => metric))
    try {
      const results = await database.write(() => this.#work(recordings), {
        rows: metrics.length,
        steps: jobs.flatMap(({ request }) => request.step ?? []),
      })
      for (const [place, job] of jobs.entries()) job.resolve(results[place] ?? { metrics: 0, corrected: 0 })
    } catch (error) {
      unsent.mayBeSent(metrics)
      if (jobs.length === 1 || database.concernsAll(error)) for (const job of jobs) job.reject(error)
      else for (const job of jobs) await this.#together([job])
    }
  }

  *#work(all: readonly RecordedOutcome[]) {
    const results = yield* recordOutcomes(all)
    // Before the commit: afterwards another tick may have sent them.
    this.#deps.unsent.add(results.flatMap(({ unsent }) => unsent))
    return results.map(({ enqueued }) => enqueued)
  }
}

function hourKey({ outcome: { collector, hour } }: RecordedOutcome): string {
  return `${hour} ${collector}`
}

type PlanJob = BatchJob<HourPlan, number>

/** Collectors planned in one commit: a few milliseconds of the event loop for the usual one hour of each. */
const plansMax = 250

/** Collectors planned one by one, at a time. */
const plansAtOnce = 25

/**
 * Plans the hours that are requested at once: at a full hour nearly every collector needs one more row, and a thousand rows
 * take a few statements. Other collectors are planned one by one.
 */
class HourPlanner {
  readonly #database: StoreDatabase
  readonly #scheduler: BatchScheduler<HourPlan, number>

  constructor(database: StoreDatabase) {
    this.#database = database
    this.#scheduler = new BatchScheduler(jobs => this.#planAll(jobs), {
      // In a microtask, so that due hours are started in the meantime.
      untilComplete: async () => {},
      sizeMax: plansMax,
      isSerial: true,
    })
  }

  plan(plan: HourPlan): Promise<number> {
    return this.#scheduler.schedule(plan)
  }

  async #planAll(jobs: readonly PlanJob[]): Promise<void> {
    for (const [current, jobsOfHour] of Map.groupBy(jobs, ({ request }) => request.current)) {
      const done = await this.#planNext(jobsOfHour, current)
      for (const job of jobsOfHour) if (done.has(job.request.collector)) job.resolve(0)
      const openJobs = jobsOfHour.filter(({ request }) => !done.has(request.collector))
      for (let at = 0; at < openJobs.length; at += plansAtOnce) {
        await Promise.all(
          openJobs.slice(at, at + plansAtOnce).map(job => this.#planOne(job.request).then(job.resolve, job.reject)),
        )
      }
    }
  }

  /** @returns ids of the collectors that need nothing more; none when it fails, which each then meets again */
  async #planNext(jobs: readonly PlanJob[], current: Hour): Promise<ReadonlySet<string>> {
    const plans = jobs.flatMap(({ request }) => (request.at ? [] : [request]))
    if (plans.length < 2) return new Set()
    try {
      return await this.#database.write(() => planNextHour(plans, current), { rows: plans.length })
    } catch {
      return new Set()
    }
  }

  async #planOne(plan: HourPlan): Promise<number> {
    for (;;) {
      const gaps = await this.#database.write(() => planHours(plan))
      if (gaps !== undefined) return gaps
    }
  }
}
