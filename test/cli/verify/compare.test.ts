import { describe, expect, it } from 'vitest'
import { compare } from '../../../src/cli/commands/verify.ts'
import { type ListedMetrics, type ListedValue, listedMetrics } from '../../../src/cli/service-listing.ts'
import { hourAfter, hourText } from '../../../src/model/hour.ts'
import { metricId } from '../../../src/model/metric.ts'
import type { MetricState, StoredMetric } from '../../../src/outbox/contract/metrics.ts'
import { anHour } from '../../support/metrics.ts'

const at = (count: number) => hourAfter(anHour, count)
const upTo = at(9)
const isGap = (collector: string, hour: number) => collector === 'pool/c' && hour === at(5)

/** Stored values of `pool___A` by hour; delivered, unless another state is given. */
function stored(hours: Readonly<Record<number, number>>, state: MetricState = 'delivered'): StoredMetric[] {
  return Object.entries(hours).map(([count, value]) => {
    const id = metricId('pool', 'A')
    return { id, protocolId: 'pool', hour: at(Number(count)), value, unit: 'USD', state, collector: 'pool/c' }
  })
}

function shown(hours: Readonly<Record<number, ListedValue>>, id = 'pool___A'): ListedMetrics {
  return new Map([[id, new Map(Object.entries(hours).map(([count, value]) => [at(Number(count)), value]))]])
}

const found = (all: readonly StoredMetric[], listed: ListedMetrics) => {
  const { differences, edgeMetrics: _, hiddenMetrics, ofGaps, ...counts } = compare(all, listed, upTo, isGap)
  return {
    ...counts,
    notShown: hiddenMetrics.length,
    ...(ofGaps > 0 && { ofGaps }),
    differences: differences.map(({ kind, hour }) => [kind, (hour - anHour) / 3_600_000]),
  }
}

