import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../src/model/hour.ts'
import { labelOf, type Metric, metricId } from '../../src/model/metric.ts'
import { joined, type MetricList, RunList, runsOf } from '../../src/model/metric-list.ts'
import { MetricRun } from '../../src/model/metric-run.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { asRuns } from './batches.ts'

/** Metrics of two protocols and a few hours, neighbours mostly of one run. */
const some = fc
  .array(fc.record({ count: fc.integer({ min: 1, max: 4 }), hours: fc.nat({ max: 2 }), isOther: fc.boolean() }), {
    minLength: 1,
    maxLength: 5,
  })
  .map(runs =>
    runs.flatMap(({ count, hours, isOther }, at) =>
      metrics(count).map((metric): Metric => {
        const protocolId = isOther ? 'other' : metric.protocolId
        const id = metricId(protocolId, `${labelOf(metric)}${at}`)
        return { ...metric, id, protocolId, hour: hourAfter(anHour, hours), value: at + 0.5 }
      }),
    ),
  )

describe('metrics in runs', () => {
  it('are the metrics of the array that they were made of, in whatever way they are looked at', () => {
    fc.assert(
      fc.property(some, fc.nat({ max: 20 }), fc.nat({ max: 20 }), (array, from, to) => {
        const list = asRuns(array)
        const wanted = (metric: Metric) => metric.value > 1
        const looks = (one: MetricList) => [
          [...one],
          one.length,
          one.filter(wanted),
          one.map(({ id }, place) => `${place} ${id}`),
          one.some(wanted),
          one.every(wanted),
        ]
        expect(looks(list)).toEqual(looks(array))
        expect(looks(list.slice(from, to))).toEqual(looks(array.slice(from, to)))
        expect(looks(list.slice(from))).toEqual(looks(array.slice(from)))
        expect(asRuns(array)).toMatchObject({ 0: array[0] })
      }),
    )
  })

  it('are of one protocol and hour each, as few as can be', () => {
    fc.assert(
      fc.property(some, array => {
        const runs = runsOf(array)
        const changes = array.filter(
          ({ hour, protocolId }, at) =>
            at === 0 || array[at - 1]?.hour !== hour || array[at - 1]?.protocolId !== protocolId,
        )
        expect(runs.map(({ hour, protocolId }) => ({ hour, protocolId }))).toEqual(
          changes.map(({ hour, protocolId }) => ({ hour, protocolId })),
        )
        expect([...new RunList(runs)]).toEqual(array)
      }),
    )
  })

  it('are the same objects at each look, as the metrics of an array are', () => {
    const list = asRuns(metrics(5))
    const [first] = list.filter(() => true)
    if (!first) throw new Error('there are five')
    expect([...list][0]).toBe(first)
    expect(list.includes(first)).toBe(true)
    expect(list).toMatchObject({ 0: first })
    expect(list.slice(0)).toBe(list)
  })

  it('know their place in the store, cut or whole', () => {
    const [series, store] = [metrics(5), {}]
    const values = series.map(({ value }) => value)
    const run = new MetricRun({ hour: anHour, protocolId: 'vault', series, values, place: { store, first: 7 } })
    expect(runsOf(new RunList([run, run]).slice(2, 9)).map(({ place, length }) => [place, length])).toEqual([
      [{ store, first: 9 }, 3],
      [{ store, first: 7 }, 4],
    ])
    expect(() => run.metricAt(5)).toThrow(RangeError)
  })

  it('are joined as runs, and with arrays as metrics', () => {
    const [one, other] = [metrics(3), metrics(5).slice(3)]
    const list = joined([asRuns(one), asRuns(other)])
    expect(list).toBeInstanceOf(RunList)
    expect([...list]).toEqual([...one, ...other])
    expect(joined([asRuns(one), other])).toEqual([...one, ...other])
    expect(joined([one])).toBe(one)
    expect(joined([])).toEqual([])
  })

  it('are never none', () => {
    expect(() => new RunList([])).toThrow(RangeError)
  })
})
