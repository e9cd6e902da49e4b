import type { MetricId } from '../../../model/metric.ts'
import type { KnownMetric } from '../../rows/known-metric.ts'
import type { Transaction } from '../connection/transaction.ts'

/** Statements that read within a transaction, or each alone. */
export type RowReader = Pick<Transaction, 'query'>

interface RawKnown {
  readonly number: number
  readonly id: string
  readonly protocol: number
  readonly protocol_id: string
  readonly collector: string
  /** `NULL` where a metric has no description, which is never stored. */
  readonly since: number | null
  readonly unit: string | null
  readonly module: string | null
}

const columns = `SELECT metric.id AS number, metric.name AS id, metric.protocol, protocol.name AS protocol_id,
    collector.name AS collector, description.since, description.unit, description.module
  FROM tidegauge.metric
    JOIN tidegauge.protocol ON protocol.id = metric.protocol JOIN tidegauge.collector ON collector.id = metric.collector
    LEFT JOIN tidegauge.description ON description.metric = metric.id`

/**
 * The stored facts about metrics, by their ids; an unknown one is absent. Nothing is kept between transactions: numbers
 * are lost with the commits that a failover of the database loses, and given to other metrics.
 */
export async function metricsById(reading: RowReader, ids: readonly string[]): Promise<Map<string, KnownMetric>> {
  if (ids.length === 0) return new Map()
  const text = `${columns} WHERE metric.name = ANY ($1::text[]) ORDER BY metric.id, description.since`
  const rows = await reading.query<RawKnown>(text, [[...new Set(ids)]])
  return new Map(knownOf(rows).map(known => [known.id, known]))
}

/** As `metricsById`, by their numbers. */
export async function metricsByNumber(
  reading: RowReader,
  numbers: readonly number[],
): Promise<Map<number, KnownMetric>> {
  if (numbers.length === 0) return new Map()
  const text = `${columns} WHERE metric.id = ANY ($1::integer[]) ORDER BY metric.id, description.since`
  const rows = await reading.query<RawKnown>(text, [[...new Set(numbers)]])
  return new Map(knownOf(rows).map(known => [known.number, known]))
}

/** @param rows one for each description, those of a metric together */
function knownOf(rows: readonly RawKnown[]): KnownMetric[] {
  const all: KnownMetric[] = []
  let descriptions: { since: number; unit?: string; module?: string }[] = []
  for (const { number, id, protocol, protocol_id: protocolId, collector, since, unit, module } of rows) {
    if (all.at(-1)?.number !== number) {
      descriptions = []
      all.push({ number, id: id as MetricId, protocol, protocolId, collector, descriptions })
    }
    if (since === null) continue
    descriptions.push({ since, ...(unit !== null && { unit }), ...(module !== null && { module }) })
  }
  return all
}
