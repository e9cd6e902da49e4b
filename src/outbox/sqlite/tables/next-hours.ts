import { type Hour, hourNumber } from '../../../model/hour.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { HourPlan } from '../../contract/hours.ts'

/** Inserts the next hour of many collectors at once: what nearly all of them need at a full hour. */
export class NextHours {
  readonly #statements

  constructor(database: Sqlite) {
    this.#statements = {
      // A few index look-ups for each collector. CROSS JOIN keeps SQLite from starting with all hours.
      add: database
        .prepare<{ asked: string; current: number }, string>(
          `INSERT INTO collection (hour, collector)
           SELECT @current, collector.id
           FROM json_each(@asked) AS asked
             CROSS JOIN collector ON collector.name = asked.value ->> 0
             CROSS JOIN planned ON planned.collector = collector.id AND planned.hour = @current - 1
           WHERE collector.since < @current AND collector.since <= coalesce(asked.value ->> 2, collector.since)
             AND NOT EXISTS (SELECT 1 FROM collection AS early WHERE early.state = 0 AND early.collector = collector.id
               AND early.hour < asked.value ->> 1)
             AND NOT EXISTS (SELECT 1 FROM collection AS later WHERE later.state = 0 AND later.collector = collector.id
               AND later.hour > @current)
             AND NOT EXISTS (SELECT 1 FROM collection AS gap WHERE gap.state = 2 AND gap.collector = collector.id
               AND gap.hour >= asked.value ->> 1 AND (gap.hour >= @current OR gap.fault_code = 'hour-too-old'))
             AND NOT EXISTS (SELECT 1 FROM collection AS here WHERE here.hour = @current AND here.collector = collector.id)
           RETURNING (SELECT name FROM collector WHERE id = collection.collector)`,
        )
        .pluck(),
      setPlanned: database.prepare<{ current: number }>(
        `UPDATE planned SET hour = @current WHERE hour = @current - 1
           AND EXISTS (SELECT 1 FROM collection AS here WHERE here.hour = @current AND here.collector = planned.collector)`,
      ),
    }
  }

  /**
   * Inserts an hour as due for those collectors that need nothing else: the hour before is their last row, nothing is
   * too old, and their start has not moved. Within a transaction.
   *
   * @returns ids of the collectors it was inserted for
   */
  add(plans: readonly HourPlan[], current: Hour): ReadonlySet<string> {
    const asked = plans.map(({ collector, oldest, since }) => [
      collector,
      hourNumber(oldest),
      since === undefined ? null : hourNumber(since),
    ])
    const added = this.#statements.add.all({ asked: JSON.stringify(asked), current: hourNumber(current) })
    if (added.length > 0) this.#statements.setPlanned.run({ current: hourNumber(current) })
    return new Set(added)
  }
}
