import type { Time } from '../../edge/time.ts'
import { Fault, type FaultCode, type FaultRecord, isPermanent } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'
import type { MetricId } from '../../model/metric.ts'
import type { Backlog } from '../../outbox/contract/delivery-store.ts'
import type { Recorded } from '../../outbox/contract/hours.ts'
import type { BackfillOutbox } from '../../outbox/contract/outbox.ts'
import type { HourPipeline } from '../collect-hours.ts'
import { reachOf } from '../derived/derived-values.ts'
import { asFault, type Collected } from '../validate.ts'
import {
  type BackfillRequest,
  type CollectorCounts,
  type CollectorHours,
  Counts,
  FailureReasons,
  fateOf,
  type HourFate,
  type HourOrder,
  hoursInOrder,
  hoursOf,
  type Reason,
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

/** The hours of a backfill, how they are read, and who hears of it: in one process or in several. */
export type BackfillRead = Pick<BackfillDeps, 'works' | 'asked' | 'order' | 'concurrency' | 'signal' | 'report'>

/** Result of a backfill. */
export interface BackfillEnd {
  readonly collectors: readonly CollectorCounts[]
  readonly failures: readonly Reason[]
  /** Reasons of impossible hours: they lie before the first block of a chain, or need a value of before the first hour. */
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

/** One backfill: window after window of hours. All runs of a window are started in one tick. */
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
  readonly #reach: ReturnType<typeof reachOf>
  #at: Hour | undefined
  #runsDone = 0
  #hoursDone = 0

  constructor(deps: BackfillDeps) {
    this.#deps = deps
    this.#counts = new Counts(deps.works)
    this.#runs = runsOf(deps.works)
    this.#hours = hoursOf(deps.works)
    this.#affordable = new HoursAffordable(deps.budget)
    this.#reach = reachOf(deps.works.map(({ collector }) => collector))
    const protocolIds = [...new Set(deps.works.map(({ collector }) => collector.protocolId))]
    this.#backpressure = new Backpressure({ dueMax: backfillBacklogMax, ...deps, protocolIds })
    this.#outage = new ChainOutage(deps)
  }

  /** Runs the backfill, once. Never rejects: failures are part of the result. */
  async run(): Promise<BackfillEnd> {
    const { pipeline, signal } = this.#deps
    const stop = () => void pipeline.reader.stop()
    signal.addEventListener('abort', stop, { once: true })
    const stopFault = await this.#firstAndRetry().then(
      () => undefined,
      (error: unknown) => asFault(error),
    )
    signal.removeEventListener('abort', stop)
    const stopHour = this.#atOrBefore()
    for (const failed of [...this.#again.values()]) {
      // A run that only met an unreadable chain is not finished.
      if (!stopFault || !isTrouble(failed)) this.#failed(failed)
    }
    const [failures, early] = [this.#failures.reasons, this.#early.reasons]
    const end = { collectors: this.#counts.all, failures, early, left: this.#runs - this.#runsDone }
    return stopFault
      ? { ...end, stopped: { fault: stopFault, ...(stopHour === undefined ? {} : { at: stopHour }) } }
      : end
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
    const failedRuns = [...this.#again.values()]
    if (failedRuns.length === 0) return
    this.#deps.report({ kind: 'tries-again', runs: failedRuns.length })
    await this.#eachWindow(worksOf(failedRuns), () => {})
  }

  /** Reads all hours of some works, in windows as large as the budget allows. */
  async #eachWindow(works: readonly Work[], onWindow: (window: readonly CollectorHours[]) => void): Promise<void> {
    const { concurrency, order } = this.#deps
    const hours = hoursInOrder(works, order)
    for (let index = 0; index < hours.length; ) {
      this.#at = works === this.#deps.works ? hours[index] : undefined
      const size = this.#affordable.next(concurrency)
      const window = sharesOf(works, hours.slice(index, index + size))
      await this.#windowUntilRead(window)
      this.#affordable.took(hoursOf(window))
      onWindow(window)
      this.#report()
      index += size
    }
  }

  /** Reads a window in rounds, until its chains have answered or the wait for them is given up. */
  async #windowUntilRead(window: readonly CollectorHours[]): Promise<void> {
    let shares = window
    for (let round = 1; shares.length > 0; round += 1) {
      const ends = await this.#readOnce(shares)
      const heldEnds = round === roundsMax ? [] : this.#outage.held(ends)
      for (const end of ends) if (isTrouble(end) && !heldEnds.includes(end)) this.#ended(end)
      await this.#outage.wait(heldEnds)
      shares = worksOf(heldEnds).map(work => ({ work, hours: work.hours }))
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

  #ended({ work, hour, fault, failures }: RunEnd): void {
    if (!fault) this.#finished(work, hour, 'done')
    else if (this.#isTooEarly(fault, failures)) this.#tooEarly(work, hour, fault)
    else if (this.#mayPass(fault)) this.#again.set(keyOf(work, hour), { work, hour, fault })
    else this.#failed({ work, hour, fault })
  }

  /** Whether this backfill cannot have an hour: there was no block yet, or its windows begin before the first hour. */
  #isTooEarly({ code }: Fault, failures: Collected['failures']): boolean {
    if (code === 'chain-before-first-block') return true
    const { from } = this.#deps.asked
    const begin = ({ facts }: FaultRecord) =>
      Date.parse(String(facts['hour'])) - hourMs * this.#reach(String(facts['metric']) as MetricId)
    const all = Object.values(failures)
    // An input of the same hour may be such a window itself: then it lacks, too.
    return all.length > 0 && all.every(failure => windowFaults.has(failure.code) && begin(failure) < from)
  }

  #tooEarly(work: Work, hour: Hour, fault: Fault): void {
    this.#early.add(work.collector.id, hour, fault)
    this.#finished(work, hour, 'impossible')
  }

  #mayPass(fault: Fault): boolean {
    return !isPermanent(fault) && fault.code !== 'input-missing' && this.#again.size < secondTriesMax
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

/** Result of one run, a collector and an hour, once it is stored. */
interface RunEnd {
  readonly work: Work
  readonly hour: Hour
  /** Why it is not complete; absent when it is. */
  readonly fault?: Fault
  /** Why labels have no value. */
  readonly failures: Collected['failures']
}

interface RoundDeps {
  readonly outbox: BackfillOutbox
  /** Its reader is stopped together with the backfill. */
  readonly pipeline: HourPipeline
  readonly time: Time
  readonly asked: BackfillRequest
  /** Aborted with a Fault as its reason: a person stopped it, or a limit was reached. */
  readonly signal: AbortSignal
}

/** Callbacks for the runs of a round. */
interface RoundListener {
  /** Called once for each run, except those cut off by a stop. */
  readonly ended: (end: RunEnd) => void
  readonly stored: (collector: string, recorded: Recorded) => void
}

/** Removes hours collected meanwhile, for example by a daemon. @param onHad called with each of them */
async function stillToDo(
  { work, hours }: CollectorHours,
  { outbox, asked: request }: RoundDeps,
  onHad: (work: Work, hour: Hour, fate: Exclude<HourFate, 'to-do'>) => void,
): Promise<CollectorHours> {
  const [first, last] = [hours[0], hours.at(-1)]
  if (first === undefined || last === undefined) return { work, hours }
  const states = await outbox.intake.hourStates(work.collector.id, first, last)
  const remainingHours = hours.filter(hour => {
    const fate = fateOf(hour, work.description, request, states.get(hour))
    if (fate !== 'to-do') onHad(work, hour, fate)
    return fate === 'to-do'
  })
  return { work, hours: remainingHours }
}

/** Starts all runs of a window in one tick, and stores their results. Rejects with the outbox's Fault. */
async function readRound(window: readonly CollectorHours[], deps: RoundDeps, listener: RoundListener): Promise<void> {
  const { pipeline, outbox, asked, signal } = deps
  const mode = asked.scope === 'overwrite' ? 'correct' : 'first-stands'
  const runs = window.flatMap(({ work, hours }) => hours.map(hour => ({ ...work, work, hour, attempts: 0 })))
  for (const end of await pipeline.collect(runs, { kind: 'backfill', mode }, outbox.intake, signal)) {
    const { work, hour, result, recorded } = end
    const { fault, failures } = result
    listener.stored(work.collector.id, recorded)
    listener.ended({ work, hour, ...(fault && { fault }), failures })
  }
}

/** First and longest wait for a chain, in milliseconds. */
const wait = { firstMs: 5_000, longestMs: 60_000 } as const

/** Time without any readable chain after which the backfill ends. */
const nothingMsMax = 10 * 60_000

/** Rounds of one window before the next window is tried: only these hours may be unreadable. */
const roundsMax = 5

/** Fault codes of a chain that cannot be read now. */
const troubles: ReadonlySet<FaultCode> = new Set(['chain-unreachable', 'chain-behind', 'chain-reorganized'])

/** Fault codes of a derived value whose input lacks. */
const windowFaults: ReadonlySet<FaultCode> = new Set(['window-incomplete', 'input-missing'])

/** Whether a run failed because its chain cannot be read now. */
function isTrouble({ fault }: Pick<RunEnd, 'fault'>): boolean {
  return fault !== undefined && troubles.has(fault.code)
}

/** A wait for a chain that cannot be read now. */
interface ChainWait {
  readonly fault: Fault
  /** Time until it is tried again, in milliseconds. */
  readonly forMs: number
}

type ChainOutageDeps = Pick<BackfillDeps, 'time' | 'signal' | 'report'>

/** Waits while no run of a round can read its chain. */
class ChainOutage {
  readonly #deps: ChainOutageDeps
  #waits = 0
  #nothingSinceMs: number | undefined

  constructor(deps: ChainOutageDeps) {
    this.#deps = deps
  }

  /**
   * Of the runs of a round, those to be waited for. Where anything was read, none is: what waits for its chain is tried
   * again in the end, and holds up nothing else.
   */
  held(ends: readonly RunEnd[]): readonly RunEnd[] {
    const isRead = ends.some(({ fault }) => !fault)
    if (!isRead) return ends.filter(isTrouble)
    this.#waits = 0
    this.#nothingSinceMs = undefined
    return []
  }

  /**
   * Waits before the next round. Rejects with the signal's reason when aborted, and with the chain's Fault when nothing
   * was readable for long.
   */
  async wait([first]: readonly RunEnd[]): Promise<void> {
    const { time, signal, report } = this.#deps
    const fault = first?.fault
    if (!fault) return
    const nowMs = time.nowMs()
    this.#nothingSinceMs ??= nowMs
    if (nowMs - this.#nothingSinceMs >= nothingMsMax) throw nothingRead(fault)
    const forMs = Math.min(wait.longestMs, wait.firstMs * 2 ** this.#waits)
    this.#waits += 1
    report({ kind: 'waits-for-chain', wait: { fault, forMs } })
    await time.sleep(forMs, signal)
  }
}

function nothingRead({ code, message, facts, fix }: Fault): Fault {
  const minutes = nothingMsMax / 60_000
  const text = `nothing could be read for ${minutes} min: ${message}`
  return new Fault(code, text, { facts, ...(fix === undefined ? {} : { fix }) })
}

/**
 * Due metrics above which a backfill waits for delivery: they take disk space, and a full disk stops the live hours.
 */
const backfillBacklogMax = 20_000

/** Interval of checking whether a waiting backfill may continue. */
const lookMs = 1_000

/** Interval of reporting that it still waits. */
const reportMs = 60_000

/** Time without a delivery after which a protocol is no longer waited for, if another one has room. */
const stuckMs = 60_000

/** That too much is due. */
export interface BacklogWait {
  /** Due metrics of the protocols that are waited for. */
  readonly due: number
  /** Why they are not delivered, as far as known. */
  readonly reasons: readonly string[]
  /** Whether any metric was delivered since the last report. */
  readonly isMoving: boolean
  /** Milliseconds since the wait began. */
  readonly forMs: number
}

/** The due metrics of a protocol are not waited for any more. */
export interface StuckBacklog {
  readonly protocolId: string
  /** Number of its due metrics. */
  readonly due: number
  /** Why it is not delivered, as far as known. */
  readonly reasons: readonly string[]
}

/** Events of waiting for room. */
type BackpressureNews =
  /** Too many metrics are due; reported when the wait begins and each minute. */
  | { readonly kind: 'waits'; readonly wait: BacklogWait }
  /** A protocol has no deliveries: the others continue. Reported once each time a protocol gets stuck. */
  | { readonly kind: 'leaves-protocol'; readonly stuck: StuckBacklog }

interface BackpressureDeps {
  readonly outbox: Pick<BackfillOutbox, 'intake'>
  /** Protocols of the backfill's collectors: it does not add to the due metrics of others. */
  readonly protocolIds: readonly string[]
  /** Due metrics of the protocols above which it waits. */
  readonly dueMax: number
  readonly time: Time
  readonly signal: AbortSignal
  readonly report: (news: BackpressureNews) => void
}

/** Due metrics of a protocol, and since when none of them was delivered. */
interface Watched {
  readonly finished: number
  readonly sinceMs: number
}

/**
 * Decides whether there is room for more due metrics of a backfill's protocols. A protocol that the service refuses
 * while another has room is left out, so that its backlog stops no other; it counts again once one of its metrics is
 * delivered.
 */
export class Backpressure {
  readonly #deps: BackpressureDeps
  readonly #stuck = new Set<string>()
  readonly #watched = new Map<string, Watched>()

  constructor(deps: BackpressureDeps) {
    this.#deps = deps
  }

  /**
   * Resolves once few enough metrics are due. However long delivery fails, waiting loses nothing.
   *
   * Rejects with the signal's reason when aborted.
   */
  async wait(): Promise<void> {
    const { outbox, dueMax, time, signal, report } = this.#deps
    const startMs = time.nowMs()
    let reportedMs = Number.NEGATIVE_INFINITY
    let finishedBefore: number | undefined
    for (;;) {
      const backlog = await outbox.intake.backlog()
      const { dueCount, finishedCount } = this.#watch(backlog)
      if (dueCount <= dueMax) return
      finishedBefore ??= finishedCount
      const nowMs = time.nowMs()
      if (this.#leaveStuck(backlog, nowMs)) continue
      if (nowMs - reportedMs >= reportMs) {
        const isMoving = finishedCount > finishedBefore
        const reasons = reasonsIn(backlog)
        report({ kind: 'waits', wait: { due: dueCount, reasons, isMoving, forMs: nowMs - startMs } })
        reportedMs = nowMs
        finishedBefore = finishedCount
      }
      await time.sleep(lookMs, signal)
    }
  }

  /** Due metrics of the protocols waited for, and the number finished so far. */
  #watch(backlog: Backlog): { readonly dueCount: number; readonly finishedCount: number } {
    const nowMs = this.#deps.time.nowMs()
    let [dueCount, finishedCount] = [0, 0]
    for (const [id, counts] of this.#counts(backlog)) {
      const watchedBefore = this.#watched.get(id)
      if (watchedBefore?.finished !== counts.finished) {
        this.#watched.set(id, { finished: counts.finished, sinceMs: nowMs })
        if (watchedBefore) this.#stuck.delete(id)
      }
      if (!this.#stuck.has(id)) dueCount += counts.due
      finishedCount += counts.finished
    }
    return { dueCount, finishedCount }
  }

  /** Leaves out stuck protocols. @returns whether any was left out */
  #leaveStuck(backlog: Backlog, nowMs: number): boolean {
    const { dueMax, report } = this.#deps
    const waitingProtocols = [...this.#counts(backlog)].filter(([id]) => !this.#stuck.has(id))
    const isStill = (id: string) => nowMs - (this.#watched.get(id)?.sinceMs ?? nowMs) >= stuckMs
    const stuckProtocols = waitingProtocols
      .filter(([id, { due }]) => due > 0 && isStill(id))
      .sort(([, a], [, b]) => b.due - a.due)
    const [mostDue] = stuckProtocols
    // When no protocol has room, the service may be down: all are waited for.
    if (!mostDue || !waitingProtocols.some(([id, { due }]) => id !== mostDue[0] && due <= dueMax)) return false
    const [protocolId, { due }] = mostDue
    this.#stuck.add(protocolId)
    report({ kind: 'leaves-protocol', stuck: { protocolId, due, reasons: reasonsIn(backlog) } })
    return true
  }

  #counts({ byProtocol }: Backlog): Backlog['byProtocol'] {
    return new Map(this.#deps.protocolIds.map(id => [id, byProtocol.get(id) ?? { due: 0, finished: 0 }]))
  }
}

/** The facts why deliveries wait. */
function reasonsIn({ waiting }: Backlog): string[] {
  return waiting.flatMap(state => state.waiting ?? [])
}

/** Limit on the RPC calls of a backfill. */
export interface CallBudget {
  readonly callsMax: number
  /** Number of calls made so far. */
  readonly spent: () => number
  /** Number of chains that may be read. */
  readonly chains: number
}

/** Assumed calls of an hour for each chain, before anything was measured. */
const guess = { callsOnce: 12, callsAnHour: 6 } as const

/** Calls a window may need of each chain beyond those the last one suggests: their beginnings differ. */
const spareCalls = 6

/** Assumed calls of a single hour, before anything was measured. */
export function firstHourCalls({ chains }: Pick<CallBudget, 'chains'>): number {
  return chains * (guess.callsOnce + guess.callsAnHour)
}

interface Measured {
  /** Calls of the first hour, which was read alone: no later hour takes more alone. */
  readonly oneHourCalls: number
  /** Calls for each hour of the last window. */
  readonly callsAnHour: number
}

/**
 * Computes how many hours fit into the rest of a budget, because the calls of a window cut off by the limit are lost.
 * The first window is one hour, as collectors may make any number of calls; the last window predicts the next.
 */
class HoursAffordable {
  readonly #budget: CallBudget | undefined
  #spentBefore = 0
  #measured: Measured | undefined
  /** Hours of the next window while no calls were needed. */
  #trialHours = 1

  /** @param budget absent: windows are not limited */
  constructor(budget: CallBudget | undefined) {
    this.#budget = budget
  }

  /** Hours of the next window, from 1 to `most`. @throws Fault `stopped` when not even one fits */
  next(hoursMax: number): number {
    if (!this.#budget || this.#budget.chains === 0) return hoursMax
    const { callsMax, chains } = this.#budget
    this.#spentBefore = this.#budget.spent()
    const callsLeft = callsMax - this.#spentBefore
    const one = this.#measured?.oneHourCalls ?? firstHourCalls(this.#budget)
    if (callsLeft < one) throw tooFew(callsLeft, callsMax, one)
    if (!this.#measured) return Math.min(hoursMax, this.#trialHours)
    const fitting = Math.floor((callsLeft - spareCalls * chains) / this.#measured.callsAnHour)
    return Math.min(hoursMax, Math.max(1, fitting))
  }

  /** Records that a window of this many hours was read. */
  took(hours: number): void {
    const calls = (this.#budget?.spent() ?? 0) - this.#spentBefore
    if (calls === 0) this.#trialHours *= 2
    else this.#measured = { callsAnHour: calls / hours, oneHourCalls: this.#measured?.oneHourCalls ?? calls }
  }
}

function tooFew(rest: number, callsMax: number, one: number): Fault {
  const message = `one more hour takes about ${one} RPC calls, and ${rest} of the ${callsMax} of --max-calls are left`
  return new Fault('stopped', message)
}
