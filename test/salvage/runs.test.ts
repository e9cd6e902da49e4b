import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { hourAfter } from '../../src/model/hour.ts'
import { packRuns, unpackRun } from '../../src/outbox/rows/run-form.ts'
import { packValues, runDigest } from '../../src/outbox/rows/run-values.ts'
import { outboxSalvage } from '../../src/outbox/sqlite/outbox-salvage.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { outboxSchema } from '../../src/outbox/sqlite/tables/schema.ts'
import { type FoundRun, foundRuns, joinRuns, runKeeper } from '../../src/salvage/found-runs.ts'
import { withMetricRows } from '../../src/salvage/metric-rows.ts'
import type { RescuedRow } from '../../src/salvage/pages/rescue.ts'
import { openDatabase } from '../../src/sqlite/database.ts'
import { contentsOf } from '../outbox/support/contents.ts'
import { betrayals, leafOf, overwrite, pageBytes } from '../outbox/support/damage.ts'
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

it('finds a run without its values, and values without their run', () => {
  for (const sql of [
    'DELETE FROM run_values WHERE hour = ? AND first = ?',
    'UPDATE run_values SET metric_values = substr(metric_values, 9) WHERE hour = ? AND first = ?',
    'INSERT INTO run_values SELECT hour, first + 2000, metric_values FROM run_values WHERE hour = ? AND first = ?',
  ]) {
    const { file } = sound()
    const { hour, first } = runOf(file)
    const database = openDatabase(file, outboxSchema)
    database.pragma('foreign_keys = OFF')
    expect(database.prepare(sql).run(hour, first).changes).toBe(1)
    database.close()
    expect(outboxSalvage.brokenPages(file), sql).toBe('there are not as many values as metrics')
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

it('joins no older run with its values of which metrics are dropped in a newer one, whose values are lost', () => {
  const database = openDatabase(join(temporaryFolder(), 'made.db'), outboxSchema)
  onTestFinished(() => void database.close())
  const form = { pack: packRuns, unpack: unpackRun, digestOf: runDigest }
  const bytes = packValues([1, 2, 3])
  const run = (first: number, state: number, metrics: number, values: Buffer) => ({
    table: 'outbox',
    isSure: true,
    values: [9, first, 1, state, 1, 1, metrics, runDigest(9, first, values)],
  })
  const joined = (newest: readonly RescuedRow[]) =>
    withMetricRows(database, join(temporaryFolder(), 'work.db'), () => {
      database.exec(foundRuns)
      const runs: FoundRun[] = []
      for (const row of newest) runKeeper(database, form, 'newest')(row)
      joinRuns(database, form, found => runs.push(found))
      const keepOlder = runKeeper(database, form, 'older')
      keepOlder(run(1, 0, 3, bytes))
      keepOlder({ table: 'run_values', isSure: true, values: [9, 1, bytes] })
      joinRuns(database, form, found => runs.push(found))
      return runs.flatMap(({ metrics }) => metrics.map(({ number }) => number))
    })
  expect(joined([])).toEqual([1, 2, 3])
  expect(joined([run(1, 0, 1, packValues([1]))])).toEqual([1, 2, 3])
  expect(joined([run(2, 4, 1, packValues([2]))])).toEqual([])
})

it('makes the hours of lost rows due again', async () => {
  const file = join(temporaryFolder(), 'outbox.db')
  const outbox = new SqliteOutbox(file)
  outbox.expectedHours.addCollector('vault/c0', hourAfter(anHour, -hours))
  for (let back = 0; back < hours; back += 1) {
    const hour = hourAfter(anHour, -back)
    outbox.expectedHours.expect('vault/c0', [hour])
    const accepted = metrics(3, hour).map(metric => ({ metric }))
    await outbox.intake.record({ collector: 'vault/c0', hour, accepted }, nowMs)
    await outbox.delivery.recordVerdicts({ delivered: metrics(3, hour), dead: [], warnings: [] }, nowMs)
  }
  await outbox.close()
  const before = contentsOf(file)
  const page = leafOf(file, 'outbox', 0)
  overwrite(file, (page - 1) * pageBytes, page * pageBytes)
  const [lost] = mended(file, 'a test')?.lost ?? []
  const after = contentsOf(file)
  expect(betrayals(before, after)).toEqual([])
  expect(lost?.hours).toBeGreaterThan(100)
  expect(before.rows.size - after.rows.size).toBe(3 * (lost?.hours ?? 0))
  expect(after.rows.size).toBeGreaterThan(0)
})
