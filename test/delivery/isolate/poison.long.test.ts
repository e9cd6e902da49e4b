import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import type { Batch } from '../../../src/model/batch.ts'
import { hourAfter, hourText } from '../../../src/model/hour.ts'
import { hourMs, quarantineCapMs } from '../../../src/model/limits.ts'
import type { Metric } from '../../../src/model/metric.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { sampleOf } from '../../support/soak.ts'
import { answered } from '../support/answers.ts'
import { FlushBench } from '../support/flush-bench.ts'
import { MemoryBench } from '../support/memory-bench.ts'
import type { Sent } from '../support/memory-service.ts'

const failOn = (poison: ReadonlySet<Metric>) => (batch: Batch) =>
  batch.some(metric => poison.has(metric)) ? answered(500) : undefined

describe('a metric the service fails on', () => {
  it('is found wherever it sits behind something accepted, quarantined alone, and stays due', async () => {
    const all = metrics(400)
    const scene = fc.record({
      place: fc.integer({ min: 100, max: 399 }),
      width: fc.integer({ min: 1, max: 8 }),
      seed: fc.integer(),
      most: fc.constantFrom(1, 2, 5, 30),
    })
    await fc.assert(
      fc.asyncProperty(scene, async ({ place, width, seed, most }) => {
        const poison = all.slice(place, place + 1)
        const { whole } = dice(seed)
        const bench = new FlushBench(all, failOn(new Set(poison)), { delayTurns: () => whole(1, most) })
        expect(await bench.flush(width)).toBeUndefined()
        expect([...bench.due]).toEqual(poison)
        expect(bench.quarantined).toEqual(poison)
        expect(bench.delivered).toHaveLength(399)
        expect(bench.dead).toEqual([])
      }),
    )
  })

  it.each([2, 5, 20])('is found also when there are %i of them', async count => {
    const all = metrics(500)
    const { whole } = dice(count)
    const poison = new Set(
      Array.from({ length: count }, () => all[whole(100, 499)]).filter(metric => metric !== undefined),
    )
    const bench = new FlushBench(all, failOn(poison))
    expect(await bench.flush()).toBeUndefined()
    expect(new Set(bench.quarantined)).toEqual(poison)
    expect(bench.due).toEqual(poison)
  })

  it('is left alone while it is in quarantine', async () => {
    const all = metrics(200)
    const bench = new FlushBench(all, failOn(new Set(all.slice(7, 8))), { quarantined: all.slice(7, 8) })
    expect(await bench.flush()).toBeUndefined()
    expect(bench.due.size).toBe(1)
    expect(bench.pushes).toHaveLength(2)
  })

  it('is tried again alone, after everything else; that it fails again is no word about the service', async () => {
    const all = metrics(300)
    const troubled = all.slice(7, 9)
    const bench = new FlushBench(all, failOn(new Set(troubled)), { toProbe: troubled })
    expect(await bench.flush()).toBeUndefined()
    expect(bench.pushes.map(batch => batch.length)).toEqual([100, 100, 98, 1, 1])
    expect(bench.quarantined).toEqual(troubled)
    const alone = new FlushBench(troubled, failOn(new Set(troubled)), { toProbe: troubled })
    expect(await alone.flush()).toBeUndefined()
    const healed = new FlushBench(troubled, undefined, { toProbe: troubled })
    expect(await healed.flush()).toBeUndefined()
    expect(healed.delivered).toEqual(troubled)
  })

  it('is not tried again when the service wants to be left alone, or is down', async () => {
    const all = metrics(150)
    for (const answer of [answered(429), answered(503)]) {
      const bench = new FlushBench(all, () => answer, { toProbe: all.slice(0, 2) })
      expect(await bench.flush()).toMatchObject({ kind: 'transient' })
      expect(bench.pushes).toHaveLength(1)
    }
  })

  it('is not looked for when the service has gone down', async () => {
    const bench = new FlushBench(metrics(2_000), (_, { pushes }) => (pushes.length > 3 ? answered(500) : undefined))
    expect(await bench.flush()).toMatchObject({ kind: 'transient', reason: '500' })
    expect(bench.quarantined).toEqual([])
    expect(bench.pushes.length).toBeLessThanOrEqual(12)
  })
})

