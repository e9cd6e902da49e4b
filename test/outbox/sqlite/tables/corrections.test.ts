import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hourAfter } from '../../../../src/model/hour.ts'
import type { Metric } from '../../../../src/model/metric.ts'
import type { Accepted } from '../../../../src/outbox/contract/metrics.ts'
import type { Recorded } from '../../../../src/outbox/contract/outcome.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { rowDigest } from '../../../../src/outbox/sqlite/tables/digest.ts'
import { outboxSchema } from '../../../../src/outbox/sqlite/tables/schema.ts'
import { takeOutDoubtful } from '../../../../src/salvage/verify.ts'
import { openDatabase } from '../../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour, metrics } from '../../../support/metrics.ts'
import { flawsOf } from '../../support/contents.ts'

interface Opened {
  readonly outbox: SqliteOutbox
  readonly file: string
}

function opened(): Opened {
  const file = join(temporaryFolder(), 'outbox.db')
  return { outbox: beside(file), file }
}

/** As another process has it. */
function beside(file: string): SqliteOutbox {
  const outbox = new SqliteOutbox(file)
  outbox.expectedHours.addCollector('vault/c', anHour)
  onTestFinished(() => outbox.close())
  return outbox
}

type Mode = 'first-stands' | 'correct'

function record(
  outbox: SqliteOutbox,
  all: readonly (Metric | Accepted)[],
  mode: Mode = 'first-stands',
): Promise<Recorded> {
  const accepted = all.map(one => ('metric' in one ? one : { metric: one }))
  return outbox.recordCollection({ collector: 'vault/c', hour: anHour, accepted, mode }, 1)
}

const dueOf = (outbox: SqliteOutbox) =>
  outbox.due.read({ protocolIds: ['vault'], fresh: anHour, latest: hourAfter(anHour, 9) }, 100)
const deliver = (outbox: SqliteOutbox, delivered: readonly Metric[]) =>
  outbox.settle({ delivered, dead: [], warnings: [] }, 2)
const refuse = (outbox: SqliteOutbox, dead: readonly Metric[]) =>
  outbox.settle({ delivered: [], dead: dead.map(metric => ({ metric, reason: 'no', attempts: 1 })), warnings: [] }, 2)
const changed = (all: readonly Metric[], value = 99) => all.map(metric => ({ ...metric, value }))
const statesOf = (outbox: SqliteOutbox) =>
  outbox.metrics.between(anHour, anHour).map(({ value, state }) => [value, state])

/** The hour's count and digest are those of its rows, and everything else is sound. */
function expectSound(file: string): void {
  expect(flawsOf(file)).toEqual([])
  const database = openDatabase(file, outboxSchema)
  try {
    database.exec('CREATE TEMP TABLE doubt (hour INTEGER, metric INTEGER); BEGIN')
    const count = () => database.prepare<[], number>('SELECT count(*) FROM outbox').pluck().get()
    const before = count()
    takeOutDoubtful(database, rowDigest)
    expect(count(), 'no value is taken for damaged').toBe(before)
    const found = database.prepare('SELECT hour, collector, metrics, digest FROM found').all()
    expect(database.prepare('SELECT hour, collector, metrics, digest FROM collection').all()).toEqual(found)
    database.exec('ROLLBACK')
  } finally {
    database.close()
  }
}

