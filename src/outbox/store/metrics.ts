import { hourFromNumber } from '../../model/hour.ts'
import type { Metric, MetricId, MetricSeries } from '../../model/metric.ts'
import { type Hold, type MetricDescription, type Past, unitHold } from '../contract/metrics.ts'
import { forUpdate, isIn, rows, type Statement, sql } from './sql.ts'
import { first, query, type StoreWork, write } from './work.ts'

/** The stored facts about a metric id, apart from its values. */
export interface KnownMetric {
  /** Its number in the store. */
  readonly number: number
  readonly id: MetricId
  /** Number of its protocol. */
  readonly protocol: number
  readonly protocolId: string
  readonly collector: string
  /**
   * Oldest first. None where they were lost in a damaged file: the metric counts as new, and its next value locks its unit
   * for all of its hours.
   */
  readonly descriptions: readonly DescribedFrom[]
}

/** Unit and module of a metric from an hour on. */
export interface DescribedFrom extends MetricDescription {
  /** In hours since 1970. */
  readonly since: number
}

/** The stored facts before a value of an hour; `undefined` for a metric that counts as new. Pure. */
export function pastAt(known: KnownMetric | undefined, hour: number, previous: Past['previous']): Past | undefined {
  if (!known || known.descriptions.length === 0) return undefined
  const { unit } = descriptionAt(known, hour)
  return { ...(unit !== undefined && { unit }), ...(previous && { previous }) }
}

/**
 * Reason to hold a value: the one that it was judged with, or a unit that was changed since. Only a person changes that
 * again. Pure.
 */
export function holdAt(
  knownMetric: KnownMetric,
  hour: number,
  metric: Pick<MetricSeries, 'unit'>,
  hold: Hold | undefined,
): Hold | undefined {
  if (hold?.kind === 'unit' || knownMetric.descriptions.length === 0) return hold
  return unitHold(metric, descriptionAt(knownMetric, hour)) ?? hold
}

/**
 * The descriptions to store where a metric is described in a way from an hour on. Later hours that have a value keep their
 * unit, and the module of a past hour does not change. Pure.
 *
 * @param hasLater whether a later hour has a due or delivered value
 */
export function describedFrom(
  knownMetric: KnownMetric,
  hour: number,
  description: MetricDescription,
  hasLater: boolean,
): readonly DescribedFrom[] {
  const { descriptions } = knownMetric
  const newDescription = { since: hour, ...descriptionOf(description) }
  if (descriptions.length === 0) return [newDescription]
  const old = descriptionAt(knownMetric, hour)
  const isPast = hour < (descriptions.at(-1)?.since ?? 0)
  if (old.unit === description.unit) return old.module === description.module || isPast ? [] : [newDescription]
  return hasLater ? [{ ...descriptionAt(knownMetric, hour + 1), since: hour + 1 }, newDescription] : [newDescription]
}

/** Description of a metric at an hour: the last one up to it, else the first of all. */
export function descriptionAt({ descriptions }: KnownMetric, hour: number): MetricDescription {
  return descriptions.findLast(({ since }) => since <= hour) ?? descriptions[0] ?? {}
}

/** Unit and module alone, without those that are not there. */
export function descriptionOf(from: {
  readonly unit?: string | null | undefined
  readonly module?: string | null | undefined
}): MetricDescription {
  const { unit, module } = from
  return { ...(unit != null && { unit }), ...(module != null && { module }) }
}

/** The metric of a row. @param hour in hours since 1970 */
export function metricAt(known: KnownMetric, hour: number, value: number): Metric {
  const { id, protocolId } = known
  return { id, protocolId, ...descriptionOf(descriptionAt(known, hour)), hour: hourFromNumber(hour), value }
}

/** Numbers by the names that they stand for. */
export type NumbersByName = ReadonlyMap<string, number>

interface RawKnown {
  readonly number: number
  readonly id: string
  readonly protocol: number
  readonly protocolId: string
  readonly collector: string
  /** `NULL` where a metric has no description. */
  readonly since: number | null
  readonly unit: string | null
  readonly module: string | null
}

