import { type Hour, hourFromNumber, hourNumber } from '../../model/hour.ts'
import type { MetricId } from '../../model/metric.ts'
import type { DueHour } from '../contract/hours.ts'
import type { InputRange, MetricSpan, StoredInput, StoredInputs } from '../contract/metrics.ts'
import { type MetricPlace, stateOf } from './changes.ts'
import { descriptionAt, type KnownMetric, lockCollectors, metricsById, type NumbersByName } from './metrics.ts'
import { isIn, rows, sql } from './sql.ts'
import { query, type StoreWork, together, write } from './work.ts'

/** As `IntakeStore.setInputs`. */
export function* setInputs(collector: string, inputs: readonly MetricSpan[]): StoreWork<void> {
  yield* lockCollectors([collector])
  yield* write(sql`DELETE FROM tidegauge.input WHERE collector = ${collector}`)
  if (inputs.length === 0) return
  const given = inputs.map(({ id, hours }) => [id, hours])
  yield* write(sql`INSERT INTO tidegauge.input (metric, collector, hours)
    SELECT metric, CAST(${collector} AS text), hours FROM ${rows({ metric: 'text', hours: 'integer' }, given)} AS given
    WHERE true ON CONFLICT (metric, collector) DO UPDATE SET hours = excluded.hours`)
}

/** As `IntakeStore.inputs`. */
export function* inputValues(
  ranges: readonly InputRange[],
  collectorHours: readonly Pick<DueHour, 'collector' | 'hour'>[],
): StoreWork<StoredInputs> {
  const metrics = yield* metricsById(ranges.map(({ id }) => id))
  const byNumber = new Map([...metrics.values()].map(metric => [metric.number, metric]))
  const spans = ranges.flatMap(({ id, from, to }) => {
    const own = metrics.get(id)
    return own ? [[own.number, hourNumber(from), hourNumber(to)]] : []
  })
  const [found, changes] = yield* together(valuesIn(spans), inputChanges(collectorHours))
  const values = new Map<MetricId, Map<Hour, StoredInput>>()
  for (const { metric, hour, value, state } of found) {
    const input = byNumber.get(metric)
    if (!input) continue
    const unit = input.descriptions.length > 0 ? descriptionAt(input, hour).unit : undefined
    const byHour = values.get(input.id) ?? new Map<Hour, StoredInput>()
    byHour.set(hourFromNumber(hour), { value, state: stateOf(state), ...(unit !== undefined && { unit }) })
    values.set(input.id, byHour)
  }
  const givers = new Map([...metrics.values()].map(({ id, collector }) => [id, collector]))
  return { values, givers, changes }
}

/** Every row is found by its key. @param spans metric, first and last hour */
function* valuesIn(spans: readonly (readonly number[])[]) {
  if (spans.length === 0) return []
  const least = spans.reduce((hour, [, from = 0]) => Math.min(hour, from), Number.POSITIVE_INFINITY)
  const most = spans.reduce((hour, [, , to = 0]) => Math.max(hour, to), 0)
  const hours = Array.from({ length: most - least + 1 }, (_, place) => [least + place])
  const columns = { metric: 'integer', low: 'integer', high: 'integer' } as const
  return yield* query<MetricPlace & { value: number; state: number }>(sql`
    SELECT outbox.hour, outbox.metric, outbox.value, outbox.state
    FROM ${rows({ hour: 'integer' }, hours)} AS every CROSS JOIN ${rows(columns, spans)} AS wanted
      CROSS JOIN tidegauge.outbox
    WHERE every.hour BETWEEN wanted.low AND wanted.high AND outbox.hour = every.hour AND outbox.metric = wanted.metric`)
}

function* inputChanges(collectorHours: readonly Pick<DueHour, 'collector' | 'hour'>[]): StoreWork<number[]> {
  const tuples = collectorHours.map(({ collector, hour }) => [collector, hourNumber(hour)])
  const records = yield* query<{ place: number; changes: number }>(sql`
    SELECT wanted.place, collection.changes
    FROM ${rows({ name: 'text', hour: 'integer' }, tuples)} AS wanted
      CROSS JOIN tidegauge.collector CROSS JOIN tidegauge.collection
    WHERE collector.name = wanted.name AND collection.hour = wanted.hour AND collection.collector = collector.id`)
  const byPlace = new Map(records.map(({ place, changes }) => [place - 1, changes]))
  return collectorHours.map((_, place) => byPlace.get(place) ?? 0)
}

