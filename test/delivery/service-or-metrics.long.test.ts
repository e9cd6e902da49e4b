import { describe, expect, it } from 'vitest'
import { dice } from '../../src/devchain/dice.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { breakerCapMs, hourMs } from '../../src/model/limits.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { answered } from './support/answers.ts'
import { MemoryBench } from './support/memory-bench.ts'
import type { Sent } from './support/memory-service.ts'
import { protocol } from './support/protocol.ts'

const nameOf = ({ id, timestamp }: Sent) => `${id} ${timestamp}`

function benchOf(ids: readonly string[], inFlight = 4): MemoryBench {
  const destination = { name: 'service', readKey: () => 'a-key', protocols: ids.map(id => protocol(id)) }
  const bench = new MemoryBench({ destinations: [destination], inFlight })
  bench.time.chance = dice(7).roll
  return bench
}

/** Flushes as the daemon does, until nothing is due that the service would take. @returns the pushes of each flush */
async function flushFor(bench: MemoryBench, ms: number, isDone: () => boolean): Promise<number[]> {
  const endMs = bench.time.nowMs() + ms
  const pushes: number[] = []
  while (bench.time.nowMs() < endMs && !isDone()) {
    pushes.push(await bench.pushes())
    await bench.time.sleep(Math.max(1_000, bench.nextMs - bench.time.nowMs()))
  }
  return pushes
}

describe('many 503 in a row, with different metrics,', () => {
  it.each([
    ['of one protocol', ['vault']],
    ['of three protocols', ['vault', 'other', 'third']],
  ])('are the fault of the service, which takes old metrics alone: nothing is blamed: %s', async (_, ids) => {
    const bench = benchOf(ids)
    const known = new Set<string>()
    let isFull = false
    bench.service.rule = ({ metrics: sent }) => {
      if (isFull && sent.some(metric => !known.has(nameOf(metric)))) return answered(503)
      for (const metric of sent) known.add(nameOf(metric))
      isFull = true
      return undefined
    }
    for (let back = 0; back < 9; back += 1)
      await bench.store(ids.flatMap(id => metrics(15, hourAfter(anHour, -back), id)))
    const pushes = await flushFor(bench, 6 * hourMs, () => false)
    expect(bench.state()).toMatchObject({ waiting: 'The service answers 503', cure: 'service' })
    // Some to find that out, then two singles every few minutes.
    expect(Math.max(...pushes.slice(1))).toBe(2)
    expect(pushes.length).toBeLessThan((6 * hourMs) / (breakerCapMs / 2) + 10)
    bench.service.rule = () => undefined
    await bench.time.sleep(breakerCapMs)
    await bench.flush()
    expect(bench.balance).toMatchObject({ due: 0, dead: 0, delivered: 9 * 15 * ids.length })
  })

  it('say nothing about metrics that were sent before the service was up', async () => {
    const ids = ['a', 'b', 'c', 'd']
    const bench = benchOf(ids, 1)
    await bench.store(ids.flatMap(id => metrics(1, anHour, id)))
    bench.service.rule = () => (bench.service.pushes.length < 4 ? answered(503) : undefined)
    await bench.flush()
    expect(bench.balance).toMatchObject({ delivered: 4, due: 0 })
    expect(bench.state()).toMatchObject({ failures: 0 })
  })

  it.each([
    ['4 of 24', 12],
    ['8 of 80', 40],
  ])('do not keep the few that the service takes: %s', async (_, hours) => {
    const ids = ['vault', 'other']
    const bench = benchOf(ids)
    const isGood = (name: string) => name.includes('T07') || name.includes('T08')
    let isDown = true
    bench.service.rule = ({ metrics: sent }) =>
      isDown || sent.some(metric => !isGood(nameOf(metric))) ? answered(500) : undefined
    for (let back = 0; back < hours; back += 1)
      await bench.store(ids.flatMap(id => metrics(1, hourAfter(anHour, -back), id)))
    await bench.flush()
    isDown = false
    const isDone = () => bench.balance.delivered === good
    const good =
      [...Array(hours).keys()].filter(back => isGood(new Date(hourAfter(anHour, -back)).toISOString())).length *
      ids.length
    await flushFor(bench, 4 * hourMs, isDone)
    expect(good).toBeGreaterThan(1)
    expect(bench.balance).toMatchObject({ delivered: good, dead: 0 })
  })
})
