import { setImmediate } from 'node:timers/promises'
import type { ChainReader } from '../chain/reads.ts'
import type { CollectorConfig } from '../config/config.ts'
import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import { faultLine } from '../model/fault.ts'
import { type Hour, hourAfter, hourAt, hourText } from '../model/hour.ts'
import { pollMs, recollectBaseMs, waitingRowsMax } from '../model/limits.ts'
import type { DueHour } from '../outbox/contract/hours.ts'
import type { IntakeOutbox } from '../outbox/contract/outbox.ts'
import type { CollectorDescription } from '../runner/runner.ts'
import type { Counters } from '../telemetry/counters.ts'
import type { Log } from '../telemetry/log.ts'
import { descriptionOr, type HourPipeline } from './collect-hours.ts'
import { DerivedOrder } from './derived/derived-order.ts'
import { inputSpans, isDerived } from './derived/derived-values.ts'
import { dueHoursWanted, hourPlanOf, startableHours } from './due-hours.ts'
import { Finality } from './finality.ts'
import type { HourClock } from './hour-clock.ts'
import { due } from './hour-outcome.ts'
import { usable } from './validate.ts'

/** Interval of checking all collectors for due hours; a collector whose run has ended is checked at once. */
export const attentionMs = 1_000

/** Hours of a derived collector computed together: their windows are read once. */
const derivedHoursMax = 200

interface IntakeDeps {
  readonly outbox: IntakeOutbox
  readonly pipeline: HourPipeline
  readonly collectors: readonly CollectorConfig[]
  /** The chains that collectors read, to check blocks again once they are final. */
  readonly chains: readonly ChainReader[]
  /** Catch-up range of missed hours, in milliseconds. */
  readonly catchUpMs: number
  readonly time: Time
  readonly log: Log
  /** The current hour, as the machine's clock and its witnesses agree on it. */
  readonly clock: HourClock
  /** Counts runs. Default: nothing is counted. */
  readonly counters?: Counters | undefined
}

/**
 * The intake loop. At each full hour and at start it inserts the expected hours and collects the due ones: the current
 * hour at once, missed ones concurrently, newest first.
 */
export class Intake {
  readonly #deps: IntakeDeps
  readonly #loop = new Loop(() => this.#passAndRest())
  readonly #underWay = new Map<DueHour, Promise<void>>()
  readonly #descriptions = new Map<string, CollectorDescription>()
  /** The hour each collector was last planned for. A collector whose file hangs while loading delays no other. */
  readonly #planned = new Map<string, Hour>()
  readonly #planning = new Map<string, Promise<void>>()
  readonly #everyHour: { stop(): void }
  readonly #finality: Finality
  readonly #clock: HourClock
  readonly #pipeline: HourPipeline
  readonly #byId: ReadonlyMap<string, CollectorConfig>
  readonly #order: DerivedOrder
  /** Derived collectors whose inputs are stored. */
  readonly #withInputs = new Set<string>()
  readonly #attention = new Attention()
  readonly #catchUpLog: CatchUpLog
  /** Collectors whose due hours are tried at once, whatever they wait for: all of them after a start. */
  readonly #tryAtOnce: Set<string>
  /** Runs that began before something was mended: where one fails, its hour is tried once more at once. */
  readonly #outdated = new Set<DueHour>()
  #wake = Promise.withResolvers<void>()

