import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { listingOf } from '../../../src/cli/commands/catch-up.ts'
import { type ListedMetrics, listedMetrics } from '../../../src/cli/service-listing.ts'
import { type Hour, hourText, parseHour } from '../../../src/model/hour.ts'

const at = (hour: number) => parseHour(`2026-11-20T${String(hour).padStart(2, '0')}:00:00Z`)
const text = (hour: number) => hourText(at(hour))

/** `{ metric: hours of the day }` */
function hoursIn(listed: ListedMetrics | undefined) {
  if (!listed) return undefined
  return Object.fromEntries(
    [...listed].map(([id, hours]) => [id, [...hours.keys()].map(hour => new Date(hour).getUTCHours())]),
  )
}

describe('hours in an answer', () => {
  const record = (id: string, hour: number) => ({ id, value: 1, timestamp: text(hour) })
  it.each([
    ['a list, as of a widget', [record('a___X', 3), record('a___Y', 4)], { a___X: [3], a___Y: [4] }],
    ['a list in a map', { success: true, metrics: [record('a___X', 3), record('a___X', 2)] }, { a___X: [3, 2] }],
    ['lists by metric', { data: { a___X: [{ timestamp: text(5) }, { timestamp: text(4) }] } }, { a___X: [5, 4] }],
    ['lists in records', [{ id: 'a___X', history: [{ timestamp: text(1) }] }], { a___X: [1] }],
    ['a record in a map', { metric: { metricId: 'a___X', timestamp: text(9) } }, { a___X: [9] }],
    ['seconds', [{ id: 'a___X', timestamp: at(3) / 1000 }], { a___X: [3] }],
    ['milliseconds', [{ id: 'a___X', timestamp: at(3) }], { a___X: [3] }],
    ['another offset, and not a full hour', [{ id: 'a___X', timestamp: '2026-11-20T05:30:00+02:00' }], { a___X: [3] }],
    ['nothing', [], {}],
    ['an empty list below another name', { hello: [] }, undefined],
    ['no list', { success: true }, undefined],
    ['a list of others', ['a___X'], undefined],
    ['records without a timestamp', [{ id: 'a___X', value: 3 }], undefined],
    ['text', 'hello', undefined],
    ['no JSON', undefined, undefined],
  ])('are read where it is %s', (_, body, expected) => {
    expect(hoursIn(listedMetrics(body))).toEqual(expected)
  })

  it('are read from any JSON without an error', () => {
    fc.assert(fc.property(fc.jsonValue(), body => void listedMetrics(body)))
  })
})

describe('what a service has of a collector', () => {
  const listed = (hours: Readonly<Record<string, readonly number[]>>) =>
    new Map(Object.entries(hours).map(([id, own]) => [id, new Map(own.map(hour => [at(hour), {}]))]))
  const listing = (ids: readonly string[], hours: Readonly<Record<string, readonly number[]>>, current = 9) => {
    const found = listingOf(ids, listed(hours), at(current))
    const hourOf = (hour: Hour) => new Date(hour).getUTCHours()
    return found && { from: hourOf(found.from), complete: found.complete.map(hourOf) }
  }

  it.each([
    ['nothing of it', ['a'], { b: [3] }, undefined],
    ['its latest hour', ['a'], { a: [5] }, { from: 6, complete: [] }],
    ['the current hour', ['a'], { a: [9] }, { from: 9, complete: [9] }],
    ['a later hour', ['a'], { a: [11] }, { from: 9, complete: [9] }],
    ['one metric of an earlier hour', ['a', 'b'], { a: [8], b: [6] }, { from: 7, complete: [] }],
    ['a metric that was never delivered', ['a', 'b'], { a: [8] }, { from: 9, complete: [] }],
    ['several hours with one missing', ['a'], { a: [3, 4, 6] }, { from: 3, complete: [3, 4, 6] }],
    ['an hour of which one metric is missing', ['a', 'b'], { a: [3, 4, 5], b: [3, 5] }, { from: 3, complete: [3, 5] }],
    ['a metric that began later', ['a', 'b'], { a: [3, 4, 5, 6], b: [5, 6] }, { from: 5, complete: [5, 6] }],
  ])('is compared where it has %s', (_, ids, hours, expected) => {
    expect(listing(ids, hours)).toEqual(expected)
  })
})
