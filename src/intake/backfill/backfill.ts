import { type Fault, isPermanent } from '../../model/fault.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import type { Runner } from '../../runner/runner.ts'
import type { Time } from '../../time.ts'
import { asFault } from '../collect.ts'
import { type CollectorCounts, Counts } from './counts.ts'
import { Failures, type Reason } from './failures.ts'
import { WindowPast } from './past.ts'
import { type Read, readHour } from './read.ts'
import { backfillDueMax, untilRoom, type Wait } from './room.ts'
import { type BackfillOutbox, storeHour } from './store.ts'
import {
  type Asked,
  fateOf,
  type HourOrder,
  hoursOf,
  runsOf,
  type Share,
  type Work,
  windowsOf,
  worksOf,
} from './work.ts'

/** Failed runs that are tried a second time at the end; what is beyond has failed. */
const secondTriesMax = 20_000

/** What a backfill tells while it goes on. */
export type BackfillNews =
  | { readonly kind: 'went-on'; readonly progress: Progress }
  /** Too much is due. */
  | { readonly kind: 'waits'; readonly wait: Wait }
  /** What failed for a reason that may pass is tried once more. */
  | { readonly kind: 'tries-again'; readonly runs: number }

/** How far a backfill is. A run is a collector and an hour. */
export interface Progress {
  readonly runs: number
  /** Those that had their turn; what is to be tried again had not. */
  readonly runsDone: number
  readonly hours: number
  readonly hoursDone: number
}

/** What a backfill works with. */
export interface BackfillParts {
  readonly outbox: BackfillOutbox
  /** Stopped when the backfill is. */
  readonly runner: Runner
  readonly time: Time
  readonly works: readonly Work[]
  readonly asked: Asked
  readonly order: HourOrder
  /** Hours under way together. */
  readonly concurrency: number
  /** Aborted with a Fault as its reason: a person stops it, or a cap is reached. */
  readonly signal: AbortSignal
  readonly told: (news: BackfillNews) => void
  /** How long after an hour the blocks of a chain are not reorganized any more, by chain id. */
  readonly settleMs: (chainId: number) => number
  readonly dueMax?: number
}

/** What a backfill came to. */
export interface BackfillEnd {
  readonly collectors: readonly CollectorCounts[]
  readonly failures: readonly Reason[]
  /** Runs that did not have their turn, or were given up. */
  readonly left: number
  /** Why it ended early, and the hour it was at; absent when everything had its turn. */
  readonly stopped?: { readonly fault: Fault; readonly at?: Hour }
}

interface FailedRun {
  readonly work: Work
  readonly hour: Hour
  readonly fault: Fault
}

/** One backfill: window after window of hours, all collectors of all hours of a window started in one turn. */
export class Backfill {
  readonly #parts: BackfillParts
  readonly #counts: Counts
  readonly #failures = new Failures()
  readonly #runs: number
  /** By collector and hour: to be tried once more, and failed when they are not. */
  readonly #again = new Map<string, FailedRun>()
  readonly #hours: number
  #at: Hour | undefined
  #runsDone = 0
  #hoursDone = 0

  constructor(parts: BackfillParts) {
    this.#parts = parts
    this.#counts = new Counts(parts.works)
    this.#runs = runsOf(parts.works)
    this.#hours = hoursOf(parts.works)
  }

