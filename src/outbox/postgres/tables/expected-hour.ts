import { type Hour, hourNumber } from '../../../model/hour.ts'
import type { Transaction } from '../connection/transaction.ts'

/**
 * As `OperatorStore.expectHour`. A future start without any rows was written by a clock that was ahead, and is replaced. The
 * row of `planned` stays: planning finds further hours.
 */
export async function expectHour(
  transaction: Transaction,
  collector: string,
  hour: Hour,
  current: Hour,
): Promise<void> {
  const now = hourNumber(current)
  transaction.later('INSERT INTO tidegauge.collector (name, since) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING', [
    collector,
    now,
  ])
  const [known] = await transaction.query<{ id: number; since: number; isBegun: boolean }>(
    `SELECT id, since, EXISTS (SELECT 1 FROM tidegauge.collection WHERE hour = collector.since AND collection.collector = collector.id)
       AS "isBegun" FROM tidegauge.collector WHERE name = $1 FOR NO KEY UPDATE`,
    [collector],
  )
  if (!known) return
  if (known.since > now && !known.isBegun) {
    transaction.later('UPDATE tidegauge.collector SET since = $2 WHERE id = $1', [known.id, now])
    transaction.later('DELETE FROM tidegauge.planned WHERE collector = $1', [known.id])
  }
  transaction.later('INSERT INTO tidegauge.collection (hour, collector) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    hourNumber(hour),
    known.id,
  ])
}