/**
 * The stored facts about metrics, by their ids; an unknown one is absent. Nothing is kept between transactions: numbers
 * are lost with the commits that a failover of a database loses, and given to other metrics.
 */
export function* metricsById(ids: readonly string[]): StoreWork<Map<string, KnownMetric>> {
  if (ids.length === 0) return new Map()
  const known = yield* knownMetrics(sql`metric.name ${isIn('text', [...new Set(ids)])}`)
  return new Map(known.map(one => [one.id, one]))
}

/** As `metricsById`, by their numbers. */
export function* metricsByNumber(numbers: readonly number[]): StoreWork<Map<number, KnownMetric>> {
  if (numbers.length === 0) return new Map()
  const known = yield* knownMetrics(sql`metric.id ${isIn('integer', [...new Set(numbers)])}`)
  return new Map(known.map(one => [one.number, one]))
}

function* knownMetrics(condition: Statement): StoreWork<KnownMetric[]> {
  const records = yield* query<RawKnown>(sql`
    SELECT metric.id AS number, metric.name AS id, metric.protocol, protocol.name AS "protocolId",
      collector.name AS collector, description.since, description.unit, description.module
    FROM tidegauge.metric
      JOIN tidegauge.protocol ON protocol.id = metric.protocol JOIN tidegauge.collector ON collector.id = metric.collector
      LEFT JOIN tidegauge.description ON description.metric = metric.id
    WHERE ${condition} ORDER BY metric.id, description.since`)
  const metrics: KnownMetric[] = []
  let descriptions: DescribedFrom[] = []
  for (const { number, id, protocol, protocolId, collector, since, ...columns } of records) {
    if (metrics.at(-1)?.number !== number) {
      descriptions = []
      metrics.push({ number, id: id as MetricId, protocol, protocolId, collector, descriptions })
    }
    if (since !== null) descriptions.push({ since, ...descriptionOf(columns) })
  }
  return metrics
}

/** A metric that is to be known. */
export interface RegisteredMetric extends MetricDescription {
  readonly id: MetricId
  readonly protocolId: string
  /** Id and number of its collector. */
  readonly collector: string
  readonly collectorNumber: number
  /** First hour of its description, in hours since 1970; used only for a new one. */
  readonly since: number
}

/**
 * Inserts the metrics and protocols that are new. A known metric is given to its latest collector. The transaction holds
 * the locks of the protocols that are known.
 *
 * @returns all of them, by id
 */
export function* registerMetrics(
  metrics: readonly RegisteredMetric[],
  protocolNumbers: NumbersByName,
): StoreWork<Map<string, KnownMetric>> {
  const byId = yield* metricsById(metrics.map(({ id }) => id))
  const newMetrics = [
    ...new Map(metrics.toReversed().flatMap(one => (byId.has(one.id) ? [] : [[one.id, one]]))).values(),
  ]
  newMetrics.reverse()
  const protocols = yield* withNewProtocols(
    newMetrics.map(({ protocolId }) => protocolId),
    protocolNumbers,
  )
  if (newMetrics.length > 0) {
    const tuples = newMetrics.map(one => [one.id, protocols.get(one.protocolId) ?? 0, one.collectorNumber])
    const numbers = yield* query<{ id: number; name: string }>(sql`
      INSERT INTO tidegauge.metric (name, protocol, collector)
      SELECT name, protocol, collector FROM ${rows({ name: 'text', protocol: 'integer', collector: 'integer' }, tuples)} AS added
      WHERE true ORDER BY place RETURNING id, name`)
    const byName = new Map(numbers.map(({ id, name }) => [name, id]))
    for (const { id, protocolId, collector, since, ...described } of newMetrics) {
      const number = byName.get(id) ?? 0
      const descriptions = [{ since, ...descriptionOf(described) }]
      byId.set(id, { number, id, protocolId, protocol: protocols.get(protocolId) ?? 0, collector, descriptions })
    }
    yield* describe(newMetrics.map(one => [byName.get(one.id) ?? 0, one]))
  }
  yield* give(metrics, byId)
  return byId
}

