import { hourNumber } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import type { DueSelection } from '../../contract/selections.ts'
import { metricAt } from '../../rows/metric-at.ts'
import { valueAt } from '../../rows/run-values.ts'
import { stateNumber } from '../../rows/states.ts'
import { metricsByNumber, type RowReader } from './known-metrics.ts'
import { numbersOf, runColumnsText, type StoredRun } from './run-rows.ts'

/** A selected due metric, with its number and that of its hour, in hours since 1970. */
export interface SelectedDueMetric {
  readonly metric: Metric
  readonly number: number
  readonly hour: number
  /** Number of its protocol. */
  readonly protocol: number
}

/** The selected due metrics, by hour. */
export async function selectedDue(
  reading: RowReader,
  { ids, protocolIds, hour }: DueSelection,
): Promise<readonly SelectedDueMetric[]> {
  const runs = await reading.query<StoredRun>(
    `SELECT ${runColumnsText} FROM tidegauge.due_count JOIN tidegauge.protocol ON protocol.id = due_count.protocol
       JOIN tidegauge.outbox ON outbox.hour = due_count.hour AND outbox.protocol = due_count.protocol
         AND outbox.state = ${stateNumber('due')}
     WHERE due_count.hour = coalesce($1, due_count.hour) AND ($2::text[] IS NULL OR protocol.name = ANY($2))
       AND ($3::text[] IS NULL OR protocol.name = ANY($3) OR EXISTS (SELECT 1 FROM tidegauge.metric
         WHERE metric.id BETWEEN outbox.first AND outbox.first + outbox.metrics - 1 AND metric.name = ANY($3)))
     ORDER BY outbox.hour, outbox.first`,
    [hour === undefined ? null : hourNumber(hour), protocolIds ?? null, ids ?? null],
  )
  const known = await metricsByNumber(reading, runs.flatMap(numbersOf))
  const asked = ids && new Set(ids)
  return runs.flatMap(run =>
    numbersOf(run).flatMap((number): SelectedDueMetric[] => {
      const own = known.get(number)
      if (!own || (asked && !asked.has(own.id) && !asked.has(own.protocolId))) return []
      const metric = metricAt(own, run.hour, valueAt(run.bytes, number - run.first))
      return [{ metric, number, hour: run.hour, protocol: run.protocol }]
    }),
  )
}
