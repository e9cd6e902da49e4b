import { describe, expect, it } from 'vitest'
import { attemptsMax } from '../../src/delivery/isolate/pieces.ts'
import { dice } from '../../src/devchain/dice.ts'
import { type Hour, hourAfter, hourText } from '../../src/model/hour.ts'
import { breakerCapMs, hourMs, probeMetricsMax } from '../../src/model/limits.ts'
import type { Answer } from '../../src/model/verdict.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { repetitions, sampleOf } from '../support/soak.ts'
import { answered } from './support/answers.ts'
import { MemoryBench } from './support/memory-bench.ts'

interface Request {
  readonly atMs: number
  readonly hours: readonly string[]
  readonly size: number
}

/** A service that writes down when it was asked for what. */
function watched(bench: MemoryBench, rule: (atMs: number) => Answer | undefined): Request[] {
  const requests: Request[] = []
  bench.service.rule = ({ metrics: sent }) => {
    const atMs = bench.time.nowMs()
    requests.push({ atMs, hours: [...new Set(sent.map(({ timestamp = '' }) => timestamp))], size: sent.length })
    return rule(atMs)
  }
  return requests
}

/** Runs for some hours as the daemon does: collects at each full hour, and flushes whenever the breaker lets it. */
async function run(bench: MemoryBench, hours: number, perHour: number): Promise<Hour> {
  let hour = anHour
  for (let count = 0; count < hours; count += 1) {
    hour = hourAfter(anHour, count)
    await bench.store(metrics(perHour, hour))
    const nextHourMs = hourAfter(hour, 1)
    while (bench.time.nowMs() < nextHourMs) {
      await bench.flush()
      const wakeMs = bench.balance.due > 0 ? Math.max(bench.nextMs, bench.time.nowMs() + 1_000) : nextHourMs
      await bench.time.sleep(Math.min(nextHourMs, wakeMs) - bench.time.nowMs())
    }
  }
  return hour
}

const gapsMs = (requests: readonly Request[]) =>
  requests.slice(1).map(({ atMs }, place) => atMs - (requests[place]?.atMs ?? 0))

/** Time for which the service is away. */
const days = repetitions({ test: 1, soak: 30 })

describe(`after an outage of ${days} days`, () => {
  it('everything arrives, the newest hour first, then the oldest, at the configured pace', async () => {
    const bench = new MemoryBench({ pacePerSecond: 5 })
    const { roll } = dice(30)
    bench.time.chance = roll
    let isDown = true
    const requests = watched(bench, () => (isDown ? answered(503) : undefined))
    const stored = days * 24 * 50
    const last = await run(bench, days * 24, 50)
    expect(bench.balance).toMatchObject({ due: stored, delivered: 0, dead: 0 })

    // Five tries of the first batch; from then on two small batches every few minutes, and when an hour is new.
    const [first, probes] = [requests.slice(0, attemptsMax), requests.slice(attemptsMax)]
    expect(first.every(({ size }) => size === 50)).toBe(true)
    expect(Math.max(...probes.map(({ size }) => size))).toBe(probeMetricsMax)
    expect(probes.slice(10).every(({ size }) => size === 1)).toBe(true)
    const secondsOfOutage = days * 24 * 3_600
    // Between two probes every 2.5 and every 5 minutes.
    expect(requests.length).toBeGreaterThan((2 * secondsOfOutage) / 300)
    expect(requests.length).toBeLessThan((2 * secondsOfOutage) / 150 + 20)

    isDown = false
    const downUntil = requests.length
    while (bench.balance.due > 0) {
      await bench.flush()
      if (bench.balance.due > 0) await bench.time.sleep(Math.max(1_000, bench.nextMs - bench.time.nowMs()))
    }
    expect(bench.balance).toMatchObject({ due: 0, delivered: stored, dead: 0 })
    expect(bench.state()).toMatchObject({ failures: 0, probeAtMs: 0 })
    for (const gap of gapsMs(requests)) expect(gap).toBeGreaterThanOrEqual(200)

    const drained = requests.slice(downUntil + 1)
    expect(drained[0]?.hours[0]).toBe(hourText(last))
    const backlog = drained.slice(1).flatMap(({ hours }) => hours)
    expect(backlog).toEqual([...backlog].sort())
    // Full batches, and what is left over of the newest hour and of the oldest.
    const batches = stored / 100 + 2
    expect(drained.length).toBeLessThanOrEqual(batches)
    expect((drained.at(-1)?.atMs ?? 0) - (drained[0]?.atMs ?? 0)).toBeLessThanOrEqual(batches * 200)
  })

  it('an hour that is collected while the backlog drains goes before it', async () => {
    const bench = new MemoryBench({ pacePerSecond: 5 })
    await bench.store(Array.from({ length: 100 }, (_, back) => metrics(50, hourAfter(anHour, -back))).flat())
    const fresh = hourAfter(anHour, 1)
    let isStored = false
    const requests = watched(bench, () => {
      if (requests.length === 10 && !isStored) {
        isStored = true
        void bench.store(metrics(50, fresh))
      }
      return undefined
    })
    await bench.time.sleep(fresh - bench.time.nowMs() - 1_000)
    await bench.flush()
    const place = requests.findIndex(({ hours }) => hours.includes(hourText(fresh)))
    expect(place).toBeGreaterThan(9)
    // Before it go twice four, under way and prepared, and the rest of a page.
    expect(place).toBeLessThan(19)
    expect(bench.balance.due).toBe(0)
  })
})

