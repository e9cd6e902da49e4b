import { expect, it } from 'vitest'
import { metricId } from '../../../../src/model/metric.ts'
import type { KnownMetric } from '../../../../src/outbox/rows/known-metric.ts'
import { SeriesLists } from '../../../../src/outbox/sqlite/tables/series-lists.ts'
import { DamageError } from '../../../../src/sqlite/damage.ts'

/** Metrics by their number: those from 100 on are of another protocol. */
function knownMetrics(): (number: number) => KnownMetric {
  return number => {
    const [protocol, protocolId] = number < 100 ? [1, 'vault'] : [2, 'market']
    const id = metricId(protocolId, `M${number}`)
    return { number, id, protocol, protocolId, collector: 'any/c', descriptions: [{ since: 0, unit: 'USD' }] }
  }
}

it('gives a run the same list each time, and runs that are cut in other ways the same series', () => {
  const lists = new SeriesLists(knownMetrics())
  const list = lists.of(1, 5, 7)
  expect(list.map(({ id, unit }) => `${id} ${unit}`)).toEqual([1, 2, 3, 4, 5].map(number => `vault___M${number} USD`))
  expect(lists.of(1, 5, 8)).toBe(list)
  expect(lists.of(2, 5, 8)[0]).toBe(list[1])
  expect(lists.of(1, 4, 8)).toHaveLength(4)
})

it('keeps no more lists than there are mostly runs, however they are cut', () => {
  const lists = new SeriesLists(knownMetrics())
  const list = lists.of(200, 201, 7)
  for (let first = 202; first < 2_201; first += 1) lists.of(first, first + 1, 7)
  expect(lists.of(200, 201, 7)).toBe(list)
  lists.of(2_201, 2_202, 7)
  expect(lists.of(200, 201, 7)).not.toBe(list)
  expect(lists.of(200, 201, 7)).toEqual(list)
})

it('gives the series of the hour where a description has changed', () => {
  const known = knownMetrics()
  const descriptions = [{ since: 0, unit: 'USD' }]
  const lists = new SeriesLists(number => (number === 2 ? { ...known(number), descriptions } : known(number)))
  const unitsAt = (hour: number) => lists.of(1, 3, hour).map(({ unit }) => unit)
  expect(unitsAt(9)).toEqual(['USD', 'USD', 'USD'])
  descriptions.push({ since: 9, unit: 'cents' })
  lists.changed(2)
  expect([unitsAt(8), unitsAt(9)]).toEqual([
    ['USD', 'USD', 'USD'],
    ['USD', 'cents', 'USD'],
  ])
})

it('finds a run with metrics of two protocols damaged', () => {
  expect(() => new SeriesLists(knownMetrics()).of(99, 100, 7)).toThrow(DamageError)
})
