import { expect, it, onTestFinished } from 'vitest'
import { hourAfter } from '../../src/model/hour.ts'
import { outboxSalvage } from '../../src/outbox/sqlite/outbox-salvage.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { outboxSchema } from '../../src/outbox/sqlite/tables/schema.ts'
import { openDatabase } from '../../src/sqlite/database.ts'
import { contentsOf } from '../outbox/support/contents.ts'
import { betrayals } from '../outbox/support/damage.ts'
import { mended, soundOutboxes } from '../outbox/support/salvaging.ts'
import { anHour } from '../support/metrics.ts'

interface RawRun {
  readonly hour: number
  readonly first: number
  readonly metrics: number
  readonly bytes: Buffer
}

const sound = soundOutboxes()

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
        'SELECT hour, first, metrics, metric_values AS bytes FROM outbox WHERE state = 1 AND metrics > 3 ORDER BY hour LIMIT 1 OFFSET 9',
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
  const copy = `INSERT INTO outbox SELECT hour, first + 1, protocol, state, collected_ms, delivered_ms, 1, digest, ? FROM outbox WHERE hour = ? AND first = ?`
  change(file, copy, bytes.subarray(0, 8), hour, first)
  expect(outboxSalvage.brokenPages(file)).toBe('a metric and hour is stored twice')
  mended(file)
  expect(contentsOf(file)).toEqual(contents)
})

it('takes out a run whose values or numbers are not those that were stored, and no other metric of its hour', () => {
  for (const sql of [
    "UPDATE outbox SET metric_values = CAST(x'0000000000000840' || substr(metric_values, 9) AS BLOB) WHERE hour = ? AND first = ?",
    'UPDATE outbox SET first = first + 2000 WHERE hour = ? AND first = ?',
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
    "UPDATE outbox SET metric_values = CAST(x'000000000000F07F' || substr(metric_values, 9) AS BLOB) WHERE hour = ? AND first = ?"
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

it('a due metric whose stored value is missing or no number is damage, and is not sent with another value', async () => {
  for (const sql of [
    'UPDATE outbox SET metric_values = substr(metric_values, 1, 8 * metrics - 8) WHERE state = 0',
    "UPDATE outbox SET metric_values = CAST(substr(metric_values, 1, 8 * metrics - 8) || x'000000000000F07F' AS BLOB) WHERE state = 0",
  ]) {
    const { file } = sound()
    const database = openDatabase(file, outboxSchema)
    database.pragma('ignore_check_constraints = ON')
    expect(database.prepare(sql).run().changes).toBeGreaterThan(0)
    const protocols = database.prepare<[], string>('SELECT name FROM protocol').pluck().all()
    database.close()
    const outbox = new SqliteOutbox(file)
    onTestFinished(() => outbox.close())
    const due = { protocolIds: protocols, newestFirstFrom: anHour, latest: anHour }
    await expect(outbox.delivery.due(due, 10_000), sql).rejects.toMatchObject({ code: 'SQLITE_CORRUPT' })
  }
})
