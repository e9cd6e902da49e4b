import Database from 'better-sqlite3'
import type { FaultCode, FaultRecord } from '../../src/model/fault.ts'
import { type Hour, hourAt, hourFromNumber, hourNumber } from '../../src/model/hour.ts'
import type { MetricState } from '../../src/outbox/contract/metrics.ts'
import { stateOf } from '../../src/outbox/store/changes.ts'

/** A metric as it lies in the file. */
export interface Row {
  readonly id: string
  readonly protocolId: string
  readonly hour: Hour
  readonly value: number
  readonly state: MetricState
}

/** An expected hour as it lies in the file. */
export interface CollectionSeen {
  readonly collector: string
  readonly hour: Hour
  /** 0: due, 1: collected, 2: a gap. */
  readonly state: number
  readonly code: FaultCode | undefined
}

interface RawRow extends Omit<Row, 'hour' | 'state'> {
  readonly hour: number
  readonly state: number
}

/** A second pair of eyes on the outbox's file, with statements of its own. */
export class Look {
  readonly #database: Database.Database
  readonly #statements

  constructor(file: string) {
    const database = new Database(file, { readonly: true })
    this.#database = database
    const counts = (from: string) =>
      database.prepare<[], string | null>(`SELECT group_concat(part, ', ') FROM (${from} ORDER BY part)`).pluck()
    const part = (metrics: string) => `SELECT format('%d/%d: %d', protocol, state, ${metrics}) AS part`
    this.#statements = {
      rows: database.prepare<[], RawRow>(
        `SELECT metric.name AS id, protocol.name AS protocolId, hour, value, state FROM outbox
         JOIN metric ON metric.id = outbox.metric JOIN protocol ON protocol.id = metric.protocol`,
      ),
      counted: counts(`${part('count(*)')} FROM outbox GROUP BY protocol, state`),
      tallied: counts(`${part('metrics')} FROM tally WHERE state <> 5 AND metrics > 0`),
      newestDue: database
        .prepare<[number, string], number | null>(
          `SELECT max(hour) FROM outbox WHERE state = 0 AND hour <= ?
         AND protocol IN (SELECT id FROM protocol WHERE name IN (SELECT value FROM json_each(?)))`,
        )
        .pluck(),
      due: database.prepare<[], number>('SELECT count(*) FROM outbox WHERE state = 0').pluck(),
      waiting: database.prepare<[], string>('SELECT waiting FROM destination WHERE waiting IS NOT NULL').pluck(),
      expectedHours: database.prepare<[], { collector: string; hour: number; state: number; fault: string | null }>(
        'SELECT name AS collector, hour, state, fault FROM collection JOIN collector ON collector.id = collector',
      ),
      since: database.prepare<[], { collector: string; since: number }>(
        'SELECT name AS collector, since FROM collector',
      ),
      pins: database.prepare<[], { collector: string; hour: number }>(
        'SELECT name AS collector, hour FROM pin JOIN collector ON collector.id = collector',
      ),
    }
  }

  rows(): Row[] {
    return this.#statements.rows
      .all()
      .map(row => ({ ...row, hour: hourFromNumber(row.hour), state: stateOf(row.state) }))
  }

  /** Metrics by protocol and state, and those due by protocol and hour, as they are found. */
  counted(): string {
    return this.#statements.counted.get() ?? ''
  }

  /** The same, as the outbox counts them itself. */
  tallied(): string {
    return this.#statements.tallied.get() ?? ''
  }

  /** Newest due hour of some protocols up to an instant. */
  newestDue(protocolIds: readonly string[], upToMs: number): Hour | undefined {
    const hour = this.#statements.newestDue.get(hourNumber(hourAt(upToMs)), JSON.stringify(protocolIds))
    return typeof hour === 'number' ? hourFromNumber(hour) : undefined
  }

  due(): number {
    return this.#statements.due.get() ?? 0
  }

  expectedHours(): CollectionSeen[] {
    return this.#statements.expectedHours.all().map(({ collector, hour, state, fault }) => {
      const code = fault === null ? undefined : (JSON.parse(fault) as FaultRecord).code
      return { collector, hour: hourFromNumber(hour), state, code }
    })
  }

  /** The first hour that is expected of each collector. */
  since(): { readonly collector: string; readonly since: Hour }[] {
    return this.#statements.since.all().map(({ collector, since }) => ({ collector, since: hourFromNumber(since) }))
  }

  /** Hours of collectors that wait for their block to be final. */
  pins(): { readonly collector: string; readonly hour: Hour }[] {
    return this.#statements.pins.all().map(row => ({ ...row, hour: hourFromNumber(row.hour) }))
  }

  /** Why the destinations wait. */
  waiting(): string[] {
    return this.#statements.waiting.all()
  }

  close(): void {
    this.#database.close()
  }
}
