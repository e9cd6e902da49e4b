import { hourFromNumber } from '../../../../src/model/hour.ts'
import { batchMetricsMax } from '../../../../src/model/limits.ts'
import { openDatabase, type Sqlite, unsynced } from '../../../../src/sqlite/database.ts'
import { metricsAnHour } from '../metrics.ts'
import { firstOf, jsonOf, type Layout, type Portion } from './layout.ts'

/** Way to find due rows: by a partial index, or by a counter for each protocol and hour. */
export type FoundBy = 'index' | 'counter'

const tables = (foundBy: FoundBy) => `
  CREATE TABLE metric (id INTEGER PRIMARY KEY, protocol INTEGER NOT NULL, UNIQUE (id, protocol)) STRICT;
  CREATE TABLE outbox (
    hour INTEGER NOT NULL CHECK (hour > 0),
    metric INTEGER NOT NULL,
    protocol INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 4),
    value REAL NOT NULL CHECK (abs(value) <= 1.7976931348623157e308),
    PRIMARY KEY (hour, metric),
    FOREIGN KEY (metric, protocol) REFERENCES metric (id, protocol)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE tally (protocol INTEGER, state INTEGER, metrics INTEGER, PRIMARY KEY (protocol, state)) STRICT, WITHOUT ROWID;
  ${
    foundBy === 'index'
      ? 'CREATE INDEX outbox_due ON outbox (protocol, hour) WHERE state = 0'
      : 'CREATE TABLE due_hour (protocol INTEGER, hour INTEGER, metrics INTEGER, PRIMARY KEY (protocol, hour)) STRICT, WITHOUT ROWID'
  };`

/** A row for each metric and hour, with its state. */
export class RowLayout implements Layout {
  readonly database: Sqlite
  readonly #foundBy: FoundBy
  readonly #described = new Set<number>()
  readonly #statements
  readonly store
  readonly deliver

  constructor(file: string, foundBy: FoundBy) {
    const database = openDatabase(file, { version: 1, sql: tables(foundBy) })
    this.database = database
    this.#foundBy = foundBy
    const rows = Array.from({ length: batchMetricsMax }, () => '(?, ?, ?, 0, ?)').join(', ')
    const counting = foundBy === 'counter'
    const hours = counting ? 'due_hour WHERE' : 'outbox WHERE state = 0 AND'
    this.#statements = {
      describe: database.prepare<[number, number]>('INSERT OR IGNORE INTO metric VALUES (?, ?)'),
      insert: database.prepare<number[]>(`INSERT INTO outbox (hour, metric, protocol, state, value) VALUES ${rows}`),
      tally: database.prepare<[number, number, number]>(
        'INSERT INTO tally VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET metrics = metrics + excluded.metrics',
      ),
      count: database.prepare<[number, number, number]>(
        counting
          ? 'INSERT INTO due_hour VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET metrics = metrics + excluded.metrics'
          : 'SELECT ?, ?, ?',
      ),
      end: database.prepare<[number, number]>(
        counting ? 'DELETE FROM due_hour WHERE protocol = ? AND hour = ? AND metrics = 0' : 'SELECT ?, ?',
      ),
      hour: database
        .prepare<[number, number], number>(`SELECT hour FROM ${hours} protocol = ? AND hour >= ? ORDER BY hour LIMIT 1`)
        .pluck(),
      due: database
        .prepare<[number, number, number, number, number], number>(
          `SELECT value FROM outbox WHERE state = 0 AND protocol = ? AND hour = ? AND metric BETWEEN ? AND ?
           ORDER BY metric LIMIT ?`,
        )
        .pluck(),
      mark: database.prepare<[number, number, number]>(
        'UPDATE outbox SET state = 1 WHERE hour = ? AND metric BETWEEN ? AND ? AND state = 0',
      ),
    }
    const store = database.transaction((...hour: Parameters<Layout['store']>) => this.#store(...hour))
    this.store = (...hour: Parameters<Layout['store']>) => store.immediate(...hour)
    this.deliver = unsynced<readonly Portion[]>(database, portions => this.#deliver(portions))
  }

  #store(protocol: number, hour: number, values: readonly number[]): void {
    const { describe, insert, tally } = this.#statements
    const first = firstOf(protocol)
    if (!this.#described.has(protocol)) for (let at = 0; at < metricsAnHour; at += 1) describe.run(first + at, protocol)
    this.#described.add(protocol)
    for (let from = 0; from < values.length; from += batchMetricsMax) {
      const bound: number[] = []
      for (let at = from; at < from + batchMetricsMax; at += 1) bound.push(hour, first + at, protocol, values[at] ?? 0)
      insert.run(...bound)
    }
    tally.run(protocol, 0, values.length)
    this.#count(protocol, hour, values.length)
  }

  #count(protocol: number, hour: number, metrics: number): void {
    if (this.#foundBy === 'counter') this.#statements.count.run(protocol, hour, metrics)
  }

  next(protocol: number, after: Portion | undefined, portions: number): Portion[] {
    const { hour: nextHour, due } = this.#statements
    const found: Portion[] = []
    const [first, last] = [firstOf(protocol), firstOf(protocol) + metricsAnHour - 1]
    let [hour, from] = after ? [after.hour, after.to + 1] : [nextHour.get(protocol, 0), first]
    while (hour !== undefined && found.length < portions) {
      const wanted = (portions - found.length) * batchMetricsMax
      const values = due.all(protocol, hour, from, last, wanted)
      for (let at = 0; at < values.length; at += batchMetricsMax) {
        const some = values.slice(at, at + batchMetricsMax)
        const json = jsonOf(hourFromNumber(hour), from + at, some)
        found.push({ protocol, hour, from: from + at, to: from + at + some.length - 1, json })
      }
      if (values.length < wanted) [hour, from] = [nextHour.get(protocol, hour + 1), first]
    }
    return found
  }

  #deliver(portions: readonly Portion[]): void {
    for (const [protocol, own] of Map.groupBy(portions, portion => portion.protocol)) {
      let all = 0
      for (const [hour, some] of Map.groupBy(own, portion => portion.hour)) {
        let count = 0
        for (const { from, to } of some) count += this.#statements.mark.run(hour, from, to).changes
        this.#count(protocol, hour, -count)
        if (this.#foundBy === 'counter') this.#statements.end.run(protocol, hour)
        all += count
      }
      this.#statements.tally.run(protocol, 0, -all)
      this.#statements.tally.run(protocol, 1, all)
    }
  }
}
