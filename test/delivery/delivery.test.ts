import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../src/model/hour.ts'
import { hourMs, quarantineCapMs } from '../../src/model/limits.ts'
import type { Answer } from '../../src/model/verdict.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { answered } from './support/answers.ts'
import { startMs, storeTurnsEach } from './support/delivery-bench.ts'
import { MemoryBench } from './support/memory-bench.ts'

describe.each(storeTurnsEach)('with an outbox that answers within %i turns,', storeTurns => {
  describe('a delivery', () => {
    it('pushes all that is due and remembers that it did', async () => {
      const bench = new MemoryBench({ storeTurns })
      await bench.store([...metrics(120), ...metrics(30, hourAfter(anHour, -2)), ...metrics(5, anHour, 'other')])
      // The newest hour goes apart from older ones.
      expect(await bench.pushes()).toBe(3)
      expect(bench.balance).toMatchObject({ enqueued: 155, delivered: 155, dead: 0, held: 0, due: 0, dropped: 0 })
      expect(bench.state()).toEqual({
        notBeforeMs: 0,
        probeAtMs: 0,
        failures: 0,
        lastPush: { atMs: bench.time.nowMs(), verdict: 'delivered' },
        skewMs: 0,
      })
    })

    it('asks the service nothing when nothing is due', async () => {
      const bench = new MemoryBench({ storeTurns })
      expect(await bench.pushes()).toBe(0)
      expect(bench.state().lastPush).toBeUndefined()
    })

    it('rejects when the outbox cannot be read', async () => {
      const bench = new MemoryBench({ storeTurns })
      bench.outbox.close()
      await expect(bench.pushes()).rejects.toThrow(/not open/)
    })

    it('rejects when only the verdicts cannot be stored: that is no word about the service', async () => {
      const bench = new MemoryBench({ storeTurns })
      await bench.store(metrics(3))
      bench.outbox.delivery.recordVerdicts = async () => {
        throw new Error('the disk is full')
      }
      await expect(bench.pushes()).rejects.toThrow('the disk is full')
      expect(bench.state()).toEqual({ notBeforeMs: 0, probeAtMs: 0, failures: 0 })
    })

    it('rejects when a verdict cannot be stored, and what was sent is still due', async () => {
      const bench = new MemoryBench({ storeTurns })
      await bench.store(metrics(3))
      bench.service.rule = () => void bench.outbox.close()
      await expect(bench.pushes()).rejects.toThrow(/not open/)
      bench.restart()
      expect(bench.balance).toMatchObject({ due: 3, delivered: 0 })
    })
  })

  describe('a delivery to a service that is down', () => {
    it('pushes at once when a person asks, whatever the breaker says', async () => {
      const bench = new MemoryBench({ storeTurns })
      await bench.store(metrics(1))
      bench.service.rule = () => answered(503)
      await bench.pushes()
      bench.service.rule = () => undefined
      expect(await bench.pushes('due')).toBe(0)
      expect(await bench.pushes('asked')).toBe(1)
      expect(bench.balance.due).toBe(0)
    })

    it('sends one small batch, and no more, when a person asks during a Retry-After', async () => {
      const bench = new MemoryBench({ storeTurns })
      await bench.store(metrics(100))
      bench.service.rule = () => answered(503, startMs + 9_999 * hourMs)
      await bench.pushes()
      expect(bench.state().notBeforeMs).toBe(startMs + hourMs)
      bench.restart()
      expect(await bench.pushes('asked')).toBe(1)
      expect(await bench.pushes('due')).toBe(0)
      bench.service.rule = () => undefined
      await bench.pushes('asked')
      expect(bench.balance.due).toBe(0)
    })
  })

  describe('a delivery of a protocol the service refuses', () => {
    it('does not keep it aside for longer than a pause can be when the clock is set back', async () => {
      const bench = new MemoryBench({ storeTurns })
      await bench.store(metrics(2))
      bench.service.rule = () => answered(404)
      await bench.pushes()
      bench.service.rule = () => undefined
      bench.time.nowMs = () => startMs - 24 * hourMs
      bench.service.keyAnswer = () => ({ ...answered(200), skewMs: 24 * hourMs })
      // One that shows that it is taken now, and the rest.
      expect(await bench.pushes('due')).toBe(2)
    })

    it.each<[status: number, fix: string, described?: string]>([
      [404, 'register it with tidegauge register vault'],
      [403, 'use the key that owns it'],
      [
        403,
        'that is a page, and not the service’s answer; check service.url, and what is in between',
        'text/html, "Blocked"',
      ],
    ])('sets it aside after a %i with a sentence of its own, and the others are on time', async (...row) => {
      const [status, fix, described] = row
      const bench = new MemoryBench({ storeTurns })
      await bench.store([...metrics(2), ...metrics(2, anHour, 'other')])
      bench.service.rule = ({ protocolIds }) =>
        protocolIds.includes('vault')
          ? { ...answered(status), body: undefined, ...(described !== undefined && { described }) }
          : undefined
      await bench.pushes()
      expect(bench.balance).toMatchObject({ due: 2, delivered: 2, dead: 0 })
      const sentence = `protocol vault is refused (${status}${described === undefined ? '' : `: ${described}`}): ${fix}`
      expect(bench.state()).toMatchObject({ probeAtMs: 0, notBeforeMs: 0, failures: 0, waiting: sentence })

      await bench.store(metrics(3, hourAfter(anHour, -1), 'other'))
      expect(await bench.pushes()).toBe(1)
      expect(bench.service.pushes.at(-1)?.protocolIds).toEqual(['other'])
      expect(bench.balance).toMatchObject({ due: 2, delivered: 5 })
      expect(bench.state().waiting).toBe(sentence)
    })

    it('tries it again after a pause that grows, and forgets it once it is accepted', async () => {
      const bench = new MemoryBench({ storeTurns })
      await bench.store(metrics(2))
      bench.service.rule = () => answered(404)
      const pausesMs: number[] = []
      for (let failures = 1; failures <= 3; failures += 1) {
        expect(await bench.pushes()).toBe(1)
        const setAsideMs = bench.time.nowMs()
        while ((await bench.pushes()) === 0) await bench.time.sleep(50)
        pausesMs.push(bench.time.nowMs() - setAsideMs)
        await bench.time.sleep(quarantineCapMs)
      }
      for (const pauseMs of pausesMs) expect(pauseMs).toBeLessThanOrEqual(quarantineCapMs)
      expect(pausesMs).toEqual([...pausesMs].sort((a, b) => a - b))
      expect(new Set(pausesMs).size).toBe(3)

      bench.service.rule = () => undefined
      expect(await bench.pushes('asked')).toBe(2)
      expect(bench.balance.due).toBe(0)
      expect(bench.state().waiting).toBeUndefined()
    })

    it('tries it at once when a person asks', async () => {
      const bench = new MemoryBench({ storeTurns })
      await bench.store(metrics(2))
      bench.service.rule = () => answered(404)
      await bench.pushes()
      bench.service.rule = () => undefined
      expect(await bench.pushes('due')).toBe(0)
      expect(await bench.pushes('asked')).toBe(2)
      expect(bench.balance.due).toBe(0)
    })
  })

  describe('a delivery that is stopped', () => {
    it.each([1, 4, 5])(
      'during attempt %i of a push ends with it, and has nothing to say against the service',
      async attempt => {
        const bench = new MemoryBench({ storeTurns })
        await bench.store(metrics(3))
        const stopping = new AbortController()
        bench.service.rule = async ({ stop }) => {
          if (bench.service.pushes.length < attempt) return answered(503)
          const answer = new Promise<Answer>(resolve => {
            stop.addEventListener('abort', () => resolve({ kind: 'unanswered', reason: 'no answer (AbortError)' }))
          })
          stopping.abort(new Error('stopped'))
          return await answer
        }
        await bench.flush('due', stopping.signal)
        expect(bench.service.pushes).toHaveLength(attempt)
        expect(bench.state()).toEqual({ notBeforeMs: 0, probeAtMs: 0, failures: 0 })
        expect(bench.balance).toMatchObject({ due: 3, dead: 0 })
      },
    )
  })
})
