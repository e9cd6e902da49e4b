import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { hourAfter } from '../../../../src/model/hour.ts'
import type { Metric } from '../../../../src/model/metric.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour, metrics } from '../../../support/metrics.ts'
import { miscounted } from '../../support/contents.ts'

const protocolIds = ['vault', 'other'] as const
const latest = hourAfter(anHour, 1)

/** Some metrics of a protocol at an hour, and which of two processes enqueues or delivers them. */
const step = fc.record({
  protocolId: fc.constantFrom(...protocolIds),
  labels: fc.uniqueArray(fc.nat({ max: 7 }), { minLength: 1 }),
  hour: fc.constantFrom(anHour, latest),
  place: fc.nat({ max: 1 }),
  isDelivered: fc.boolean(),
})

const keyOf = ({ id, hour }: Metric) => `${hour} ${id}`

it('reads just what is due of a protocol, however the numbers of metrics mix and whichever process adds them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async steps => {
      const file = join(temporaryFolder(), 'outbox.db')
      const outboxes = [new SqliteOutbox(file), new SqliteOutbox(file)] as const
      onTestFinished(() => outboxes.forEach(outbox => void outbox.close()))
      outboxes[0].expectedHours.addCollector('any/c', anHour)
      const [due, seen] = [new Set<string>(), new Set<string>()]
      for (const { protocolId, labels, hour, place, isDelivered } of steps) {
        const outbox = outboxes[place] ?? outboxes[0]
        const all = metrics(8, hour, protocolId)
        const some = labels.flatMap(label => all[label] ?? [])
        const accepted = some.map(metric => ({ metric }))
        await outbox.intake.record({ collector: 'any/c', hour, accepted }, 1)
        for (const key of some.map(keyOf)) if (!seen.has(key)) due.add(key)
        for (const key of some.map(keyOf)) seen.add(key)
        if (isDelivered) outbox.verdicts.record({ delivered: some, dead: [], warnings: [] }, 1)
        if (isDelivered) for (const key of some.map(keyOf)) due.delete(key)
        for (const { dueMetrics: table } of outboxes) {
          const read = protocolIds.flatMap(id => [
            ...table.read({ protocolIds: [id], newestFirstFrom: latest, latest }, 100),
          ])
          expect(read.map(keyOf).sort()).toEqual([...due].sort())
          expect(table.countUpTo(protocolIds, anHour)).toBe([...due].filter(key => key.startsWith(`${anHour}`)).length)
        }
      }
      expect(miscounted(file)).toEqual([])
    }),
    { numRuns: 25 },
  )
})
