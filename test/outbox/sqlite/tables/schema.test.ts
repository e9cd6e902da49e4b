import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { openForDaemon } from '../../../../src/outbox/open.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { outboxSchema } from '../../../../src/outbox/sqlite/tables/schema.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour, metrics } from '../../../support/metrics.ts'

const older = 'deliver what is due with the version of tidegauge that wrote it (flush), then move the file aside'
const newer = 'run the version of tidegauge that wrote it, or a newer one'

/** An outbox with a metric, whose tables are said to be of another version. */
async function fileOf(version: number): Promise<string> {
  const file = join(temporaryFolder(), 'outbox.db')
  const outbox = new SqliteOutbox(file)
  outbox.expectedHours.addCollector('vault/c', anHour)
  const accepted = metrics(1).map(metric => ({ metric }))
  await outbox.intake.record({ collector: 'vault/c', hour: anHour, accepted }, 1)
  outbox.close()
  change(file, database => database.pragma(`user_version = ${version}`))
  return file
}

function change(file: string, make: (database: Database.Database) => void): void {
  const database = new Database(file)
  make(database)
  database.close()
}

const context = (file: string) => ({
  place: { kind: 'folder' as const, folder: dirname(file) },
  config: 'tidegauge.yaml',
  nowMs: anHour,
  keepMs: 1,
  collectors: ['vault/c'],
})

const { version } = outboxSchema

describe('an outbox of another version', () => {
  it.each([
    ['older', version - 1, older],
    ['the oldest', 1, older],
    ['newer', version + 1, newer],
  ])('that is %s is refused with what to do, and not touched', async (_, other, fix) => {
    const file = await fileOf(other)
    const before = readFileSync(file)
    const refusal = { code: 'outbox-unusable', message: expect.stringContaining(`schema version ${other};`), fix }
    expect(() => new SqliteOutbox(file)).toThrow(expect.objectContaining(refusal))
    await expect(openForDaemon(context(file), { hasRole: true })).rejects.toMatchObject(refusal)
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  it.each([
    ['older', version - 1, older],
    ['newer', version + 1, newer],
  ])('that is %s and damaged is not salvaged, and not moved', async (_, other, fix) => {
    const file = await fileOf(other)
    const damaged = readFileSync(file).fill(0xa5, 4_096)
    writeFileSync(file, damaged)
    await expect(openForDaemon(context(file), { hasRole: true })).rejects.toMatchObject({
      code: 'outbox-unusable',
      fix,
    })
    expect(readFileSync(file).equals(damaged)).toBe(true)
    expect(readdirSync(dirname(file)).filter(name => /salvag|corrupt/.test(name))).toEqual([])
  })
})

it('a database of another program is refused, and not touched', () => {
  const file = join(temporaryFolder(), 'outbox.db')
  change(file, database => database.exec('CREATE TABLE note (text TEXT); INSERT INTO note VALUES (1)'))
  const before = readFileSync(file)
  expect(() => new SqliteOutbox(file)).toThrow(
    expect.objectContaining({
      code: 'outbox-unusable',
      message: expect.stringContaining('is a database of another program'),
      fix: 'use another data folder, or move the file',
    }),
  )
  expect(readFileSync(file).equals(before)).toBe(true)
})
