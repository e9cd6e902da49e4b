import { type Fault, faultRecord } from '../../model/fault.ts'
import { type Hour, hourFromNumber, hourNumber, hoursFrom } from '../../model/hour.ts'
import type { Sqlite } from '../../sqlite/database.ts'
import type { Enqueued } from './digest.ts'
import { type DueHour, dueHours } from './due-hours.ts'
import { hourCounter } from './hour-counts.ts'
import { type CollectorHourRange, HourRanges } from './hour-ranges.ts'
import {
  type CollectionRow,
  type CollectionState,
  collectionRow,
  hourStateOf,
  type LateCollector,
  lateCollector,
  type RawHour,
  type RawLate,
} from './hour-rows.ts'

/** The expected (collector, hour) rows: due, collected or gap. */
export class ExpectedHours {
  readonly #database: Sqlite
  readonly #ranges: HourRanges
  readonly #dueOf: ReturnType<typeof dueHours>
  readonly #countOf: ReturnType<typeof hourCounter>
  readonly #statements

  constructor(database: Sqlite) {
    this.#database = database
    this.#ranges = new HourRanges(database)
    this.#dueOf = dueHours(database)
    this.#countOf = hourCounter(database)
    this.#statements = {
      addCollector: database.prepare<[string, number]>(
        'INSERT INTO collector (name, since) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET since = min(since, excluded.since)',
      ),
      addUnscheduled: database.prepare<[string, number]>(
        'INSERT INTO collector (name, since) VALUES (?, ?) ON CONFLICT DO NOTHING',
      ),
      since: database.prepare<[string], { since: number }>('SELECT since FROM collector WHERE name = ?'),
      expect: database.prepare<[number, string]>(
        'INSERT INTO collection (hour, collector) SELECT ?, id FROM collector WHERE name = ? ON CONFLICT DO NOTHING',
      ),
      planned: database
        .prepare<[string], number>(
          'SELECT hour FROM planned WHERE collector = (SELECT id FROM collector WHERE name = ?)',
        )
        .pluck(),
      setPlanned: database.prepare<[number, string]>(
        `INSERT INTO planned (collector, hour) SELECT id, ? FROM collector WHERE name = ?
         ON CONFLICT (collector) DO UPDATE SET hour = excluded.hour`,
      ),
      closeBefore: database.prepare<[string, number, string]>(
        `UPDATE collection SET state = 2, fault = coalesce(fault, ?)
         WHERE state = 0 AND hour < ? AND collector = (SELECT id FROM collector WHERE name = ?)`,
      ),
      reopen: database.prepare<[number, string]>(
        `UPDATE collection SET state = 0, fault = NULL
         WHERE state = 2 AND hour = ? AND collector = (SELECT id FROM collector WHERE name = ?)`,
      ),
      // Reads only the index: hours that wait for their next attempt cost no row.
      late: database.prepare<[number, string], RawLate>(
        `WITH late AS (
           SELECT id, name, count(*) AS hours, min(hour) AS oldest FROM collector JOIN collection ON collector = id AND state = 0
             AND hour <= ? WHERE name IN (SELECT value FROM json_each(?)) GROUP BY id)
         SELECT name AS collector, hours, oldest, fault FROM late JOIN collection ON collector = id AND hour = oldest ORDER BY name`,
      ),
      missing: database
        .prepare<{ asked: string; hour: number }, string>(
          `SELECT asked.value ->> 0 FROM json_each(@asked) AS asked LEFT JOIN collector ON collector.name = asked.value ->> 0
           WHERE coalesce(since, asked.value ->> 1, @hour) <= @hour
             AND NOT EXISTS (SELECT 1 FROM collection AS here WHERE here.hour = @hour AND here.collector = collector.id)`,
        )
        .pluck(),
      nextAttempt: database.prepare<[number], { at: number | null }>(
        'SELECT min(next_attempt_ms) AS at FROM collection WHERE state = 0 AND next_attempt_ms > ?',
      ),
      collected: database.prepare<[number, string]>(
        `UPDATE collection SET state = 1, attempts = attempts + 1, next_attempt_ms = 0, fault = NULL
         WHERE state <> 1 AND hour = ? AND collector = (SELECT id FROM collector WHERE name = ?)`,
      ),
      addCollected: database.prepare<[number, number, number, string]>(
        `INSERT INTO collection (hour, state, attempts, metrics, digest, collector) SELECT ?, 1, 1, ?, ?, id FROM collector WHERE name = ?
         ON CONFLICT DO NOTHING`,
      ),
      row: database.prepare<[number, string], Pick<RawHour, 'state' | 'attempts'>>(
        'SELECT state, attempts FROM collection WHERE hour = ? AND collector = (SELECT id FROM collector WHERE name = ?)',
      ),
      ends: database
        .prepare<[], [oldest: number | null, newest: number | null]>(
          'SELECT (SELECT min(hour) FROM collection), (SELECT max(hour) FROM collection)',
        )
        .raw(),
      gap: database.prepare<[number, string, string]>(
        `INSERT INTO collection (hour, state, attempts, fault, collector) SELECT ?, 2, 1, ?, id FROM collector WHERE name = ?
         ON CONFLICT DO UPDATE SET state = 2, attempts = attempts + 1, fault = excluded.fault WHERE state = 0`,
      ),
      failed: database.prepare<[number, string, number, string]>(
        `UPDATE collection SET attempts = attempts + 1, next_attempt_ms = ?, fault = ?
         WHERE state = 0 AND hour = ? AND collector = (SELECT id FROM collector WHERE name = ?)`,
      ),
      addMetrics: database.prepare<[number, number, number, string]>(
        `UPDATE collection SET metrics = metrics + ?, digest = (digest + ?) & 0xffffffff
         WHERE hour = ? AND collector = (SELECT id FROM collector WHERE name = ?)`,
      ),
      between: database.prepare<[number, number], RawHour>(
        `SELECT name AS collector, hour, state, attempts, fault FROM collection JOIN collector ON collector.id = collector
         WHERE hour BETWEEN ? AND ? ORDER BY hour, name`,
      ),
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
    return this.#statements.closeBefore.run(JSON.stringify(faultRecord(reason)), hourNumber(hour), name).changes
  }

