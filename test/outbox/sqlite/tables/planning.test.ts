import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Fault } from '../../../../src/model/fault.ts'
import { type Hour, hourAfter, hourNumber, hoursFrom } from '../../../../src/model/hour.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { outboxSchema } from '../../../../src/outbox/sqlite/tables/schema.ts'
import { openDatabase, type Sqlite } from '../../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour } from '../../../support/metrics.ts'

const names = ['vault/a', 'vault/b'] as const
const span = 6
const nowMs = anHour + 1_000

/** Actions on an outbox; hours count from `anHour`. */
type Step =
  | { readonly kind: 'start' | 'plan' | 'expect' | 'collect' | 'backfill' | 'gap' | 'remove'; readonly at: number }
  | { readonly kind: 'fail'; readonly at: number; readonly waitMs: number }

const at = fc.integer({ min: 0, max: span })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('start', 'plan', 'expect', 'collect', 'backfill', 'gap', 'remove'), at }),
  fc.record({ kind: fc.constant('fail' as const), at, waitMs: fc.constantFrom(-5, 5, 50) }),
)
const steps = fc.array(fc.tuple(fc.constantFrom(...names), step), { maxLength: 30 })

interface Opened {
  readonly outbox: SqliteOutbox
  readonly database: Sqlite
}

function opened(): Opened {
  const file = join(temporaryFolder(), 'outbox.db')
  const outbox = new SqliteOutbox(file)
  const database = openDatabase(file, outboxSchema)
  database.pragma('synchronous = OFF')
  onTestFinished(() => {
    outbox.close()
    database.close()
  })
  return { outbox, database }
}

const refused = new Fault('http-unreachable', 'no answer')

function take({ outbox: { expectedHours }, database }: Opened, name: string, done: Step): unknown {
  const hour = hourAfter(anHour, done.at)
  switch (done.kind) {
    case 'start':
      return expectedHours.addCollector(name, hour)
    case 'plan':
      return expectedHours.expect(name, hoursFrom(expectedHours.since(name) ?? hour, hour))
    case 'expect':
      return expectedHours.expect(name, [hour, hourAfter(hour, 1)])
    case 'collect':
      return expectedHours.markCollected(name, hour)
    case 'backfill':
      expectedHours.addUnscheduled(name, hourAfter(anHour, span))
      return expectedHours.markCollected(name, hour)
    case 'gap':
      return expectedHours.markGap(name, hour, refused)
    case 'fail':
      return expectedHours.markFailed(name, hour, refused, nowMs + done.waitMs)
    case 'remove': {
      const own = '(SELECT id FROM collector WHERE name = ?)'
      return database
        .prepare(`DELETE FROM collection WHERE hour = ? AND collector = ${own}`)
        .run(hourNumber(hour), name)
    }
  }
}

interface Row {
  readonly name: string
  readonly hour: number
  readonly since: number
  readonly state: number
  readonly attempt: number
}

/** All that is known, read without any cleverness. */
function rowsOf(database: Sqlite): readonly Row[] {
  return database
    .prepare<[], Row>(
      'SELECT name, hour, since, state, next_attempt_ms AS attempt FROM collection JOIN collector ON collector.id = collector ORDER BY hour',
    )
    .all()
}

function naive(rows: readonly Row[], name: string) {
  const own = rows.filter(row => row.name === name)
  const there = new Set(own.map(({ hour }) => hour))
  let last = own[0]?.since ?? Number.NaN
  while (there.has(last)) last += 1
  const due = own.filter(({ state }) => state === 0)
  return {
    lastWithoutHole: there.has(last - 1) && last > (own[0]?.since ?? 0) ? last - 1 : undefined,
    due: due.filter(({ attempt }) => attempt <= nowMs).map(({ hour }) => hour),
    late: due.map(({ hour }) => hour),
    states: own.map(({ hour, state }) => [hour, state]),
  }
}

