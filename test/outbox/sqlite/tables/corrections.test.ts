import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hourAfter } from '../../../../src/model/hour.ts'
import type { Metric } from '../../../../src/model/metric.ts'
import type { Accepted } from '../../../../src/outbox/contract/metrics.ts'
import type { Recorded } from '../../../../src/outbox/contract/outcome.ts'
import { rowDigest } from '../../../../src/outbox/rows/digest.ts'
import { unpackRun } from '../../../../src/outbox/rows/run-form.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { outboxSchema } from '../../../../src/outbox/sqlite/tables/schema.ts'
import { metricRows } from '../../../../src/salvage/metric-rows.ts'
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
  const outbox = new SqliteOutbox(file)
  outbox.expectedHours.addCollector('vault/c', anHour)
  onTestFinished(() => outbox.close())
  return { outbox, file }
}

type Mode = 'first-stands' | 'correct'

function record(
  outbox: SqliteOutbox,
  all: readonly (Metric | Accepted)[],
  mode: Mode = 'first-stands',
): Promise<Recorded> {
  const accepted = all.map(one => ('metric' in one ? one : { metric: one }))
  return outbox.intake.record({ collector: 'vault/c', hour: anHour, accepted, mode }, 1)
}

const dueOf = (outbox: SqliteOutbox) =>
  outbox.dueMetrics.read({ protocolIds: ['vault'], newestFirstFrom: anHour, latest: hourAfter(anHour, 9) }, 100)
const deliver = (outbox: SqliteOutbox, delivered: readonly Metric[]) =>
  outbox.verdicts.record({ delivered, dead: [], warnings: [] }, 2)
const refuse = (outbox: SqliteOutbox, dead: readonly Metric[]) =>
  outbox.verdicts.record(
    { delivered: [], dead: dead.map(metric => ({ metric, reason: 'no', attempts: 1 })), warnings: [] },
    2,
  )
const changed = (all: readonly Metric[], value = 99) => all.map(metric => ({ ...metric, value }))

const heldBack = (all: readonly Metric[]) =>
  all.map(metric => ({ metric, hold: { kind: 'bounds', reason: 'odd' } as const }))

/** The hour's count and digest are those of its rows, and everything else is sound. */
function expectSound(file: string): void {
  expect(flawsOf(file)).toEqual([])
  const database = openDatabase(file, outboxSchema)
  try {
    database.exec('CREATE TEMP TABLE doubt (hour INTEGER, metric INTEGER)')
    database.exec(metricRows('temp'))
    const rows = database.prepare<[], unknown[]>('SELECT * FROM outbox').raw().all()
    const insert = database.prepare(
      'INSERT INTO metric_row VALUES (@hour, @number, @protocol, @state, @collectedMs, @deliveredMs, @value)',
    )
    for (const metric of rows.flatMap(row => unpackRun(row))) insert.run(metric)
    const stored = database.prepare<[], number>('SELECT coalesce(sum(metrics), 0) FROM outbox').pluck().get()
    database.exec('BEGIN')
    const count = () => database.prepare<[], number>('SELECT count(*) FROM metric_row').pluck().get()
    const before = count()
    expect(before, 'no run is taken for damaged').toBe(stored)
    takeOutDoubtful(database, rowDigest)
    expect(count(), 'no value is taken for damaged').toBe(before)
    const found = database.prepare('SELECT hour, collector, metrics, digest FROM found').all()
    expect(database.prepare('SELECT hour, collector, metrics, digest FROM collection').all()).toEqual(found)
    database.exec('ROLLBACK')
  } finally {
    database.close()
  }
}

describe('the count and digest of an hour', () => {
  it('are those of its rows, whatever is corrected, answered and decided in whatever order', async () => {
    const step = fc.record({
      what: fc.constantFrom('correct', 'hold', 'send', 'deliver', 'refuse', 'retry', 'drop'),
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
          if (what === 'hold') await record(outbox, heldBack(changed(metric, value)), 'correct')
          if (what === 'send')
            underWay.push(...dueOf(outbox).filter(({ id }) => id === metric[0]?.id && !underWay.some(m => m.id === id)))
          if (what === 'deliver') settle(which, deliver)
          if (what === 'refuse') settle(which, refuse)
          if (what === 'retry') await outbox.deadAndHeld.release({ state: value === 0 ? 'held' : 'dead' }, 'locked')
          if (what === 'drop' && value === 0) await outbox.deadAndHeld.drop({ state: 'dead' })
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

  it('are those of values that other bits could stand for', async () => {
    const { outbox, file } = opened()
    await record(outbox, metrics(2))
    for (const value of [-0, 0.1 + 0.2, 0.3, -0, 0]) await record(outbox, changed(metrics(2), value), 'correct')
    outbox.close()
    expectSound(file)
  })
})
