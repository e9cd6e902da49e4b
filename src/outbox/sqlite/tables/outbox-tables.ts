import { systemTime, type Time } from '../../../edge/time.ts'
import { type Hour, hourNumber } from '../../../model/hour.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import { trimLog } from '../../../sqlite/trim-log.ts'
import { Disk } from '../file/disk.ts'
import { Writer } from '../file/writer.ts'
import { BackfillFailures } from './backfill-failures.ts'
import { Corrections } from './corrections.ts'
import { Curves } from './curves.ts'
import { DeadAndHeld } from './dead-and-held.ts'
import { Destinations } from './destinations.ts'
import { DueMetrics } from './due-metrics.ts'
import { DueSelections } from './due-selections.ts'
import { EarlierValues } from './earlier-values.ts'
import { Enqueuing } from './enqueuing.ts'
import { ExpectedHours } from './expected-hours.ts'
import { FinalBlockTable } from './final-blocks.ts'
import { HourRanges } from './hour-ranges.ts'
import { HourReasonRows } from './hour-reasons.ts'
import { HoursOfAll } from './hours-of-all.ts'
import { MetricHistories } from './metric-histories.ts'
import { MetricRegistry } from './metric-registry.ts'
import { MetricRuns } from './metric-runs.ts'
import { Metrics } from './metrics.ts'
import { NewestDelivered } from './newest-delivered.ts'
import { NextHours } from './next-hours.ts'
import { openFile } from './open-file.ts'
import { PinnedBlocks } from './pinned-blocks.ts'
import { Provenances } from './provenances.ts'
import { Pruning } from './pruning.ts'
import { Reports } from './reports.ts'
import { Tally } from './tally.ts'
import { Unresolved } from './unresolved.ts'
import { Unsent } from './unsent.ts'
import { UnsuccessfulFlushTable } from './unsuccessful-flushes.ts'
import { Verdicts } from './verdicts.ts'
import { Warnings } from './warnings.ts'

/** The outbox's file and its tables, for the stores that answer its users. */
export class OutboxTables {
  readonly disk: Disk
  readonly writer: Writer
  readonly registry: MetricRegistry
  readonly runs: MetricRuns
  readonly tally: Tally
  readonly expectedHours: ExpectedHours
  readonly nextHours: NextHours
  readonly hourRanges: HourRanges
  readonly hoursOfAll: HoursOfAll
  readonly hourReasons: HourReasonRows
  readonly newestDelivered: NewestDelivered
  readonly metrics: Metrics
  readonly histories: MetricHistories
  readonly earlierValues: EarlierValues
  readonly provenances: Provenances
  readonly backfillFailures: BackfillFailures
  readonly unsuccessfulFlushes: UnsuccessfulFlushTable
  readonly corrections: Corrections
  readonly curves: Curves
  readonly unsent: Unsent
  readonly pins: PinnedBlocks
  readonly finalBlocks: FinalBlockTable
  readonly dueMetrics: DueMetrics
  readonly dueSelections: DueSelections
  readonly deadAndHeld: DeadAndHeld
  readonly destinations: Destinations
  readonly warnings: Warnings
  readonly reported: Reports
  readonly unresolved: Unresolved
  readonly enqueuing: Enqueuing
  readonly verdicts: Verdicts
  readonly #database: Sqlite
  readonly #pruning: Pruning

  /**
   * @param file created if missing, with its folder
   * @param time for the waits while another process has the write lock
   * @throws Fault `outbox-corrupt`, `disk-full` or `outbox-unusable`
   */
  constructor(file: string, time: Pick<Time, 'nowMs' | 'sleep'> = systemTime) {
    this.disk = new Disk(file)
    const database = openFile(file, this.disk)
    this.#database = database
    this.registry = new MetricRegistry(database)
    this.writer = new Writer(database, this.disk, this.registry, time)
    this.runs = new MetricRuns(database)
    this.tally = new Tally(database)
    this.expectedHours = new ExpectedHours(database, this.runs)
    this.nextHours = new NextHours(database)
    this.hourRanges = new HourRanges(database)
    this.hoursOfAll = new HoursOfAll(database)
    this.hourReasons = new HourReasonRows(database)
    this.newestDelivered = new NewestDelivered(database)
    this.metrics = new Metrics(database, this)
    this.earlierValues = new EarlierValues(database)
    this.histories = new MetricHistories(database, this)
    this.provenances = new Provenances(database)
    this.backfillFailures = new BackfillFailures(database)
    this.unsuccessfulFlushes = new UnsuccessfulFlushTable(database)
    this.corrections = new Corrections(database, this)
    this.curves = new Curves(database, this)
    this.unsent = new Unsent(this.registry)
    this.pins = new PinnedBlocks(database)
    this.finalBlocks = new FinalBlockTable(database, this.disk)
    this.dueMetrics = new DueMetrics(database, this)
    this.dueSelections = new DueSelections(database, this)
    this.deadAndHeld = new DeadAndHeld(database, this)
    this.destinations = new Destinations(database, this)
    this.warnings = new Warnings(database)
    this.reported = new Reports(database)
    this.unresolved = new Unresolved(database)
    this.enqueuing = new Enqueuing(this)
    this.verdicts = new Verdicts(database, this)
    this.#pruning = new Pruning(database, this)
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
