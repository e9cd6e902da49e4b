import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../src/model/hour.ts'
import { metricId } from '../../src/model/metric.ts'
import { MetricSet } from '../../src/model/metric-set.ts'
import { anHour } from '../support/metrics.ts'

describe('a set of metrics', () => {
  it('has what was put in and not taken out, by id and hour', () => {
    const key = fc.record({
      id: fc.constantFrom('A', 'B', 'A 1').map(label => metricId('vault', label)),
      hour: fc.integer({ min: 0, max: 3 }).map(count => hourAfter(anHour, count)),
    })
    const keys = fc.array(key, { maxLength: 5 })
    const steps = fc.array(fc.record({ keys, act: fc.constantFrom('add', 'delete') }))
    fc.assert(
      fc.property(steps, key, (all, asked) => {
        const set = new MetricSet()
        const model = new Map<string, boolean>()
        const name = ({ id, hour }: typeof asked) => `${hour}/${id}`
        for (const { keys: some, act } of all) {
          set[act === 'add' ? 'add' : 'delete'](...some)
          for (const one of some) {
            if (act === 'add') model.set(name(one), true)
            else model.delete(name(one))
          }
        }
        expect(set.size).toBe(model.size)
        expect(set.has(asked)).toBe(model.has(name(asked)))
      }),
    )
  })
})
