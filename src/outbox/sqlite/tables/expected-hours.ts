import type { Fault } from '../../../model/fault.ts'
import { type Hour, hourFromNumber, hourNumber, hoursFrom } from '../../../model/hour.ts'
import { commitRowsMax, recollectCapMs } from '../../../model/limits.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { FailedAttempt } from '../../contract/history.ts'
import type { CollectionRow, CollectionState, DueHour, DueHoursWanted, LateCollector } from '../../contract/hours.ts'
import type { GapCount } from '../../contract/status-store.ts'
import { type Enqueued, rowDigest } from '../../rows/digest.ts'
import {
  collectionRow,
  dueHour,
  failedAttempts,
  failureLine,
  faultColumns,
  hourStateOf,
  lateCollector,
} from '../../rows/hour-rows.ts'
import { collectorStatements, readingStatements, writingStatements } from './expected-statements.ts'
import type { MetricRuns } from './metric-runs.ts'

/** The expected (collector, hour) rows: due, collected or gap. */
export class ExpectedHours {
  readonly #database: Sqlite
  readonly #runs: MetricRuns
  readonly #statements

  constructor(database: Sqlite, runs: MetricRuns) {
    this.#database = database
    this.#runs = runs
    this.#statements = {
      ...collectorStatements(database),
      ...readingStatements(database),
      ...writingStatements(database),
    }
  }

  /** Inserts a collector that is expected from an hour on. For a known one an earlier hour moves its start back. */
  addCollector(name: string, since: Hour): void {
    this.#statements.addCollector.run(name, hourNumber(since))
  }

  /** Inserts a collector without a schedule; no effect on a known one. */
  addUnscheduled(name: string, since: Hour): void {
    this.#statements.addUnscheduled.run(name, hourNumber(since))
  }

  /** First expected hour of a collector; `undefined` for one that never ran. */
  since(name: string): Hour | undefined {
    const row = this.#statements.since.get(name)
    return row && hourFromNumber(row.since)
  }

  /** Inserts hours of a collector as due; no effect on existing rows. One commit. */
  expect(name: string, hours: readonly Hour[]): void {
    this.#database
      .transaction(() => {
        for (const hour of hours) this.#statements.expect.run(hourNumber(hour), name)
        const last = this.lastWithoutHole(name)
        if (last !== undefined) this.#statements.setPlanned.run(hourNumber(last), name)
      })
      .immediate()
  }

  /**
   * End of the unbroken run of rows from a collector's first hour; `undefined` if the first hour has no row. Rows after
   * a hole come from a backfill. The progress of `expect` is stored, so that a year of rows is not scanned.
   */
  lastWithoutHole(name: string): Hour | undefined {
    const since = this.#statements.since.get(name)?.since
    if (since === undefined) return undefined
    let last = this.#statements.planned.get(name) ?? since - 1
    while (this.#statements.row.get(last + 1, name)) last += 1
    return last < since ? undefined : hourFromNumber(last)
  }

  /**
   * Turns a collector's due hours before an hour into gaps.
   *
   * @param reason for hours without a fault of their own
   * @returns how many
   */
  closeBefore(name: string, hour: Hour, reason: Fault): number {
    return this.#statements.closeBefore.run(...faultColumns(reason), hourNumber(hour), name).changes
  }

  /** Makes gaps due again, from an hour on, that a wrong clock had made gaps as too old. */
  reopenTooOld(name: string, oldest: Hour): void {
    this.#statements.reopenTooOld.run(hourNumber(oldest), name)
  }

  /**
   * Deletes uncollected rows after an hour, which a wrong clock has written: at most one commit's worth.
   *
   * @returns whether there may be more
   */
  withdrawSome(name: string, after: Hour): boolean {
    return this.#statements.withdraw.run(hourNumber(after), name, commitRowsMax).changes === commitRowsMax
  }

  /** Makes the current hour due again, where a wrong clock had made it a gap. */
  reopen(name: string, current: Hour): void {
    this.#statements.reopen.run(hourNumber(current), name)
  }

  /** As `IntakeStore.dueHours`. A few microseconds for each collector. */
  due({ collectors, current, nowMs, limit }: DueHoursWanted): DueHour[] {
    const [asked, soonMs] = [JSON.stringify(collectors), nowMs + recollectCapMs]
    return this.#statements.due.all({ asked, current: hourNumber(current), nowMs, soonMs, limit }).map(dueHour)
  }

  /** The newest collected hour; `undefined` when there is none. */
  newestCollected(): Hour | undefined {
    const hour = this.#statements.newestCollected.get()
    return hour === undefined ? undefined : hourFromNumber(hour)
  }

  /** Collectors with due hours at or before an hour: how many, the oldest, and its fault. */
  lateOf(names: readonly string[], hour: Hour): LateCollector[] {
    return this.#statements.late.all(hourNumber(hour), JSON.stringify(names)).map(lateCollector)
  }

  /** The collectors that are expected for an hour but have no row of it. @param asked with the configured starts */
  missing(asked: readonly { readonly id: string; readonly since?: Hour | undefined }[], hour: Hour): string[] {
    const all = asked.map(({ id, since }) => [id, since === undefined ? null : hourNumber(since)])
    return this.#statements.missing.all({ asked: JSON.stringify(all), hour: hourNumber(hour) })
  }

  /** The earliest next attempt after an instant, in milliseconds since 1970; `undefined` when there is none. */
  nextAttemptMs(afterMs: number): number | undefined {
    return this.#statements.nextAttempt.get(afterMs)?.at ?? undefined
  }

  /** As `IntakeStore.endRetryWaits`. */
  endRetryWaits(names: readonly string[]): void {
    this.#statements.endRetryWaits.run(JSON.stringify(names))
  }

  /**
   * Adds to an hour's count of metrics and to its digest. Within a transaction.
   *
   * @param provenance number of that of the metrics; absent when not known
   */
  addMetrics(name: string, hour: Hour, { metrics, corrected, digest }: Enqueued, provenance?: number): void {
    if (metrics + corrected === 0) return
    this.#statements.addMetrics.run(metrics, digest, provenance ?? null, hourNumber(hour), name)
  }

  /**
   * Marks an hour collected: every metric of it is enqueued. Also for a gap and for an hour without a row.
   *
   * @param provenance as in `addMetrics`, for an hour without a row
   */
  markCollected(name: string, hour: Hour, provenance?: number): void {
    const number = hourNumber(hour)
    const { collected, row, addCollected } = this.#statements
    if (collected.run(number, name).changes > 0 || row.get(number, name)) return
    const metrics = this.#statements.metrics.all(number, name)
    const look = this.#runs.looking()
    // As unsigned 32 bits, like the sum in the file.
    const digest = metrics.reduce((sum, metric) => {
      return (sum + rowDigest(number, metric, look(number, metric)?.value ?? 0)) % 2 ** 32
    }, 0)
    addCollected.run(number, metrics.length, digest, provenance ?? null, name)
  }

  /**
   * Schedules the next attempt of a due hour. No effect on a collected hour or a gap.
   *
   * @param atMs when the failed one ended. Default: when the next one begins
   */
  markFailed(name: string, hour: Hour, fault: Fault, nextAttemptMs: number, atMs = nextAttemptMs): void {
    const line = failureLine(fault, atMs)
    this.#statements.failed.run(nextAttemptMs, ...faultColumns(fault), line, hourNumber(hour), name)
  }

  /** Turns a due hour into a gap, or inserts a gap. No effect on a collected hour or a gap. */
  markGap(name: string, hour: Hour, fault: Fault): void {
    this.#statements.gap.run(hourNumber(hour), ...faultColumns(fault), name)
  }

  /** States of a collector's hours in a range, both ends included. Hours without a row are left out. */
  states(name: string, from: Hour, to: Hour): Map<Hour, CollectionState> {
    // One hour at a time: a range of the key would read the rows of all collectors.
    const [oldest, newest] = this.#statements.ends.get() ?? [null, null]
    if (oldest === null || newest === null) return new Map()
    const first = Math.max(hourNumber(from), oldest)
    const last = Math.min(hourNumber(to), newest)
    const each = hoursFrom(hourFromNumber(first), hourFromNumber(last)).map(
      hour => [hour, this.#statements.row.get(hourNumber(hour), name)?.state] as const,
    )
    return new Map(each.flatMap(([hour, state]) => (state === undefined ? [] : [[hour, hourStateOf(state)]])))
  }

  /** The newest failed attempts of an hour, the oldest of them first. */
  failed(name: string, hour: Hour): FailedAttempt[] {
    return failedAttempts(this.#statements.failures.get(hourNumber(hour), name) ?? null)
  }

  /** The row of a collector's hour; `undefined` where there is none. */
  row(name: string, hour: Hour): CollectionRow | undefined {
    const row = this.#statements.row.get(hourNumber(hour), name)
    return row && collectionRow({ ...row, collector: name, hour: hourNumber(hour) })
  }

  /** Rows of a range of hours, both ends included, by hour and collector. */
  between(from: Hour, to: Hour): CollectionRow[] {
    return this.#statements.between.all(hourNumber(from), hourNumber(to)).map(collectionRow)
  }

  /** Gaps of collectors in a range of hours, both ends included, by the code of their fault. */
  gapCounts(names: readonly string[], from: Hour, to: Hour): GapCount[] {
    const asked = JSON.stringify(names)
    return this.#statements.gapCounts.all({ asked, from: hourNumber(from), to: hourNumber(to) })
  }
}
