import { systemTime, type Time } from '../edge/time.ts'
import type { FinalBlocks, PinnedBlock } from '../model/block.ts'
import type { Fault } from '../model/fault.ts'
import { type Hour, hourAt, hourNumber } from '../model/hour.ts'
import { commitRowsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import type { Remark } from '../model/remarks.ts'
import { type Sqlite, unsynced } from '../sqlite/database.ts'
import { trimLog } from '../sqlite/trim-log.ts'
import { Disk } from './file/disk.ts'
import { Writer } from './file/writer.ts'
import { openFile } from './open-file.ts'
import { Corrections } from './tables/corrections.ts'
import { DeliveredHours } from './tables/delivered-hours.ts'
import { Destinations } from './tables/destinations.ts'
import { Detained } from './tables/detained.ts'
import type { Enqueued } from './tables/digest.ts'
import { Due } from './tables/due.ts'
import { DueMetrics } from './tables/due-metrics.ts'
import { type EnqueueMode, Enqueuing } from './tables/enqueuing.ts'
import { ExpectedHours } from './tables/expected-hours.ts'
import { FinalBlockTable } from './tables/final-blocks.ts'
import { HourRepair } from './tables/hour-repair.ts'
import { HourStates } from './tables/hour-states.ts'
import { MetricRegistry } from './tables/metric-registry.ts'
import { type Accepted, type DeadLetter, Metrics } from './tables/metrics.ts'
import { NextHours } from './tables/next-hours.ts'
import { PinnedBlocks } from './tables/pinned-blocks.ts'
import { Pruning } from './tables/pruning.ts'
import { Tally } from './tables/tally.ts'
import { Unsent } from './tables/unsent.ts'
import { Verdicts } from './tables/verdicts.ts'
import { Warnings } from './tables/warnings.ts'

/** What one collector gave for one hour. */
export interface CollectionOutcome {
  readonly collector: string
  readonly hour: Hour
  readonly accepted: readonly Accepted[]
  /** The blocks they were read at that are not final. Default: none, as when no chain was read. */
  readonly pins?: readonly PinnedBlock[]
  /** What becomes of values that are there already. Default: `first-stands`. */
  readonly mode?: EnqueueMode
  /** Why the hour is not complete; it stays due and is tried again at an instant. */
  readonly failed?: { readonly fault: Fault; readonly nextAttemptMs: number }
  /** Nobody but who asked waits for the hour: when it failed, nothing is said of it, and it is not tried again by itself. */
  readonly unexpected?: boolean
}

/** What recording an outcome has changed. */
export interface Recorded {
  /** Metrics that have another value than before. */
  readonly corrected: number
  /** Metrics that are new. */
  readonly added: number
}

/** What the service said of a batch; what is not named stays due. */
export interface Settlement {
  readonly delivered: readonly Metric[]
  readonly dead: readonly DeadLetter[]
  readonly warnings: readonly Remark[]
}

/**
 * The table both loops know. Intake puts metrics in, delivery settles them. What is put in survives a power cut once the
 * promise resolves. A verdict survives the process; a power cut may take back the last ones, and those metrics are then
 * sent again, which only updates.
 */
export class Outbox {
  readonly expectedHours: ExpectedHours
  readonly metrics: Metrics
  readonly due: Due
  readonly dueMetrics: DueMetrics
  readonly tally: Tally
  readonly detained: Detained
  readonly destinations: Destinations
  readonly warnings: Warnings
  readonly pins: PinnedBlocks
  /** Mends what a clock that was wrong has left. */
  readonly repair: HourRepair
  readonly nextHours: NextHours
  readonly hourStates: HourStates
  readonly deliveredHours: DeliveredHours
  readonly disk: Disk
  readonly unsent: Unsent
  readonly writer: Writer
  readonly #database: Sqlite
  readonly #registry: MetricRegistry
  readonly #enqueuing: Enqueuing
  readonly #corrections: Corrections
  readonly #finalBlocks: FinalBlockTable
  readonly #pruning: Pruning
  readonly #settle: (what: { readonly settlement: Settlement; readonly nowMs: number }) => void

  /**
   * @param file made when missing, with its folder
   * @param time for the rests between tries while another process has the write lock
   * @throws Fault `outbox-corrupt`, `disk-full` or `outbox-unusable`
   */
  constructor(file: string, time: Pick<Time, 'nowMs' | 'sleep'> = systemTime) {
    this.disk = new Disk(file)
    const database = openFile(file, this.disk)
    this.#database = database
    this.#registry = new MetricRegistry(database)
    this.writer = new Writer(database, this.disk, this.#registry, time)
    this.tally = new Tally(database)
    this.expectedHours = new ExpectedHours(database)
    this.repair = new HourRepair(database)
    this.nextHours = new NextHours(database)
    this.hourStates = new HourStates(database)
    this.deliveredHours = new DeliveredHours(database)
    this.metrics = new Metrics(database, this.#registry)
    this.#corrections = new Corrections(database, this.#registry)
    this.unsent = new Unsent(this.#registry)
    const { unsent } = this
    this.#enqueuing = new Enqueuing(database, this.#registry, this.tally, this.metrics, this.#corrections, unsent)
    this.pins = new PinnedBlocks(database)
    this.#finalBlocks = new FinalBlockTable(database, this.disk)
    this.due = new Due(database, this.#registry, this.tally)
    this.dueMetrics = new DueMetrics(database, this.#registry, this.tally, this.#corrections)
    this.detained = new Detained(database, this.#registry, this.tally, this.metrics, this.#corrections)
    this.destinations = new Destinations(database, this.writer)
    this.warnings = new Warnings(database)
    this.#pruning = new Pruning(database, this.tally)
    const verdicts = new Verdicts(database, this.#registry, this.tally, this.#corrections, unsent)
    this.#settle = unsynced(database, ({ settlement, nowMs }) => {
      const { delivered, dead, warnings } = settlement
      this.#registry.refresh()
      verdicts.markDelivered(delivered)
      for (const entry of dead) verdicts.markDead(entry, nowMs)
      this.warnings.record(warnings, nowMs)
    })
  }

  /**
   * Stores what a collector gave, the blocks it was read at, and what became of its hour together: none is ever there
   * without the others. Outcomes of the same turn share a commit. One of more metrics than a commit may hold is stored in
   * parts, the hour's row last.
   *
   * Rejects with a Fault `disk-full` when there is no room, and `outbox-moved` when the file is not in its place any more.
   */
  async recordCollection(outcome: CollectionOutcome, nowMs: number): Promise<Recorded> {
    const parts = slices(outcome.accepted, commitRowsMax)
    const last = parts.pop() ?? []
    const total = { corrected: 0, added: 0 }
    const count = ({ metrics, corrected }: Enqueued) => {
      total.added += metrics
      total.corrected += corrected
    }
    for (const part of parts) count(await this.commit(() => this.#enqueue(part, outcome, nowMs), part.length))
    const conclude = () => {
      const enqueued = this.#enqueue(last, outcome, nowMs)
      this.#conclude(outcome)
      return enqueued
    }
    count(await this.commit(conclude, last.length))
    return total
  }

  /** Within a transaction. */
  #enqueue(part: readonly Accepted[], outcome: CollectionOutcome, nowMs: number): Enqueued {
    const { collector, hour, mode = 'first-stands', pins = [], unexpected } = outcome
    // One that nobody expects anything of yet.
    if (unexpected) this.expectedHours.addUnscheduled(collector, hourAt(nowMs))
    const enqueued = this.#enqueuing.enqueue(part, collector, mode, nowMs)
    this.expectedHours.addMetrics(collector, hour, enqueued)
    if (enqueued.metrics + enqueued.corrected > 0) this.pins.add(collector, hour, pins)
    return enqueued
  }

  /** Within a transaction. */
  #conclude({ collector, hour, mode, pins = [], failed, unexpected }: CollectionOutcome): void {
    if (!failed) this.expectedHours.markCollected(collector, hour)
    else if (!unexpected) this.expectedHours.markFailed(collector, hour, failed.fault, failed.nextAttemptMs)
    // Every value is as of these blocks now, whatever they were read at before.
    if (!failed && mode === 'correct') this.pins.replace(collector, hour, pins)
  }

  /**
   * Runs work that writes to parts of the outbox, all or nothing, in a commit shared with what else is written in the same
   * turn. It is on disk once the promise resolves.
   *
   * @param rows it writes, about
   * @throws Fault `disk-full`, `outbox-moved`
   */
  commit<T>(act: () => T, rows: number): Promise<T> {
    return this.writer.commit(act, rows)
  }

  /** Says that a metric has another unit from its hour on: a person has allowed it. */
  changeUnit(metric: Pick<Metric, 'id' | 'hour' | 'unit' | 'module'>): void {
    this.#database
      .transaction(() => {
        this.#registry.refresh()
        const known = this.#registry.metric(metric.id)
        if (known) this.metrics.describe(known, hourNumber(metric.hour), metric)
      })
      .immediate()
  }

  /** The final as-of blocks of a chain. */
  finalBlocks(chainId: number): FinalBlocks {
    return this.#finalBlocks.of(chainId)
  }

  /** Whether a metric has another value than was sent before, so that the service will say that it exists already. */
  isCorrection(metric: Pick<Metric, 'id' | 'hour'>): boolean {
    return this.#corrections.has(metric)
  }

  /** Records a verdict, in one commit. One about a value that was corrected meanwhile leaves its metric due. */
  settle(settlement: Settlement, nowMs: number): void {
    try {
      this.#settle({ settlement, nowMs })
    } catch (error) {
      this.#registry.forget()
      // A full disk must not keep what was delivered from being known as that.
      if (!this.writer.isAgain(error)) throw error
      this.#settle({ settlement, nowMs })
    }
  }

  /** Deletes values that are settled and older than an hour, a part at a time. @returns whether there is more */
  pruneSome(before: Hour): boolean {
    return this.disk.held === undefined && this.#pruning.some(hourNumber(before))
  }

  /** Cuts the log off, where nobody reads or writes at this moment. */
  trimLog(): void {
    if (!this.disk.held) trimLog(this.#database)
  }

  close(): void {
    this.writer.giveUp()
    this.#database.close()
  }
}

function slices<T>(all: readonly T[], size: number): (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size))
}
