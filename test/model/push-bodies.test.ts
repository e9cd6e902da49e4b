import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pushedMetric } from '../../src/model/batch.ts'
import { hourAfter, hourAt } from '../../src/model/hour.ts'
import type { Metric, MetricId } from '../../src/model/metric.ts'
import { RunList } from '../../src/model/metric-list.ts'
import { MetricRun } from '../../src/model/metric-run.ts'
import { PushBodies } from '../../src/model/push-bodies.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { asBatch, batchOf } from './batches.ts'

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 6 })
const anyMetric: fc.Arbitrary<Metric> = fc.record(
  {
    // Few of them, so that one comes again with another unit, module or hour.
    id: fc.constantFrom<MetricId>('a___A', 'a___"B"', 'ö___\\', '\u2028___{'),
    protocolId: fc.constantFrom('a', 'ö"'),
    hour: fc.integer({ min: 0, max: 10_000_000 }).map(hour => hourAt(hour * 3_600_000)),
    value: fc.double({ noNaN: true, noDefaultInfinity: true }),
    unit: text,
    module: text,
  },
  { requiredKeys: ['id', 'protocolId', 'hour', 'value'] },
)

describe('the body of a push', () => {
  const bodies = new PushBodies()

  const isJson = (metrics: readonly Metric[]) => {
    const body = Buffer.from(bodies.of(asBatch(metrics))).toString()
    expect(JSON.parse(body)).toEqual(JSON.parse(JSON.stringify({ metrics: metrics.map(pushedMetric) })))
  }

  it('is the JSON of its metrics', () => {
    fc.assert(fc.property(fc.array(anyMetric, { minLength: 1, maxLength: 100 }), isJson))
  })

  it.each([-1.2345678901234567e-6, -Number.MIN_VALUE, -Number.MAX_VALUE, -123456789012345680000, -0, 0.1 + 0.2])(
    'holds a hundred times %o',
    value => isJson(batchOf(100).map(metric => ({ ...metric, value }))),
  )

  it.each([Number.NaN, Number.POSITIVE_INFINITY, '1', 1n, undefined])('never holds %o for a value', value => {
    const [metric] = batchOf(1)
    bodies.of([metric])
    expect(() => bodies.of([{ ...metric, value: value as number }])).toThrow('value')
  })

  it('is that of its run, whatever the run before it that began with the same metric', () => {
    const own = metrics(4)
    const inCents = own.map((metric, at) => (at === 1 ? { ...metric, unit: 'cents' } : metric))
    for (const series of [own, inCents, own.slice(0, 2), own]) {
      for (const hour of [anHour, hourAfter(anHour, 1)]) {
        const all = series.map(metric => ({ ...metric, hour }))
        const values = all.map(({ value }) => value)
        const run = new MetricRun({ hour, protocolId: 'vault', series, values, place: { store: bodies, first: 1 } })
        const expected = JSON.parse(JSON.stringify({ metrics: all.map(pushedMetric) }))
        expect(JSON.parse(Buffer.from(bodies.of(new RunList([run]))).toString())).toEqual(expected)
      }
    }
  })

  it('is the same when it was prepared, for however many batches, and asked for again', () => {
    const batches = Array.from({ length: 70 }, (_, number) => batchOf(1 + number))
    const prepared = new PushBodies()
    for (const batch of batches) prepared.prepare(batch)
    for (const batch of [...batches, ...batches.toReversed()]) expect(prepared.of(batch)).toEqual(bodies.of(batch))
  })

  it('is written over one that was taken back, and over no other', () => {
    const sizes = fc.array(fc.record({ size: fc.integer({ min: 1, max: 100 }), back: fc.nat({ max: 9 }) }))
    const isKept = (steps: readonly { readonly size: number; readonly back: number }[]) => {
      const reusing = new PushBodies()
      const held: { readonly body: Uint8Array<ArrayBuffer>; readonly json: string }[] = []
      for (const [step, { size, back }] of steps.entries()) {
        const batch = asBatch(batchOf(size).map(metric => ({ ...metric, value: metric.value + step })))
        const body = reusing.of(batch)
        held.push({ body, json: Buffer.from(bodies.of(batch)).toString() })
        const [taken] = back < held.length ? held.splice(back, 1) : []
        if (taken) reusing.reuse(taken.body)
        for (const { body, json } of held) expect(Buffer.from(body).toString()).toBe(json)
      }
    }
    fc.assert(fc.property(sizes, isKept))
    const first = bodies.of(batchOf(100))
    bodies.reuse(first)
    expect(bodies.of(batchOf(99)).buffer).toBe(first.buffer)
    expect(bodies.of(batchOf(99)).buffer).not.toBe(first.buffer)
  })

  it('is whole after one that could not be written', () => {
    const [good, bad] = [batchOf(2), batchOf(2).map(metric => ({ ...metric, value: Number.NaN }))]
    expect(() => bodies.of(asBatch([...good.slice(0, 1), ...bad.slice(1)]))).toThrow('value')
    isJson(good)
  })

  it('never shares its memory with another, given back twice', () => {
    const twice = new PushBodies()
    const body = twice.of(batchOf(1))
    twice.reuse(body)
    twice.reuse(body)
    expect(twice.of(batchOf(1)).buffer).toBe(body.buffer)
    expect(twice.of(batchOf(1)).buffer).not.toBe(body.buffer)
  })

  it('never holds more than a push may', () => {
    expect(() => bodies.of(batchOf(101))).toThrow('100')
  })
})