const stateNumbers = { due: 0, collected: 1, gap: 2 } as const

function asked({ outbox: { expectedHours } }: Opened, name: string) {
  const [first, end] = [anHour, hourAfter(anHour, 3 * span)]
  const last = expectedHours.lastWithoutHole(name)
  const late = expectedHours.lateOf([name], end)
  const states = [...expectedHours.states(name, first, end)]
  return {
    lastWithoutHole: last === undefined ? undefined : hourNumber(last),
    due: expectedHours.due({ collectors: [name], current: end, nowMs, limit: 99 }).map(({ hour }) => hourNumber(hour)),
    late: late.map(({ hours, oldest }) => [hours, hourNumber(oldest)]),
    states: states.map(([hour, state]) => [hourNumber(hour), stateNumbers[state]]),
  }
}

describe('what is known of the hours of one collector among others', () => {
  it('is what a look at every row says, whatever was done before', () => {
    const together = opened()
    fc.assert(
      fc.property(steps, done => {
        for (const table of ['collection', 'planned', 'collector']) together.database.exec(`DELETE FROM ${table}`)
        for (const [name, one] of done) {
          take(together, name, one)
          const rows = rowsOf(together.database)
          const { due, late, ...same } = naive(rows, name)
          const found = asked(together, name)
          expect(found).toMatchObject(same)
          expect(found.due).toEqual(due.toReversed())
          expect(found.late).toEqual(late.length === 0 ? [] : [[late.length, late[0]]])
        }
        const open = rowsOf(together.database).filter(({ state, attempt }) => state === 0 && attempt > nowMs)
        const next = open.map(({ attempt }) => attempt).toSorted((a, b) => a - b)[0]
        expect(together.outbox.expectedHours.nextAttemptMs(nowMs)).toBe(next)
      }),
      { numRuns: 300 },
    )
  })

  it.each([
    [
      'a row in the middle is removed',
      [
        ['start', 0],
        ['plan', 6],
        ['remove', 3],
      ],
      2,
    ],
    [
      'the first row is removed',
      [
        ['start', 0],
        ['plan', 6],
        ['remove', 0],
      ],
      undefined,
    ],
    [
      'a row of before the start is removed',
      [
        ['backfill', 1],
        ['start', 2],
        ['plan', 6],
        ['remove', 1],
      ],
      6,
    ],
    [
      'the start moves back before a hole',
      [
        ['start', 4],
        ['plan', 6],
        ['backfill', 1],
        ['start', 1],
      ],
      1,
    ],
    [
      'the start moves back to a backfilled row',
      [
        ['start', 4],
        ['plan', 6],
        ['backfill', 3],
        ['start', 3],
      ],
      6,
    ],
  ] as const)('is no more than there is once %s', (_, done, last) => {
    const one = opened()
    for (const [kind, offset] of done) take(one, 'vault/a', { kind, at: offset })
    expect(one.outbox.expectedHours.lastWithoutHole('vault/a')).toBe(
      last === undefined ? undefined : hourAfter(anHour, last),
    )
  })

  it('is found at once after a year: how far hours are planned is remembered', () => {
    const { outbox, database } = opened()
    const year = 8_760
    const first = hourAfter(anHour, -year) as Hour
    outbox.expectedHours.addCollector('vault/a', first)
    database
      .prepare(
        `WITH RECURSIVE h (at) AS (SELECT ? UNION ALL SELECT at + 1 FROM h WHERE at < ?) INSERT INTO collection (hour, collector) SELECT at, 1 FROM h`,
      )
      .run(hourNumber(first), hourNumber(anHour))
    outbox.expectedHours.expect('vault/a', [hourAfter(anHour, 1)])
    expect(database.prepare('SELECT hour FROM planned').pluck().all()).toEqual([hourNumber(anHour) + 1])
    expect(outbox.expectedHours.lastWithoutHole('vault/a')).toBe(hourAfter(anHour, 1))
  })
})
