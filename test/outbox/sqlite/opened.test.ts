import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { outboxSchema } from '../../../src/outbox/sqlite/outbox-salvage.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { openDatabase } from '../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { balanceOf, dueOf, plan, record } from '../contract/steps.ts'

describe('the outbox file', () => {
  it('is created with its folder', async () => {
    const file = join(temporaryFolder(), 'deep', 'outbox.db')
    const outbox = new SqliteOutbox(file)
    onTestFinished(() => outbox.close())
    await plan(outbox, { current: anHour })
    await record(outbox, metrics(3))
    expect(await dueOf(outbox)).toEqual(metrics(3))
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('has no place for %s', async value => {
    const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
    onTestFinished(() => outbox.close())
    await plan(outbox, { current: anHour })
    const stored = record(
      outbox,
      metrics(1).map(metric => ({ ...metric, value })),
    )
    await expect(stored).rejects.toThrow(`cannot have the value ${value}`)
    expect(await balanceOf(outbox)).toMatchObject({ enqueued: 0 })
  })

  it('is opened with synchronous FULL in WAL mode', () => {
    const database = openDatabase(join(temporaryFolder(), 'any.db'), outboxSchema)
    onTestFinished(() => void database.close())
    expect(database.pragma('synchronous', { simple: true })).toBe(2)
    expect(database.pragma('journal_mode', { simple: true })).toBe('wal')
  })

  it('is opened with foreign keys enforced', () => {
    const database = openDatabase(join(temporaryFolder(), 'any.db'), outboxSchema)
    onTestFinished(() => void database.close())
    expect(database.pragma('foreign_keys', { simple: true })).toBe(1)
  })

  it('is refused when it is no database', () => {
    expect(() => new SqliteOutbox(new URL(import.meta.url).pathname)).toThrow(/not a database/)
  })
})
