import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { hourAfter } from '../../src/model/hour.ts'
import { outboxSalvage } from '../../src/outbox/sqlite/outbox-salvage.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { outboxSchema } from '../../src/outbox/sqlite/tables/schema.ts'
import { openDatabase } from '../../src/sqlite/database.ts'
import { contentsOf } from '../outbox/support/contents.ts'
import { betrayals, leafOf, pageBytes } from '../outbox/support/damage.ts'
import { mended, nowMs, soundOutboxes } from '../outbox/support/salvaging.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour, metrics } from '../support/metrics.ts'

interface RawRun {
  readonly hour: number
  readonly first: number
  readonly metrics: number
  readonly bytes: Buffer
}

const sound = soundOutboxes()

/** Hours of an outbox whose rows need several pages. */
const hours = 400

/** Changes the rows of an outbox as no outbox does. */
function change(file: string, sql: string, ...bound: unknown[]): void {
  const database = openDatabase(file, outboxSchema)
  try {
    expect(database.prepare(sql).run(...bound).changes).toBeGreaterThan(0)
  } finally {
    database.close()
  }
}

/** A delivered run of several metrics. */
function runOf(file: string): RawRun {
  const database = openDatabase(file, outboxSchema)
  try {
    const run = database
      .prepare<[], RawRun>(
        'SELECT hour, first, metrics, metric_values AS bytes FROM outbox JOIN run_values USING (hour, first) WHERE state = 1 AND metrics > 3 ORDER BY hour LIMIT 1 OFFSET 9',
      )
      .get()
    if (!run) throw new Error('no run')
    return run
  } finally {
    database.close()
  }
}

it('finds a metric that is in two runs, and keeps the value that its hour adds up to', () => {
  const { file, contents } = sound()
  const { hour, first, bytes } = runOf(file)
  change(file, 'INSERT INTO run_values VALUES (?, ?, ?)', hour, first + 1, bytes.subarray(0, 8))
  const copy = `INSERT INTO outbox SELECT hour, first + 1, protocol, state, collected_ms, delivered_ms, 1, digest FROM outbox WHERE hour = ? AND first = ?`
  change(file, copy, hour, first)
  expect(outboxSalvage.brokenPages(file)).toBe('a metric and hour is stored twice')
  mended(file)
  expect(contentsOf(file)).toEqual(contents)
})

it('takes out a run whose values or numbers are not those that were stored, and no other metric of its hour', () => {
  for (const sql of [
    "UPDATE run_values SET metric_values = CAST(x'0000000000000840' || substr(metric_values, 9) AS BLOB) WHERE hour = ? AND first = ?",
    'UPDATE run_values SET first = first + 2000 WHERE hour = ? AND first = ?',
    'UPDATE outbox SET digest = digest - 1 WHERE hour = ? AND first = ?',
  ]) {
    const { file, contents } = sound()
    const { hour, first, metrics } = runOf(file)
    const database = openDatabase(file, outboxSchema)
    database.pragma('foreign_keys = OFF')
    database.prepare(sql).run(hour, first)
    database.close()
    mended(file, 'a test')
    const after = contentsOf(file)
    expect(betrayals(contents, after)).toEqual([])
    expect(contents.rows.size - after.rows.size, sql).toBe(metrics)
  }
})

it('a stored value that is no number is damage, and is in no salvaged file', async () => {
  const { file, contents } = sound()
  const { hour, first, metrics } = runOf(file)
  const infinite =
    "UPDATE run_values SET metric_values = CAST(x'000000000000F07F' || substr(metric_values, 9) AS BLOB) WHERE hour = ? AND first = ?"
  change(file, infinite, hour, first)
  const outbox = new SqliteOutbox(file)
  onTestFinished(() => outbox.close())
  await expect(outbox.operators.metrics(hourAfter(anHour, -100), anHour)).rejects.toMatchObject({
    code: 'SQLITE_CORRUPT',
  })
  await outbox.close()
  mended(file, 'a test')
  const after = contentsOf(file)
  expect(betrayals(contents, after)).toEqual([])
  expect(contents.rows.size - after.rows.size).toBe(metrics)
})

/**
 * An outbox of many delivered hours that loses the page of the oldest rows.
 *
 * @param droppedBack how many hours back a person has dropped the metrics
 * @returns the contents before and after a salvage
 */
async function withoutOldestRows(droppedBack?: number) {
  const file = join(temporaryFolder(), 'outbox.db')
  const outbox = new SqliteOutbox(file)
  outbox.expectedHours.addCollector('vault/c0', hourAfter(anHour, -hours))
  for (let back = 0; back < hours; back += 1) {
    const hour = hourAfter(anHour, -back)
    outbox.expectedHours.expect('vault/c0', [hour])
    const accepted = metrics(3, hour).map(metric => ({ metric }))
    await outbox.intake.record({ collector: 'vault/c0', hour, accepted }, nowMs)
    if (back === droppedBack) await outbox.operators.dropDue({ hour })
    else await outbox.delivery.recordVerdicts({ delivered: metrics(3, hour), dead: [], warnings: [] }, nowMs)
  }
  await outbox.close()
  const before = contentsOf(file)
  const page = leafOf(file, 'outbox', 0)
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.fill(0xa5, (page - 1) * pageBytes, page * pageBytes))
  mended(file, 'a test')
  return { before, after: contentsOf(file) }
}

it.each([
  ['no metric was dropped', undefined],
  ['those that were dropped are known', 0],
])('makes metrics due again whose rows are lost and whose values are there, where %s', async (_, droppedBack) => {
  const { before, after } = await withoutOldestRows(droppedBack)
  expect(betrayals(before, after)).toEqual([])
  expect(after.rows.size).toBe(before.rows.size)
  expect([...after.rows.values()].filter(({ state }) => state === 0).length).toBeGreaterThan(100)
})

it('makes the hours due again instead where dropped metrics may be among them', async () => {
  const { before, after } = await withoutOldestRows(hours - 1)
  expect(betrayals(before, after)).toEqual([])
  expect(before.rows.size - after.rows.size).toBeGreaterThan(100)
  expect([...after.rows.values()].filter(({ state }) => state === 0)).toEqual([])
})
