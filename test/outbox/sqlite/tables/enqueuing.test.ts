import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { hourAfter } from '../../../../src/model/hour.ts'
import type { Metric } from '../../../../src/model/metric.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour, metrics } from '../../../support/metrics.ts'

const nextHour = hourAfter(anHour, 1)

function opened(): SqliteOutbox {
  const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
  onTestFinished(() => outbox.close())
  outbox.expectedHours.addCollector('any/c', anHour)
  return outbox
}

function enqueue(outbox: SqliteOutbox, some: readonly Metric[]) {
  const accepted = some.map(metric => ({ metric }))
  return outbox.intake.record({ collector: 'any/c', hour: anHour, accepted }, 1)
}

const keyOf = ({ id, hour }: Metric) => `${id} ${hour}`

it('enqueues just what has no value yet, whatever came before and in any order', async () => {
  // More than one statement inserts, and of two protocols, so that numbers have holes.
  const all = [...metrics(90, anHour, 'vault'), ...metrics(20, anHour, 'other')]
  const some = fc.shuffledSubarray(all)
  await fc.assert(
    fc.asyncProperty(some, some, async (earlier, later) => {
      const outbox = opened()
      await enqueue(outbox, earlier)
      const changed = later.map(metric => ({ ...metric, value: metric.value + 1_000 }))
      const added = later.filter(metric => !earlier.includes(metric)).length
      expect(await enqueue(outbox, changed)).toMatchObject({ added, corrected: 0 })
      const first = new Map([...changed, ...earlier].map(metric => [keyOf(metric), metric.value]))
      const stored = outbox.metrics.between(anHour, nextHour)
      expect(new Map(stored.map(metric => [keyOf(metric), metric.value]))).toEqual(first)
      expect(outbox.tally.balance()).toMatchObject({ enqueued: first.size, due: first.size })
    }),
    { numRuns: 30 },
  )
})

it('takes the first of two values of a metric that come together', async () => {
  const outbox = opened()
  const [metric] = metrics(1, anHour, 'vault')
  if (!metric) throw new Error('no metric')
  await enqueue(outbox, [metric, { ...metric, value: 7 }, { ...metric, hour: nextHour, value: 8 }])
  const stored = outbox.metrics.between(anHour, nextHour)
  expect(stored.map(({ hour, value }) => [hour, value])).toEqual([
    [anHour, metric.value],
    [nextHour, 8],
  ])
})
