import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../src/model/hour.ts'
import { quarantineCapMs } from '../../src/model/limits.ts'
import type { Metric } from '../../src/model/metric.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { accepted, answered } from './support/answers.ts'
import { storeTurnsEach } from './support/delivery-bench.ts'
import { MemoryBench } from './support/memory-bench.ts'
import type { Pushed } from './support/memory-service.ts'

/** As a command while the daemon runs. */
async function drop(bench: MemoryBench, ids: readonly string[]): Promise<void> {
  const command = new SqliteOutbox(bench.file)
  await command.operators.dropDue({ ids })
  command.close()
}

/** Long enough for all that is in quarantine to be tried several times. */
async function flushForAnHour(bench: MemoryBench): Promise<void> {
  for (let ms = 0; ms < 6 * quarantineCapMs; ms += 20_000) {
    await bench.flush()
    await bench.time.sleep(20_000)
  }
}

const sentOf = ({ service }: MemoryBench, fits: (id: string) => boolean) =>
  service.pushes.filter(({ metrics: sent }) => sent.some(({ id }) => fits(id))).length

const idsOf = (some: readonly Metric[]) => some.map(({ id }) => id)

describe.each(storeTurnsEach)('with an outbox that answers within %i turns,', storeTurns => {
  describe('what a person drops while a daemon has it in quarantine', () => {
    it('is not tried again when it is a protocol, which is out of quarantine then', async () => {
      const bench = new MemoryBench({ storeTurns })
      let isBad = true
      bench.service.rule = ({ protocolIds }) => (isBad && protocolIds.includes('vault') ? answered(500) : undefined)
      await bench.store([...metrics(20, anHour, 'vault'), ...metrics(5, anHour, 'other')])
      await flushForAnHour(bench)
      expect(bench.state().waiting).toMatch(/^the service fails on protocol vault/)
      await drop(bench, ['vault'])
      const before = bench.service.pushes.length
      await flushForAnHour(bench)
      await bench.flush('asked')
      expect(bench.service.pushes).toHaveLength(before)
      expect(bench.state().waiting).toBeUndefined()
      expect(bench.balance).toMatchObject({ due: 0, delivered: 5, dropped: 20 })
      isBad = false
      await bench.store(metrics(20, hourAfter(anHour, 1), 'vault'))
      expect(await bench.pushes()).toBe(1)
      expect(bench.balance).toMatchObject({ due: 0, delivered: 25 })
    })

    it('is not tried again when it is a metric, and its later hours go with the others', async () => {
      const bench = new MemoryBench({ storeTurns })
      const bad = metrics(1, anHour, 'vault')[0]?.id ?? ''
      let isBad = true
      bench.service.rule = ({ metrics: sent }) =>
        isBad && sent.some(({ id }) => id === bad) ? answered(500) : undefined
      for (const count of [0, 1]) {
        await bench.store(metrics(20, hourAfter(anHour, count), 'vault'))
        await flushForAnHour(bench)
      }
      expect(bench.balance).toMatchObject({ due: 2, delivered: 38 })
      await drop(bench, [bad])
      const before = sentOf(bench, id => id === bad)
      await flushForAnHour(bench)
      expect(sentOf(bench, id => id === bad)).toBe(before)
      expect(bench.state().waiting).toBeUndefined()
      isBad = false
      await bench.store(metrics(20, hourAfter(anHour, 2), 'vault'))
      expect(await bench.pushes()).toBe(1)
      expect(bench.balance).toMatchObject({ due: 0, delivered: 58, dropped: 2 })
    })
  })

  describe('what a person drops while a flush has it in its hands', () => {
    it.each([
      { does: 'fails on', answer: answered(500), count: 30, others: 5, isKnown: 'before anything is accepted' },
      { does: 'refuses', answer: answered(400), count: 30, others: 5, isKnown: 'before anything is accepted' },
      { does: 'fails on', answer: answered(500), count: 30, others: 100, isKnown: 'while it accepts others' },
      { does: 'refuses', answer: answered(400), count: 1, others: 100, isKnown: 'while it accepts others' },
    ])('is not sent again where the service $does it $isKnown', async ({ answer, count, others }) => {
      const bench = new MemoryBench({ storeTurns })
      const vault = metrics(count, hourAfter(anHour, -1), 'vault')
      await bench.store([...vault, ...metrics(others, anHour, 'other')])
      let dropped: Promise<void> | undefined
      const later: Pushed[] = []
      bench.service.rule = async pushed => {
        if (dropped) later.push(pushed)
        if (!pushed.protocolIds.includes('vault')) return accepted(pushed.metrics.length)
        dropped ??= drop(bench, idsOf(vault))
        await dropped
        return answer
      }
      await flushForAnHour(bench)
      expect(dropped).toBeDefined()
      expect(later.filter(({ protocolIds }) => protocolIds.includes('vault'))).toEqual([])
      expect(bench.balance).toMatchObject({ due: 0, delivered: others, dead: 0, dropped: count })
    })
  })
})
