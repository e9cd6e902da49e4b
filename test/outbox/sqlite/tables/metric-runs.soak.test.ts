import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runMetricsMax, valuesOf } from '../../../../src/outbox/rows/run-values.ts'
import type { NewMetric } from '../../../../src/outbox/rows/runs-of.ts'
import { MetricRuns } from '../../../../src/outbox/sqlite/tables/metric-runs.ts'
import { outboxSchema } from '../../../../src/outbox/sqlite/tables/schema.ts'
import { openDatabase, type Sqlite } from '../../../../src/sqlite/database.ts'
import { repetitions } from '../../../support/soak.ts'
import { seeMetricRows } from '../../support/metric-rows.ts'

const numberMax = 260
const hours = [7, 8, 9] as const
/** Numbers from here on are of another protocol. */
const secondProtocol = 131

const protocolOf = (number: number) => (number < secondProtocol ? 1 : 2)
const keyOf = (hour: number, number: number) => `${hour} ${number}`

/** The metrics that should be stored, by `hour number`. */
type Plain = Map<string, { value: number; state: number; collectedMs: number; deliveredMs: number }>

interface Opened {
  readonly database: Sqlite
  readonly runs: MetricRuns
}

function opened(): Opened {
  const database = openDatabase(':memory:', outboxSchema)
  onTestFinished(() => void database.close())
  database.pragma('foreign_keys = OFF')
  seeMetricRows(database)
  return { database, runs: new MetricRuns(database) }
}

const hour = fc.constantFrom(...hours)
/** Often among a few, so that runs are short, end side by side, and leave holes of one. */
const number = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: numberMax }))
const state = fc.integer({ min: 0, max: 4 })
const atMs = fc.integer({ min: 1, max: 3 })
const value = fc.double({ noNaN: true, noDefaultInfinity: true })
const span = fc.tuple(number, number).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
/** Mostly long neighbours, as a collector gives them; in any order, with holes, and twice. */
const some = fc.tuple(span, fc.integer({ min: 1, max: 9 }), fc.array(number, { maxLength: 5 }), fc.boolean())

type Step = (opened: Opened, plain: Plain) => void

const insert = fc.tuple(hour, some, fc.array(state, { minLength: 1, maxLength: 3 }), value, atMs).map(
  ([at, [[from, to], stride, others, isTurned], states, seed, nowMs]): Step =>
    ({ runs }, plain) => {
      const numbers = [...Array.from({ length: to - from + 1 }, (_, place) => from + place), ...others]
      const metrics = (isTurned ? numbers.toReversed() : numbers).map((one, place): NewMetric => {
        const own = states[Math.floor(place / stride) % states.length] ?? 0
        const times = { collectedMs: nowMs, deliveredMs: nowMs }
        return { hour: at, number: one, protocol: protocolOf(one), state: own, ...times, value: seed / (place + 1) }
      })
      const { stored } = runs.insert(metrics)
      const taken = new Set(stored)
      for (const metric of metrics) {
        const key = keyOf(at, metric.number)
        expect(taken.has(metric), key).toBe(plain.has(key))
        const { hour: _, number: __, protocol: ___, ...kept } = metric
        if (!plain.has(key)) plain.set(key, kept)
      }
    },
)

const move = fc.tuple(hour, span, state, state, fc.option(atMs)).map(
  ([at, [from, to], was, becomes, nowMs]): Step =>
    ({ runs }, plain) => {
      let moved = 0
      for (let one = from; one <= to; one += 1) {
        const known = plain.get(keyOf(at, one))
        if (known?.state !== was) continue
        moved += 1
        plain.set(keyOf(at, one), { ...known, state: becomes, deliveredMs: nowMs ?? known.deliveredMs })
      }
      expect(runs.move(at, from, to, was, { state: becomes, deliveredMs: nowMs })).toBe(moved)
    },
)

const replace = fc.tuple(hour, number, value, state).map(
  ([at, one, next, becomes]): Step =>
    ({ runs }, plain) => {
      runs.replace(at, one, next, becomes)
      const known = plain.get(keyOf(at, one))
      if (known) plain.set(keyOf(at, one), { ...known, value: next, state: becomes })
    },
)

const deleteOld = fc.integer({ min: 1, max: 4 * runMetricsMax }).map(
  (limit): Step =>
    ({ runs }, plain) => {
      const before = hours[1]
      const deleted = runs.deleteOld(before, limit)
      for (const { hour: at, first, metrics, state: of } of deleted) {
        expect(at).toBeLessThan(before)
        expect([1, 4]).toContain(of)
        for (let one = first; one < first + metrics; one += 1) expect(plain.delete(keyOf(at, one))).toBe(true)
      }
    },
)

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: insert, weight: 3 },
  { arbitrary: move, weight: 4 },
  { arbitrary: replace, weight: 3 },
  { arbitrary: deleteOld, weight: 1 },
)