  /** Never rejects: what goes wrong is part of what it came to. Runs once. */
  async run(): Promise<BackfillEnd> {
    const { runner, signal } = this.#parts
    const stop = () => void runner.stop()
    signal.addEventListener('abort', stop, { once: true })
    const stopped = await this.#all().then(
      () => undefined,
      (error: unknown) => asFault(error),
    )
    signal.removeEventListener('abort', stop)
    for (const failed of [...this.#again.values()]) this.#failed(failed)
    const left = this.#runs - this.#runsDone
    const end = { collectors: this.#counts.all, failures: this.#failures.reasons, left }
    if (!stopped) return end
    return { ...end, stopped: { fault: stopped, ...(this.#at === undefined ? {} : { at: this.#at }) } }
  }

  async #all(): Promise<void> {
    const { works, concurrency, order } = this.#parts
    for (const window of windowsOf(works, concurrency, order)) {
      this.#at = startOf(window, order)
      await this.#window(window)
      this.#hoursDone += hoursOf(window)
      this.#tell()
    }
    const again = [...this.#again.values()]
    if (again.length === 0) return
    this.#parts.told({ kind: 'tries-again', runs: again.length })
    this.#at = undefined
    for (const window of windowsOf(worksOf(again), concurrency, order)) {
      await this.#window(window)
      this.#tell()
    }
  }

  async #window(window: readonly Share[]): Promise<void> {
    const { outbox, time, signal, told, dueMax = backfillDueMax } = this.#parts
    await untilRoom(outbox, dueMax, time, signal, wait => told({ kind: 'waits', wait }))
    signal.throwIfAborted()
    outbox.disk.requireRoom()
    const shares = window.map(share => this.#still(share))
    const ends = await Promise.allSettled(shares.map(share => this.#share(share)))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    signal.throwIfAborted()
  }

  /** Without what was collected meanwhile, by a daemon say. */
  #still({ work, hours }: Share): Share {
    const [first, last] = [hours[0], hours.at(-1)]
    if (first === undefined || last === undefined) return { work, hours }
    const { outbox, asked } = this.#parts
    const states = outbox.collections.states(work.collector.id, first, last)
    const left = hours.filter(hour => {
      const fate = fateOf(hour, work.description, asked, states.get(hour))
      if (fate !== 'to-do') this.#had(work, hour, fate)
      return fate === 'to-do'
    })
    return { work, hours: left }
  }

  async #share({ work, hours }: Share): Promise<void> {
    const { runner, outbox } = this.#parts
    const startedMs = this.#parts.time.nowMs()
    const running = hours.map(hour => runner.collect(work.collector, hour).catch((error: unknown) => asFault(error)))
    const outcomes = await Promise.all(running)
    const past = new WindowPast(outbox.metrics)
    const storing = hours.map((hour, index) => {
      const read = readHour(work, hour, outcomes[index], past.of, this.#current)
      past.add(read.accepted)
      return this.#store(work, hour, read, startedMs)
    })
    await Promise.all(storing)
  }

  get #current(): Hour {
    return hourAt(this.#parts.time.nowMs())
  }

  /** Values of an hour that is not complete are kept, too; the hour itself is not collected then. */
  async #store(work: Work, hour: Hour, read: Read, startedMs: number): Promise<void> {
    const { outbox, asked, time, signal, settleMs } = this.#parts
    const { fault } = read
    // A stop takes the processes away: what then fails has not failed by itself.
    if (fault && signal.aborted) return
    const { id } = work.collector
    if (!fault || read.accepted.length > 0) {
      const mode = asked.what === 'overwrite' ? 'correct' : 'first-stands'
      const pins = read.pins.filter(({ chainId }) => startedMs < hour + settleMs(chainId))
      const toStore = { collector: id, hour, ...read, pins }
      this.#counts.stored(id, await storeHour(outbox, toStore, mode, time.nowMs()))
    }
    if (!fault) this.#had(work, hour, 'done')
    else if (this.#mayPass(fault)) this.#again.set(keyOf(work, hour), { work, hour, fault })
    else this.#failed({ work, hour, fault })
  }

  #mayPass(fault: Fault): boolean {
    return !isPermanent(fault) && this.#again.size < secondTriesMax
  }

  #failed({ work, hour, fault }: FailedRun): void {
    this.#failures.add(work.collector.id, hour, fault)
    this.#had(work, hour, 'failed')
  }

  #had(work: Work, hour: Hour, fate: Parameters<Counts['add']>[1]): void {
    this.#again.delete(keyOf(work, hour))
    this.#counts.add(work.collector.id, fate)
    this.#runsDone += 1
  }

  #tell(): void {
    const [runs, runsDone, hours, hoursDone] = [this.#runs, this.#runsDone, this.#hours, this.#hoursDone]
    const progress = { runs, runsDone, hours, hoursDone }
    this.#parts.told({ kind: 'went-on', progress })
  }
}

function keyOf({ collector }: Work, hour: Hour): string {
  return `${hour} ${collector.id}`
}

function startOf(window: readonly Share[], order: HourOrder): Hour | undefined {
  const hours = window.flatMap(share => share.hours).sort((a, b) => a - b)
  return order === 'oldest-first' ? hours[0] : hours.at(-1)
}
