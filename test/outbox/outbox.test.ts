import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Fault } from '../../src/model/fault.ts'
import { type Hour, hourAfter } from '../../src/model/hour.ts'
import { recollectCapMs } from '../../src/model/limits.ts'
import type { Metric } from '../../src/model/metric.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { outboxSchema } from '../../src/outbox/sqlite/tables/schema.ts'
import { openDatabase } from '../../src/sqlite/database.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour, metrics } from '../support/metrics.ts'

function openOutbox(file = join(temporaryFolder(), 'outbox.db')): SqliteOutbox {
  const outbox = new SqliteOutbox(file)
  outbox.expectedHours.addCollector('vault/c', anHour)
  onTestFinished(() => outbox.close())
  return outbox
}

async function store(outbox: SqliteOutbox, accepted: readonly Metric[], hour = anHour): Promise<void> {
  outbox.expectedHours.expect('vault/c', [hour])
  await outbox.recordCollection({ collector: 'vault/c', hour, accepted: accepted.map(metric => ({ metric })) }, 1)
}

function dueOf(outbox: SqliteOutbox, protocolIds: readonly string[], limit: number): Metric[] {
  return outbox.due.read({ protocolIds, fresh: anHour, latest: hourAfter(anHour, 100) }, limit)
}

const odd = { kind: 'bounds', reason: 'odd' } as const

function statesAndReasons(outbox: SqliteOutbox): [state: string, reason: string | undefined][] {
  return outbox.metrics.between(anHour, anHour).map(({ state, reason }) => [state, reason])
}

