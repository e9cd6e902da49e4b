import { describe, expect, it } from 'vitest'
import type { FlushOccasion } from '../../src/delivery/gate.ts'
import { dice } from '../../src/devchain/dice.ts'
import { hourAfter, hourText } from '../../src/model/hour.ts'
import { hourMs, quarantineCapMs } from '../../src/model/limits.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { httpBench } from './support/http-bench.ts'
import type { HttpPush } from './support/http-service.ts'
import { protocol } from './support/protocol.ts'

/** The first hour that the service takes, an hour after a test begins. */
const good = hourAfter(anHour, 1)
const isOfHour = (hours: number) => (metric: HttpPush['metrics'][number]) =>
  metric.timestamp === hourText(hourAfter(good, hours))

/** A service over HTTP that answers 503 to every push with a metric of an hour before `good`. */
async function benchOf(protocols: readonly string[], seed = 1) {
  const destinations = [{ name: 'service', readKey: () => 'a-key', protocols: protocols.map(id => protocol(id)) }]
  const { bench, service, time } = await httpBench({ destinations, pacePerSecond: 5 })
  time.chance = dice(seed).roll
  service.rule = ({ metrics: sent }) =>
    sent.some(({ timestamp = '' }) => timestamp < hourText(good)) ? { status: 503 } : undefined
  const store = (hours: number, count: number) =>
    bench.store(protocols.flatMap(id => metrics(count, hourAfter(good, hours), id)))
  const storeOld = async (hours: number, count: number) => {
    for (let back = hours; back > 0; back -= 1) await store(-back, count)
  }
  /** The daemon's loop, until all is done or the time is over; less often than a daemon looks, so that hours pass quickly. */
  const runFor = async (forMs: number, isDone?: () => boolean) => {
    const stepMs = isDone ? 2_000 : 60_000
    const endMs = time.nowMs() + forMs
    while (time.nowMs() < endMs && !isDone?.()) {
      await bench.flush()
      await time.sleep(Math.max(1, Math.min(endMs - time.nowMs(), stepMs)))
    }
  }
  return { bench, service, time, store, storeOld, runFor }
}

describe('the newest hour, where the service answers 503 for older hours alone,', () => {
  it.each([
    ['of one protocol', ['vault'], 12],
    ['of three protocols', ['vault', 'other', 'third'], 7],
    ['of more than a batch', ['vault'], 130],
  ])('is sent before anything else and delivered by the first flush: %s', async (_, protocols, count) => {
    const { bench, service, time, store, storeOld } = await benchOf(protocols)
    await time.sleep(hourMs)
    await storeOld(6, count)
    await store(0, count)
    await bench.flush()
    const newest = count * protocols.length
    expect(bench.balance.delivered).toBe(newest)
    const firstSent = service.pushes.slice(0, Math.ceil(newest / 100)).flatMap(push => push.metrics)
    expect(firstSent).toHaveLength(newest)
    expect(firstSent.every(isOfHour(0))).toBe(true)
  })

  const ways: readonly [string, 'run' | 'restart', FlushOccasion][] = [
    ['of a daemon that goes on', 'run', 'due'],
    ['of a daemon that was started again', 'restart', 'due'],
    ['when a person asks', 'run', 'asked'],
  ]
  it.each(ways.flatMap(way => [1, 2, 3].map(seed => [...way, seed] as const)))(
    'does not wait for a breaker that older ones opened: %s (%s, %s, seed %i)',
    async (_, way, occasion, seed) => {
      const { bench, service, time, store, storeOld, runFor } = await benchOf(['vault', 'other'], seed)
      await storeOld(30, 8)
      await runFor(good + 30_000 - time.nowMs())
      expect(bench.state().failures).toBeGreaterThan(4)
      await store(0, 8)
      if (way === 'restart') bench.restart()
      const before = service.pushes.length
      await bench.flush(occasion)
      expect(bench.balance.delivered).toBe(16)
      expect(service.pushes[before]?.metrics.every(isOfHour(0))).toBe(true)
    },
  )

  it.each([
    ['of one protocol', ['vault'], 5, 1],
    ['of one metric', ['vault'], 1, 2],
    ['of three protocols', ['vault', 'other', 'third'], 9, 3],
    ['of three protocols, with other chances', ['vault', 'other', 'third'], 9, 4],
  ])('is in time hour after hour, while older ones are in quarantine: %s', async (_, protocols, count, seed) => {
    const { bench, service, time, storeOld, runFor } = await benchOf(protocols, seed)
    await storeOld(20, count)
    for (let hours = 0; hours < 6; hours += 1) {
      await runFor(hourAfter(good, hours) + 30_000 - time.nowMs())
      if (hours === 3) bench.restart()
      // Collectors of an hour end one after the other.
      for (const id of protocols) {
        const wanted = bench.balance.delivered + count
        await bench.store(metrics(count, hourAfter(good, hours), id))
        const isDone = () => bench.balance.delivered === wanted
        await runFor(60_000, isDone)
        expect(isDone(), `hour ${hours}, ${id}: ${bench.state().waiting}`).toBe(true)
      }
    }
    // The service is not flooded with old hours.
    expect(service.pushes.length).toBeLessThan(7 * 300)
    service.rule = () => undefined
    await runFor(2 * quarantineCapMs, () => bench.balance.due === 0)
    expect(bench.balance).toMatchObject({ due: 0, dead: 0, delivered: (20 + 6) * count * protocols.length })
  })
})