function* withNewProtocols(ids: readonly string[], numbers: NumbersByName): StoreWork<NumbersByName> {
  const newNames = [...new Set(ids)].filter(id => !numbers.has(id)).toSorted()
  if (newNames.length === 0) return numbers
  const given = newNames.map(name => [name])
  yield* write(sql`INSERT INTO tidegauge.protocol (name) SELECT name FROM ${rows({ name: 'text' }, given)} AS added
    WHERE true ORDER BY name ON CONFLICT DO NOTHING`)
  return new Map([...numbers, ...(yield* lockProtocols(newNames))])
}

/** Gives metrics to the collector that has them now. */
function* give(metrics: readonly RegisteredMetric[], byId: Map<string, KnownMetric>): StoreWork<void> {
  const collectorOf = new Map<number, number>()
  for (const { id, collector, collectorNumber } of metrics) {
    const metric = byId.get(id)
    if (!metric || metric.collector === collector) continue
    collectorOf.set(metric.number, collectorNumber)
    byId.set(id, { ...metric, collector })
  }
  if (collectorOf.size === 0) return
  yield* write(sql`UPDATE tidegauge.metric SET collector = given.collector
    FROM ${rows({ id: 'integer', collector: 'integer' }, [...collectorOf])} AS given WHERE metric.id = given.id`)
}

/** Stores descriptions. The transaction holds the locks of the protocols. */
export function* describe(all: readonly (readonly [metric: number, DescribedFrom])[]): StoreWork<void> {
  if (all.length === 0) return
  const tuples = all.map(([metric, { since, unit, module }]) => [metric, since, unit ?? null, module ?? null])
  yield* write(sql`INSERT INTO tidegauge.description (metric, since, unit, module)
    SELECT metric, since, unit, module
    FROM ${rows({ metric: 'integer', since: 'integer', unit: 'text', module: 'text' }, tuples)} AS given WHERE true
    ON CONFLICT (metric, since) DO UPDATE SET unit = excluded.unit, module = excluded.module`)
}

/**
 * Changes a metric's unit, and its module, from an hour on, as `describedFrom` says. The transaction holds the lock of its
 * protocol.
 *
 * @param hour in hours since 1970
 */
export function* changeDescription(number: number, hour: number, description: MetricDescription): StoreWork<void> {
  const metric = (yield* metricsByNumber([number])).get(number)
  if (!metric) return
  const laterRow = yield* first(sql`
    WITH RECURSIVE later (hour) AS (
      SELECT CAST(${hour + 1} AS integer) UNION ALL SELECT hour + 1 FROM later WHERE hour < (SELECT max(hour) FROM tidegauge.outbox))
    SELECT 1 AS is_there FROM later CROSS JOIN tidegauge.outbox
    WHERE outbox.hour = later.hour AND outbox.metric = ${number} AND outbox.state IN (0, 1) LIMIT 1`)
  yield* describe(describedFrom(metric, hour, description, laterRow !== undefined).map(one => [number, one]))
}

/**
 * Locks the rows of collectors until the transaction ends, so that it alone writes their hours. A transaction that locks
 * protocols, too, does so afterwards.
 *
 * @param metrics ids of metrics whose derived collectors are locked, too. Default: none
 * @returns the numbers of those that are known
 */
export function* lockCollectors(names: readonly string[], metrics: readonly string[] = []): StoreWork<NumbersByName> {
  const derivedFrom = sql`OR name IN (SELECT collector FROM tidegauge.input WHERE metric ${isIn('text', [...new Set(metrics)])})`
  return byName(
    yield* query(sql`SELECT id, name FROM tidegauge.collector
      WHERE name ${isIn('text', [...new Set(names)])} ${metrics.length > 0 ? derivedFrom : sql``} ORDER BY id ${forUpdate}`),
  )
}

/** As `lockCollectors`, the rows of protocols, so that it alone writes their metrics. */
export function* lockProtocols(names: readonly string[]): StoreWork<NumbersByName> {
  return byName(
    yield* query(sql`SELECT id, name FROM tidegauge.protocol WHERE name ${isIn('text', [...new Set(names)])}
      ORDER BY id ${forUpdate}`),
  )
}

function byName(found: readonly { readonly id: number; readonly name: string }[]): NumbersByName {
  return new Map(found.map(({ id, name }) => [name, id]))
}
