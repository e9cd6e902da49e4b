import type { AppContext } from '../../app/context.ts'
import { openChains } from '../../app/open-chains.ts'
import { openPipeline } from '../../app/open-runner.ts'
import type { CallCounts } from '../../chain/endpoint/call-meter.ts'
import { CallMeter } from '../../chain/endpoint/call-meter.ts'
import type { Time } from '../../edge/time.ts'
import {
  Backfill,
  type BackfillNews,
  type BackfillRead,
  type BacklogWait,
  type CallBudget,
  firstHourCalls,
  type Progress,
  type StuckBacklog,
} from '../../intake/backfill/backfill.ts'
import type { PartEnd } from '../../intake/backfill/joined-end.ts'
import { Fault } from '../../model/fault.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { loud } from '../open-context.ts'
import { counted, cut, grouped, note, redraw } from '../terminal.ts'
import { callsIn } from './plan.ts'

/** A backfill that is read, in this process and in the daemons of its fleet. */
export interface BackfillRun extends BackfillRead {
  readonly context: AppContext
  readonly outbox: Outbox
  /** RPC calls at most. Default: no limit. */
  readonly callsMax?: number | undefined
}

/** Counts the RPC calls of this process, and refuses those above a limit with Fault `stopped`. */
export class LimitedCalls {
  readonly meter: CallMeter
  /** Absent without a limit. */
  readonly budget: CallBudget | undefined
  /** Aborted when the limit is reached. */
  readonly reached = new AbortController()

  /** @throws Fault `usage` when not even one hour fits */
  constructor(callsMax: number | undefined, chains: number) {
    const callsSpent = () => callsIn(this.meter.counts())
    this.meter = new CallMeter(calls => {
      if (callsMax === undefined || callsSpent() + calls <= callsMax) return
      const needed = `more than ${grouped(callsMax)} RPC calls would be needed, as --max-calls says`
      const fault = new Fault('stopped', needed)
      this.reached.abort(fault)
      throw fault
    })
    if (callsMax === undefined) return
    const callsAnHour = firstHourCalls({ chains })
    if (callsMax < callsAnHour) {
      throw new Fault('usage', `--max-calls ${callsMax} is too few: one hour takes about ${callsAnHour} RPC calls`, {
        fix: `allow at least ${callsAnHour}`,
      })
    }
    this.budget = { callsMax, chains, spent: callsSpent }
  }
}

/**
 * Reads all hours of a backfill, with the daemons of a fleet where the outbox is shared. Calls that are limited are counted in
 * one process: here.
 */
export async function readAll(run: BackfillRun, calls: LimitedCalls, stack: AsyncDisposableStack): Promise<PartEnd> {
  const { sharedOutbox } = run.outbox
  const readPart = (part: BackfillRead) => readHere({ ...run, ...part }, calls, stack)
  if (!sharedOutbox || calls.budget) return readPart(run)
  const { readWithFleet } = await import('./fleet-backfill.ts')
  return readWithFleet(run, { sharedOutbox, time: run.context.time }, readPart, stack)
}

async function readHere(
  { context, ...run }: BackfillRun,
  { meter, budget }: LimitedCalls,
  stack: AsyncDisposableStack,
): Promise<PartEnd> {
  const countsBefore = meter.counts()
  const loudContext = loud(context)
  const chains = openChains(loudContext, stack, { store: run.outbox.intake, meterOf: () => meter })
  const end = await new Backfill({
    ...run,
    pipeline: openPipeline(loudContext, chains, stack, run.outbox.lists),
    time: context.time,
    ...(budget && { budget }),
  }).run()
  return { end, calls: meter.countsSince(countsBefore) }
}

/** Percent between two lines when stderr is not a terminal. */
const plainPercent = 5

const barChars = 20

/** Longest line that is redrawn, in characters. */
const lineCharsMax = 120

/** The terminal that progress is shown on. */
interface ProgressOutput {
  /** Whether a line can be redrawn. */
  readonly isWatched: boolean
  /** Prints a line. */
  note(line: string): void
  /** Replaces the last line drawn; an empty one clears it. */
  redraw(line: string): void
}

/** Shows progress on stderr: on a terminal in one line that is redrawn, otherwise in a line now and then. */
export class ProgressLine {
  readonly #time: Time
  readonly #startMs: number
  readonly #counts: () => CallCounts
  readonly #due: () => Promise<number>
  readonly #output: ProgressOutput
  #nextPercent = plainPercent
  /** The newest progress that is not shown yet. */
  #newest: Progress | undefined
  #showing: Promise<void> | undefined
  #dueBefore = 0

