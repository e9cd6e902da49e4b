import type { Backlog } from '../../contract/balance.ts'
import type { OutboxTables } from '../tables/outbox-tables.ts'

/** Counts of all metrics, and why deliveries wait: a few small rows, and one for each hour of a protocol with due metrics. */
export function backlogOf(tables: Pick<OutboxTables, 'tally' | 'destinations' | 'registry'>): Backlog {
  const { tally, destinations } = tables
  return tables.registry.reading(() => ({
    balance: tally.balance(),
    byProtocol: tally.byProtocol(),
    waiting: destinations.waiting(),
  }))
}