describe('a value that is corrected', () => {
  it.each([
    ['due', () => {}],
    ['delivered', deliver],
    ['dead', refuse],
  ] as const)('was %s and is due again, with the new value', async (_, settle) => {
    const { outbox, file } = opened()
    await record(outbox, metrics(2))
    settle(outbox, metrics(2))
    expect(await record(outbox, changed(metrics(1)), 'correct')).toEqual({ corrected: 1, added: 0 })
    expect(dueOf(outbox).filter(({ id }) => id === 'vault___M0')).toEqual(changed(metrics(1)))
    expect(outbox.isCorrection({ id: 'vault___M0', hour: anHour })).toBe(true)
    expect(outbox.isCorrection({ id: 'vault___M1', hour: anHour })).toBe(false)
    deliver(outbox, dueOf(outbox))
    expect(outbox.isCorrection({ id: 'vault___M0', hour: anHour })).toBe(false)
    expect(statesOf(outbox)[0]).toEqual([99, 'delivered'])
    outbox.close()
    expectSound(file)
  })

  it('is held by a person still, with the new value, and sent when it is released', async () => {
    const { outbox, file } = opened()
    const hold = { kind: 'bounds', reason: 'odd' } as const
    await record(
      outbox,
      metrics(2).map(metric => ({ metric, hold })),
    )
    const [first, second] = metrics(2).map(metric => ({ ...metric, value: 99 }))
    if (!first || !second) throw new Error('two')
    const again = { metric: second, hold: { kind: 'jump', reason: 'still odd' } } as const
    expect(await record(outbox, [first, again], 'correct')).toEqual({ corrected: 2, added: 0 })
    expect(outbox.detained.list({ state: 'held' })).toMatchObject([
      { value: 99, kind: 'bounds', reason: 'odd; its value was 0, and is 99 now' },
      { value: 99, kind: 'jump', reason: 'still odd' },
    ])
    expect(dueOf(outbox)).toEqual([])
    await outbox.detained.release({ state: 'held' }, 'pinned')
    expect(dueOf(outbox).map(({ value }) => value)).toEqual([99, 99])
    deliver(outbox, dueOf(outbox))
    outbox.close()
    expectSound(file)
  })

  it('is held when the new one is suspicious', async () => {
    const { outbox, file } = opened()
    await record(outbox, metrics(1))
    deliver(outbox, metrics(1))
    const [metric] = changed(metrics(1))
    if (!metric) throw new Error('one')
    await record(outbox, [{ metric, hold: { kind: 'bounds', reason: 'odd' } }], 'correct')
    expect(statesOf(outbox)).toEqual([[99, 'held']])
    expect(outbox.detained.list({ state: 'held' })).toMatchObject([{ reason: 'odd' }])
    await outbox.detained.release({ state: 'held' }, 'pinned')
    // The answer about the old value comes only now.
    deliver(outbox, metrics(1))
    expect(statesOf(outbox)).toEqual([[99, 'due']])
    outbox.close()
    expectSound(file)
  })

  it('is left alone when a person has dropped it, and when it is the same', async () => {
    const { outbox, file } = opened()
    await record(outbox, metrics(3))
    refuse(outbox, metrics(1))
    await outbox.detained.drop({ state: 'dead' })
    deliver(outbox, metrics(3).slice(1))
    const [dropped, other, same] = metrics(3)
    if (!dropped || !other || !same) throw new Error('three')
    const read = [{ ...dropped, value: 5 }, { ...other, value: -0 }, same]
    expect(await record(outbox, read, 'correct')).toEqual({ corrected: 1, added: 0 })
    expect(dueOf(outbox)).toEqual([{ ...other, value: 0 }])
    expect(await record(outbox, [{ ...other, value: -0 }], 'correct')).toEqual({ corrected: 0, added: 0 })
    expect(await record(outbox, [{ ...other, value: 0.1 + 0.2 }], 'correct')).toMatchObject({ corrected: 1 })
    expect(await record(outbox, [{ ...other, value: 0.3 }], 'correct')).toMatchObject({ corrected: 1 })
    expect(await record(outbox, [{ ...other, value: 0.3 }], 'correct')).toMatchObject({ corrected: 0 })
    outbox.close()
    expectSound(file)
  })

  it('that was not there yet is new', async () => {
    const { outbox, file } = opened()
    await record(outbox, metrics(1))
    expect(await record(outbox, metrics(3), 'correct')).toEqual({ corrected: 0, added: 2 })
    expect(outbox.isCorrection({ id: 'vault___M2', hour: anHour })).toBe(false)
    outbox.close()
    expectSound(file)
  })

  it('is not without being asked for: the first value stands', async () => {
    const { outbox } = opened()
    expect(await record(outbox, metrics(2))).toEqual({ corrected: 0, added: 2 })
    expect(await record(outbox, changed(metrics(2)))).toEqual({ corrected: 0, added: 0 })
    expect(statesOf(outbox)).toEqual([
      [0, 'due'],
      [1, 'due'],
    ])
  })
})

