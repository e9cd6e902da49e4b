import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { CollectionRow, WithheldHour } from '../../contract/hours.ts'
import { collectionRow, type RawHour } from '../../rows/hour-rows.ts'

/** Reads why hours are not simply collected and delivered: one hour at a time, and no row of a delivered metric. */
export class HourReasonRows {
  readonly #statements

  constructor(database: Sqlite) {
    this.#statements = {
      collectors: database.prepare<[], string>('SELECT name FROM collector ORDER BY name').pluck(),
      failed: database.prepare<[number], RawHour>(
        `SELECT name AS collector, hour, state, attempts, fault FROM collection JOIN collector ON collector.id = collector
         WHERE hour = ? AND fault IS NOT NULL`,
      ),
      withheld: database.prepare<[number], Omit<WithheldHour, 'hour'> & { readonly hour: number }>(
        `SELECT collector.name AS collector, hour, iif(kind = 'refused', 'dead', 'held') AS state, count(*) AS metrics,
           min(reason) AS reason
         FROM detained CROSS JOIN metric ON metric.id = metric CROSS JOIN collector ON collector.id = metric.collector
         WHERE hour = +? GROUP BY collector.id, kind = 'refused'`,
      ),
    }
  }

  /** The names of all collectors, by name. */
  collectors(): string[] {
    return this.#statements.collectors.all()
  }

  /** Hours with a fault. */
  failed(hour: Hour): CollectionRow[] {
    return this.#statements.failed.all(hourNumber(hour)).map(collectionRow)
  }

  /** Hours with dead or held metrics. */
  withheld(hour: Hour): WithheldHour[] {
    return this.#statements.withheld.all(hourNumber(hour)).map(row => ({ ...row, hour: hourFromNumber(row.hour) }))
  }
}
