import { describe, expect, it } from 'vitest'
import { hourMs } from '../../../src/model/limits.ts'
import { metrics } from '../../support/metrics.ts'
import { accepted, answered } from '../support/answers.ts'
import { storeTurnsEach } from '../support/delivery-bench.ts'
import { MemoryBench } from '../support/memory-bench.ts'
import { protocol } from '../support/protocol.ts'

describe.each(storeTurnsEach)('with an outbox that answers within %i turns,', storeTurns => {
  describe('a retry-after', () => {
    it('that answers one push binds the others, though one fails after it without asking to wait', async () => {
      const bench = new MemoryBench({ storeTurns, inFlight: 2 })
      await bench.store(metrics(300))
      const untilMs = bench.time.nowMs() + hourMs
      bench.service.rule = async ({ metrics: sent }) => {
        const push = bench.service.pushes.length
        if (push === 1) return accepted(sent.length)
        if (push === 2) return answered(429, untilMs)
        await bench.time.sleep(1_000)
        return answered(503)
      }
      await bench.flush()
      expect(bench.state().notBeforeMs).toBe(untilMs)
      bench.restart()
      bench.service.rule = () => undefined
      expect(await bench.pushes('due')).toBe(0)
      await bench.time.sleep(untilMs - bench.time.nowMs())
      await bench.flush()
      expect(bench.balance.due).toBe(0)
    })
  })
})

it('what waits is shown in three sentences and a count, however much it is', async () => {
  const bench = new MemoryBench({
    destinations: [
      {
        name: 'service',
        readKey: () => 'a-key',
        protocols: Array.from({ length: 12 }, (_, index) => protocol(`p${index}`)),
      },
    ],
  })
  await bench.store(Array.from({ length: 12 }, (_, index) => metrics(2, undefined, `p${index}`)).flat())
  bench.service.rule = ({ protocolIds }) => (protocolIds.every(id => id === 'p0') ? undefined : answered(404))
  await bench.flush()
  expect(bench.balance).toMatchObject({ due: 22, delivered: 2 })
  const sentences = bench.state().waiting?.split('; ') ?? []
  expect(sentences.map(sentence => sentence.replace(/p\d+/g, 'p'))).toEqual([
    ...Array.from({ length: 3 }, () => 'protocol p is refused (404): register it with tidegauge register p'),
    'and 8 more like it',
  ])
})
