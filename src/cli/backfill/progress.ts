import type { CallCounts } from '../../chain/endpoint/call-meter.ts'
import type { Time } from '../../edge/time.ts'
import type { BackfillNews, BacklogWait, Progress, StuckBacklog } from '../../intake/backfill/backfill.ts'
import { counted, cut, grouped, isWatched, note, redraw } from '../terminal.ts'
import { callsIn } from './cost.ts'

/** Percent between two lines when stderr is not a terminal. */
const plainPercent = 5

const barChars = 20

/** Longest line that is redrawn, in characters. */
const lineCharsMax = 120

/** Input for a line of progress. */
export interface Moment {
  readonly progress: Progress
  /** Milliseconds since the backfill started. */
  readonly elapsedMs: number
  readonly counts: CallCounts
  /** Due metrics in the outbox. */
  readonly due: number
}

/** The terminal that progress is shown on. */
export interface ProgressOutput {
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

  /** @param due metrics in the outbox; while they cannot be read, the last known number is shown */
  constructor(
    time: Time,
    counts: () => CallCounts,
    due: () => Promise<number>,
    output: ProgressOutput = { isWatched, note, redraw },
  ) {
    this.#time = time
    this.#startMs = time.nowMs()
    this.#counts = counts
    this.#due = due
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
      const due = await this.#due().catch(() => this.#dueBefore)
      this.#dueBefore = due
      this.#write(this.#newest, due)
      this.#newest = undefined
    }
    this.#showing = undefined
  }

  #write(progress: Progress, due: number): void {
    const elapsedMs = this.#time.nowMs() - this.#startMs
    const text = progressText({ progress, elapsedMs, counts: this.#counts(), due })
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
export function progressText({ progress, elapsedMs, counts, due }: Moment): string {
  const { hours, hoursDone } = progress
  const perSecond = elapsedMs > 0 ? (1000 * hoursDone) / elapsedMs : 0
  const leftMs = perSecond > 0 ? (1000 * (hours - hoursDone)) / perSecond : 0
  return [
    `${percentOf(progress)} % ${grouped(hoursDone)} of ${counted(hours, 'hour')}`,
    ...(perSecond > 0 ? [`${rateText(perSecond)} hours/s`] : []),
    ...(leftMs > 0 ? [`${durationText(leftMs)} left`] : []),
    // Those of a fleet's daemons are known once they have read a window: the summary has them.
    ...(counts.requests > 0 ? [`${counted(callsIn(counts), 'call')} in ${counted(counts.requests, 'request')}`] : []),
    `${grouped(due)} due`,
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
  if (news.kind === 'tries-again') return againText(news.runs)
  const { fault, forMs } = news.wait
  return `waits: ${fault.message}; tries again in ${durationText(forMs)}`
}

const notAsFast = 'delivery is not as fast as collecting'
const nothingDelivered = 'nothing of it was delivered for a minute: see tidegauge status'

function waitText({ due, reasons, isMoving, forMs }: BacklogWait): string {
  const why =
    reasons.length > 0 ? `the service: ${reasons.join('; ')}` : isMoving || forMs === 0 ? notAsFast : nothingDelivered
  const still = forMs > 0 ? `, for ${durationText(forMs)} now` : ''
  return `waiting for delivery${still}: ${counted(due, 'metric')} are due (${why}); Ctrl-C stops, nothing is lost`
}

function stuckText({ protocolId, due, reasons }: StuckBacklog): string {
  const why = reasons.length > 0 ? reasons.join('; ') : nothingDelivered
  return `no longer waits for ${protocolId}: ${counted(due, 'metric')} of it stay due (${why})`
}

function againText(runs: number): string {
  return `${counted(runs, 'run')} failed for a reason that may pass: tried once more`
}
