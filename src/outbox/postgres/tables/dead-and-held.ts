import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import type { DeadAndHeldCounts, DeadOrHeldMetric, Selection } from '../../contract/selections.ts'
import { metricAt } from '../../rows/metric-at.ts'
import { valueAt } from '../../rows/run-values.ts'
import { stateNumber } from '../../rows/states.ts'
import { metricsByNumber, type RowReader } from './known-metrics.ts'
import { holdsText } from './run-rows.ts'

/** A dead or held metric as it is stored. */
export interface DetainedValue {
  /** In hours since 1970. */
  readonly hour: number
  /** Its number. */
  readonly number: number
  readonly protocolId: string
  readonly kind: DeadOrHeldMetric['kind']
  readonly reason: string
  readonly status: number | null
  readonly attempts: number | null
  readonly unit: string | null
  readonly atMs: number
  /** The bytes of its value. */
  readonly bytes: Buffer
}

/** Rows of the selected metrics, by hour. */
export function deadOrHeldRows(reading: RowReader, { state, ids, reason, hour }: Selection): Promise<DetainedValue[]> {
  return reading.query<DetainedValue>(
    `SELECT detained.hour, detained.metric AS number, protocol.name AS "protocolId", detained.kind, detained.reason,
       detained.status, detained.attempts, detained.unit, detained.at_ms AS "atMs",
       substr(outbox.metric_values, 8 * (detained.metric - outbox.first) + 1, 8) AS bytes
     FROM tidegauge.detained JOIN tidegauge.metric ON metric.id = detained.metric
       JOIN tidegauge.protocol ON protocol.id = metric.protocol
       JOIN tidegauge.outbox ON outbox.hour = detained.hour AND ${holdsText('detained.metric')}
     WHERE outbox.state = $1 AND detained.hour = coalesce($2, detained.hour)
       AND strpos(lower(detained.reason), lower(coalesce($3, ''))) > 0
       AND ($4::text[] IS NULL OR metric.name = ANY($4) OR protocol.name = ANY($4))
     ORDER BY detained.hour, detained.metric`,
    [stateNumber(state), hour === undefined ? null : hourNumber(hour), reason ?? null, ids ?? null],
  )
}

/** The selected metrics, by hour. */
export async function deadOrHeld(reading: RowReader, selection: Selection): Promise<DeadOrHeldMetric[]> {
  const rows = await deadOrHeldRows(reading, selection)
  const known = await metricsByNumber(
    reading,
    rows.map(({ number }) => number),
  )
  return rows.flatMap(row => {
    const own = known.get(row.number)
    if (!own) return []
    const { unit: locked, ...metric } = metricAt(own, row.hour, valueAt(row.bytes, 0))
    const unit = row.kind === 'unit' ? (row.unit ?? undefined) : locked
    return {
      ...metric,
      ...(unit !== undefined && { unit }),
      state: selection.state,
      kind: row.kind,
      reason: row.reason,
      ...(row.status !== null && { status: row.status }),
      ...(row.attempts !== null && { attempts: row.attempts }),
      sinceMs: row.atMs,
      collector: own.collector,
    }
  })
}

/** Counts of dead and held metrics of some protocols in an hour. */
export async function deadAndHeldCounts(
  reading: RowReader,
  hour: Hour,
  protocolIds: readonly string[],
): Promise<DeadAndHeldCounts> {
  const [counts] = await reading.query<DeadAndHeldCounts>(
    `SELECT count(*) FILTER (WHERE kind = 'refused') AS dead, count(*) FILTER (WHERE kind <> 'refused') AS held
     FROM tidegauge.detained JOIN tidegauge.metric ON metric.id = detained.metric
       JOIN tidegauge.protocol ON protocol.id = metric.protocol
     WHERE detained.hour = $1 AND protocol.name = ANY($2)`,
    [hourNumber(hour), protocolIds],
  )
  return counts ?? { dead: 0, held: 0 }
}

/** The oldest hour of some protocols, up to `latest`, with a held metric; `undefined` when there is none. */
export async function oldestHeld(
  reading: RowReader,
  protocolIds: readonly string[],
  latest: Hour,
): Promise<Hour | undefined> {
  const [row] = await reading.query<{ hour: number | null }>(
    `SELECT min(detained.hour) AS hour FROM tidegauge.detained JOIN tidegauge.metric ON metric.id = detained.metric
       JOIN tidegauge.protocol ON protocol.id = metric.protocol
     WHERE kind <> 'refused' AND protocol.name = ANY($1) AND detained.hour <= $2`,
    [protocolIds, hourNumber(latest)],
  )
  return row?.hour == null ? undefined : hourFromNumber(row.hour)
}
