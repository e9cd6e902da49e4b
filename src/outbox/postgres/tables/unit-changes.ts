import type { MetricDescription } from '../../contract/metrics.ts'
import { descriptionAt } from '../../rows/known-metric.ts'
import type { Transaction } from '../connection/transaction.ts'
import { metricsByNumber } from './known-metrics.ts'
import { holdsText } from './run-rows.ts'

/**
 * Changes a metric's unit, and its module, from an hour on. Later hours that have a value keep theirs; the module of a past
 * hour does not change. The transaction holds the lock of its protocol.
 *
 * @param number of the metric
 * @param hour in hours since 1970
 */
export async function changeDescription(
  transaction: Transaction,
  number: number,
  hour: number,
  { unit, module }: MetricDescription,
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
  const old = descriptionAt(metric, hour)
  const isPast = hour < (metric.descriptions.at(-1)?.since ?? 0)
  if (old.unit === unit && (old.module === module || isPast)) return
  if (old.unit !== unit && later.length > 0) describe(transaction, number, hour + 1, descriptionAt(metric, hour + 1))
  describe(transaction, number, hour, { ...(unit !== undefined && { unit }), ...(module !== undefined && { module }) })
}

function describe(transaction: Transaction, number: number, since: number, { unit, module }: MetricDescription): void {
  transaction.later(
    `INSERT INTO tidegauge.description (metric, since, unit, module) VALUES ($1, $2, $3, $4)
     ON CONFLICT (metric, since) DO UPDATE SET unit = excluded.unit, module = excluded.module`,
    [number, since, unit ?? null, module ?? null],
  )
}