describe('the outbox', () => {
  it('keeps what was stored across a close', async () => {
    const file = join(temporaryFolder(), 'deep', 'outbox.db')
    const first = new SqliteOutbox(file)
    first.expectedHours.addCollector('vault/c', anHour)
    await store(first, metrics(3))
    first.close()
    expect(dueOf(openOutbox(file), ['vault'], 10)).toEqual(metrics(3))
  })

  it('gives nothing of an hour after the latest that is wanted, of the backlog either', async () => {
    const outbox = openOutbox()
    for (const after of [0, 1, 2, 3])
      await store(outbox, metrics(1, hourAfter(anHour, after)), hourAfter(anHour, after))
    const latest = hourAfter(anHour, 1)
    for (const fresh of [anHour, latest, hourAfter(anHour, 9)]) {
      const due = outbox.due.read({ protocolIds: ['vault'], fresh, latest }, 10)
      expect(due.map(({ hour }) => hour).sort()).toEqual([anHour, latest])
    }
  })

  it('lets the first value of a metric and hour stand', async () => {
    const outbox = openOutbox()
    await store(outbox, metrics(1))
    await store(
      outbox,
      metrics(1).map(metric => ({ ...metric, value: 99 })),
    )
    expect(dueOf(outbox, ['vault'], 10).map(({ value }) => value)).toEqual([0])
  })

  it('gives nothing that lies beyond the latest hour that is wanted, fresh or not', async () => {
    const outbox = openOutbox()
    for (const offset of [-2, -1, 0, 1])
      await store(outbox, metrics(1, hourAfter(anHour, offset)), hourAfter(anHour, offset))
    const wanted = { protocolIds: ['vault'], latest: hourAfter(anHour, -1) }
    for (const offset of [-2, 0, 1, 9]) {
      const due = outbox.due.read({ ...wanted, fresh: hourAfter(anHour, offset) }, 10)
      expect(due.map(({ hour }) => (hour - anHour) / 3_600_000).sort()).toEqual([-1, -2])
    }
  })

  it('gives the current hour first, then the past, oldest first', async () => {
    const outbox = openOutbox()
    for (const offset of [-1, -3, 0, -2])
      await store(outbox, metrics(1, hourAfter(anHour, offset)), hourAfter(anHour, offset))
    const order = dueOf(outbox, ['vault'], 10).map(({ hour }) => (hour - anHour) / 3_600_000)
    expect(order).toEqual([0, -3, -2, -1])
    expect(dueOf(outbox, ['vault'], 2)).toHaveLength(2)
    expect(dueOf(outbox, ['other'], 10)).toEqual([])
  })

  it('balances: enqueued = delivered + dead + held + due', async () => {
    const outbox = openOutbox()
    const [a, b, c, d] = metrics(4)
    if (!a || !b || !c || !d) throw new Error('four')
    outbox.expectedHours.expect('vault/c', [anHour])
    const accepted = [{ metric: a }, { metric: b }, { metric: c }, { metric: d, hold: odd }]
    await outbox.recordCollection({ collector: 'vault/c', hour: anHour, accepted }, 1)
    outbox.settle({ delivered: [a], dead: [{ metric: b, reason: 'refused', attempts: 1 }], warnings: [] }, 2)
    expect(outbox.tally.balance()).toEqual({ enqueued: 4, delivered: 1, dead: 1, held: 1, due: 1, dropped: 0 })
    const stored = outbox.metrics.between(anHour, anHour)
    expect(stored.map(({ state, reason }) => [state, reason])).toEqual([
      ['delivered', undefined],
      ['dead', 'refused'],
      ['due', undefined],
      ['held', 'odd'],
    ])
  })

  it('does not change what is settled', async () => {
    const outbox = openOutbox()
    await store(outbox, metrics(1))
    const [metric] = metrics(1)
    if (!metric) throw new Error('one')
    outbox.settle({ delivered: [metric], dead: [], warnings: [] }, 1)
    outbox.settle({ delivered: [], dead: [{ metric, reason: 'late', attempts: 1 }], warnings: [] }, 2)
    expect(outbox.tally.balance()).toMatchObject({ delivered: 1, dead: 0 })
  })

  it('has no reason against what the service had taken before it refused it', async () => {
    const outbox = openOutbox()
    await store(outbox, metrics(1))
    const [metric] = metrics(1)
    if (!metric) throw new Error('one')
    outbox.settle({ delivered: [metric], dead: [], warnings: [] }, 1)
    outbox.settle({ delivered: [], dead: [{ metric, reason: 'late', attempts: 1 }], warnings: [] }, 2)
    expect(statesAndReasons(outbox)).toEqual([['delivered', undefined]])
  })

  it('does not hold back what is due already, and has no reason against it', async () => {
    const outbox = openOutbox()
    await store(outbox, metrics(1))
    const accepted = metrics(1).map(metric => ({ metric, hold: odd }))
    await outbox.recordCollection({ collector: 'vault/c', hour: anHour, accepted }, 2)
    expect(statesAndReasons(outbox)).toEqual([['due', undefined]])
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('has no place for %s', async value => {
    const outbox = openOutbox()
    const stored = store(
      outbox,
      metrics(1).map(metric => ({ ...metric, value })),
    )
    await expect(stored).rejects.toThrow(/constraint/)
  })

  it('stores an hour whole or not at all', async () => {
    const outbox = openOutbox()
    const [good] = metrics(1)
    const [bad] = metrics(2)
      .slice(1)
      .map(metric => ({ ...metric, value: Number.NaN }))
    if (!good || !bad) throw new Error('two')
    await expect(store(outbox, [good, bad])).rejects.toThrow()
    expect(outbox.tally.balance().enqueued).toBe(0)
    expect(outbox.expectedHours.due(['vault/c'], anHour, 10, 10)).toHaveLength(1)
  })

  it('counts a warning once for each metric and words', () => {
    const outbox = openOutbox()
    const [metric] = metrics(1)
    if (!metric) throw new Error('one')
    for (const nowMs of [5, 6, 7])
      outbox.settle({ delivered: [], dead: [], warnings: [{ text: 'long label', metric }] }, nowMs)
    expect(outbox.warnings.all()).toEqual([
      {
        metricId: metric.id,
        kind: 'label-long',
        text: 'long label',
        count: 3,
        firstSeenMs: 5,
        lastSeenMs: 7,
        isAcknowledged: false,
      },
    ])
  })

  it('keeps the 1,000 different warnings that were seen last', () => {
    const outbox = openOutbox()
    const warn = (texts: readonly string[], nowMs: number) =>
      outbox.settle({ delivered: [], dead: [], warnings: texts.map(text => ({ text })) }, nowMs)
    warn(['first'], 1)
    warn(['second'], 2)
    warn(
      Array.from({ length: 998 }, (_, index) => `between ${spelled(index)}`),
      3,
    )
    expect(outbox.warnings.all()).toHaveLength(1_000)
    warn(['first'], 4)
    warn(['last'], 5)
    const texts = outbox.warnings.all().map(({ text }) => text)
    expect(texts).toHaveLength(1_000)
    expect(texts.slice(0, 2)).toEqual(['last', 'first'])
    expect(texts).not.toContain('second')
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

  it('refuses a file that is no database', () => {
    expect(() => new SqliteOutbox(new URL(import.meta.url).pathname)).toThrow(/not a database/)
  })
})

/** A number without digits, which make no difference to the kind of a warning. */
function spelled(number: number): string {
  return [...String(number)].map(digit => 'abcdefghij'[Number(digit)]).join('')
}

async function failLate(outbox: SqliteOutbox): Promise<void> {
  const failed = { fault: new Fault('chain-unreachable', 'no answer'), nextAttemptMs: 5 }
  await outbox.recordCollection({ collector: 'vault/c', hour: anHour, accepted: [], failed }, 2)
}

describe('the hours', () => {
  it('are due newest first, and wait for their next attempt', () => {
    const { expectedHours } = openOutbox()
    const past = hourAfter(anHour, -1)
    expectedHours.expect('vault/c', [past, anHour])
    expect(expectedHours.due(['vault/c'], anHour, 10, 10).map(({ hour }) => hour)).toEqual([anHour, past])
    expectedHours.markFailed('vault/c', anHour, new Fault('chain-unreachable', 'no'), 50)
    expect(expectedHours.due(['vault/c'], anHour, 10, 10).map(({ hour }) => hour)).toEqual([past])
    expect(expectedHours.nextAttemptMs(10)).toBe(50)
    expect(expectedHours.due(['vault/c'], anHour, 50, 10)[0]).toEqual({
      collector: 'vault/c',
      hour: anHour,
      attempts: 1,
      fault: { code: 'chain-unreachable', message: 'no', facts: {} },
    })
  })

  it('are not due before they have come', () => {
    const { expectedHours } = openOutbox()
    expectedHours.expect('vault/c', [anHour, hourAfter(anHour, 1), hourAfter(anHour, 2)])
    const due = (current: Hour) => expectedHours.due(['vault/c'], current, 10, 10).map(({ hour }) => hour)
    expect(due(hourAfter(anHour, -1))).toEqual([])
    expect(due(anHour)).toEqual([anHour])
    expect(due(hourAfter(anHour, 1))).toEqual([hourAfter(anHour, 1), anHour])
  })

  it('are due when their next attempt is further ahead than any wait can be', () => {
    const { expectedHours } = openOutbox()
    expectedHours.expect('vault/c', [anHour])
    const fault = new Fault('chain-unreachable', 'no')
    expectedHours.markFailed('vault/c', anHour, fault, 10 + recollectCapMs)
    expect(expectedHours.due(['vault/c'], anHour, 10, 10)).toEqual([])
    expectedHours.markFailed('vault/c', anHour, fault, 10 + recollectCapMs + 1)
    expect(expectedHours.due(['vault/c'], anHour, 10, 10)).toHaveLength(1)
  })

  it('become a gap one by one, once, and never out of what is collected', async () => {
    const outbox = openOutbox()
    const past = hourAfter(anHour, -1)
    outbox.expectedHours.expect('vault/c', [past, anHour])
    await store(outbox, metrics(1))
    for (const message of ['no block yet', 'again'])
      for (const hour of [past, anHour])
        outbox.expectedHours.markGap('vault/c', hour, new Fault('chain-before-first-block', message))
    expect(outbox.expectedHours.between(past, anHour)).toMatchObject([
      { hour: past, state: 'gap', attempts: 1, fault: { code: 'chain-before-first-block', message: 'no block yet' } },
      { hour: anHour, state: 'collected', attempts: 1 },
    ])
    expect(outbox.expectedHours.due(['vault/c'], anHour, 10, 10)).toEqual([])
  })

  it('are due again when the current hour had become a gap: that one hour, without its fault', () => {
    const { expectedHours } = openOutbox()
    const past = hourAfter(anHour, -1)
    expectedHours.addCollector('vault/d', anHour)
    for (const name of ['vault/c', 'vault/d']) {
      expectedHours.expect(name, [past, anHour])
      expectedHours.closeBefore(name, hourAfter(anHour, 1), new Fault('hour-passed', 'passed'))
    }
    expectedHours.reopen('vault/c', anHour)
    expect(expectedHours.due(['vault/c'], anHour, 10, 10)).toEqual([
      { collector: 'vault/c', hour: anHour, attempts: 0 },
    ])
    expect(expectedHours.between(past, anHour).map(({ collector, state }) => [collector, state])).toEqual([
      ['vault/c', 'gap'],
      ['vault/d', 'gap'],
      ['vault/c', 'due'],
      ['vault/d', 'gap'],
    ])
    expect(expectedHours.between(anHour, anHour)[0]).not.toHaveProperty('fault')
  })

  it('stay collected when the current hour is reopened', async () => {
    const outbox = openOutbox()
    await store(outbox, metrics(1))
    outbox.expectedHours.reopen('vault/c', anHour)
    expect(outbox.expectedHours.between(anHour, anHour)[0]?.state).toBe('collected')
  })

  it('become gaps with the fault they had', () => {
    const { expectedHours } = openOutbox()
    const past = hourAfter(anHour, -1)
    expectedHours.expect('vault/c', [hourAfter(past, -1), past, anHour])
    expectedHours.markFailed('vault/c', past, new Fault('http-unreachable', 'no answer'), 0)
    expect(expectedHours.closeBefore('vault/c', anHour, new Fault('hour-passed', 'passed'))).toBe(2)
    const rows = expectedHours.between(hourAfter(past, -1), anHour)
    expect(rows.map(({ state, fault }) => [state, fault?.code])).toEqual([
      ['gap', 'hour-passed'],
      ['gap', 'http-unreachable'],
      ['due', undefined],
    ])
  })

  it('are late while they are due, not once they are collected or gaps', async () => {
    const outbox = openOutbox()
    const { expectedHours } = outbox
    const [gap, collected, late, notYet] = [-3, -2, -1, 0].map(count => hourAfter(anHour, count))
    if (!gap || !collected || !late || !notYet) throw new Error('four')
    expectedHours.expect('vault/c', [gap, collected, late, notYet])
    expectedHours.closeBefore('vault/c', collected, new Fault('hour-passed', 'passed'))
    await outbox.recordCollection({ collector: 'vault/c', hour: collected, accepted: [] }, 1)
    expect(expectedHours.lateOf(['vault/c'], late)).toEqual([{ collector: 'vault/c', hours: 1, oldest: late }])
  })

  it('stay collected, after one attempt, when others fail or succeed afterwards', async () => {
    const outbox = openOutbox()
    await store(outbox, metrics(1))
    await failLate(outbox)
    await store(outbox, metrics(1))
    expect(outbox.expectedHours.between(anHour, anHour)).toEqual([
      { collector: 'vault/c', hour: anHour, state: 'collected', attempts: 1 },
    ])
    expect(outbox.expectedHours.due(['vault/c'], anHour, 10, 10)).toEqual([])
  })

  it('stay gaps, with their reason, when an attempt that was under way fails afterwards', async () => {
    const outbox = openOutbox()
    outbox.expectedHours.expect('vault/c', [anHour])
    outbox.expectedHours.closeBefore('vault/c', hourAfter(anHour, 1), new Fault('hour-passed', 'passed'))
    await failLate(outbox)
    const [row] = outbox.expectedHours.between(anHour, anHour)
    expect(row).toMatchObject({ state: 'gap', attempts: 0, fault: { code: 'hour-passed' } })
    expect(outbox.expectedHours.due(['vault/c'], anHour, 10, 10)).toEqual([])
  })

  it('are mended when a gap is collected after all', async () => {
    const outbox = openOutbox()
    outbox.expectedHours.expect('vault/c', [anHour])
    outbox.expectedHours.closeBefore('vault/c', hourAfter(anHour, 1), new Fault('hour-passed', 'passed'))
    await store(outbox, metrics(1))
    const [row] = outbox.expectedHours.between(anHour, anHour)
    expect(row).toEqual({ collector: 'vault/c', hour: anHour, state: 'collected', attempts: 1 })
  })

  it('start earlier when a collector’s start moves back, never later', () => {
    const { expectedHours } = openOutbox()
    expectedHours.addCollector('vault/c', hourAfter(anHour, -5))
    expectedHours.addCollector('vault/c', hourAfter(anHour, 5))
    expect(expectedHours.since('vault/c')).toBe(hourAfter(anHour, -5))
  })
})
