import { type Fault, isPermanent } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import { asFault } from '../collect.ts'
import { Backpressure, type BackpressureNews, backfillBacklogMax } from './backpressure.ts'
import { type CallBudget, HoursAffordable } from './budget.ts'
import { ChainOutage, type ChainWait, isTrouble, roundsMax } from './chain-outage.ts'
import { type CollectorCounts, Counts } from './counts.ts'
import { FailureReasons, type Reason } from './failure-reasons.ts'
import { type RoundDeps, type RunEnd, readRound, stillToDo } from './round.ts'
import {
  type CollectorHours,
  type HourOrder,
  hoursInOrder,
  hoursOf,
  runsOf,
  sharesOf,
  type Work,
  worksOf,
} from './work.ts'

/** Failed runs that are retried at the end; further ones fail at once. */
const secondTriesMax = 20_000

/** Events of a running backfill. */
export type BackfillNews =
  | { readonly kind: 'went-on'; readonly progress: Progress }
  | BackpressureNews
  /** A chain cannot be read now. */
  | { readonly kind: 'waits-for-chain'; readonly wait: ChainWait }
  /** Runs that failed for a transient reason are retried once. */
  | { readonly kind: 'tries-again'; readonly runs: number }

/** Progress of a backfill. A run is one collector and one hour. */
export interface Progress {
  /** Runs in all. */
  readonly runs: number
  /** Finished runs; queued retries are not counted. */
  readonly runsDone: number
  /** Distinct hours in all. */
  readonly hours: number
  /** Distinct hours whose runs have had their turn. */
  readonly hoursDone: number
}

/** Dependencies of `Backfill`. */
export interface BackfillDeps extends RoundDeps {
  readonly works: readonly Work[]
  readonly order: HourOrder
  /** Hours read concurrently. */
  readonly concurrency: number
  readonly report: (news: BackfillNews) => void
  /** Due metrics above which it waits for delivery. Default: `backfillBacklogMax`. */
  readonly dueMax?: number
  /** Limit on RPC calls. Default: none. */
  readonly budget?: CallBudget
}

/** Result of a backfill. */
export interface BackfillEnd {
  readonly collectors: readonly CollectorCounts[]
  /** Failed hours by reason. */
  readonly failures: readonly Reason[]
  /** Reasons of impossible hours: they lie before the first block of a chain. */
  readonly early: readonly Reason[]
  /** Runs not finished, because the backfill was stopped. */
  readonly left: number
  /** Why it ended early, and the hour it was at; absent when all runs were finished. */
  readonly stopped?: { readonly fault: Fault; readonly at?: Hour }
}

interface FailedRun {
  readonly work: Work
  readonly hour: Hour
  readonly fault: Fault
}

/** One backfill: window after window of hours. All runs of a window are started in one turn. */
export class Backfill {
  readonly #deps: BackfillDeps
  readonly #counts: Counts
  readonly #failures = new FailureReasons()
  readonly #early = new FailureReasons()
  readonly #affordable: HoursAffordable
  readonly #outage: ChainOutage
  readonly #backpressure: Backpressure
  readonly #runs: number
  /** Failed runs by collector and hour, to be retried once; without a retry they count as failed. */
  readonly #again = new Map<string, FailedRun>()
  readonly #hours: number
  #at: Hour | undefined
  #runsDone = 0
  #hoursDone = 0