/** Everything that can be asked says what the plain map says, and no row is other than it should be. */
function expectSame({ database, runs }: Opened, plain: Plain): void {
  const rows = database.prepare<[], number[]>('SELECT * FROM metric_row').raw().all()
  expect(rows.length, 'none twice').toBe(plain.size)
  for (const [at = 0, one = 0, ...row] of rows) {
    const known = plain.get(keyOf(at, one))
    const expected = known && [known.state, known.value + 0, known.collectedMs, known.deliveredMs]
    expect(row, keyOf(at, one)).toEqual([protocolOf(one), ...(expected ?? [])])
  }
  const look = runs.looking()
  for (const at of hours) {
    for (let one = 1; one <= numberMax; one += 1) {
      const known = plain.get(keyOf(at, one))
      const stored = known && { value: known.value + 0, state: known.state }
      expect(runs.at(at, one), keyOf(at, one)).toEqual(stored)
      expect(look(at, one), keyOf(at, one)).toEqual(stored)
    }
  }
}

/** The due metrics of an hour that some runs hold, as `number value`. */
function dueOf(runs: ReturnType<MetricRuns['due']>): string[] {
  return runs.flatMap(([first, , bytes]) => valuesOf(bytes).map((own, place) => `${first + place} ${own}`))
}

describe('runs of metrics', () => {
  it('hold what a plain map of metrics holds, whatever is inserted, moved, replaced and deleted', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), steps => {
        const [all, plain] = [opened(), new Map() as Plain]
        for (const act of steps) act(all, plain)
        expectSame(all, plain)
        all.database.close()
      }),
      { numRuns: repetitions({ test: 40, soak: 600 }) },
    )
  })

  it('are found by any of their numbers', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 15 }), hour, span, (steps, at, [from, to]) => {
        const [all, plain] = [opened(), new Map() as Plain]
        for (const act of steps) act(all, plain)
        const wanted = Array.from({ length: to - from + 1 }, (_, place) => from + place)
        const inside = (first: number, metrics: number) => first <= to && first + metrics > from
        const spans = all.runs.spans(at, from, to)
        expect(spans.every(({ first, metrics }) => inside(first, metrics))).toBe(true)
        const held = wanted.filter(one => plain.has(keyOf(at, one)))
        const isIn = (one: number) => spans.some(({ first, metrics }) => first <= one && one < first + metrics)
        expect(wanted.filter(isIn)).toEqual(held)
        const due = new Set(dueOf(all.runs.due(at, from, to, numberMax)))
        for (const one of wanted) {
          const known = plain.get(keyOf(at, one))
          expect(due.has(`${one} ${(known?.value ?? 0) + 0}`), keyOf(at, one)).toBe(known?.state === 0)
        }
        all.database.close()
      }),
      { numRuns: repetitions({ test: 30, soak: 400 }) },
    )
  })

  it('take what else there is about a metric with them when they are deleted, and nothing else', () => {
    const { database, runs } = opened()
    const metrics = Array.from({ length: 150 }, (_, place): NewMetric => {
      return { hour: 7, number: place + 1, protocol: 1, state: 1, collectedMs: 1, deliveredMs: 1, value: place }
    })
    runs.insert(metrics)
    runs.move(7, 40, 60, 1, { state: 2 })
    const list = database.prepare("INSERT INTO detained VALUES (7, ?, 'refused', 'no', 400, 1, NULL, 1)")
    const correct = database.prepare('INSERT INTO correction VALUES (7, ?, 1)')
    const was = database.prepare('INSERT INTO earlier_value VALUES (7, ?, 1, 5)')
    for (const one of [39, 40, 60, 61, 150]) {
      list.run(one)
      correct.run(one)
      was.run(one)
    }
    expect(runs.deleteOld(8, 1_000).reduce((sum, run) => sum + run.metrics, 0)).toBe(129)
    for (const table of ['detained', 'correction', 'earlier_value']) {
      expect(database.prepare(`SELECT metric FROM ${table}`).pluck().all(), table).toEqual([40, 60])
    }
  })

  it('are as long as can be where nothing parts them', () => {
    const { runs } = opened()
    const metrics = Array.from({ length: 250 }, (_, place): NewMetric => {
      return { hour: 7, number: place + 1, protocol: 1, state: 0, collectedMs: 1, deliveredMs: 1, value: place }
    })
    runs.insert(metrics)
    expect(runs.spans(7, 1, 250).map(run => run.metrics)).toEqual([100, 100, 50])
    expect(runs.move(7, 101, 200, 0, { state: 1 })).toBe(100)
    expect(
      runs.spans(7, 1, 250).map(run => run.metrics),
      'a whole run is not divided',
    ).toEqual([100, 100, 50])
  })
})
