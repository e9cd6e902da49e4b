import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hourAfter } from '../../../../src/model/hour.ts'
import type { Metric } from '../../../../src/model/metric.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour, metrics } from '../../../support/metrics.ts'

/** Metrics of two protocols and two hours, so that neighbours in the table belong to different things. */
const stored: readonly Metric[] = [anHour, hourAfter(anHour, 1)].flatMap(hour => [
  ...metrics(6, hour, 'vault'),
  ...metrics(6, hour, 'other'),
])

async function filled(): Promise<SqliteOutbox> {
  const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
  onTestFinished(() => outbox.close())
  outbox.expectedHours.addCollector('any/c', anHour)
  const accepted = stored.map(metric => ({ metric }))
  await outbox.recordCollection({ collector: 'any/c', hour: anHour, accepted }, 1)
  return outbox
}

const keyOf = ({ id, hour }: Metric) => `${id} ${hour}`

function dueKeys(outbox: SqliteOutbox): Set<string> {
  const wanted = { protocolIds: ['vault', 'other'], fresh: anHour, latest: hourAfter(anHour, 1) }
  return new Set(outbox.due.read(wanted, 100).map(keyOf))
}

describe('settling', () => {
  it('settles just what it names, in any order and with gaps, once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([...stored]), async delivered => {
        const outbox = await filled()
        const settlement = { delivered, dead: [], warnings: [] }
        for (let times = 0; times < 2; times += 1) {
          outbox.settle(settlement, 1)
          const due = new Set(stored.filter(metric => !delivered.includes(metric)).map(keyOf))
          expect(dueKeys(outbox)).toEqual(due)
          expect(outbox.tally.balance()).toMatchObject({ delivered: delivered.length, due: due.size })
        }
      }),
      { numRuns: 40 },
    )
  })

  it('leaves alone what was never in the outbox', async () => {
    const outbox = await filled()
    outbox.settle({ delivered: metrics(1, anHour, 'stranger'), dead: [], warnings: [] }, 1)
    expect(outbox.tally.balance()).toMatchObject({ delivered: 0, due: stored.length })
  })
})
