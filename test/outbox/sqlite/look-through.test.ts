import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { openChecking, openSalvaged } from '../../../src/outbox/open.ts'
import { outboxSchema } from '../../../src/outbox/sqlite/outbox-salvage.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { openDatabase } from '../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { flawsOf } from '../support/contents.ts'
import { collectorIds, fill } from '../support/filled.ts'

const nowMs = hourAfter(anHour, 80) + 60_000
const late = hourAfter(anHour, 80)
const [collector = ''] = collectorIds
const outcome = { collector, hour: late, accepted: metrics(2, late).map(metric => ({ metric })) }

const deps = { nowMs, keepMs: 35 * 24 * hourMs, collectors: collectorIds }

async function filled(): Promise<string> {
  const file = join(temporaryFolder(), 'outbox.db')
  const outbox = new SqliteOutbox(file)
  await fill(outbox, dice(7), 60)
  outbox.close()
  return file
}

/** As the daemon opens a file that it takes for a large one. */
function opened(file: string): SqliteOutbox {
  const { outbox } = openChecking(file, deps, undefined, 0)
  onTestFinished(() => outbox.close())
  return outbox
}

/** Spoils a page in the middle of the expected hours, which are not read at a start. */
function spoil(file: string): void {
  const database = openDatabase(file, outboxSchema)
  const sql = "SELECT pageno FROM dbstat WHERE name = 'collection' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 1"
  const page = Number(database.prepare(sql).pluck().get())
  database.close()
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.fill(0xa5, (page - 1) * 4_096, page * 4_096))
}

it('a large file is read at once, and written to once it is known to be sound', async () => {
  const outbox = opened(await filled())
  const { held } = outbox.disk
  expect(held).toBeDefined()
  expect((await outbox.delivery.backlog()).balance.delivered).toBeGreaterThan(0)
  const order: string[] = []
  const writing = outbox.intake.record(outcome, nowMs).then(() => order.push('written'))
  await held?.then(() => order.push('looked through'))
  await writing
  expect(order).toEqual(['looked through', 'written'])
  expect(outbox.disk.held).toBeUndefined()
  expect(await outbox.operators.metrics(late, late)).toHaveLength(2)
})

it('nothing is written into a large file that is damaged: it is reported, and saved when it is opened again', async () => {
  const file = await filled()
  spoil(file)
  const before = readFileSync(file)
  const { outbox } = openChecking(file, deps, undefined, 0)
  const writing = expect(outbox.intake.record(outcome, nowMs)).rejects.toThrow()
  const breakage = await outbox.disk.broken
  expect(breakage.kind).toBe('damaged')
  await writing
  expect(await outbox.pruneSome(late)).toBe(false)
  outbox.trimLog()
  outbox.close()
  expect(readFileSync(file).equals(before)).toBe(true)
  const again = openSalvaged(file, deps, breakage.reason)
  again.outbox.close()
  expect(again.salvaged?.reason).toBe(breakage.reason)
  expect(flawsOf(file)).toEqual([])
})

it('what waits for a file to be looked through is refused when the outbox is closed', async () => {
  const outbox = opened(await filled())
  const writing = expect(outbox.intake.record(outcome, nowMs)).rejects.toThrow('closed')
  await new Promise(setImmediate)
  outbox.close()
  await writing
})

it('a small file is looked through before it is opened', async () => {
  const { outbox } = openChecking(await filled(), deps)
  expect(outbox.disk.held).toBeUndefined()
  outbox.close()
})