  constructor(deps: IntakeDeps) {
    this.#deps = deps
    this.#catchUpLog = new CatchUpLog(deps.log, deps.time)
    this.#pipeline = deps.pipeline
    this.#order = new DerivedOrder(deps.collectors)
    this.#byId = new Map(deps.collectors.map(collector => [collector.id, collector]))
    this.#tryAtOnce = new Set(this.#byId.keys())
    this.#clock = deps.clock
    this.#clock.onBelieved(() => this.#wake.resolve())
    this.#finality = new Finality({
      ...deps,
      describe: collector => this.#describe(collector),
      signal: this.#loop.signal,
    })
    this.#everyHour = deps.time.everyHour(() => this.#wake.resolve())
    this.#loop.start()
  }

  /**
   * Stops the loop; resolves when it has ended. Running collections are aborted with the runner's processes; their
   * hours stay due.
   */
  async stop(): Promise<void> {
    const end = this.#loop.stop()
    this.#wake.resolve()
    this.#everyHour.stop()
    await Promise.all([end, this.#pipeline.reader.stop()])
    await Promise.all([...this.#planning.values(), ...this.#underWay.values(), this.#finality.ended()])
    this.#catchUpLog.ended()
  }

  /** Tries all due hours at once: what their collectors failed for may be mended. */
  retry(): void {
    for (const id of this.#byId.keys()) this.#tryAtOnce.add(id)
    for (const due of this.#underWay.keys()) this.#outdated.add(due)
    this.#wake.resolve()
  }

  async #passAndRest(): Promise<void> {
    let restMs = recollectBaseMs
    let isMore = false
    try {
      isMore = await this.#pass()
      restMs = await this.#restMs()
      if (this.#underWay.size === 0) this.#catchUpLog.ended()
    } catch (error) {
      this.#tell(error, {}, 'intake: this turn failed, retrying')
    }
    if (isMore) await setImmediate()
    else await this.#rest(restMs)
  }

  /** One turn of the loop. @returns whether there are collectors left to check */
  async #pass(): Promise<boolean> {
    const { outbox, time, collectors } = this.#deps
    const { health } = outbox
    // Running collections are stored in the reserve; waiting hours lose nothing.
    if (health.fullSentence !== undefined || health.waitingRows > waitingRowsMax) return false
    const current = this.#clock.hour
    // Nothing is planned, collected or checked by a clock that is not believed.
    if (current === undefined) return false
    for (const collector of collectors) this.#plan(collector, current)
    await this.#endRetryWaits()
    const looked = this.#attention.take(collectors, time.nowMs())
    const underWayBefore = [...this.#underWay.keys()]
    const dueHours = await this.#dueHours(looked, underWayBefore, current)
    if (this.#loop.signal.aborted || this.#clock.hour === undefined) return false
    // An hour that was recorded while the due ones were read is not started again.
    const underWay = [...new Set([...underWayBefore, ...this.#underWay.keys()])]
    const isPlanned = (id: string) => this.#planned.get(id) === current
    for (const hours of this.#order.startable(dueHours, underWay, current, isPlanned)) this.#start(hours)
    const others = dueHours.filter(one => !this.#isDerived(one))
    for (const one of startableHours(others, underWay, current)) this.#start([one])
    this.#finality.pass()
    return this.#attention.isLeft
  }

  #isDerived({ collector }: DueHour): boolean {
    return this.#order.derived.some(({ id }) => id === collector)
  }

  /** Due hours of the collectors that are checked; with those of a derived one, those of the collectors that it waits for. */
  async #dueHours(
    collectors: readonly CollectorConfig[],
    underWay: readonly DueHour[],
    current: Hour,
  ): Promise<DueHour[]> {
    const nowMs = this.#deps.time.nowMs()
    const { intake } = this.#deps.outbox
    const derived = collectors.filter(isDerived)
    const collectorsAndInputs = [...new Set([...collectors, ...derived.flatMap(one => this.#order.givers(one))])]
    const others = collectorsAndInputs.filter(one => !isDerived(one))
    const dueHours = await intake.dueHours(dueHoursWanted(others, underWay, current, nowMs))
    const ids = collectorsAndInputs.filter(isDerived).map(({ id }) => id)
    if (ids.length === 0) return [...dueHours]
    const wanted = { collectors: ids, current, nowMs, limit: derivedHoursMax, underWay }
    const computable = (await intake.dueHours(wanted)).filter(one => this.#isDerived(one))
    return [...dueHours.filter(one => !this.#isDerived(one)), ...computable]
  }

  async #endRetryWaits(): Promise<void> {
    const ids = [...this.#tryAtOnce]
    if (ids.length === 0) return
    this.#tryAtOnce.clear()
    try {
      await this.#deps.outbox.intake.endRetryWaits(ids)
    } catch (error) {
      for (const id of ids) this.#tryAtOnce.add(id)
      throw error
    }
    for (const id of ids) this.#attention.changed(id)
  }

  /** Milliseconds until the next attempt or the next hour; a few seconds at most, in case the clock is set. */
  async #restMs(): Promise<number> {
    const { outbox, time } = this.#deps
    const nowMs = time.nowMs()
    if (this.#clock.hour === undefined) return pollMs
    const nextAttemptMs = (await outbox.intake.nextAttemptMs(nowMs)) ?? Number.POSITIVE_INFINITY
    return Math.max(0, Math.min(nextAttemptMs - nowMs, hourAfter(hourAt(nowMs), 1) - nowMs, recollectBaseMs))
  }

  /** Waits, or less when something under way has ended. */
  async #rest(restMs: number): Promise<void> {
    const { time } = this.#deps
    const sleepController = new AbortController()
    const rested = time.sleep(restMs, sleepController.signal).then(() => this.#attention.rested())
    await Promise.race([this.#wake.promise, rested.catch(() => {})])
    sleepController.abort()
    this.#wake = Promise.withResolvers<void>()
    if (this.#loop.signal.aborted) this.#wake.resolve()
  }

  #plan(collector: CollectorConfig, current: Hour): void {
    const { id } = collector
    if (this.#planned.get(id) === current || this.#planning.has(id)) return
    const planEnd = this.#planOne(collector, current)
      .then(() => {
        this.#planned.set(id, current)
        this.#attention.changed(id)
        this.#wake.resolve()
      })
      .catch(error => this.#tell(error, { collector: id }, 'cannot plan the hours'))
      .finally(() => this.#planning.delete(id))
    this.#planning.set(id, planEnd)
  }

  async #planOne(collector: CollectorConfig, current: Hour): Promise<void> {
    const { catchUpMs } = this.#deps
    // A collector that cannot be loaded is expected nevertheless: it may be repaired, and its hours are red until then.
    const history = (await this.#describe(collector).catch(() => undefined))?.history ?? true
    const plan = hourPlanOf({ collector, history, current, catchUpMs })
    if (isDerived(collector) && this.#descriptions.has(collector.id) && !this.#withInputs.has(collector.id)) {
      await this.#deps.outbox.intake.setInputs(collector.id, inputSpans(collector))
      this.#withInputs.add(collector.id)
    }
    const gaps = plan ? await this.#deps.outbox.intake.planHours(plan) : 0
    if (gaps > 0)
      this.#deps.log.warn(
        { collector: collector.id, hours: gaps },
        'hours that can no longer be collected: see tidegauge gaps',
      )
  }

  /** Starts hours of one collector. */
  #start(hours: readonly DueHour[]): void {
    const [first] = hours
    const collector = first && this.#byId.get(first.collector)
    if (!collector) return
    const collectionEnd = this.#collect(collector, hours)
      .catch(error => this.#restAfter(collector, error))
      .finally(() => {
        for (const due of hours) {
          this.#underWay.delete(due)
          if (this.#outdated.delete(due)) this.#tryAtOnce.add(due.collector)
        }
        this.#attention.changed(collector.id)
        for (const { id } of this.#order.takers(collector)) this.#attention.changed(id)
        this.#wake.resolve()
      })
    for (const due of hours) this.#underWay.set(due, collectionEnd)
  }

  /** Waits after the outbox refused a result (a full disk, say): the hour is still due. */
  async #restAfter({ id }: CollectorConfig, error: unknown): Promise<void> {
    const { time } = this.#deps
    this.#tell(error, { collector: id }, 'cannot store an hour')
    await time.sleep(recollectBaseMs, this.#loop.signal).catch(() => {})
  }

  /** Logs an error, except of a full disk or a broken outbox, which are reported once elsewhere. */
  #tell(error: unknown, facts: Readonly<Record<string, string>>, message: string): void {
    const { outbox, log } = this.#deps
    if (outbox.health.recover(error) === 'other')
      log.error({ ...facts, fault: faultLine(outbox.health.explain(error)) }, message)
  }

  async #collect(collector: CollectorConfig, hours: readonly DueHour[]): Promise<void> {
    const { outbox, time, counters } = this.#deps
    const startedMs = time.steadyMs()
    const description = await descriptionOr(this.#describe(collector))
    const asked = hours.map(one => ({ ...one, collector, description }))
    const ends = await this.#pipeline.collect(asked, due, outbox.intake, this.#loop.signal)
    const seconds = (time.steadyMs() - startedMs) / 1000
    for (const { hour, result } of ends) {
      counters?.ran(collector.id, seconds, result)
      if (!result.fault) this.#logCollected({ collector: collector.id, hour }, result.acceptedValues.length)
    }
  }

  #logCollected({ collector, hour }: Pick<DueHour, 'collector' | 'hour'>, metrics: number): void {
    const { log, time } = this.#deps
    if (hour < hourAt(time.nowMs())) this.#catchUpLog.collected(hour, metrics)
    else log.info({ collector, hour: hourText(hour), metrics }, 'collected')
  }

  async #describe(collector: CollectorConfig): Promise<CollectorDescription> {
    const known = this.#descriptions.get(collector.id)
    if (known) return known
    const description = usable(collector, await this.#pipeline.reader.describe(collector))
    this.#descriptions.set(collector.id, description)
    this.#order.described(collector, description)
    return description
  }
}

/** Collectors checked in one pass; the event loop is blocked for as long. */
const atOnceMax = 250

/**
 * Chooses the collectors a pass checks: those with a change, and now and then all. With a thousand collectors, checking
 * each after every run would keep a core busy.
 */
export class Attention {
  readonly #changed = new Set<string>()
  #areAllDue = true
  #isLeft = false
  #lookedMs = 0

  /** Records a change of a collector's hours: a run ended, or hours were planned. */
  changed(id: string): void {
    this.#changed.add(id)
  }

  /** Records that a wait has ended, which may concern any collector. */
  rested(): void {
    this.#areAllDue = true
  }

  /** The collectors to check now; with many, the rest follow in the next passes. */
  take<T extends { readonly id: string }>(entries: readonly T[], nowMs: number): readonly T[] {
    const areAll = this.#areAllDue || Math.abs(nowMs - this.#lookedMs) >= attentionMs
    if (areAll) for (const { id } of entries) this.#changed.add(id)
    this.#areAllDue = false
    if (areAll) this.#lookedMs = nowMs
    const batch = entries.filter(({ id }) => this.#changed.has(id)).slice(0, atOnceMax)
    this.#isLeft = this.#changed.size > batch.length && batch.length === atOnceMax
    if (!this.#isLeft) this.#changed.clear()
    for (const { id } of batch) this.#changed.delete(id)
    return batch
  }

  /** Whether collectors are left to check. */
  get isLeft(): boolean {
    return this.#isLeft
  }
}

/** Milliseconds of a long catch-up between two lines of the log. */
const lineMs = 60_000

/** Hours collected since the last line. */
interface CaughtUpHours {
  readonly sinceMs: number
  hours: number
  metrics: number
  oldest: Hour
  newest: Hour
}

/** Logs missed hours together, since a catch-up of a week would be a line for each collector and hour. */
export class CatchUpLog {
  readonly #log: Log
  readonly #time: Pick<Time, 'steadyMs'>
  #caughtUp: CaughtUpHours | undefined

  constructor(log: Log, time: Pick<Time, 'steadyMs'>) {
    this.#log = log
    this.#time = time
  }

  /** Adds an hour of a collector, and logs once a minute how far it is. */
  collected(hour: Hour, metrics: number): void {
    const nowMs = this.#time.steadyMs()
    this.#caughtUp ??= { sinceMs: nowMs, hours: 0, metrics: 0, oldest: hour, newest: hour }
    const sum = this.#caughtUp
    sum.hours += 1
    sum.metrics += metrics
    if (hour < sum.oldest) sum.oldest = hour
    if (hour > sum.newest) sum.newest = hour
    if (nowMs - sum.sinceMs >= lineMs) this.#line('catching up')
  }

  /** Logs the rest. To be called when nothing more is being collected. */
  ended(): void {
    if (this.#caughtUp) this.#line('caught up')
  }

  #line(message: string): void {
    if (!this.#caughtUp) return
    const { hours, metrics, oldest, newest } = this.#caughtUp
    this.#caughtUp = undefined
    this.#log.info({ hours, metrics, from: hourText(oldest), to: hourText(newest) }, message)
  }
}