describe('a delivery with a metric the service always fails on', () => {
  /** 12 metrics an hour, one of the first hour poisoned, for half a day. */
  async function halfADay(seed: number) {
    const bench = new MemoryBench({ pacePerSecond: 5 })
    bench.time.chance = dice(seed).roll
    const isPoison = ({ id, timestamp }: Sent) => id === 'vault___M3' && timestamp === hourText(anHour)
    bench.service.rule = ({ metrics: sent }) => (sent.some(isPoison) ? answered(500) : undefined)
    const lateMs: number[] = []
    for (let count = 0; count < 12; count += 1) {
      const hour = hourAfter(anHour, count)
      await bench.time.sleep(Math.max(0, hour + 60_000 - bench.time.nowMs()))
      await bench.store(metrics(12, hour))
      const storedMs = bench.time.nowMs()
      let arrivedMs: number | undefined
      while (bench.time.nowMs() < storedMs + hourMs - 10_000) {
        await bench.flush()
        if (bench.balance.due === 1) arrivedMs ??= bench.time.nowMs()
        await bench.time.sleep(10_000)
      }
      lateMs.push((arrivedMs ?? Number.POSITIVE_INFINITY) - storedMs)
    }
    return { bench, lateMs }
  }

  it.each(sampleOf([1, 2, 3], 1))(
    'delivers all else in time, hour after hour, and says what it fails on (seed %i)',
    async seed => {
      const { bench, lateMs } = await halfADay(seed)
      const [first = 0, ...following] = lateMs
      // It stands in the way of the others until they were tried without it.
      expect(first).toBeLessThan(3 * 60_000)
      expect(Math.max(...following)).toBeLessThan(60_000)
      expect(bench.balance).toMatchObject({ due: 1, delivered: 143, dead: 0 })
      expect(bench.state()).toMatchObject({
        failures: 0,
        waiting: `the service fails on vault___M3 of ${hourText(anHour)} alone (500)`,
      })
      // It is tried again every few minutes.
      expect(bench.service.pushes.length).toBeLessThan(12 * 50)
      bench.service.rule = () => undefined
      await bench.time.sleep(quarantineCapMs)
      await bench.flush()
      expect(bench.balance).toMatchObject({ due: 0, delivered: 144 })
      expect(bench.state().waiting).toBeUndefined()
    },
  )

  it('sends the known-good metric again where its first attempt fails, although it is not due', async () => {
    const bench = new MemoryBench({ inFlight: 1 })
    await bench.store([...metrics(100, anHour, 'vault'), ...metrics(5, anHour, 'other')])
    let checks = 0
    bench.service.rule = ({ metrics: sent, protocolIds }) => {
      if (protocolIds.includes('other')) return answered(500)
      if (sent.length === 1) checks += 1
      return sent.length === 1 && checks === 1 ? answered(500) : undefined
    }
    await bench.flush()
    expect(checks).toBeGreaterThan(1)
    expect(bench.state()).toMatchObject({ failures: 0, waiting: expect.stringContaining('fails on protocol other') })
  })

  it('tries it at once when a person asks', async () => {
    const { bench } = await halfADay(4)
    bench.service.rule = () => undefined
    await bench.flush('asked')
    expect(bench.balance.due).toBe(0)
  })

  it('delivers everything else in the first flush, the newest hour before the others', async () => {
    const bench = new MemoryBench()
    const hour = hourText(hourAfter(anHour, -1))
    bench.service.rule = ({ metrics: sent }) =>
      sent.some(({ id, timestamp }) => id === 'vault___M0' && timestamp === hour) ? answered(500) : undefined
    await bench.store([...metrics(30), ...metrics(300, hourAfter(anHour, -1))])
    await bench.flush()
    expect(bench.balance).toMatchObject({ due: 1, delivered: 329, dead: 0 })
  })
})
