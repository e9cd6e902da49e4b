import { type Hour, hourFromNumber, hourNumber } from '../../model/hour.ts'
import { commitRowsMax } from '../../model/limits.ts'
import { isExpected } from '../../model/rhythm.ts'
import type { HourPlan } from '../contract/hours.ts'
import { faultColumns } from './end-of-hour.ts'
import { lockCollectors } from './metrics.ts'
import { forUpdate, isIn, rows, sql, text } from './sql.ts'
import { first, query, type StoreWork, write } from './work.ts'

/**
 * Inserts the current hour for those collectors that need nothing else: the hour before is their last row, nothing is too
 * old, and their start has not moved. At a full hour those are nearly all.
 *
 * @param plans of collectors of which every hour is expected
 *
 * @returns ids of the collectors that need nothing more
 */
export function* planNextHour(plans: readonly HourPlan[], current: Hour): StoreWork<ReadonlySet<string>> {
  yield* lockCollectors(plans.map(({ collector }) => collector))
  const now = hourNumber(current)
  const tuples = plans.map(({ collector, oldest, since }) => [
    ...[collector, hourNumber(oldest), since === undefined ? null : hourNumber(since)],
  ])
  const ready = yield* query<{ id: number; name: string; last: number }>(sql`
    SELECT collector.id, collector.name, planned.hour AS last
    FROM ${rows({ name: 'text', oldest: 'integer', since: 'integer' }, tuples)} AS asked
      CROSS JOIN tidegauge.collector CROSS JOIN tidegauge.planned
    WHERE collector.name = asked.name AND planned.collector = collector.id AND planned.hour IN (${now - 1}, ${now})
      AND collector.since <= planned.hour AND collector.since <= coalesce(asked.since, collector.since)
      AND NOT EXISTS (SELECT 1 FROM tidegauge.collection AS early
        WHERE early.collector = collector.id AND early.state = 0 AND early.hour < asked.oldest)
      AND NOT EXISTS (SELECT 1 FROM tidegauge.collection AS later
        WHERE later.collector = collector.id AND later.state = 0 AND later.hour > ${now})
      AND NOT EXISTS (SELECT 1 FROM tidegauge.collection AS gap
        WHERE gap.collector = collector.id AND gap.state = 2 AND gap.hour >= asked.oldest
          AND (gap.hour >= ${now} OR gap.fault_code = 'hour-too-old'))
      AND (planned.hour = ${now} OR NOT EXISTS (SELECT 1 FROM tidegauge.collection AS here
        WHERE here.hour = ${now} AND here.collector = collector.id))`)
  const ids = ready.filter(({ last }) => last < now).map(({ id }) => id)
  if (ids.length > 0) {
    const given = ids.map(id => [id])
    yield* write(sql`INSERT INTO tidegauge.collection (hour, collector)
      SELECT CAST(${now} AS integer), id FROM ${rows({ id: 'integer' }, given)} AS added`)
    yield* write(sql`UPDATE tidegauge.planned SET hour = ${now} WHERE collector ${isIn('integer', ids)}`)
  }
  return new Set(ready.map(({ name }) => name))
}

/** A collector as it is stored. */
interface PlannedCollector {
  readonly id: number
  /** In hours since 1970. */
  readonly since: number
  /** Last hour of the unbroken run of rows; `null` when it is not known. */
  readonly planned: number | null
  /** 1 when its first hour has a row. */
  readonly isBegun: number
}

/**
 * Plans a collector, one commit's worth.
 *
 * @returns how many hours became gaps; `undefined` when there is more to plan
 */
export function* planHours(plan: HourPlan): StoreWork<number | undefined> {
  const { collector, current, oldest: oldestHour, since, gapReason } = plan
  const now = hourNumber(current)
  const collectorRow = yield* lockedCollector(collector, Math.min(now, hourNumber(since ?? current)))
  const withdrawn = yield* withdraw(collectorRow, now)
  if (withdrawn) return undefined
  yield* withdrawUnexpected(collectorRow, plan)
  const begins = beginOf(collectorRow, now, since === undefined ? undefined : hourNumber(since))
  yield* moveStart(collectorRow, begins)
  const from = Math.max(begins, begins < collectorRow.since ? begins : (collectorRow.planned ?? begins - 1) + 1)
  const to = Math.min(now, from + commitRowsMax - 1)
  yield* expectHours(collectorRow.id, from, to, plan)
  if (to < now) return undefined
  yield* write(sql`UPDATE tidegauge.collection SET state = 0, fault = NULL, fault_code = NULL
    WHERE collector = ${collectorRow.id} AND state = 2
      AND (hour = ${now} OR hour >= ${hourNumber(oldestHour)} AND fault_code = 'hour-too-old')`)
  const [fault, code] = faultColumns(gapReason)
  // An old derived hour whose inputs have just changed can be computed again.
  const gaps = yield* query(sql`UPDATE tidegauge.collection
    SET state = 2, fault = coalesce(fault, ${fault}), fault_code = coalesce(fault_code, ${code})
    WHERE collector = ${collectorRow.id} AND state = 0 AND hour < ${hourNumber(oldestHour)}
      AND (changes = 0 OR next_attempt_ms > 0) RETURNING hour`)
  return gaps.length
}

