import type { UnsuccessfulFlushes } from '../../contract/history.ts'
import type { Transaction } from '../connection/transaction.ts'
import type { RowReader } from './known-metrics.ts'

const columns = 'first_ms AS "firstMs", last_ms AS "lastMs", flushes, reason'

/** Adds a flush that left metrics over to those before it, if their reason is the same but for its numbers. */
export async function addUnsuccessfulFlush(
  transaction: Transaction,
  destination: string,
  reason: string,
  nowMs: number,
): Promise<void> {
  const [last] = await transaction.query<UnsuccessfulFlushes>(
    `SELECT ${columns} FROM tidegauge.unsuccessful_flush WHERE destination = $1 ORDER BY first_ms DESC LIMIT 1`,
    [destination],
  )
  const isSame = last !== undefined && kindOf(last.reason) === kindOf(reason)
  transaction.later(
    `INSERT INTO tidegauge.unsuccessful_flush (destination, first_ms, last_ms, flushes, reason) VALUES ($1, $2, $3, 1, $4)
     ON CONFLICT (destination, first_ms) DO UPDATE SET last_ms = greatest(unsuccessful_flush.last_ms, excluded.last_ms),
       flushes = unsuccessful_flush.flushes + 1, reason = excluded.reason`,
    [destination, isSame ? last.firstMs : nowMs, nowMs, reason],
  )
}

/** As `OperatorStore.unsuccessfulFlushes`. */
export function unsuccessfulFlushes(
  reading: RowReader,
  destination: string,
  fromMs: number,
  toMs: number,
): Promise<UnsuccessfulFlushes[]> {
  return reading.query<UnsuccessfulFlushes>(
    `SELECT ${columns} FROM tidegauge.unsuccessful_flush
     WHERE destination = $1 AND last_ms >= $2 AND first_ms <= $3 ORDER BY first_ms`,
    [destination, fromMs, toMs],
  )
}

function kindOf(reason: string): string {
  return reason.replace(/\d+/g, '…')
}