describe('what was delivered and what a service shows', () => {
  const ours = stored({ 1: 10, 2: 20, 3: 30 })
  it.each([
    ['all of it', { 1: { value: 10, unit: 'USD' }, 2: { value: 20 }, 3: { value: 30 } }, 3, 0, []],
    ['the latest alone', { 3: { value: 30 } }, 1, 2, []],
    ['an hour that is no longer the latest', { 2: { value: 20 } }, 2, 1, [['missing', 3]]],
    ['a hole', { 1: { value: 10 }, 3: { value: 30 } }, 3, 0, [['missing', 2]]],
    ['only later hours', { 2: { value: 20 }, 3: { value: 30 } }, 2, 1, []],
    ['another value', { 1: { value: 10 }, 2: { value: 21 }, 3: { value: 30 } }, 3, 0, [['value', 2]]],
    ['another unit', { 3: { value: 30, unit: 'EUR' } }, 1, 2, [['unit', 3]]],
    ['no unit where there is one', { 3: { value: 30, unit: '' } }, 1, 2, [['unit', 3]]],
    ['no value', { 1: {}, 2: {}, 3: {} }, 3, 0, []],
    ['an hour that is not ours', { 2: { value: 20 }, 3: { value: 30 }, 4: { value: 40 } }, 2, 1, [['unknown', 4]]],
    [
      'an hour before the oldest that is kept',
      { 0: { value: 1 }, 1: { value: 10 }, 2: { value: 20 }, 3: { value: 30 } },
      3,
      0,
      [],
    ],
    ['an hour that is still to come', { 3: { value: 30 }, 10: { value: 1 } }, 1, 2, []],
  ] as const)('are compared where it shows %s', (_, listed, compared, notShown, differences) => {
    expect(found(ours, shown(listed))).toEqual({ compared, notShown, differences })
  })

  it('of a metric that it does not show, all is missing', () => {
    const missing = [1, 2, 3].map(count => ['missing', count])
    expect(found(ours, new Map())).toEqual({ compared: 3, notShown: 0, differences: missing })
    const other = found(ours, shown({ 3: { value: 1 } }, 'pool___B'))
    expect(other.differences).toEqual([...missing, ['unknown', 3]])
  })

  it('a hole before the first hour of a metric is found by another metric, where hours are shown', () => {
    const other = shown({ 0: { value: 1 }, 1: { value: 1 } }, 'pool___B')
    const both = (own: ListedMetrics) => found(ours, new Map([...own, ...other])).differences
    expect(both(shown({ 2: { value: 20 }, 3: { value: 30 } }))).toEqual([
      ['missing', 1],
      ['unknown', 1],
    ])
    const latest = new Map([...shown({ 3: { value: 30 } }), ...shown({ 1: { value: 1 } }, 'pool___B')])
    expect(found(ours, latest)).toMatchObject({ compared: 1, notShown: 2, differences: [['unknown', 1]] })
  })

  it('what is not in the oldest hour that is shown may be left out there, and is missing later', () => {
    const other = shown({ 1: { value: 1 }, 2: { value: 1 } }, 'pool___B')
    const { hiddenMetrics, edgeMetrics, differences } = compare(
      stored({ 0: 1, 1: 10, 2: 20, 3: 30 }),
      other,
      upTo,
      isGap,
    )
    expect([hiddenMetrics.length, edgeMetrics.map(({ hour }) => hour)]).toEqual([0, []])
    expect(differences.filter(({ kind }) => kind === 'missing').map(({ hour }) => hour)).toEqual([0, 1, 2, 3].map(at))
    const own = new Map([...other, ...shown({ 3: { value: 30 } })])
    const shownAgain = compare(stored({ 0: 1, 1: 10, 2: 20, 3: 30 }), own, upTo, isGap)
    expect([shownAgain.hiddenMetrics.length, shownAgain.edgeMetrics.map(({ hour }) => hour)]).toEqual([1, [at(1)]])
    expect(shownAgain.differences.filter(({ kind }) => kind === 'missing').map(({ hour }) => hour)).toEqual([at(2)])
  })

  it('an hour that is a gap here is no difference; that of a metric that nothing here gives is', () => {
    const listed = { 1: { value: 10 }, 2: { value: 20 }, 3: { value: 30 }, 5: { value: 50 } }
    expect(found(ours, shown(listed))).toEqual({ compared: 3, notShown: 0, ofGaps: 1, differences: [] })
    const other = new Map([...shown(listed), ...shown({ 5: { value: 1 } }, 'pool___B')])
    expect(found(ours, other)).toEqual({ compared: 3, notShown: 0, ofGaps: 1, differences: [['unknown', 5]] })
  })

  it.each(['due', 'dead', 'held'] as const)('what is %s does not count, whatever is shown of it', state => {
    const all = [...ours, ...stored({ 4: 40 }, state)]
    const listed = shown({ 1: { value: 10 }, 2: { value: 20 }, 3: { value: 30 }, 4: { value: 41 } })
    expect(found(all, listed)).toEqual({ compared: 3, notShown: 0, differences: [] })
    expect(found(all, shown({ 1: { value: 10 }, 2: { value: 20 }, 3: { value: 30 } })).differences).toEqual([])
  })
})

describe('values in an answer', () => {
  const record = (more: object) => ({ id: 'pool___A', timestamp: hourText(anHour), ...more })
  it.each([
    ['a number and its unit', { value: 1.5, unit: 'USD' }, { value: 1.5, unit: 'USD' }],
    ['a number as text', { value: '1234.5' }, { value: 1234.5 }],
    ['no unit, said so', { value: 1, unit: null }, { value: 1, unit: '' }],
    ['no number', { value: 'much', unit: 3 }, {}],
    ['no value', {}, {}],
    ['text without a number in it', { value: ' ' }, {}],
  ])('are read where there is %s', (_, more, expected) => {
    expect(
      listedMetrics([record(more)])
        ?.get('pool___A')
        ?.get(anHour),
    ).toEqual(expected)
  })

  it('of an hour that is shown twice, the one with a value counts', () => {
    expect(
      listedMetrics([record({ value: 5 }), record({})])
        ?.get('pool___A')
        ?.get(anHour),
    ).toEqual({ value: 5 })
  })
})
