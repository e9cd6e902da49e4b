import { systemTime, type Time } from '../../../edge/time.ts'
import type { FinalBlocks } from '../../../model/block.ts'
import { type Hour, hourAt, hourNumber } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import type { Metric } from '../../../model/metric.ts'
import { type Sqlite, unsynced } from '../../../sqlite/database.ts'
import { trimLog } from '../../../sqlite/trim-log.ts'
import type { Accepted, MetricKey } from '../../contract/metrics.ts'
import type { CollectionOutcome, MetricVerdicts, Recorded } from '../../contract/outcome.ts'
import { Disk } from '../file/disk.ts'
import { Writer } from '../file/writer.ts'
import { Corrections } from './corrections.ts'
import { DeliveredHours } from './delivered-hours.ts'
import { Destinations } from './destinations.ts'
import { Detained } from './detained.ts'
import type { Enqueued } from './digest.ts'
import { Due } from './due.ts'
import { DueMetrics } from './due-metrics.ts'
import { Enqueuing } from './enqueuing.ts'
import { ExpectedHours } from './expected-hours.ts'
import { FinalBlockTable } from './final-blocks.ts'
import { HourRepair } from './hour-repair.ts'
import { HourStates } from './hour-states.ts'
import { MetricRegistry } from './metric-registry.ts'
import { Metrics } from './metrics.ts'
import { NextHours } from './next-hours.ts'
import { openFile } from './open-file.ts'
import { PinnedBlocks } from './pinned-blocks.ts'
import { Pruning } from './pruning.ts'
import { Tally } from './tally.ts'
import { Unsent } from './unsent.ts'
import { Verdicts } from './verdicts.ts'
import { Warnings } from './warnings.ts'

/**
 * The store between the loops: intake enqueues metrics, delivery records verdicts. An enqueued metric survives a power
 * cut once the promise resolves. A verdict survives the process; a power cut may undo the latest ones, and those
 * metrics are sent again, which only updates.
 */
export class OutboxTables {
  readonly expectedHours: ExpectedHours
  readonly metrics: Metrics
  readonly due: Due
  readonly dueMetrics: DueMetrics
  readonly tally: Tally
  readonly detained: Detained
  readonly destinations: Destinations
  readonly warnings: Warnings
  readonly pins: PinnedBlocks
  /** Corrects rows that a wrong clock has written. */
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
  readonly #record: (what: { readonly verdicts: MetricVerdicts; readonly nowMs: number }) => void

  /**
   * @param file created if missing, with its folder
   * @param time for the waits while another process has the write lock
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
    this.#record = unsynced(database, ({ verdicts: { delivered, dead, warnings }, nowMs }) => {
      this.#registry.refresh()
      verdicts.markDelivered(delivered)
      for (const entry of dead) verdicts.markDead(entry, nowMs)
      this.warnings.record(warnings, nowMs)
    })
  }

  /**
   * Stores values, the blocks they were read at and the state of their hour in one transaction. Outcomes of the same
   * turn share a commit. An outcome with more metrics than a commit may hold is stored in parts, the hour's row last.
   *
   * @throws Fault `disk-full` when there is no room, `outbox-moved` when the file is not in its place
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
    // A collector without a schedule.
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
    // Every value is now as of these blocks, whatever it was read at before.
    if (!failed && mode === 'correct') this.pins.replace(collector, hour, pins)
  }

  /**
   * Runs writes in one transaction, in a commit shared with other writes of the same turn. Resolves when it is on disk.
   *
   * @param rows written, about
   * @throws Fault `disk-full`, `outbox-moved`
   */
  commit<T>(act: () => T, rows: number): Promise<T> {
    return this.writer.commit(act, rows)
  }

  /** Reads as of one instant, whatever other processes write meanwhile. */
  reading<T>(act: () => T): T {
    return this.#registry.reading(act)
  }

  /** Changes the locked unit of a metric id from the metric's hour on: a person has allowed it. */
  changeUnit(metric: Pick<Metric, 'id' | 'hour' | 'unit' | 'module'>): void {
    this.#database
      .transaction(() => {
        this.#registry.refresh()
        const known = this.#registry.metric(metric.id)
        if (known) this.metrics.describeFrom(known, hourNumber(metric.hour), metric)
      })
      .immediate()
  }

  /** Cache of the final as-of blocks of a chain. */
  finalBlocks(chainId: number): FinalBlocks {
    return this.#finalBlocks.of(chainId)
  }

  /** Whether another value of the metric was sent before, so that the service will report it as existing. */
  isCorrection(metric: MetricKey): boolean {
    return this.#corrections.has(metric)
  }

  /** Records a verdict in one commit. A metric corrected since it was sent stays due. */
  recordVerdicts(verdicts: MetricVerdicts, nowMs: number): void {
    try {
      this.#record({ verdicts, nowMs })
    } catch (error) {
      this.#registry.forget()
      // A full disk must not keep a delivery from being recorded.
      if (!this.writer.isAgain(error)) throw error
      this.#record({ verdicts, nowMs })
    }
  }

  /** Deletes a part of the delivered, dropped and collected history before an hour. @returns whether there is more */
  pruneSome(before: Hour): boolean {
    return this.disk.held === undefined && this.#pruning.some(hourNumber(before))
  }

  /** Truncates the log, if no process reads or writes now. */
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
