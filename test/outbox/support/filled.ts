import type { Dice } from '../../../src/devchain/dice.ts'
import { Fault } from '../../../src/model/fault.ts'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { type Metric, metricId } from '../../../src/model/metric.ts'
import type { Accepted } from '../../../src/outbox/contract/metrics.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { anHour } from '../../support/metrics.ts'
import { aBlock, aPin } from './blocks.ts'

const protocols = ['vault', 'market', 'my-node'] as const
const collectorsEach = 2
const labelsEach = 5

/** Ids of all collectors of a filled outbox. */
export const collectorIds = protocols.flatMap(protocol =>
  Array.from({ length: collectorsEach }, (_, index) => `${protocol}/c${index}`),
)

function accepted(collector: string, hour: Hour, dice: Dice): Accepted[] {
  const [protocolId = '', own = ''] = collector.split('/')
  return Array.from({ length: labelsEach }, (_, index): Accepted => {
    const metric: Metric = {
      id: metricId(protocolId, `${own}-Label${index}`),
      protocolId,
      hour,
      value: dice.roll() < 0.2 ? dice.whole(-3, 5) : dice.between(-1e9, 1e9),
      ...(index === 0 ? {} : { unit: 'USD' }),
    }
    return dice.roll() < 0.04 ? { metric, hold: { kind: 'jump', reason: `${metric.value} is odd` } } : { metric }
  })
}

/** Verdicts on some due metrics: most are delivered, a few refused. */
export async function settleSome(outbox: Outbox, dice: Dice, limit: number): Promise<void> {
  const wanted = { protocolIds: protocols, newestFirstFrom: anHour, latest: hourAfter(anHour, 1_000) }
  const due = await outbox.delivery.due(wanted, limit)
  const isDead = due.map(() => dice.roll() < 0.05)
  await outbox.delivery.recordVerdicts(
    {
      delivered: due.filter((_, index) => isDead[index] === false),
      dead: due
        .filter((_, index) => isDead[index] === true)
        .map(metric => ({ metric, reason: `refused ${metric.id}`, status: 400, attempts: 1 })),
      warnings: due.slice(0, 1).map(metric => ({ metric, text: 'label is long' })),
    },
    2,
  )
}

/** Fills an outbox with everything there can be: `hours` of each collector up to `anHour`, in all states. */
export async function fill(outbox: Outbox, dice: Dice, hours: number): Promise<void> {
  const first = hourAfter(anHour, 1 - hours)
  const plan = (collector: string, current: Hour) =>
    outbox.intake.planHours({
      collector,
      since: first,
      current,
      oldest: first,
      gapReason: new Fault('hour-too-old', ''),
    })
  for (let at = 0; at < hours; at += 1) {
    const hour = hourAfter(first, at)
    await Promise.all(collectorIds.map(id => plan(id, hour)))
    await Promise.all(collectorIds.map(id => collectOne(outbox, id, hour, dice)))
    await settleSome(outbox, dice, dice.whole(0, 45))
    await outbox.intake.finalBlocks(1).keep([{ hour, block: aBlock(at) }])
  }
  const isDown = { notBeforeMs: 0, probeAtMs: 0, failures: 3, waiting: 'it is down' }
  await outbox.delivery.saveDestination('service', isDown)
  await outbox.operators.drop({ state: 'dead', ids: [metricId('vault', 'c0-Label1')] })
  await outbox.operators.release({ state: 'held', ids: [metricId('market', 'c1-Label2')] }, 'locked')
}

async function collectOne(outbox: Outbox, collector: string, hour: Hour, dice: Dice): Promise<void> {
  const roll = dice.roll()
  const all = accepted(collector, hour, dice)
  if (roll < 0.03) return outbox.intake.recordGap(collector, hour, new Fault('chain-before-first-block', 'no block'))
  const failure = { fault: new Fault('http-unreachable', 'no answer'), nextAttemptMs: 5 }
  if (roll < 0.08)
    return void (await outbox.intake.record({ collector, hour, acceptedValues: all.slice(0, 2), failure }, 1))
  // Every second hour is not final yet.
  const pins = (hour / hourMs) % 2 === 0 ? [aPin(hour / hourMs)] : []
  await outbox.intake.record({ collector, hour, acceptedValues: all, pins }, 1)
}
