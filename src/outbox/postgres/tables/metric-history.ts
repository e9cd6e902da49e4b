import type { Hour } from '../../../model/hour.ts'
import type { MetricId } from '../../../model/metric.ts'
import type { HistoryEntry } from '../../contract/history.ts'
import { hourBounds } from '../../rows/hour-rows.ts'
import { metricAt } from '../../rows/metric-at.ts'
import { valueAt } from '../../rows/run-values.ts'
import { stateOf } from '../../rows/states.ts'
import { metricsById, type RowReader } from './known-metrics.ts'
import { holdsText, withinInteger } from './run-rows.ts'

interface HistoryRow {
  readonly hour: number
  readonly state: number
  readonly collectedMs: number
  readonly deliveredMs: number
  /** The bytes of its value. */
  readonly bytes: Buffer
  readonly reason: string | null
  readonly earlier: readonly (readonly [value: number, untilMs: number])[] | null
}

/** As `OperatorStore.history`. */
export async function metricHistory(reading: RowReader, id: MetricId, from?: Hour, to?: Hour): Promise<HistoryEntry[]> {
  const known = (await metricsById(reading, [id])).get(id)
  if (!known) return []
  const rows = await reading.query<HistoryRow>(
    `SELECT outbox.hour, outbox.state, outbox.collected_ms AS "collectedMs", outbox.delivered_ms AS "deliveredMs",
       substr(outbox.metric_values, 8 * ($1 - outbox.first) + 1, 8) AS bytes, detained.reason,
       (SELECT json_agg(json_build_array(value, until_ms) ORDER BY until_ms) FROM tidegauge.earlier_value
        WHERE earlier_value.hour = outbox.hour AND earlier_value.metric = $1) AS earlier
     FROM tidegauge.outbox LEFT JOIN tidegauge.detained ON detained.hour = outbox.hour AND detained.metric = $1
     WHERE outbox.hour BETWEEN $2 AND $3 AND ${holdsText('$1::integer')} ORDER BY outbox.hour`,
    [known.number, ...hourBounds(from, to).map(withinInteger)],
  )
  return rows.map(({ hour, state: number, collectedMs, deliveredMs, bytes, reason, earlier }) => {
    const state = stateOf(number)
    return {
      ...metricAt(known, hour, valueAt(bytes, 0)),
      state,
      collector: known.collector,
      ...(reason !== null && (state === 'dead' || state === 'held') && { reason }),
      collectedMs,
      ...(state === 'delivered' && { deliveredMs }),
      earlier: (earlier ?? []).map(([value, untilMs]) => ({ value, untilMs })),
    }
  })
}