  constructor(deps: BackfillDeps) {
    this.#deps = deps
    this.#counts = new Counts(deps.works)
    this.#runs = runsOf(deps.works)
    this.#hours = hoursOf(deps.works)
    this.#affordable = new HoursAffordable(deps.budget)
    const { time, signal, report, chains } = deps
    const protocolIds = [...new Set(deps.works.map(({ collector }) => collector.protocolId))]
    this.#backpressure = new Backpressure({ dueMax: backfillBacklogMax, ...deps, protocolIds })
    this.#outage = new ChainOutage({
      time,
      signal,
      report: wait => report({ kind: 'waits-for-chain', wait }),
      chains,
    })
  }

  /** Runs the backfill, once. Never rejects: failures are part of the result. */
  async run(): Promise<BackfillEnd> {
    const { reader, signal } = this.#deps
    const stop = () => void reader.stop()
    signal.addEventListener('abort', stop, { once: true })
    const stopped = await this.#firstAndRetry().then(
      () => undefined,
      (error: unknown) => asFault(error),
    )
    signal.removeEventListener('abort', stop)
    const at = this.#atOrBefore()
    for (const failed of [...this.#again.values()]) {
      // A run that only met an unreadable chain is not finished.
      if (!stopped || !isTrouble(failed)) this.#failed(failed)
    }
    const [failures, early] = [this.#failures.reasons, this.#early.reasons]
    const end = { collectors: this.#counts.all, failures, early, left: this.#runs - this.#runsDone }
    return stopped ? { ...end, stopped: { fault: stopped, ...(at === undefined ? {} : { at }) } } : end
  }

  /** The current hour, or the first one postponed before. */
  #atOrBefore(): Hour | undefined {
    if (this.#at === undefined) return undefined
    const hours = [this.#at, ...[...this.#again.values()].map(({ hour }) => hour)]
    const sign = this.#deps.order === 'oldest-first' ? 1 : -1
    return hours.reduce((one, other) => (sign * other < sign * one ? other : one))
  }

  async #firstAndRetry(): Promise<void> {
    await this.#eachWindow(this.#deps.works, window => {
      this.#hoursDone += hoursOf(window)
    })
    const again = [...this.#again.values()]
    if (again.length === 0) return
    this.#deps.report({ kind: 'tries-again', runs: again.length })
    await this.#eachWindow(worksOf(again), () => {})
  }

  /** Reads all hours of some works, in windows as large as the budget allows. */
  async #eachWindow(works: readonly Work[], done: (window: readonly CollectorHours[]) => void): Promise<void> {
    const { concurrency, order } = this.#deps
    const hours = hoursInOrder(works, order)
    for (let index = 0; index < hours.length; ) {
      this.#at = works === this.#deps.works ? hours[index] : undefined
      const size = this.#affordable.next(concurrency)
      const window = sharesOf(works, hours.slice(index, index + size))
      await this.#windowUntilRead(window)
      this.#affordable.took(hoursOf(window))
      done(window)
      this.#report()
      index += size
    }
  }

  /** Reads a window in rounds, until its chains have answered or the wait for them is given up. */
  async #windowUntilRead(window: readonly CollectorHours[]): Promise<void> {
    let shares = window
    for (let round = 1; shares.length > 0; round += 1) {
      const ends = await this.#readOnce(shares)
      const held = this.#outage.held(ends)
      const isOver = round === roundsMax
      for (const end of ends) if (isTrouble(end) && (isOver || !held.has(end))) this.#ended(end)
      if (isOver) return this.#outage.giveUp(held)
      if (held.size > 0) await this.#outage.wait(held)
      shares = worksOf([...held]).map(work => ({ work, hours: work.hours }))
    }
  }

  /** Reads a window once and records all results, except of runs whose chain cannot be read now. */
  async #readOnce(window: readonly CollectorHours[]): Promise<RunEnd[]> {
    const { outbox, signal } = this.#deps
    await this.#backpressure.wait()
    signal.throwIfAborted()
    outbox.health.requireRoom()
    const left = window.map(share => stillToDo(share, this.#deps, (...run) => this.#finished(...run)))
    const shares = await Promise.all(left)
    signal.throwIfAborted()
    const ends: RunEnd[] = []
    await readRound(shares, this.#deps, {
      ended: end => {
        ends.push(end)
        if (!isTrouble(end)) this.#ended(end)
      },
      stored: (collector, recorded) => this.#counts.stored(collector, recorded),
    })
    signal.throwIfAborted()
    return ends
  }

  #ended({ work, hour, fault }: RunEnd): void {
    if (!fault) this.#finished(work, hour, 'done')
    else if (fault.code === 'chain-before-first-block') this.#tooEarly(work, hour, fault)
    else if (this.#mayPass(fault)) this.#again.set(keyOf(work, hour), { work, hour, fault })
    else this.#failed({ work, hour, fault })
  }

  #tooEarly(work: Work, hour: Hour, fault: Fault): void {
    this.#early.add(work.collector.id, hour, fault)
    this.#finished(work, hour, 'impossible')
  }

  #mayPass(fault: Fault): boolean {
    return !isPermanent(fault) && this.#again.size < secondTriesMax
  }

  #failed({ work, hour, fault }: FailedRun): void {
    this.#failures.add(work.collector.id, hour, fault)
    this.#finished(work, hour, 'failed')
  }

  #finished(work: Work, hour: Hour, fate: Parameters<Counts['add']>[1]): void {
    this.#again.delete(keyOf(work, hour))
    this.#counts.add(work.collector.id, fate)
    this.#runsDone += 1
  }

  #report(): void {
    const [runs, runsDone, hours, hoursDone] = [this.#runs, this.#runsDone, this.#hours, this.#hoursDone]
    const progress = { runs, runsDone, hours, hoursDone }
    this.#deps.report({ kind: 'went-on', progress })
  }
}

function keyOf({ collector }: Work, hour: Hour): string {
  return `${hour} ${collector.id}`
}
