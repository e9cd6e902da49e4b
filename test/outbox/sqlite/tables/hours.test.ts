import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Fault } from '../../../../src/model/fault.ts'
import { hourAfter } from '../../../../src/model/hour.ts'
import { commitRowsMax } from '../../../../src/model/limits.ts'
import type { CollectionOutcome } from '../../../../src/outbox/contract/outcome.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { outboxSchema } from '../../../../src/outbox/sqlite/tables/schema.ts'
import { openDatabase } from '../../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour, metrics } from '../../../support/metrics.ts'

const past = hourAfter(anHour, -9_000)
const nowMs = anHour + 60_000

interface Opened {
  readonly outbox: SqliteOutbox
  readonly file: string
}

function opened(): Opened {
  const file = join(temporaryFolder(), 'outbox.db')
  const outbox = new SqliteOutbox(file)
  onTestFinished(() => outbox.close())
  return { outbox, file }
}

function record(outbox: SqliteOutbox, more: Partial<CollectionOutcome> = {}, count = 2) {
  const { hour = past } = more
  const accepted = metrics(count, hour).map(metric => ({ metric }))
  return outbox.intake.record({ collector: 'vault/c', hour, accepted, unexpected: true, ...more }, nowMs)
}

const failed = { fault: new Fault('http-unreachable', 'no answer'), nextAttemptMs: 5 }

/** The counts of the rows of hours, and the sum of what they have. */
function countsOf(file: string): unknown {
  const database = openDatabase(file, outboxSchema)
  const rows = database.prepare('SELECT metrics, digest FROM collection ORDER BY hour').all()
  database.close()
  return rows
}

it('an hour counts all of its values, however many times and parts they came in', async () => {
  const { outbox, file } = opened()
  await record(outbox, { failed }, 1)
  await record(outbox, {}, 2 * commitRowsMax + 5)
  const whole = opened()
  whole.outbox.expectedHours.addCollector('vault/c', past)
  whole.outbox.expectedHours.expect('vault/c', [past])
  await record(whole.outbox, { unexpected: false }, 2 * commitRowsMax + 5)
  expect(countsOf(file)).toEqual(countsOf(whole.file))
  expect(countsOf(file)).toMatchObject([{ metrics: 2 * commitRowsMax + 5 }])
})

it('a year of hours is pruned of its values alone: what was collected, and what is a gap, is known for ever', async () => {
  const { outbox, file } = opened()
  await record(outbox)
  outbox.expectedHours.markGap('vault/c', hourAfter(past, 1), failed.fault)
  const due = outbox.dueMetrics.read({ protocolIds: ['vault'], newestFirstFrom: anHour, latest: anHour }, 9)
  outbox.verdicts.record({ delivered: due, dead: [], warnings: [] }, 1)
  while (outbox.pruneSome(hourAfter(anHour, -35 * 24))) await new Promise(setImmediate)
  expect(outbox.metrics.between(past, anHour)).toEqual([])
  expect([...outbox.expectedHours.states('vault/c', past, anHour).values()]).toEqual(['collected', 'gap'])
  expect(outbox.hourRanges.of('gap')).toHaveLength(1)
  expect(countsOf(file)).toEqual([
    { metrics: null, digest: null },
    { metrics: 0, digest: 0 },
  ])
})
