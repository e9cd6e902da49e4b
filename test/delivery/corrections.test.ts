import { describe, expect, it } from 'vitest'
import type { Metric } from '../../src/model/metric.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { accepted, answered } from './support/answers.ts'
import { storeTurnsEach } from './support/delivery-bench.ts'
import { MemoryBench } from './support/memory-bench.ts'

const corrected: readonly Metric[] = metrics(2).map(metric => ({ ...metric, value: 99 }))

/** Corrects two values of the hour, as another process does. */
async function correct(file: string): Promise<void> {
  const outbox = new SqliteOutbox(file)
  const accepted = corrected.map(metric => ({ metric }))
  await outbox.intake.record({ collector: 'vault/c', hour: anHour, accepted, mode: 'correct' }, 1)
  outbox.close()
}

describe.each(storeTurnsEach)('with an outbox that answers within %i turns,', storeTurns => {
  it('a known-good metric is sent again with its present value, so that an old one never wins', async () => {
    const bench = new MemoryBench({ storeTurns, inFlight: 1 })
    await bench.store(metrics(104))
    let from = 0
    let isRefusing = true
    bench.service.rule = async ({ metrics: sent }) => {
      if (from === 0 && bench.service.pushes.length === 2) {
        await correct(bench.file)
        from = bench.service.pushes.length
      }
      const isBad = sent.some(({ id }) => Number(id.slice(9)) >= 100)
      return isBad && isRefusing ? answered(400) : accepted(sent.length)
    }
    await bench.flush()
    isRefusing = false
    await bench.flush('asked')
    const later = bench.service.pushes
      .slice(from)
      .filter(({ metrics: sent }) => sent.some(({ id }) => id === 'vault___M0'))
    expect(later.length).toBeGreaterThan(1)
    const values = later.flatMap(({ metrics: sent }) => sent.filter(({ id }) => id === 'vault___M0'))
    expect(values.map(({ value }) => value)).toEqual(later.map(() => 99))
  })

  describe('a value that is corrected while it is pushed', () => {
    it.each([
      ['taken', undefined],
      ['refused', answered(400)],
    ])('is pushed once more, with the new value, when the old one is %s', async (_, answer) => {
      const bench = new MemoryBench({ storeTurns })
      await bench.store(metrics(5))
      bench.service.rule = async ({ metrics: sent }) => {
        if (!sent.some(({ id, value }) => id === 'vault___M0' && value === 0)) return accepted(sent.length)
        await correct(bench.file)
        return answer ?? accepted(sent.length)
      }
      await bench.flush()
      await bench.flush('asked')
      const sent = bench.service.pushes.flatMap(push => push.metrics)
      expect(sent.filter(({ id }) => id === 'vault___M1').at(-1)).toMatchObject({ value: 99 })
      expect(sent.filter(({ id }) => id === 'vault___M0').at(-1)).toMatchObject({ value: 99 })
      expect(bench.balance).toMatchObject({ due: 0, dead: 0, delivered: 5 })
      expect((await bench.outbox.delivery.sentBefore([{ id: 'vault___M0', hour: anHour }]))[0] === 'corrected').toBe(
        false,
      )
    })
  })
})
