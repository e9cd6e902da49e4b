import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { startableHours } from '../../src/intake/due-hours.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { catchUpConcurrency } from '../../src/model/limits.ts'
import type { DueHour } from '../../src/outbox/contract/hours.ts'
import { anHour } from '../support/metrics.ts'

const offset = fc.integer({ min: -400, max: 0 })

describe('what is started', () => {
  const collectorName = fc.constantFrom('a', 'b', 'c')
  const dueHour = fc.record({
    collector: collectorName,
    hour: offset.map(count => hourAfter(anHour, count)),
    attempts: fc.constant(0),
  })
  const unique = (hours: DueHour[]) => [...new Map(hours.map(due => [`${due.hour} ${due.collector}`, due])).values()]

  it('is four past hours of a collector at a time, those under way among them', () => {
    const due = Array.from({ length: 9 }, (_, back) => ({
      collector: 'a',
      hour: hourAfter(anHour, -1 - back),
      attempts: 0,
    }))
    expect(startableHours(due, [], anHour)).toEqual(due.slice(0, 4))
    expect(startableHours(due, due.slice(0, 3), anHour)).toEqual(due.slice(3, 4))
    expect(startableHours(due, due.slice(0, 4), anHour)).toEqual([])
  })

  it('is never under way already, keeps each collector’s share of the past, and always has the current hour', () => {
    fc.assert(
      fc.property(fc.array(dueHour), fc.array(dueHour), (dueHours, running) => {
        const [due, underWay] = [unique(dueHours), unique(running)]
        const started = startableHours(due, underWay, anHour)
        const key = ({ collector, hour }: DueHour) => `${collector} ${hour}`
        const busy = new Set(underWay.map(key))
        expect(started.some(entry => busy.has(key(entry)))).toBe(false)
        for (const name of ['a', 'b', 'c']) {
          const past = started.filter(({ collector, hour }) => collector === name && hour < anHour)
          expect(past.length).toBeLessThanOrEqual(catchUpConcurrency)
        }
        const current = due.filter(entry => entry.hour === anHour && !busy.has(key(entry)))
        expect(current.every(entry => started.includes(entry))).toBe(true)
      }),
    )
  })
})