  /** @param countDue reads the number of due metrics; while it cannot be read, the last known number is shown */
  constructor(
    time: Time,
    counts: () => CallCounts,
    countDue: () => Promise<number>,
    output: ProgressOutput = { isWatched: process.stderr.isTTY === true, note, redraw },
  ) {
    this.#time = time
    this.#startMs = time.nowMs()
    this.#counts = counts
    this.#due = countDue
    this.#output = output
  }

  show(news: BackfillNews): void {
    if (news.kind === 'went-on') this.#wentOn(news.progress)
    else this.#say(lineOf(news))
  }

  /** Clears the line, once the last progress was shown. */
  async end(): Promise<void> {
    await this.#showing
    this.#clear()
  }

  #wentOn(progress: Progress): void {
    const percent = percentOf(progress)
    if (!this.#output.isWatched && percent < this.#nextPercent) return
    this.#nextPercent = percent < 100 ? Math.min(100, percent + plainPercent) : Number.POSITIVE_INFINITY
    this.#newest = progress
    this.#showing ??= this.#show()
  }

  /** Shows the newest progress until there is no newer one: while the outbox is asked, some may come. */
  async #show(): Promise<void> {
    while (this.#newest) {
      const dueCount = await this.#due().catch(() => this.#dueBefore)
      this.#dueBefore = dueCount
      this.#write(this.#newest, dueCount)
      this.#newest = undefined
    }
    this.#showing = undefined
  }

  #write(progress: Progress, dueCount: number): void {
    const elapsedMs = this.#time.nowMs() - this.#startMs
    const text = progressText(progress, elapsedMs, this.#counts(), dueCount)
    if (this.#output.isWatched) this.#output.redraw(cut(`${bar(percentOf(progress))} ${text}`, lineCharsMax))
    else this.#output.note(text)
  }

  #say(line: string): void {
    this.#clear()
    this.#output.note(line)
  }

  #clear(): void {
    if (this.#output.isWatched) this.#output.redraw('')
  }
}

function percentOf({ hours, hoursDone }: Progress): number {
  return hours === 0 ? 100 : Math.floor((100 * hoursDone) / hours)
}

function bar(percent: number): string {
  const full = Math.floor((percent * barChars) / 100)
  return `[${'#'.repeat(full)}${'-'.repeat(barChars - full)}]`
}

/** `42 % 3,650 of 8,760 hours, 12.3 hours/s, 7 min left, 1,234 calls in 56 requests, 400 due`. */
function progressText(progress: Progress, elapsedMs: number, counts: CallCounts, dueCount: number): string {
  const { hours, hoursDone } = progress
  const perSecond = elapsedMs > 0 ? (1000 * hoursDone) / elapsedMs : 0
  const leftMs = perSecond > 0 ? (1000 * (hours - hoursDone)) / perSecond : 0
  return [
    `${percentOf(progress)} % ${grouped(hoursDone)} of ${counted(hours, 'hour')}`,
    ...(perSecond > 0 ? [`${rateText(perSecond)} hours/s`] : []),
    ...(leftMs > 0 ? [`${durationText(leftMs)} left`] : []),
    // The calls of a fleet's daemons are known once they have read a window: the summary has them.
    ...(counts.requests > 0 ? [`${counted(callsIn(counts), 'call')} in ${counted(counts.requests, 'request')}`] : []),
    `${grouped(dueCount)} due`,
  ].join(', ')
}

function rateText(perSecond: number): string {
  return perSecond >= 100 ? grouped(Math.round(perSecond)) : perSecond.toPrecision(2)
}

/** `12 s`, `7 min`, `3 h 20 min`. */
export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

function lineOf(news: Exclude<BackfillNews, { readonly kind: 'went-on' }>): string {
  if (news.kind === 'waits') return waitText(news.wait)
  if (news.kind === 'leaves-protocol') return stuckText(news.stuck)
  if (news.kind === 'tries-again') {
    return `${counted(news.runs, 'run')} failed for a reason that may pass: tried once more`
  }
  const { fault, forMs } = news.wait
  return `waits: ${fault.message}; tries again in ${durationText(forMs)}`
}

const nothingDelivered = 'nothing of it was delivered for a minute: see tidegauge status'

function waitText({ due: dueCount, reasons, isMoving, forMs }: BacklogWait): string {
  const own = isMoving || forMs === 0 ? 'delivery is not as fast as collecting' : nothingDelivered
  const why = reasons.length > 0 ? `the service: ${reasons.join('; ')}` : own
  const still = forMs > 0 ? `, for ${durationText(forMs)} now` : ''
  return `waiting for delivery${still}: ${counted(dueCount, 'metric')} are due (${why}); Ctrl-C stops, nothing is lost`
}

function stuckText({ protocolId, due, reasons }: StuckBacklog): string {
  const why = reasons.length > 0 ? reasons.join('; ') : nothingDelivered
  return `no longer waits for ${protocolId}: ${counted(due, 'metric')} of it stay due (${why})`
}
