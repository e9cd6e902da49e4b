import { type BatchJob, BatchScheduler } from '../../../edge/batch-scheduler.ts'
import { type Hour, hourNumber } from '../../../model/hour.ts'
import type { HourPlan } from '../../contract/hours.ts'
import { faultColumns } from '../../rows/hour-rows.ts'
import type { PostgresDatabase } from '../connection/database.ts'
import type { Transaction } from '../connection/transaction.ts'
import { lockCollectors } from '../tables/locks.ts'
import type { InTransaction } from './outcome-writer.ts'

/** Hours to be planned, and what takes part in the commit. */
interface PlanRequest {
  readonly plan: HourPlan
  readonly inTransaction: InTransaction | undefined
}

type PostgresPlanJob = BatchJob<PlanRequest, number>

/** Collectors planned in one commit. */
const plansMax = 250

/**
 * Plans the hours that are requested in the same event-loop turn: at a full hour nearly every collector needs one more
 * row, and a thousand rows take a few statements. Other cases are planned one by one.
 */
export class PostgresHourPlanner {
  readonly #database: PostgresDatabase
  readonly #scheduler: BatchScheduler<PlanRequest, number>

  constructor(database: PostgresDatabase) {
    this.#database = database
    this.#scheduler = new BatchScheduler(jobs => this.#planAll(jobs), { sizeMax: plansMax, isSerial: true })
  }

  /** As `IntakeStore.planHours`. */
  plan(plan: HourPlan, inTransaction?: InTransaction): Promise<number> {
    return this.#scheduler.schedule({ plan, inTransaction })
  }

  async #planAll(jobs: readonly PostgresPlanJob[]): Promise<void> {
    for (const [current, same] of Map.groupBy(jobs, ({ request }) => request.plan.current)) {
      const done = await this.#planNext(
        same.filter(({ request }) => !request.inTransaction),
        current,
      )
      for (const job of same) {
        if (done.has(job.request.plan.collector) && !job.request.inTransaction) job.resolve(0)
        else await this.#planOne(job)
      }
    }
  }

  /**
   * Inserts the current hour for those collectors that need nothing else: the hour before is their last row, nothing is too
   * old, and their start has not moved.
   *
   * @returns ids of the collectors that need nothing more; none when it fails, which each then meets again
   */
  async #planNext(jobs: readonly PostgresPlanJob[], current: Hour): Promise<ReadonlySet<string>> {
    const plans = jobs.map(({ request }) => request.plan)
    if (plans.length < 2) return new Set()
    try {
      return await this.#database.write(transaction => addNext(transaction, plans, hourNumber(current)))
    } catch {
      return new Set()
    }
  }

  async #planOne({ request, resolve, reject }: PostgresPlanJob): Promise<void> {
    const { plan, inTransaction } = request
    await this.#database
      .write(async transaction => {
        const gaps = await planHours(transaction, plan)
        await inTransaction?.(transaction)
        return gaps
      })
      .then(resolve, reject)
  }
}

const ofCollector = 'collector = collector.id AND'

async function addNext(
  transaction: Transaction,
  plans: readonly HourPlan[],
  current: number,
): Promise<ReadonlySet<string>> {
  await lockCollectors(
    transaction,
    plans.map(({ collector }) => collector),
  )
  const none = (condition: string) =>
    `NOT EXISTS (SELECT 1 FROM tidegauge.collection WHERE collection.${ofCollector} ${condition})`
  const ready = await transaction.query<{ id: number; name: string; last: number }>(
    `SELECT collector.id, collector.name, planned.hour AS last
     FROM unnest($1::text[], $2::integer[], $3::integer[]) AS asked (name, oldest, since)
       JOIN tidegauge.collector ON collector.name = asked.name
       JOIN tidegauge.planned ON planned.collector = collector.id AND planned.hour IN ($4::integer - 1, $4::integer)
     WHERE collector.since <= planned.hour AND collector.since <= coalesce(asked.since, collector.since)
       AND ${none('state = 0 AND hour < asked.oldest')} AND ${none('state = 0 AND hour > $4::integer')}
       AND ${none(`state = 2 AND hour >= asked.oldest AND (hour >= $4::integer OR fault_code = 'hour-too-old')`)}
       AND (planned.hour = $4::integer OR ${none('hour = $4::integer')})`,
    [
      plans.map(({ collector }) => collector),
      plans.map(({ oldest }) => hourNumber(oldest)),
      plans.map(({ since }) => (since === undefined ? null : hourNumber(since))),
      current,
    ],
  )
  const ids = ready.filter(({ last }) => last < current).map(({ id }) => id)
  if (ids.length > 0) {
    transaction.later('INSERT INTO tidegauge.collection (hour, collector) SELECT $1::integer, unnest($2::integer[])', [
      current,
      ids,
    ])
    transaction.later('UPDATE tidegauge.planned SET hour = $1::integer WHERE collector = ANY ($2::integer[])', [
      current,
      ids,
    ])
  }
  return new Set(ready.map(({ name }) => name))
}

