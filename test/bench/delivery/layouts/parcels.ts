import { hourFromNumber } from '../../../../src/model/hour.ts'
import { batchMetricsMax } from '../../../../src/model/limits.ts'
import { openDatabase, type Sqlite, unsynced } from '../../../../src/sqlite/database.ts'
import { firstOf, jsonOf, type Layout, type Portion } from './layout.ts'

/** Content of a parcel of metrics: their wire form, or their values as 64-bit numbers. */
export type ParcelForm = 'json' | 'values'

const tables = `
  CREATE TABLE parcel (
    hour INTEGER NOT NULL CHECK (hour > 0),
    protocol INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 1),
    content ANY NOT NULL,
    PRIMARY KEY (hour, protocol, first)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX parcel_due ON parcel (protocol, hour) WHERE state = 0;
  CREATE TABLE tally (protocol INTEGER, state INTEGER, metrics INTEGER, PRIMARY KEY (protocol, state)) STRICT, WITHOUT ROWID;`

interface Parcel {
  readonly hour: number
  readonly first: number
  readonly last: number
  readonly content: string | Buffer
}

/** A row for each 100 metrics of a protocol and hour, with one state. */
export class ParcelLayout implements Layout {
  readonly database: Sqlite
  readonly #form: ParcelForm
  readonly #statements
  readonly store
  readonly deliver

  constructor(file: string, form: ParcelForm) {
    const database = openDatabase(file, { version: 1, sql: tables })
    this.database = database
    this.#form = form
    this.#statements = {
      insert: database.prepare<[number, number, number, number, string | Buffer]>(
        'INSERT INTO parcel (hour, protocol, first, last, content) VALUES (?, ?, ?, ?, ?)',
      ),
      tally: database.prepare<[number, number, number]>(
        'INSERT INTO tally VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET metrics = metrics + excluded.metrics',
      ),
      due: database.prepare<{ protocol: number; hour: number; first: number; limit: number }, Parcel>(
        `SELECT hour, first, last, content FROM parcel WHERE state = 0 AND protocol = @protocol AND hour >= @hour
         AND (hour, first) > (@hour, @first) ORDER BY hour, first LIMIT @limit`,
      ),
      mark: database.prepare<[number, number, number]>(
        'UPDATE parcel SET state = 1 WHERE hour = ? AND protocol = ? AND first = ? AND state = 0',
      ),
    }
    const store = database.transaction((...hour: Parameters<Layout['store']>) => this.#store(...hour))
    this.store = (...hour: Parameters<Layout['store']>) => store.immediate(...hour)
    this.deliver = unsynced<readonly Portion[]>(database, portions => this.#deliver(portions))
  }

  #store(protocol: number, hour: number, values: readonly number[]): void {
    for (let at = 0; at < values.length; at += batchMetricsMax) {
      const first = firstOf(protocol) + at
      const some = values.slice(at, at + batchMetricsMax)
      const isJson = this.#form === 'json'
      const content = isJson ? jsonOf(hourFromNumber(hour), first, some) : Buffer.from(Float64Array.from(some).buffer)
      this.#statements.insert.run(hour, protocol, first, first + some.length - 1, content)
    }
    this.#statements.tally.run(protocol, 0, values.length)
  }

  next(protocol: number, after: Portion | undefined, portions: number): Portion[] {
    return this.#statements.due
      .all({ protocol, hour: after?.hour ?? 0, first: after?.from ?? 0, limit: portions })
      .map(({ hour, first, last, content }) => {
        const json =
          typeof content === 'string'
            ? content
            : jsonOf(hourFromNumber(hour), first, valuesOf(content, last - first + 1))
        return { protocol, hour, from: first, to: last, json }
      })
  }

  #deliver(portions: readonly Portion[]): void {
    for (const [protocol, own] of Map.groupBy(portions, portion => portion.protocol)) {
      let count = 0
      for (const { hour, from, to } of own) {
        count += this.#statements.mark.run(hour, protocol, from).changes * (to - from + 1)
      }
      this.#statements.tally.run(protocol, 0, -count)
      this.#statements.tally.run(protocol, 1, count)
    }
  }
}

function valuesOf(content: Buffer, count: number): Float64Array {
  return new Float64Array(Uint8Array.from(content).buffer, 0, count)
}
