import { type Hour, hourNumber } from '../../model/hour.ts'
import type { Sqlite } from '../../sqlite/database.ts'

/** A collector whose next hour is to be planned. */
export interface NextHour {
  readonly id: string
  /** The oldest hour that it may still be collected for. */
  readonly oldest: Hour
  /** The hour that the configuration expects it from. */
  readonly since?: Hour | undefined
}

/** Plans one more hour of many collectors at once: what nearly all of them need at a full hour. Part of the outbox's file. */
export class NextHours {
  readonly #statements

  constructor(database: Sqlite) {
    this.#statements = {
      // A few looks at an index for each collector; the order of the joins keeps SQLite from starting with all hours.
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
               AND gap.hour >= asked.value ->> 1 AND (gap.hour >= @current OR gap.fault ->> 'code' = 'hour-too-old'))
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
   * Makes an hour expected of those collectors of which nothing else is to be done: the hour before is the last that is
   * planned, nothing is too old or yet to come, and their start is not moved. Within a transaction.
   *
   * @returns the ids of those it was done for
   */
  add(collectors: readonly NextHour[], current: Hour): ReadonlySet<string> {
    const asked = collectors.map(({ id, oldest, since }) => [
      id,
      hourNumber(oldest),
      since === undefined ? null : hourNumber(since),
    ])
    const added = this.#statements.add.all({ asked: JSON.stringify(asked), current: hourNumber(current) })
    if (added.length > 0) this.#statements.setPlanned.run({ current: hourNumber(current) })
    return new Set(added)
  }
}
