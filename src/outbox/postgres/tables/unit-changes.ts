import type { MetricDescription } from '../../contract/metrics.ts'
import { type DescribedFrom, describedFrom } from '../../rows/known-metric.ts'
import type { Transaction } from '../connection/transaction.ts'
import { metricsByNumber } from './known-metrics.ts'
import { holdsText } from './run-rows.ts'

/**
 * Changes a metric's unit, and its module, from an hour on, as `describedFrom` says. The transaction holds the lock of its
 * protocol.
 *
 * @param number of the metric
 * @param hour in hours since 1970
 */
export async function changeDescription(
  transaction: Transaction,
  number: number,
  hour: number,
  description: MetricDescription,
): Promise<void> {
  const [known, later] = await Promise.all([
    metricsByNumber(transaction, [number]),
    transaction.query(
      `SELECT 1 FROM tidegauge.outbox WHERE outbox.hour > $1 AND ${holdsText('$2::integer')} AND outbox.state IN (0, 1) LIMIT 1`,
      [hour, number],
    ),
  ])
  const metric = known.get(number)
  if (!metric) return
  for (const described of describedFrom(metric, hour, description, () => later.length > 0)) {
    describe(transaction, number, described)
  }
}

function describe(transaction: Transaction, number: number, { since, unit, module }: DescribedFrom): void {
  transaction.later(
    `INSERT INTO tidegauge.description (metric, since, unit, module) VALUES ($1, $2, $3, $4)
     ON CONFLICT (metric, since) DO UPDATE SET unit = excluded.unit, module = excluded.module`,
    [number, since, unit ?? null, module ?? null],
  )
}