/** A derived collector that computes from a metric. */
interface Dependent {
  /** Number of the collector. */
  readonly collector: number
  readonly name: string
  /** Id of the metric. */
  readonly metric: string
  readonly hours: number
}

/**
 * Locks collectors, and with them the derived ones that compute from some metrics: their hours may become due.
 *
 * @returns the numbers of the locked ones, and the derived ones
 */
export function* lockWithDependents(
  names: readonly string[],
  metrics: readonly string[],
): StoreWork<{ readonly numbers: NumbersByName; readonly dependents: readonly Dependent[] }> {
  if (metrics.length === 0) return { numbers: yield* lockCollectors(names), dependents: [] }
  const [numbers, dependents] = yield* together(
    lockCollectors(names, metrics),
    query<Dependent>(sql`SELECT collector.id AS collector, collector.name, input.metric, input.hours
      FROM tidegauge.input CROSS JOIN tidegauge.collector
      WHERE input.metric ${isIn('text', [...new Set(metrics)])} AND collector.name = input.collector`),
  )
  return { numbers, dependents }
}

/** Metrics with a new value, and the derived hours that may be due for that. */
interface Renewal {
  readonly renewedValues: readonly MetricPlace[]
  /** By number. */
  readonly metricsByNumber: ReadonlyMap<number, Pick<KnownMetric, 'id' | 'collector'>>
  /** In hours since 1970. */
  readonly latest: number
  /** Derived hours that are recorded with them, as `hour collector`: they were computed with each other. Default: none. */
  readonly recordedKeys?: ReadonlySet<string>
}

/** The derived hours that metrics with a new value are inputs of: hour and number of the collector. Pure. */
function renewedHours(
  dependents: readonly Dependent[],
  renewal: Renewal,
): (readonly [hour: number, collector: number])[] {
  const { renewedValues, metricsByNumber, latest, recordedKeys = new Set<string>() } = renewal
  const byMetric = Map.groupBy(dependents, ({ metric }) => metric)
  const pairs = new Map<string, readonly [hour: number, collector: number]>()
  for (const { hour, metric } of renewedValues) {
    const own = metricsByNumber.get(metric)
    for (const { collector, name, hours } of byMetric.get(own?.id ?? '') ?? []) {
      const isOwn = name === own?.collector
      const last = Math.min(hour + hours - 1, latest)
      for (let at = hour; at <= last; at += 1) {
        const key = `${at} ${collector}`
        if (!isOwn || !recordedKeys.has(key)) pairs.set(key, [at, collector])
      }
    }
  }
  return [...pairs.values()]
}

/** Makes the derived hours due that metrics with a new value are inputs of. */
export function* renewDerived(dependents: readonly Dependent[], renewal: Renewal): StoreWork<void> {
  const hours = dependents.length === 0 ? [] : renewedHours(dependents, renewal)
  if (hours.length === 0) return
  const columns = { hour: 'integer', collector: 'integer' } as const
  const tuples = rows(columns, hours)
  // An hour that a backfill could not compute completely is not expected until now. Its metrics are not counted.
  yield* write(sql`INSERT INTO tidegauge.collection (hour, collector, attempts, metrics, digest)
    SELECT hour, collector, 1, NULL, NULL FROM ${tuples} AS renewed
    WHERE EXISTS (SELECT 1 FROM tidegauge.backfill_failure AS failed
      WHERE failed.hour = renewed.hour AND failed.collector = renewed.collector) ON CONFLICT DO NOTHING`)
  yield* write(sql`UPDATE tidegauge.collection SET state = 0, next_attempt_ms = 0, changes = collection.changes + 1
    FROM ${tuples} AS renewed
    WHERE collection.hour = renewed.hour AND collection.collector = renewed.collector`)
}