/** Plans one collector. @returns how many hours became gaps */
async function planHours(transaction: Transaction, plan: HourPlan): Promise<number> {
  const { collector: name, current, oldest, since, gapReason } = plan
  const [now, first] = [hourNumber(current), Math.min(hourNumber(current), hourNumber(since ?? current))]
  transaction.later(
    `INSERT INTO tidegauge.collector (name, since) SELECT $1, $2::integer
     WHERE NOT EXISTS (SELECT 1 FROM tidegauge.collector WHERE name = $1) ON CONFLICT DO NOTHING`,
    [name, first],
  )
  const id = (await lockCollectors(transaction, [name])).get(name) ?? 0
  await withdraw(transaction, id, now)
  const begins = await begin(transaction, id, now, since === undefined ? undefined : hourNumber(since))
  expect(transaction, id, begins, now)
  transaction.later(
    `UPDATE tidegauge.collection SET state = 0, fault = NULL, fault_code = NULL WHERE collector = $1 AND state = 2
       AND (hour = $2::integer OR hour >= $3::integer AND fault_code = 'hour-too-old')`,
    [id, now, hourNumber(oldest)],
  )
  const gaps = await transaction.query(
    `UPDATE tidegauge.collection SET state = 2, fault = coalesce(fault, $1), fault_code = coalesce(fault_code, $2)
     WHERE collector = $3 AND state = 0 AND hour < $4::integer
     RETURNING hour`,
    [...faultColumns(gapReason), id, hourNumber(oldest)],
  )
  return gaps.length
}

/** Deletes uncollected rows after the current hour, which a wrong clock has written. */
async function withdraw(transaction: Transaction, id: number, now: number): Promise<void> {
  const gone = await transaction.query<{ hour: number }>(
    'DELETE FROM tidegauge.collection WHERE collector = $1 AND hour > $2::integer AND state <> 1 RETURNING hour',
    [id, now],
  )
  if (gone.length === 0) return
  const oldest = gone.reduce((least, { hour }) => Math.min(least, hour), Number.POSITIVE_INFINITY)
  transaction.later('UPDATE tidegauge.planned SET hour = $2::integer WHERE collector = $1 AND hour > $2::integer', [
    id,
    oldest - 1,
  ])
}

/**
 * Moves the start of a collector back to a configured hour. Without one it stays: a clock that is behind for a minute would
 * move it by decades. A future start without any rows was written by a clock that was ahead, and is replaced.
 *
 * @returns its start
 */
async function begin(transaction: Transaction, id: number, now: number, configured?: number): Promise<number> {
  const [row] = await transaction.query<{ since: number; is_there: boolean }>(
    `SELECT since, EXISTS (SELECT 1 FROM tidegauge.collection WHERE collection.collector = id AND hour = since) AS is_there
     FROM tidegauge.collector WHERE id = $1`,
    [id],
  )
  const known = row?.since ?? now
  const isToCome = known > now && !row?.is_there
  const wanted = configured !== undefined && configured < now ? configured : isToCome ? now : known
  const begins = Math.min(known, wanted)
  if (begins < known) {
    transaction.later('UPDATE tidegauge.collector SET since = $2 WHERE id = $1', [id, begins])
    transaction.later('DELETE FROM tidegauge.planned WHERE collector = $1', [id])
  }
  return begins
}

/** Inserts the hours without a row, since the start or since the end of the unbroken run of rows. */
function expect(transaction: Transaction, id: number, begins: number, now: number): void {
  transaction.later(
    `INSERT INTO tidegauge.collection (hour, collector)
     SELECT hour, $1::integer FROM generate_series(
       greatest($2::integer, coalesce((SELECT hour + 1 FROM tidegauge.planned WHERE collector = $1::integer), $2::integer)), $3::integer) AS hour
     ON CONFLICT DO NOTHING`,
    [id, begins, now],
  )
  transaction.later(
    `INSERT INTO tidegauge.planned (collector, hour) SELECT $1::integer, $2::integer WHERE $2::integer >= $3::integer
     ON CONFLICT (collector) DO UPDATE SET hour = greatest(planned.hour, excluded.hour)`,
    [id, now, begins],
  )
}
