import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Fault } from '../../../../src/model/fault.ts'
import { hourAfter, hoursFrom } from '../../../../src/model/hour.ts'
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
  return outbox.recordCollection({ collector: 'vault/c', hour, accepted, unexpected: true, ...more }, nowMs)
}

const failed = { fault: new Fault('http-unreachable', 'no answer'), nextAttemptMs: 5 }

/** What the rows of hours say they have, and the sum of what they have. */
function countsOf(file: string): unknown {
  const database = openDatabase(file, outboxSchema)
  const rows = database.prepare('SELECT metrics, digest FROM collection ORDER BY hour').all()
  database.close()
  return rows
}

describe('an hour that nobody expected', () => {
  it('is collected when it is recorded, of a collector that is expected from now on', async () => {
    const { outbox } = opened()
    expect(await record(outbox)).toEqual({ corrected: 0, added: 2 })
    expect(outbox.expectedHours.between(past, anHour)).toEqual([
      { collector: 'vault/c', hour: past, state: 'collected', attempts: 1 },
    ])
    expect(outbox.expectedHours.since('vault/c')).toBe(anHour)
    expect(outbox.expectedHours.due(['vault/c'], anHour, nowMs, 9)).toEqual([])
  })

  it('is not waited for when it failed, and its values are kept', async () => {
    const { outbox } = opened()
    expect(await record(outbox, { failed })).toEqual({ corrected: 0, added: 2 })
    expect(outbox.expectedHours.between(past, anHour)).toEqual([])
    expect(outbox.tally.balance()).toMatchObject({ due: 2 })
  })

  it('does not change what is expected when it fails', async () => {
    const { outbox } = opened()
    outbox.expectedHours.addCollector('vault/c', past)
    outbox.expectedHours.expect('vault/c', [past])
    await record(outbox, { failed })
    expect(outbox.expectedHours.due(['vault/c'], anHour, nowMs, 9)).toEqual([
      { collector: 'vault/c', hour: past, attempts: 0 },
    ])
    await record(outbox)
    expect(outbox.expectedHours.states('vault/c', past, past)).toEqual(new Map([[past, 'collected']]))
  })

  it('counts all of its values, however many times and parts they came in', async () => {
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

  it('may be a gap, once, and be mended', async () => {
    const { outbox } = opened()
    outbox.expectedHours.addCollector('vault/c', anHour)
    const fault = (message: string) => new Fault('chain-state-missing', message)
    outbox.expectedHours.markGap('vault/c', past, fault('no archive'))
    outbox.expectedHours.markGap('vault/c', past, fault('again'))
    expect(outbox.expectedHours.between(past, past)).toMatchObject([{ state: 'gap', fault: { message: 'no archive' } }])
    await record(outbox)
    outbox.expectedHours.markGap('vault/c', past, fault('late'))
    expect(outbox.expectedHours.between(past, past)).toMatchObject([{ state: 'collected' }])
  })
})

describe('states of hours', () => {
  it('are those of one collector in a range', async () => {
    const { outbox } = opened()
    const hours = hoursFrom(past, hourAfter(past, 4))
    for (const name of ['vault/c', 'vault/d']) outbox.expectedHours.addCollector(name, past)
    outbox.expectedHours.expect('vault/c', hours.slice(0, 3))
    outbox.expectedHours.expect('vault/d', hours)
    await record(outbox)
    outbox.expectedHours.markGap('vault/c', hourAfter(past, 1), failed.fault)
    expect([...outbox.expectedHours.states('vault/c', past, hourAfter(past, 9)).values()]).toEqual([
      'collected',
      'gap',
      'due',
    ])
    expect(outbox.expectedHours.states('vault/c', hourAfter(past, 2), hourAfter(past, 3))).toEqual(
      new Map([[hourAfter(past, 2), 'due']]),
    )
    expect(outbox.expectedHours.states('vault/x', past, anHour)).toEqual(new Map())
  })
})

describe('gaps', () => {
  it('are ranges of hours in a row with the same reason, whatever numbers are in its words', () => {
    const { outbox } = opened()
    const { expectedHours } = outbox
    const mark = (name: string, from: number, to: number, words: (count: number) => string) => {
      expectedHours.addCollector(name, past)
      for (let count = from; count <= to; count += 1) {
        expectedHours.markGap(name, hourAfter(past, count), new Fault('chain-state-missing', words(count)))
      }
    }
    mark('vault/c', 0, 4, count => `no state of block ${count}`)
    mark('vault/c', 5, 5, () => 'another reason')
    mark('vault/c', 7, 8, () => 'another reason')
    mark('vault/d', 9, 10, () => 'another reason')
    const range = (collector: string, from: number, to: number, message: string) => ({
      ...{ collector, from: hourAfter(past, from), to: hourAfter(past, to), hours: to - from + 1 },
      fault: { code: 'chain-state-missing', message, facts: {} },
    })
    const all = [
      range('vault/c', 0, 4, 'no state of block 0'),
      range('vault/c', 5, 5, 'another reason'),
      range('vault/c', 7, 8, 'another reason'),
      range('vault/d', 9, 10, 'another reason'),
    ]
    expect(expectedHours.ranges('gap')).toEqual(all)
    expect(expectedHours.ranges('gap', ['vault/d'])).toEqual(all.slice(3))
    expect(expectedHours.ranges('gap', ['vault/c'], hourAfter(past, 3), hourAfter(past, 5))).toEqual([
      range('vault/c', 3, 4, 'no state of block 3'),
      all[1],
    ])
    expect(expectedHours.ranges('gap', [])).toEqual([])
  })

  it('and hours that are waited for are told apart', () => {
    const { outbox } = opened()
    const { expectedHours } = outbox
    expectedHours.addCollector('vault/c', past)
    expectedHours.expect('vault/c', hoursFrom(past, hourAfter(past, 3)))
    expectedHours.markFailed('vault/c', hourAfter(past, 2), failed.fault, 5)
    expectedHours.closeBefore('vault/c', hourAfter(past, 1), new Fault('hour-too-old', 'too old'))
    expect(expectedHours.ranges('gap')).toMatchObject([
      { from: past, to: past, hours: 1, fault: { code: 'hour-too-old' } },
    ])
    expect(expectedHours.ranges('due', ['vault/c'], past, hourAfter(past, 2))).toMatchObject([
      { from: hourAfter(past, 1), to: hourAfter(past, 1), hours: 1 },
      { from: hourAfter(past, 2), hours: 1, fault: { code: 'http-unreachable' } },
    ])
    expect(expectedHours.ranges('due')[0]).not.toHaveProperty('fault')
  })
})

it('a year of hours is pruned of its values alone: what was collected, and what is a gap, is known for ever', async () => {
  const { outbox, file } = opened()
  await record(outbox)
  outbox.expectedHours.markGap('vault/c', hourAfter(past, 1), failed.fault)
  const due = outbox.due.read({ protocolIds: ['vault'], fresh: anHour, latest: anHour }, 9)
  outbox.settle({ delivered: due, dead: [], warnings: [] }, 1)
  while (outbox.pruneSome(hourAfter(anHour, -35 * 24))) await new Promise(setImmediate)
  expect(outbox.metrics.between(past, anHour)).toEqual([])
  expect([...outbox.expectedHours.states('vault/c', past, anHour).values()]).toEqual(['collected', 'gap'])
  expect(outbox.expectedHours.ranges('gap')).toHaveLength(1)
  expect(countsOf(file)).toEqual([
    { metrics: null, digest: null },
    { metrics: 0, digest: 0 },
  ])
})