function* lockedCollector(name: string, since: number): StoreWork<PlannedCollector> {
  yield* write(sql`INSERT INTO tidegauge.collector (name, since) SELECT CAST(${name} AS text), CAST(${since} AS integer)
    WHERE NOT EXISTS (SELECT 1 FROM tidegauge.collector WHERE name = ${name}) ON CONFLICT DO NOTHING`)
  yield* query(sql`SELECT id FROM tidegauge.collector WHERE name = ${name} ${forUpdate}`)
  const row = yield* first<PlannedCollector>(sql`
    SELECT id, since, (SELECT hour FROM tidegauge.planned WHERE planned.collector = collector.id) AS planned,
      CASE WHEN EXISTS (SELECT 1 FROM tidegauge.collection WHERE collection.hour = since AND collection.collector = collector.id)
        THEN 1 ELSE 0 END AS "isBegun"
    FROM tidegauge.collector WHERE name = ${name}`)
  if (!row) throw new Error(`no collector ${name} is known to the outbox`)
  return row
}

/** Deletes uncollected rows after the current hour, which a wrong clock has written. @returns whether there may be more */
function* withdraw({ id, planned: plannedHour }: PlannedCollector, now: number): StoreWork<boolean> {
  const gaps = yield* query<{ hour: number }>(sql`
    DELETE FROM tidegauge.collection WHERE collector = ${id} AND hour IN (
      SELECT hour FROM tidegauge.collection WHERE collector = ${id} AND state = 0 AND hour > ${now}
      UNION SELECT hour FROM tidegauge.collection WHERE collector = ${id} AND state = 2 AND hour > ${now}
      LIMIT ${commitRowsMax}) RETURNING hour`)
  if (gaps.length === 0) return false
  const oldestHour = gaps.reduce((least, { hour }) => Math.min(least, hour), plannedHour ?? 0)
  if (plannedHour !== null)
    yield* write(
      sql`UPDATE tidegauge.planned SET hour = ${oldestHour - 1} WHERE collector = ${id} AND hour >= ${oldestHour}`,
    )
  return true
}

/** Deletes uncollected rows of hours that are not expected any more. */
function* withdrawUnexpected({ id }: PlannedCollector, { at: dayHours }: Pick<HourPlan, 'at'>): StoreWork<void> {
  if (!dayHours) return
  for (const state of [0, 2] as const) {
    yield* write(sql`DELETE FROM tidegauge.collection WHERE collector = ${id} AND state = ${text(`${state}`)}
      AND NOT hour % 24 ${isIn('integer', dayHours)}`)
  }
}

/**
 * The first hour of a collector. A configured hour moves it back. Without one it stays: a clock that is behind for a minute
 * would move it by decades. A future start without any rows was written by a clock that was ahead, and is replaced. Pure.
 */
function beginOf({ since, isBegun }: PlannedCollector, now: number, configured?: number): number {
  const isToCome = since > now && isBegun === 0
  const wanted = configured !== undefined && configured < now ? configured : isToCome ? now : since
  return Math.min(since, wanted)
}

function* moveStart({ id, since }: PlannedCollector, begins: number): StoreWork<void> {
  if (begins >= since) return
  yield* write(sql`UPDATE tidegauge.collector SET since = ${begins} WHERE id = ${id}`)
  yield* write(sql`DELETE FROM tidegauge.planned WHERE collector = ${id}`)
}

/** Inserts the expected hours of a range that have no row. All before it have one. */
function* expectHours(id: number, from: number, to: number, plan: Pick<HourPlan, 'at'>): StoreWork<void> {
  if (to < from) return
  const all = Array.from({ length: to - from + 1 }, (_, place) => from + place)
  const hours = all.filter(hour => isExpected(plan, hourFromNumber(hour))).map(hour => [hour])
  yield* write(sql`INSERT INTO tidegauge.collection (hour, collector)
    SELECT hour, CAST(${id} AS integer) FROM ${rows({ hour: 'integer' }, hours)} AS hours
    WHERE true ON CONFLICT DO NOTHING`)
  yield* write(sql`INSERT INTO tidegauge.planned (collector, hour) VALUES (${id}, ${to})
    ON CONFLICT (collector) DO UPDATE SET hour = excluded.hour`)
}

/** As `OperatorStore.expectHour`. The row of `planned` stays: planning finds further hours. */
export function* expectHour(collector: string, hour: Hour, current: Hour): StoreWork<void> {
  const now = hourNumber(current)
  const known = yield* lockedCollector(collector, now)
  yield* moveStart(known, beginOf(known, now))
  yield* write(sql`INSERT INTO tidegauge.collection (hour, collector) VALUES (${hourNumber(hour)}, ${known.id})
    ON CONFLICT DO NOTHING`)
}