  /** Makes the current hour due again, where a wrong clock had made it a gap. */
  reopen(name: string, current: Hour): void {
    this.#statements.reopen.run(hourNumber(current), name)
  }

  /**
   * Due hours of some collectors, up to the current one, whose next attempt has come: the newest of each, in the given
   * order of collectors. A next attempt further ahead than any wait was written by a wrong clock and counts as come.
   *
   * @param limit of each collector
   */
  due(names: readonly string[], current: Hour, nowMs: number, limit: number): DueHour[] {
    return this.#dueOf({ names, current, nowMs, limit })
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

  /** Adds to an hour's count of metrics and to its digest. Within a transaction. */
  addMetrics(name: string, hour: Hour, { metrics, corrected, digest }: Enqueued): void {
    if (metrics + corrected > 0) this.#statements.addMetrics.run(metrics, digest, hourNumber(hour), name)
  }

  /** Marks an hour collected: every metric of it is enqueued. Also for a gap and for an hour without a row. */
  markCollected(name: string, hour: Hour): void {
    const number = hourNumber(hour)
    const { collected, row, addCollected } = this.#statements
    if (collected.run(number, name).changes > 0 || row.get(number, name)) return
    const { metrics, digest } = this.#countOf(name, number)
    addCollected.run(number, metrics, digest, name)
  }

  /** Schedules the next attempt of a due hour. No effect on a collected hour or a gap. */
  markFailed(name: string, hour: Hour, fault: Fault, nextAttemptMs: number): void {
    this.#statements.failed.run(nextAttemptMs, JSON.stringify(faultRecord(fault)), hourNumber(hour), name)
  }

  /** Turns a due hour into a gap, or inserts a gap. No effect on a collected hour or a gap. */
  markGap(name: string, hour: Hour, fault: Fault): void {
    this.#statements.gap.run(hourNumber(hour), JSON.stringify(faultRecord(fault)), name)
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

  /** Gaps, as ranges of hours with the same reason, by collector and hour. */
  gaps(collectors?: readonly string[], from?: Hour, to?: Hour): CollectorHourRange[] {
    return this.#ranges.of('gap', collectors, from, to)
  }

  /** Due hours, as ranges with the same fault, by collector and hour. */
  waiting(collectors?: readonly string[], from?: Hour, to?: Hour): CollectorHourRange[] {
    return this.#ranges.of('due', collectors, from, to)
  }

  /** Rows of a range of hours, both ends included, by hour and collector. */
  between(from: Hour, to: Hour): CollectionRow[] {
    return this.#statements.between.all(hourNumber(from), hourNumber(to)).map(collectionRow)
  }
}
