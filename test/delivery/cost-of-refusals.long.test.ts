import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../src/model/hour.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { httpBench } from './support/http-bench.ts'

/** A service over HTTP that answers 413 to more than `fits` metrics. */
async function tightBench(fits: () => number) {
  const { bench, service, time } = await httpBench()
  service.rule = ({ metrics: sent }) => (sent.length > fits() ? { status: 413 } : undefined)
  /** Requests for a flush of so many metrics of the hour `hours` later. */
  const requestsFor = async (hours: number, count: number) => {
    await time.sleep(Math.max(0, hourAfter(anHour, hours) + 60_000 - time.nowMs()))
    const before = service.requests.length
    await bench.store(metrics(count, hourAfter(anHour, hours)))
    await bench.flush()
    expect(bench.balance.due).toBe(0)
    return service.requests.length - before
  }
  return { service, bench, requestsFor }
}

describe('a 413', () => {
  it.each([25, 28, 33])('is met once where %i metrics fit: two batches take at most 12 requests', async fits => {
    const { requestsFor } = await tightBench(() => fits)
    expect(await requestsFor(0, 200)).toBeLessThanOrEqual(12)
    // The size is remembered.
    expect(await requestsFor(1, 200)).toBe(8)
    expect(await requestsFor(2, 50)).toBe(2)
  })

  it('is met by few of the pushes under way, and each metric arrives once', async () => {
    const { service, bench, requestsFor } = await tightBench(() => 30)
    await bench.store(metrics(400, hourAfter(anHour, -1)))
    // Of the newest hour something is accepted, so that the others are sent at the same time. One asks for the clock.
    expect(await requestsFor(0, 5)).toBeLessThanOrEqual(1 + 1 + 4 + 16)
    const delivered = service.pushes.filter(({ metrics: sent }) => sent.length <= 30)
    expect(delivered.reduce((sum, { metrics: sent }) => sum + sent.length, 0)).toBe(405)
  })

  it('is forgotten step by step: after a hundred pushes twice as much is tried', async () => {
    let fits = 25
    const { service, requestsFor } = await tightBench(() => fits)
    await requestsFor(0, 100)
    fits = 100
    await requestsFor(1, 3_000)
    expect(service.pushes.some(({ metrics: sent }) => sent.length === 50)).toBe(true)
    await requestsFor(2, 5_500)
    expect(await requestsFor(3, 300)).toBe(3)
  })

  it('of a single metric is a refusal of that metric', async () => {
    const { bench, service } = await httpBench()
    await bench.store(metrics(100))
    service.rule = ({ metrics: sent }) => (sent.some(({ id }) => id === 'vault___M61') ? { status: 413 } : undefined)
    await bench.flush()
    expect(bench.balance).toMatchObject({ delivered: 99, dead: 1 })
  })
})
