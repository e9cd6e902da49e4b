import { expect, it } from 'vitest'
import { DeliveryLoop } from '../../src/delivery/delivery.ts'
import { dice } from '../../src/devchain/dice.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import { silentLog } from '../support/log.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { accepted, answered } from './support/answers.ts'
import { MemoryBench } from './support/memory-bench.ts'
import { keyedDestination } from './support/protocol.ts'

const ids = Array.from({ length: 30 }, (_, index) => `p${index}`)

it.each([undefined, 120_000])('a key that is answered 429 slows no other (Retry-After %s ms)', async afterMs => {
  const bench = new MemoryBench({ pacePerSecond: 5, destinations: ids.map(keyedDestination) })
  bench.time.chance = dice(5).roll
  let lastMs = 0
  bench.service.rule = ({ key, metrics: sent }) => {
    if (key === 'the-key-of-p0') return answered(429, afterMs && bench.time.nowMs() + afterMs)
    lastMs = bench.time.nowMs()
    return accepted(sent.length)
  }
  for (let count = 0; count < 3; count += 1) {
    const hour = hourAfter(anHour, count)
    await bench.time.sleep(Math.max(0, hour + 60_000 - bench.time.nowMs()))
    const storedMs = bench.time.nowMs()
    await bench.store(ids.flatMap(id => metrics(20, hour, id)))
    while (bench.time.nowMs() < storedMs + hourMs - 60_000) {
      await Promise.race([bench.flush(), bench.time.sleep(120_000)])
      await bench.time.sleep(10_000)
    }
    // Thirty pushes at five a second, and the few attempts of the other.
    expect(lastMs - storedMs).toBeLessThan(20_000)
  }
  expect(bench.balance).toMatchObject({ due: 60, dead: 0 })
})

it('a stop waits for the answers under way, and sends nothing more', async () => {
  const bench = new MemoryBench({ inFlight: 2 })
  await bench.store(metrics(500))
  const asked = Promise.withResolvers<void>()
  const answers: (() => void)[] = []
  bench.service.rule = async ({ metrics: sent, stop }) => {
    if (bench.service.pushes.length > 1) {
      const answer = Promise.withResolvers<void>()
      answers.push(answer.resolve)
      if (answers.length === 2) asked.resolve()
      await answer.promise
      if (stop.aborted) return { kind: 'unanswered', reason: 'broken off' }
    }
    return accepted(sent.length)
  }
  const loop = new DeliveryLoop(bench.deliveries, bench.time, silentLog, bench.outbox.health)
  await asked.promise
  const stopped = loop.stop()
  for (const answer of answers) answer()
  await stopped
  expect(bench.service.pushes).toHaveLength(3)
  expect(bench.balance).toMatchObject({ delivered: 300, due: 200 })
})

it('a destination that is not configured any more waits for nothing', async () => {
  const bench = new MemoryBench({ destinations: ['a', 'b'].map(keyedDestination) })
  await bench.store(['a', 'b'].flatMap(id => metrics(1, anHour, id)))
  bench.service.rule = () => answered(503)
  await bench.flush()
  expect((await bench.outbox.delivery.backlog()).waiting).toHaveLength(2)
  await bench.outbox.delivery.silenceOtherDestinations(['b'])
  expect((await bench.outbox.delivery.backlog()).waiting).toHaveLength(1)
  expect(bench.state('b').waiting).toContain('503')
})
