import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import type { Batch } from '../../../src/model/batch.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import type { Metric } from '../../../src/model/metric.ts'
import type { Answer } from '../../../src/model/verdict.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { repetitions } from '../../support/soak.ts'
import { answered, eachRefused } from '../support/answers.ts'
import { FlushBench } from '../support/flush-bench.ts'
import { protocol } from '../support/protocol.ts'

/** Ways in which a service refuses everything. */
const refusals: Readonly<Record<string, (batch: Batch) => Answer>> = {
  '400': () => ({ kind: 'answered', status: 400, body: { error: 'no more metrics are taken' } }),
  '422': () => ({ kind: 'answered', status: 422, body: { error: 'no more metrics are taken' } }),
  '413': () => ({ kind: 'answered', status: 413, body: { error: 'no more metrics are taken' } }),
  'a 200 with an error for each': eachRefused,
  'a 200 with one error for all': () => ({
    kind: 'answered',
    status: 200,
    body: { success: false, processed: 0, errors: ['no more metrics are taken'], warnings: [] },
  }),
}

describe.each(Object.entries(refusals))('a service that refuses everything by %s', (_, refusal) => {
  it.each([1, 2, 3, 4, 10, 100, 101, 500, 1_000])(
    'stops a flush of %i after a few requests; all is kept',
    async count => {
      for (const width of [1, 4, 8]) {
        const bench = new FlushBench(metrics(count), refusal)
        const stop = await bench.flush(width)
        expect(stop).toMatchObject({ kind: 'systemic' })
        expect(stop?.reason).toContain('the service rejects every metric; all are kept')
        expect(stop?.reason).toContain('no more metrics are taken')
        expect(bench.pushes.length).toBeLessThanOrEqual(16)
        expect(bench.dead).toEqual([])
        expect(bench.due.size).toBe(count)
      }
    },
  )

  it('stops it also when it is spread over protocols and hours, and asks about each kind', async () => {
    const ids = ['a', 'b', 'c', 'd']
    const due = ids.flatMap(id => [0, -1, -2].flatMap(back => metrics(40, hourAfter(anHour, back), id)))
    const bench = new FlushBench(due, refusal, { protocols: ids.map(id => protocol(id)) })
    expect(await bench.flush()).toMatchObject({ kind: 'systemic' })
    expect(bench.pushes.length).toBeLessThanOrEqual(16)
    const alone = bench.pushes.filter(batch => batch.length === 1).map(batch => batch[0].protocolId)
    expect(new Set(alone)).toEqual(new Set(ids))
    expect(bench.due.size).toBe(due.length)
  })

  it('kills nothing when it begins at any moment of a flush, and is left alone soon', async () => {
    const all = metrics(420)
    const scene = fc.record({
      due: fc.integer({ min: 1, max: 420 }),
      from: fc.integer({ min: 0, max: 12 }),
      width: fc.integer({ min: 1, max: 8 }),
      bads: fc.uniqueArray(fc.nat({ max: 419 }), { maxLength: 3 }),
      seed: fc.integer(),
      most: fc.constantFrom(1, 2, 5, 30),
    })
    await fc.assert(
      fc.asyncProperty(scene, async ({ due, from, width, bads, seed, most }) => {
        const bad = new Set<Metric>(all.filter((_metric, place) => bads.includes(place)))
        const { whole } = dice(seed)
        const bench = new FlushBench(
          all.slice(0, due),
          (batch, { pushes }) =>
            pushes.length > from || batch.some(metric => bad.has(metric)) ? refusal(batch) : undefined,
          { delayTurns: () => whole(1, most) },
        )
        const stop = await bench.flush(width)
        expect(bench.deadMetrics.filter(metric => !bad.has(metric))).toEqual([])
        expect(bench.pushes.length - from).toBeLessThanOrEqual(40)
        if (bench.due.size > 0) expect(stop).toMatchObject({ kind: 'systemic' })
      }),
      { numRuns: repetitions({ test: 60, soak: 400 }) },
    )
  })
})

describe('a metric that is refused alone', () => {
  const [bad] = metrics(1)
  const refuseBad = (batch: Batch) => (batch.some(({ id }) => id === bad?.id) ? answered(400) : undefined)

  it('is kept when nothing else is due: it may not be the metric', async () => {
    const bench = new FlushBench(metrics(1), refuseBad)
    expect(await bench.flush()).toMatchObject({ kind: 'systemic' })
    expect(bench.due.size).toBe(1)
  })

  it('is dead once something is accepted after it, and after the last one when what was accepted before still is', async () => {
    for (const due of [metrics(2), metrics(2).reverse(), metrics(201).reverse()]) {
      const bench = new FlushBench(due, refuseBad)
      expect(await bench.flush()).toBeUndefined()
      expect(bench.deadMetrics).toEqual([due.find(({ id }) => id === bad?.id)])
      expect(bench.delivered).toHaveLength(due.length - 1)
    }
  })

  it('ends the flush when the service fails as it is asked again, and is kept', async () => {
    const due = metrics(101).reverse()
    const bench = new FlushBench(due, (batch, { pushes }) => (pushes.length > 2 ? answered(503) : refuseBad(batch)))
    expect(await bench.flush()).toMatchObject({ kind: 'transient' })
    expect(bench.dead).toEqual([])
    expect(bench.due.size).toBe(1)
  })
})

describe('one or two metrics that are refused alone', () => {
  const earlier = metrics(1, hourAfter(anHour, -1))[0]
  const refuseNow = (batch: Batch) => (batch[0].hour === anHour ? answered(400) : undefined)

  it('are dead when one that was delivered before is still accepted', async () => {
    const bench = new FlushBench(metrics(2), refuseNow)
    bench.earlier = earlier
    expect(await bench.flush()).toBeUndefined()
    expect(bench.deadMetrics).toHaveLength(2)
  })

  it('are kept when that one is refused, too, or when there are more of them', async () => {
    const all = new FlushBench(metrics(2), () => answered(400))
    all.earlier = earlier
    expect(await all.flush()).toMatchObject({ kind: 'systemic' })
    const many = new FlushBench(metrics(3), refuseNow)
    many.earlier = earlier
    expect(await many.flush()).toMatchObject({ kind: 'systemic' })
    expect([...all.deadMetrics, ...many.deadMetrics]).toEqual([])
  })
})
