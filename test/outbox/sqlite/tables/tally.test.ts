import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Hour, hourAfter } from '../../../../src/model/hour.ts'
import { type Metric, metricId } from '../../../../src/model/metric.ts'
import type { Accepted } from '../../../../src/outbox/contract/metrics.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { type Dice, dice } from '../../../support/dice.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour } from '../../../support/metrics.ts'
import { contentsOf, flawsOf } from '../../support/contents.ts'

const protocols = ['vault', 'market'] as const
const seeds = 15
const steps = 120

function someMetrics(rolls: Dice, hour: Hour): Accepted[] {
  return Array.from({ length: rolls.whole(0, 6) }, (): Accepted => {
    const protocolId = protocols[rolls.whole(0, 1)] ?? 'vault'
    const id = metricId(protocolId, `M${rolls.whole(0, 5)}`)
    const metric: Metric = { id, protocolId, hour, value: rolls.between(-5, 5) }
    return rolls.roll() < 0.3 ? { metric, hold: { kind: 'bounds', reason: 'odd' } } : { metric }
  })
}

async function step(outbox: SqliteOutbox, rolls: Dice): Promise<void> {
  const hour = hourAfter(anHour, -rolls.whole(0, 30))
  const ids = rolls.roll() < 0.5 ? {} : { ids: [protocols[rolls.whole(0, 1)] ?? 'vault'] }
  const state = rolls.roll() < 0.5 ? 'dead' : 'held'
  switch (rolls.whole(0, 6)) {
    case 0:
    case 1:
    case 2:
      outbox.expectedHours.expect('vault/c', [hour])
      return void (await outbox.intake.record({ collector: 'vault/c', hour, accepted: someMetrics(rolls, hour) }, 1))
    case 3: {
      const due = outbox.dueMetrics.read(
        { protocolIds: protocols, newestFirstFrom: anHour, latest: anHour },
        rolls.whole(0, 9),
      )
      const [dead, delivered] = [due.slice(0, 2), due.slice(2)]
      return outbox.verdicts.record(
        { delivered, dead: dead.map(metric => ({ metric, reason: 'no', attempts: 1 })), warnings: [] },
        2,
      )
    }
    case 4:
      return void (await outbox.deadAndHeld.release({ state, ...ids }, 'changed'))
    case 5:
      return void (await outbox.deadAndHeld.drop({ state, hour, ...ids }))
    default:
      outbox.pruneSome(hour)
  }
}

it.each(Array.from({ length: seeds }, (_, index) => index + 1))(
  'the tally is a count of the rows, seed %i',
  async seed => {
    const rolls = dice(seed)
    const file = join(temporaryFolder(), 'outbox.db')
    const outbox = new SqliteOutbox(file)
    outbox.expectedHours.addCollector('vault/c', anHour)
    let deliveredMost = 0
    for (let count = 0; count < steps; count += 1) {
      await step(outbox, rolls)
      const { enqueued, due, delivered, dead, held } = outbox.tally.balance()
      expect(enqueued).toBe(due + delivered + dead + held)
      expect(delivered, 'what was delivered is never counted less').toBeGreaterThanOrEqual(deliveredMost)
      deliveredMost = delivered
    }
    const { due, dead, held, dropped } = outbox.tally.balance()
    outbox.close()
    expect(flawsOf(file)).toEqual([])
    const states = [...contentsOf(file).rows.values()].map(({ state }) => state)
    const count = (state: number) => states.filter(one => one === state).length
    expect([due, dead, held, dropped]).toEqual([count(0), count(2), count(3), count(4)])
  },
)