describe('an outage', () => {
  const ways = [
    ['answers 503', () => answered(503)],
    ['answers 429', () => answered(429)],
    ['does not answer', (): Answer => ({ kind: 'unanswered', reason: 'no answer in time' })],
    ['answers something else', (): Answer => ({ kind: 'answered', status: 200, body: 'hello' })],
    ['redirects', () => answered(302)],
    ['refuses everything', () => answered(400)],
  ] as const
  it.each(sampleOf(ways, 1))('in which the service %s costs it few requests, and nothing', async (_, answer) => {
    const bench = new MemoryBench({ pacePerSecond: 5 })
    bench.time.chance = dice(7).roll
    let isDown = false
    const requests = watched(bench, () => (isDown ? answer() : undefined))
    await run(bench, 2, 50)
    isDown = true
    const before = requests.length
    await run(bench, 24, 50)
    const perHour = (requests.length - before) / 24
    expect(perHour).toBeLessThan(200)
    isDown = false
    await bench.time.sleep(breakerCapMs)
    await bench.flush()
    expect(bench.balance).toMatchObject({ due: 0, dead: 0 })
    expect(bench.balance.delivered).toBe(bench.balance.enqueued)
    for (const gap of gapsMs(requests)) expect(gap).toBeGreaterThanOrEqual(200)
  })
})

describe('a service that answers 429 now and then', () => {
  it('is asked more slowly, then at the old pace again, and gets everything', async () => {
    const bench = new MemoryBench({ pacePerSecond: 5 })
    bench.time.chance = dice(3).roll
    const requests = watched(bench, () => (requests.length >= 20 && requests.length < 24 ? answered(429) : undefined))
    await bench.store(Array.from({ length: 200 }, (_, back) => metrics(100, hourAfter(anHour, -back))).flat())
    await bench.flush()
    while (bench.balance.due > 0) {
      await bench.time.sleep(Math.max(1_000, bench.nextMs - bench.time.nowMs()))
      await bench.flush()
    }
    expect(bench.balance).toMatchObject({ due: 0, delivered: 20_000, dead: 0 })
    const gaps = gapsMs(requests)
    expect(gaps.slice(0, 15)).toEqual(Array(15).fill(200))
    expect(Math.max(...gaps.slice(22, 40))).toBeGreaterThanOrEqual(1_600)
    expect(gaps.slice(-50)).toEqual(Array(50).fill(200))
  })

  it('that allows one request a second gets at most a few more', async () => {
    const bench = new MemoryBench({ pacePerSecond: 5 })
    bench.time.chance = dice(5).roll
    let allowed = 5
    let filledMs = bench.time.nowMs()
    let refused = 0
    const requests = watched(bench, atMs => {
      allowed = Math.min(5, allowed + (atMs - filledMs) / 1_000)
      filledMs = atMs
      if (allowed < 1) {
        refused += 1
        return answered(429)
      }
      allowed -= 1
      return undefined
    })
    await bench.store(Array.from({ length: 300 }, (_, back) => metrics(100, hourAfter(anHour, -back))).flat())
    const beganMs = bench.time.nowMs()
    while (bench.balance.due > 0 && bench.time.nowMs() < beganMs + hourMs) {
      await bench.flush()
      await bench.time.sleep(Math.max(1_000, bench.nextMs - bench.time.nowMs()))
    }
    expect(bench.balance).toMatchObject({ due: 0, delivered: 30_000, dead: 0 })
    expect(refused).toBeLessThan(requests.length / 3)
  })
})
