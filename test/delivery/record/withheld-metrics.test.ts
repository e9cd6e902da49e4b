import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { WithheldMetrics } from '../../../src/delivery/record/withheld-metrics.ts'
import type { Metric } from '../../../src/model/metric.ts'
import type { MetricList } from '../../../src/model/metric-list.ts'
import { metricKey } from '../../../src/model/metric-set.ts'
import { asRuns } from '../../model/batches.ts'
import { metrics } from '../../support/metrics.ts'

const all = metrics(6)
const keysOf = (lists: Iterable<MetricList>) => new Set([...lists].flatMap(some => some.map(metricKey)))

/** Some of the metrics: a list that comes again and again, or one of its own with other objects. */
const list = fc.oneof(
  fc.constantFrom(all.slice(0, 3), all.slice(3)),
  fc.subarray(all).map(some => some.map(metric => ({ ...metric }))),
  fc.subarray(all).map(asRuns),
)
const steps = fc.array(fc.record({ list, act: fc.constantFrom('add', 'delete') }), { maxLength: 12 })

/** Withheld metrics, and a plain set that changes in the same way. */
class Both {
  readonly withheld = new WithheldMetrics()
  readonly #model = new Set<string>()
  readonly #deleted = new Set<string>()

  act(act: string, list: MetricList): void {
    const keys = list.map(metricKey)
    if (act === 'delete') this.withheld.delete(list)
    else this.withheld[keys.some(key => this.#model.has(key)) ? 'addAgain' : 'add'](list)
    for (const key of keys) this.#model[act === 'delete' ? 'delete' : 'add'](key)
    if (act === 'delete') for (const key of keys) this.#deleted.add(key)
    expect(keysOf(this.withheld.lists)).toEqual(this.#model)
  }

  readBegins(): void {
    this.#deleted.clear()
  }

  get ofRead(): Metric[] {
    return all.filter(metric => this.#model.has(metricKey(metric)) || this.#deleted.has(metricKey(metric)))
  }
}

describe('metrics that are withheld from a read', () => {
  it('are those that were added and not deleted, and those that were deleted since it began', async () => {
    await fc.assert(
      fc.asyncProperty(steps, steps, async (before, meanwhile) => {
        const both = new Both()
        for (const { act, list } of before) both.act(act, list)
        both.readBegins()
        await both.withheld.during(async read => {
          expect(read.isChanged()).toBe(false)
          for (const { act, list } of meanwhile) {
            both.act(act, list)
            expect(all.filter(metric => read.has(metric))).toEqual(both.ofRead)
            if (list.length > 0) expect(read.isChanged()).toBe(true)
          }
        })
      }),
    )
  })
})