describe('a push of the old value that is under way when it is corrected', () => {
  it.each([
    ['delivered', deliver],
    ['dead', refuse],
  ] as const)('does not make the new one %s, from this process or another', async (_, settle) => {
    const { outbox, file } = opened()
    const other = beside(file)
    await record(outbox, metrics(4))
    const sent = dueOf(other)
    await record(outbox, changed(metrics(2)), 'correct')
    for (const who of [other, outbox]) settle(who, sent)
    expect(dueOf(other)).toEqual(changed(metrics(2)))
    expect(outbox.tally.balance()).toMatchObject({ due: 2 })
    expect(outbox.detained.list({ state: 'dead' }).map(({ id }) => id)).not.toContain('vault___M0')
    deliver(other, dueOf(other))
    expect(outbox.tally.balance()).toMatchObject({ due: 0 })
    outbox.close()
    other.close()
    expectSound(file)
  })

  it('settles it where it was corrected back meanwhile', async () => {
    const { outbox } = opened()
    await record(outbox, metrics(1))
    await record(outbox, changed(metrics(1)), 'correct')
    await record(outbox, metrics(1), 'correct')
    deliver(outbox, changed(metrics(1)))
    expect(outbox.tally.balance()).toMatchObject({ due: 1 })
    deliver(outbox, metrics(1))
    expect(outbox.tally.balance()).toMatchObject({ due: 0, delivered: 1 })
  })

  it('does not settle the new one after that was refused, called delivered too late, and tried again', async () => {
    const { outbox } = opened()
    await record(outbox, metrics(1))
    await record(outbox, changed(metrics(1)), 'correct')
    refuse(outbox, changed(metrics(1)))
    deliver(outbox, changed(metrics(1)))
    await outbox.detained.release({ state: 'dead' }, 'pinned')
    deliver(outbox, metrics(1))
    expect(statesOf(outbox)).toEqual([[99, 'due']])
  })

  it('never wins, whatever comes in whatever order', async () => {
    const step = fc.record({
      what: fc.constantFrom('correct', 'send', 'deliver', 'refuse', 'retry', 'drop'),
      which: fc.integer({ min: 0, max: 2 }),
      value: fc.integer({ min: 0, max: 2 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
        const { outbox, file } = opened()
        await record(outbox, metrics(3))
        const underWay: Metric[] = []
        const answered = new Map<string, number>()
        const settle = (which: number, how: typeof deliver) => {
          const [sent] = underWay.splice(which % Math.max(1, underWay.length), 1)
          if (!sent) return
          if (how === deliver) answered.set(sent.id, sent.value)
          how(outbox, [sent])
        }
        for (const { what, which, value } of steps) {
          const metric = metrics(3).filter((_, index) => index === which)
          if (what === 'correct') await record(outbox, changed(metric, value), 'correct')
          if (what === 'send')
            underWay.push(...dueOf(outbox).filter(({ id }) => id === metric[0]?.id && !underWay.some(m => m.id === id)))
          if (what === 'deliver') settle(which, deliver)
          if (what === 'refuse') settle(which, refuse)
          if (what === 'retry') await outbox.detained.release({ state: 'dead' }, 'pinned')
          if (what === 'drop' && value === 0) await outbox.detained.drop({ state: 'dead' })
        }
        for (const { id, state, value } of outbox.metrics.between(anHour, anHour)) {
          if (state === 'delivered') expect(answered.get(id), 'the service has what is delivered').toBe(value)
        }
        outbox.close()
        expectSound(file)
      }),
      { numRuns: 60 },
    )
  })
})
