import type { Backlog, Balance } from '../../contract/balance.ts'
import { stateNumber } from '../../rows/states.ts'
import type { RowReader } from './known-metrics.ts'
import { prunedNumber } from './tally-changes.ts'

interface RawTally {
  readonly protocol: string
  readonly state: number
  readonly metrics: number
}

/** Counts of all metrics, and why deliveries wait: a few small rows, whatever the number of metrics. As of one instant within a reading transaction. */
export async function backlogOf(reading: RowReader): Promise<Backlog> {
  const [counts, waiting] = await Promise.all([
    reading.query<RawTally>(
      'SELECT name AS protocol, state, metrics FROM tidegauge.tally JOIN tidegauge.protocol ON protocol.id = protocol',
    ),
    reading.query<{ waiting: string }>(
      'SELECT waiting FROM tidegauge.destination WHERE waiting IS NOT NULL ORDER BY name',
    ),
  ])
  const byProtocol = [...Map.groupBy(counts, ({ protocol }) => protocol)].map(([protocol, own]) => {
    const { due, delivered, dead, dropped } = balanceOf(own)
    return [protocol, { due, finished: delivered + dead + dropped }] as const
  })
  return { balance: balanceOf(counts), byProtocol: new Map(byProtocol), waiting: waiting.map(row => row.waiting) }
}

function balanceOf(counts: readonly RawTally[]): Balance {
  const of = (number: number) => counts.reduce((sum, { state, metrics }) => sum + (state === number ? metrics : 0), 0)
  const [due, dead, held] = [of(stateNumber('due')), of(stateNumber('dead')), of(stateNumber('held'))]
  const delivered = of(stateNumber('delivered')) + of(prunedNumber)
  return { enqueued: due + delivered + dead + held, due, delivered, dead, held, dropped: of(stateNumber('dropped')) }
}
