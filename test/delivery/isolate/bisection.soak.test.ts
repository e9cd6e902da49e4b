import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import type { Metric } from '../../../src/model/metric.ts'
import type { Answer } from '../../../src/model/verdict.ts'
import { metrics } from '../../support/metrics.ts'
import { repetitions } from '../../support/soak.ts'
import { answered } from '../support/answers.ts'
import { FlushBench, type Rule } from '../support/flush-bench.ts'

/** Ways in which a service refuses a batch for a metric in it, without saying which. */
const refusals: Readonly<Record<string, (sent: number) => Answer>> = {
  '400': () => answered(400),
  '422': () => answered(422),
  '413': () => answered(413),
  '409, which the interface does not name': () => answered(409),
  'a 200 with an error that names none': sent => ({
    kind: 'answered',
    status: 200,
    body: { success: false, processed: sent - 1, errors: ['one of them is odd'], warnings: [] },
  }),
  'a 200 with an index that counts from 1': sent => ({
    kind: 'answered',
    status: 200,
    body: { success: false, processed: sent - 1, errors: [{ index: sent - 1, message: 'odd' }], warnings: [] },
  }),
  'a 200 with words that name another': sent => ({
    kind: 'answered',
    status: 200,
    body: { success: false, processed: sent - 1, errors: ['its unit differs from vault___M5'], warnings: [] },
  }),
  'a 200 that counts one less': sent => ({
    kind: 'answered',
    status: 200,
    body: { success: true, processed: sent - 1, errors: [], warnings: [] },
  }),
}
const refuseThose =
  (bad: ReadonlySet<Metric>, refusal: (sent: number) => Answer): Rule =>
  batch =>
    batch.some(metric => bad.has(metric)) ? refusal(batch.length) : undefined

const inFlight = fc.integer({ min: 1, max: 8 })
/** Answers of the service, and of the outbox, that come after up to some turns, so that pushes overtake each other. */
const delays = fc.record({
  seed: fc.integer(),
  most: fc.constantFrom(1, 2, 5, 30),
  mostOfStore: fc.constantFrom(0, 0, 1, 4),
})
const delayTurns = ({ seed, most, mostOfStore }: { seed: number; most: number; mostOfStore: number }) => {
  const { whole } = dice(seed)
  return { delayTurns: () => whole(1, most), storeTurns: () => whole(0, mostOfStore) }
}
/** At a service that has accepted something before. */
const tried = (bench: FlushBench) => {
  bench.hasDelivered = true
  return bench
}

describe.each(Object.entries(refusals))('bad metrics that are refused by %s:', (name, refusal) => {
  // A 413 is first taken for what it says.
  const extraMax = name === '413' ? 15 : 14

  it(`one of 100 costs at most ${extraMax} extra requests wherever it sits, and the 99 are delivered`, async () => {
    const due = metrics(100)
    for (const bad of due) {
      const bench = tried(new FlushBench(due, refuseThose(new Set([bad]), refusal)))
      expect(await bench.flush()).toBeUndefined()
      expect(bench.deadMetrics).toEqual([bad])
      expect(bench.delivered).toHaveLength(99)
      expect(bench.extraRequests).toBeLessThanOrEqual(extraMax)
    }
  })

  it('… in a batch before, between and after good ones, however many are under way and in whatever order they return', async () => {
    const all = metrics(400)
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 399 }), inFlight, delays, async (place, width, delay) => {
        const bad = new Set(all.slice(place, place + 1))
        const bench = tried(new FlushBench(all, refuseThose(bad, refusal), delayTurns(delay)))
        expect(await bench.flush(width)).toBeUndefined()
        expect(new Set(bench.deadMetrics)).toEqual(bad)
        expect(bench.delivered).toHaveLength(399)
        expect(bench.extraRequests).toBeLessThanOrEqual(extraMax)
      }),
      { numRuns: repetitions({ test: 3, soak: 500 }) },
    )
  })

  it('three of 100 cost at most 42, wherever they sit', async () => {
    const due = metrics(100)
    const three = fc.uniqueArray(fc.nat({ max: 99 }), { minLength: 3, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(three, inFlight, delays, async (places, width, delay) => {
        const bad = new Set(due.filter((_metric, place) => places.includes(place)))
        const bench = tried(new FlushBench(due, refuseThose(bad, refusal), delayTurns(delay)))
        expect(await bench.flush(width)).toBeUndefined()
        expect(new Set(bench.deadMetrics)).toEqual(bad)
        expect(bench.delivered).toHaveLength(97)
        expect(bench.extraRequests).toBeLessThanOrEqual(42)
      }),
      { numRuns: repetitions({ test: 3, soak: 500 }) },
    )
  })

  it('any number of them anywhere among good ones are found, and the good ones delivered in the same flush', async () => {
    const due = metrics(250)
    const places = fc.uniqueArray(fc.nat({ max: 248 }), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(places, inFlight, delays, async (bads, width, delay) => {
        const bad = new Set(due.filter((_metric, place) => bads.includes(place)))
        const bench = tried(new FlushBench(due, refuseThose(bad, refusal), delayTurns(delay)))
        const stop = await bench.flush(width)
        // The heads of everything may be bad by chance; then all the rest is kept.
        if (stop !== undefined) expect(stop.kind).toBe('systemic')
        else expect(bench.delivered).toHaveLength(250 - bad.size)
        expect(bench.deadMetrics.every(metric => bad.has(metric))).toBe(true)
      }),
      { numRuns: repetitions({ test: 3, soak: 500 }) },
    )
  })
})

describe('a flush', () => {
  it('is not fooled by a bad head', async () => {
    const due = metrics(500)
    for (const count of [1, 2, 3, 4, 10, 99, 100, 101, 250]) {
      const bad = new Set(due.slice(0, count))
      const bench = new FlushBench(
        due,
        refuseThose(bad, () => answered(400)),
      )
      expect(await bench.flush()).toBeUndefined()
      expect(new Set(bench.deadMetrics)).toEqual(bad)
      expect(bench.delivered).toHaveLength(500 - count)
    }
  })

  it('sends again in halves what the service’s count left in doubt, and it arrives', async () => {
    const bench = new FlushBench(metrics(100), batch =>
      batch.length > 25 ? refusals['a 200 that counts one less']?.(100) : undefined,
    )
    expect(await bench.flush()).toBeUndefined()
    expect(bench.delivered).toHaveLength(100)
  })

  it('settles what an error names at once, in one request', async () => {
    const due = metrics(100)
    const bench = new FlushBench(due, batch => {
      const errors = batch.filter(({ value }) => value % 10 === 3).map(({ id }) => ({ id, message: 'odd' }))
      const body = { success: false, processed: batch.length - errors.length, errors, warnings: [] }
      return { kind: 'answered', status: 200, body }
    })
    expect(await bench.flush()).toBeUndefined()
    expect(bench.pushes).toHaveLength(1)
    expect(bench.dead).toHaveLength(10)
    expect(bench.dead[0]).toEqual({ metric: due[3], reason: 'odd', status: 200, attempts: 1 })
  })
})
