import { Fault } from '../../src/model/fault.ts'
import { endOfTime, type Hour, hourNumber } from '../../src/model/hour.ts'
import type { MetricId } from '../../src/model/metric.ts'
import type { CollectionRow, LateCollector } from '../../src/outbox/contract/hours.ts'
import type { ValueAndState } from '../../src/outbox/contract/metrics.ts'
import type { Outbox } from '../../src/outbox/contract/outbox.ts'
import { outboxSchema } from '../../src/outbox/sqlite/outbox-salvage.ts'
import type { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { planHours } from '../../src/outbox/store/planning.ts'
import { rendered, type Statement, sql } from '../../src/outbox/store/sql.ts'
import { done, type StoreRow, type StoreWork, write } from '../../src/outbox/store/work.ts'
import { openDatabase, type Sqlite } from '../../src/sqlite/database.ts'

/** Expects an hour of a collector, and all hours from its start to that. */
export async function expectHours(outbox: Outbox, collector: string, since: Hour, current = since): Promise<void> {
  await outbox.intake.planHours({
    collector,
    since,
    current,
    oldest: since,
    gapReason: new Fault('hour-too-old', 'too old'),
  })
}

/** Rows of a range of hours. */
export async function rowsBetween(outbox: Outbox, from: Hour, to: Hour): Promise<readonly CollectionRow[]> {
  return (await outbox.status.detail({ collectors: [], protocolIds: [], destinations: [], hour: from }, from, to)).rows
}

/** Collectors with due hours up to an hour. */
export async function lateOf(outbox: Outbox, names: readonly string[], hour: Hour): Promise<readonly LateCollector[]> {
  const collectors = names.map(id => ({ id }))
  return (await outbox.status.lateness({ collectors, protocolIds: [], destinations: [], hour })).late
}

/** Records an attempt that failed. */
export async function markFailed(
  outbox: Outbox,
  collector: string,
  hour: Hour,
  fault: Fault,
  nextAttemptMs: number,
): Promise<void> {
  await outbox.intake.record({ collector, hour, acceptedValues: [], failure: { fault, nextAttemptMs } }, 0)
}

/** Number of pins of a chain. */
export async function pinCount(outbox: Outbox, chainId = 1): Promise<number> {
  return (await outbox.intake.pinnedHours(chainId, endOfTime, 1_000)).length
}

/** Expects hours of a collector. */
export async function expectEach(outbox: Outbox, collector: string, hours: readonly Hour[]): Promise<void> {
  for (const hour of hours) await outbox.operators.expectHour(collector, hour, hour)
}

/** Value and state of a metric. */
export async function storedValue(outbox: Outbox, id: MetricId, hour: Hour): Promise<ValueAndState | undefined> {
  return (await outbox.operators.stored([{ id, hour }]))[0]
}

/** Writes into the file of an outbox at once, by a connection of its own. */
export function atOnce<T>(outbox: Pick<SqliteOutbox, 'file'>, work: () => StoreWork<T>): T {
  return onFile(outbox, (database, answer) => database.transaction(() => done(work(), answer)).immediate())
}

/** As `atOnce`, for work that only reads: a full disk does not matter. */
export function readAtOnce<T>(outbox: Pick<SqliteOutbox, 'file'>, work: () => StoreWork<T>): T {
  return onFile(outbox, (_, answer) => done(work(), answer))
}

function onFile<T>(
  { file }: Pick<SqliteOutbox, 'file'>,
  act: (database: Sqlite, answer: (statement: Statement) => StoreRow[]) => T,
): T {
  const database = openDatabase(file, outboxSchema)
  try {
    const answer = (statement: Statement) => {
      const { text, values } = rendered(statement, 'sqlite')
      const prepared = database.prepare<unknown[], StoreRow>(text)
      if (prepared.reader) return prepared.all(...values)
      prepared.run(...values)
      return []
    }
    return act(database, answer)
  } finally {
    database.close()
  }
}

/** As `expectHours`, at once. */
export function expectHoursNow(
  outbox: Pick<SqliteOutbox, 'file'>,
  collector: string,
  since: Hour,
  current = since,
): void {
  const plan = { collector, since, current, oldest: since, gapReason: new Fault('hour-too-old', 'too old') }
  while (atOnce(outbox, () => planHours(plan)) === undefined);
}

/** Inserts a collector of which no hour is a row, or moves the start of a known one. */
export function addCollectorNow(outbox: Pick<SqliteOutbox, 'file'>, collector: string, since: Hour): void {
  atOnce(outbox, function* () {
    yield* write(sql`INSERT INTO tidegauge.collector (name, since) VALUES (${collector}, ${hourNumber(since)})
      ON CONFLICT (name) DO UPDATE SET since = excluded.since`)
    yield* write(sql`DELETE FROM tidegauge.planned
      WHERE collector = (SELECT id FROM tidegauge.collector WHERE name = ${collector})`)
  })
}
