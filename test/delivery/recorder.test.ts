import { expect, it } from 'vitest'
import type { DeliveryStore } from '../../src/outbox/contract/delivery-store.ts'
import { portWith } from '../outbox/support/slow-outbox.ts'
import { metrics } from '../support/metrics.ts'
import { MemoryBench } from './support/memory-bench.ts'

/** Deliveries from an outbox that is locked: verdicts wait until it is free, and so do answers about what is due. */
function lockedBench() {
  const [free, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const reads: (() => void)[] = []
  let isReadLate = false
  const asSeen = (store: DeliveryStore) =>
    portWith(store, {
      async due(wanted, limit) {
        const read = await store.due(wanted, limit)
        if (isReadLate && limit > 1) {
          for (const seen of reads) seen()
          await answer.promise
        }
        return read
      },
      async recordVerdicts(verdicts, nowMs, delayed) {
        // As long as the lock is taken, each attempt says so.
        delayed?.()
        delayed?.()
        await free.promise
        await store.recordVerdicts(verdicts, nowMs)
      },
    })
  const bench = new MemoryBench({ asSeen })
  return {
    bench,
    free: free.resolve,
    answer: answer.resolve,
    /** From now on reads are late; resolves when one is under way. */
    readLate: () => {
      isReadLate = true
      return new Promise<void>(resolve => void reads.push(resolve))
    },
  }
}

it('what was answered is not sent again while its verdict waits for the lock', async () => {
  const { bench, free } = lockedBench()
  await bench.store(metrics(250))
  expect([await bench.pushes(), await bench.pushes()]).toEqual([3, 0])
  expect(bench.balance).toMatchObject({ due: 250 })
  free()
  await new Promise(resolve => setImmediate(resolve))
  expect(bench.balance).toMatchObject({ due: 0, delivered: 250 })
  expect(await bench.pushes()).toBe(0)
})

it('… nor when it is recorded while a read that has found it due is under way', async () => {
  const { bench, free, answer, readLate } = lockedBench()
  await bench.store(metrics(250))
  expect(await bench.pushes()).toBe(3)
  const reading = readLate()
  const pushes = bench.pushes()
  await reading
  free()
  await new Promise(resolve => setImmediate(resolve))
  expect(bench.balance).toMatchObject({ due: 0, delivered: 250 })
  answer()
  expect(await pushes).toBe(0)
})

it('… and is sent again when it is due again, however long the lock was taken', async () => {
  const { bench, free } = lockedBench()
  const all = metrics(250)
  await bench.store(all)
  expect(await bench.pushes()).toBe(3)
  free()
  await new Promise(resolve => setImmediate(resolve))
  expect(await bench.outbox.operators.resend(all)).toBe(250)
  expect(await bench.pushes()).toBe(3)
})
