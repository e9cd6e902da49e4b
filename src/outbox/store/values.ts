import { endOfTime, type Hour, hourAfter, hourFromNumber, hourNumber } from '../../model/hour.ts'
import { jumpHoursMax } from '../../model/limits.ts'
import type { Metric, MetricId } from '../../model/metric.ts'
import type { Backlog } from '../contract/delivery-store.ts'
import type { DeliveredHour, EarlierValue, HistoryEntry } from '../contract/hours.ts'
import type {
  Balance,
  DeadAndHeldCounts,
  DeadOrHeldMetric,
  DueSelection,
  DueWanted,
  MetricKey,
  Past,
  Selection,
  StoredMetric,
  ValueAndState,
  ValueToJudge,
} from '../contract/metrics.ts'
import {
  isValid,
  type MetricPlace,
  type OutboxRow,
  placeKey,
  prunedNumber,
  stateNumber,
  stateOf,
  storedRows,
} from './changes.ts'
import { hoursOf, storedHour } from './hours.ts'
import { descriptionOf, type KnownMetric, metricAt, metricsById, metricsByNumber, pastAt } from './metrics.ts'
import { waitingDestinations } from './notes.ts'
import { isIn, rows, type Statement, sql, text } from './sql.ts'
import { first, query, type StoreWork, together } from './work.ts'

/** A value as it is read. */
interface RawValue extends MetricPlace {
  readonly state: number
  readonly value: number
}

/** Due metrics of some protocols: the hours from `newestFirstFrom` on first, then the backlog. */
export function* dueMetrics(wanted: DueWanted, limit: number): StoreWork<Metric[]> {
  const protocols = yield* protocolNumbers(wanted.protocolIds)
  const [start, last] = [hourNumber(wanted.newestFirstFrom), storedHour(wanted.latest)]
  const records = yield* dueBetween(protocols, { from: start, to: last, first: 'newest' }, limit)
  const backlog = { from: 0, to: Math.min(start - 1, last), first: 'oldest' } as const
  if (records.length < limit) records.push(...(yield* dueBetween(protocols, backlog, limit - records.length)))
  const known = yield* metricsByNumber(records.map(({ metric }) => metric))
  return records.flatMap(row => metricOf(known, row) ?? [])
}

/** Numbers of those protocols that have metrics, in the order asked. */
function* protocolNumbers(ids: readonly string[]): StoreWork<number[]> {
  const records = yield* query<{ id: number; name: string }>(
    sql`SELECT id, name FROM tidegauge.protocol WHERE name ${isIn('text', ids)}`,
  )
  const byName = new Map(records.map(({ id, name }) => [name, id]))
  return ids.flatMap(id => byName.get(id) ?? [])
}

/** A range of hours, in hours since 1970, and the direction to read it in. */
interface DueRange {
  readonly from: number
  readonly to: number
  readonly first: 'oldest' | 'newest'
}

/**
 * Due metrics of some protocols, hour by hour. It reads windows of hours, each twice as long as the last, so that neither a
 * long backlog nor one of few metrics an hour costs more than what is wanted.
 */
function* dueBetween(protocols: readonly number[], range: DueRange, limit: number): StoreWork<RawValue[]> {
  const records: RawValue[] = []
  const tuples = protocols.map(id => [id])
  const isOldest = range.first === 'oldest'
  let [{ from, to }, hours]: [{ from: number; to: number }, number] = [range, 1]
  while (records.length < limit) {
    const head = yield* dueHead(protocols, { ...range, from, to })
    if (head === undefined) return records
    const [low, high] = isOldest ? [head, Math.min(to, head + hours - 1)] : [Math.max(from, head - hours + 1), head]
    const order = text(isOldest ? 'hour' : 'hour DESC')
    const page = yield* query<RawValue>(sql`
      SELECT head.hour, head.metric, 0 AS state, outbox.value FROM (
        SELECT due.hour, due.metric, own.place FROM ${rows({ id: 'integer' }, tuples)} AS own CROSS JOIN tidegauge.outbox AS due
        WHERE due.protocol = own.id AND due.state = 0 AND due.hour BETWEEN ${low} AND ${high}
        ORDER BY due.${order}, own.place, due.metric LIMIT ${limit - records.length}) AS head CROSS JOIN tidegauge.outbox
      WHERE outbox.hour = head.hour AND outbox.metric = head.metric ORDER BY head.${order}, head.place, head.metric`)
    records.push(...page)
    if (isOldest) from = high + 1
    else to = low - 1
    hours *= 2
  }
  return records
}

/** The first hour of a range with a due metric; `undefined` when there is none. */
function* dueHead(protocols: readonly number[], { from, to, first: which }: DueRange): StoreWork<number | undefined> {
  if (from > to) return undefined
  const end = text(which === 'oldest' ? 'min' : 'max')
  const tuples = protocols.map(id => [id])
  const row = yield* first<{ hour: number | null }>(sql`
    SELECT ${end}(head.hour) AS hour FROM (
      SELECT (SELECT ${end}(due.hour) FROM tidegauge.outbox AS due
        WHERE due.protocol = own.id AND due.state = 0 AND due.hour BETWEEN ${from} AND ${to}) AS hour
      FROM ${rows({ id: 'integer' }, tuples)} AS own) AS head`)
  return row?.hour ?? undefined
}

/** The oldest or newest due hour of some protocols, up to `latest`; `undefined` when none is due. */
export function* dueHour(
  end: 'oldest' | 'newest',
  protocolIds: readonly string[],
  latest: Hour,
): StoreWork<Hour | undefined> {
  const hour = yield* dueHead(yield* protocolNumbers(protocolIds), { from: 0, to: storedHour(latest), first: end })
  return hour === undefined ? undefined : hourFromNumber(hour)
}

/** Number of due metrics of some protocols at or before an hour: the total is known, and later ones are few. */
export function* dueUpTo(protocolIds: readonly string[], hour: Hour): StoreWork<number> {
  const row = yield* first<{ metrics: number }>(sql`
    SELECT CAST(coalesce(sum(tally.metrics - (SELECT count(*) FROM tidegauge.outbox
      WHERE outbox.protocol = tally.protocol AND outbox.state = 0 AND outbox.hour > ${storedHour(hour)})), 0) AS bigint) AS metrics
    FROM tidegauge.tally JOIN tidegauge.protocol ON protocol.id = tally.protocol
    WHERE tally.state = ${stateNumber('due')} AND protocol.name ${isIn('text', protocolIds)}`)
  return row?.metrics ?? 0
}

/** Places and stored rows of metrics, in the order asked; absent where the id is unknown. */
function* lookedUp(metrics: readonly MetricKey[]): StoreWork<{
  readonly known: ReadonlyMap<string, KnownMetric>
  readonly rows: readonly (OutboxRow | undefined)[]
}> {
  const knownMetrics = yield* metricsById(metrics.map(({ id }) => id))
  const places = metrics.map(({ id, hour }) => ({ hour: hourNumber(hour), metric: knownMetrics.get(id)?.number ?? 0 }))
  const byKey = new Map((yield* storedRows(places)).map(row => [placeKey(row), row]))
  return { known: knownMetrics, rows: places.map(place => byKey.get(placeKey(place))) }
}

/** Value and state of metrics, dropped ones included, in the order asked; `undefined` where there is none. */
export function* storedValues(metrics: readonly MetricKey[]): StoreWork<(ValueAndState | undefined)[]> {
  const { rows: found } = yield* lookedUp(metrics)
  return found.map(row => row && { value: row.value, state: stateOf(row.state) })
}

/** The given metrics that are still due. */
export function* stillDue<T extends MetricKey>(metrics: readonly T[]): StoreWork<T[]> {
  const { rows: found } = yield* lookedUp(metrics)
  return metrics.filter((_, place) => found[place]?.state === stateNumber('due'))
}

/** A metric of an hour as it would be sent; `undefined` unless it is due or delivered. */
export function* presentMetric(metric: MetricKey): StoreWork<Metric | undefined> {
  const { known, rows: found } = yield* lookedUp([metric])
  const [own, row] = [known.get(metric.id), found[0]]
  return own && row && isValid(row) && row.state !== stateNumber('private')
    ? metricAt(own, row.hour, row.value)
    : undefined
}

/**
 * As `IntakeStore.pasts`. The hour before has all values nearly always, so it is read first; those of a year only
 * for a metric that became one of no items, and has none of the last day.
 */
export function* pasts(metrics: readonly ValueToJudge[]): StoreWork<(Past | undefined)[]> {
  const byId = yield* metricsById(metrics.map(({ id }) => id))
  const places = metrics.flatMap(({ id, hour, isOfNone = false }) => {
    const own = byId.get(id)
    return own ? [{ hour: hourNumber(hour), metric: own.number, isOfNone }] : []
  })
  const previous = yield* lastValues(places, 1, 1)
  const findMissing = () => places.filter(place => !previous.has(placeKey(place)))
  for (const [key, value] of yield* lastValues(findMissing(), 2, jumpHoursMax)) previous.set(key, value)
  // It was held for longer than a day: twice as far each time, since the last value is most often near.
  for (let farthest = jumpHoursMax; farthest < yearHours; farthest *= 2) {
    const ofNone = findMissing().filter(({ isOfNone }) => isOfNone)
    for (const [key, value] of yield* lastValues(ofNone, farthest + 1, 2 * farthest)) previous.set(key, value)
  }
  return metrics.map(({ id, hour }) => {
    const [own, at] = [byId.get(id), hourNumber(hour)]
    return pastAt(own, at, own && previous.get(placeKey({ hour: at, metric: own.number })))
  })
}

/** Hours that values before one of no items may lie back. */
const yearHours = 8_760

type Previous = NonNullable<Past['previous']>

/** The last valid values, so many hours before. */
function* lastValues(
  metricPlaces: readonly MetricPlace[],
  nearest: number,
  farthest: number,
): StoreWork<Map<number, Previous>> {
  const backs = Array.from({ length: farthest - nearest + 1 }, (_, index) => nearest + index)
  const places = metricPlaces.flatMap(({ hour, metric }) => backs.map(back => ({ hour: hour - back, metric })))
  const byPlace = new Map((yield* storedRows(places)).map(row => [placeKey(row), row]))
  const values = new Map<number, Previous>()
  for (const place of metricPlaces) {
    const row = backs
      .map(back => byPlace.get(placeKey({ hour: place.hour - back, metric: place.metric })))
      .find(one => one && isValid(one))
    if (row) values.set(placeKey(place), { hour: hourFromNumber(row.hour), value: row.value })
  }
  return values
}

/** Places of the given metrics that are listed as corrected and stored. */
export function* correctedOf(metrics: readonly MetricKey[]): StoreWork<ReadonlySet<number>> {
  const requestedPlaces = metrics.map(({ id, hour }) => [id, hourNumber(hour)])
  const records = yield* query<{ place: number }>(sql`
    SELECT asked.place FROM ${rows({ name: 'text', hour: 'integer' }, requestedPlaces)} AS asked
      CROSS JOIN tidegauge.metric CROSS JOIN tidegauge.correction
    WHERE metric.name = asked.name AND correction.hour = asked.hour AND correction.metric = metric.id`)
  return new Set(records.map(({ place }) => place - 1))
}

/** The newest delivered metric of some protocols within the day up to an hour; `undefined` when there is none. */
export function* lastDelivered(protocolIds: readonly string[], hour: Hour): StoreWork<Metric | undefined> {
  const last = storedHour(hour)
  const protocols = yield* protocolNumbers(protocolIds)
  const row = yield* first<RawValue>(sql`
    SELECT hour, metric, state, value FROM tidegauge.outbox
    WHERE hour BETWEEN ${last - jumpHoursMax} AND ${last} AND state = ${stateNumber('delivered')}
      AND protocol ${isIn('integer', protocols)} ORDER BY hour DESC, metric DESC LIMIT 1`)
  return row && metricOf(yield* metricsByNumber([row.metric]), row)
}

function metricOf(known: ReadonlyMap<number, KnownMetric>, row: RawValue): Metric | undefined {
  const own = known.get(row.metric)
  return own && metricAt(own, row.hour, row.value)
}

/** Whether any metric of some protocols was ever delivered, pruned ones included. */
export function* hasDelivered(protocolIds: readonly string[]): StoreWork<boolean> {
  const row = yield* first(sql`
    SELECT 1 AS is_there FROM tidegauge.tally JOIN tidegauge.protocol ON protocol.id = tally.protocol
    WHERE tally.state IN (${stateNumber('delivered')}, ${prunedNumber}) AND tally.metrics > 0
      AND protocol.name ${isIn('text', protocolIds)} LIMIT 1`)
  return row !== undefined
}

/** Every metric in a range of hours, both ends included, by hour; dropped ones are left out. */
export function* metricsBetween(from: Hour, to: Hour): StoreWork<StoredMetric[]> {
  const range = sql`hour BETWEEN ${hourNumber(from)} AND ${hourNumber(to)}`
  return yield* storedMetrics(
    yield* query<RawValue>(sql`
      SELECT hour, metric, state, value FROM tidegauge.outbox
      WHERE ${range} AND state <> ${stateNumber('dropped')} ORDER BY hour, metric`),
    range,
  )
}

/** As `StatusStore.newest`: hour by hour backwards, until each metric has been found. */
export function* newestMetrics(from: Hour, to: Hour, withDropped: boolean): StoreWork<StoredMetric[]> {
  const count = yield* first<{ metrics: number }>(sql`SELECT count(*) AS metrics FROM tidegauge.metric`)
  const newestByMetric = new Map<number, RawValue>()
  for (let hour = to; hour >= from && newestByMetric.size < (count?.metrics ?? 0); hour = hourAfter(hour, -1)) {
    const own = yield* query<RawValue>(sql`
      SELECT hour, metric, state, value FROM tidegauge.outbox WHERE hour = ${hourNumber(hour)}`)
    const counted = own.filter(({ state }) => withDropped || state !== stateNumber('dropped'))
    for (const row of counted) if (!newestByMetric.has(row.metric)) newestByMetric.set(row.metric, row)
  }
  const sorted = [...newestByMetric.values()].sort((a, b) => a.metric - b.metric)
  return yield* storedMetrics(sorted, sql`hour BETWEEN ${hourNumber(from)} AND ${hourNumber(to)}`)
}

function* storedMetrics(records: readonly RawValue[], range: Statement): StoreWork<StoredMetric[]> {
  return [...(yield* storedByPlace(records, range)).values()]
}

/** The metrics of rows, in the same order. @param range condition of the hours whose reasons are read */
export function* storedByPlace(
  records: readonly RawValue[],
  range: Statement,
): StoreWork<ReadonlyMap<number, StoredMetric>> {
  const [byNumber, detentions] = yield* together(
    metricsByNumber(records.map(({ metric }) => metric)),
    query<MetricPlace & Detention>(sql`
      SELECT hour, metric, kind, reason, unit FROM tidegauge.detained WHERE ${range}`),
  )
  const detentionOf = new Map(detentions.map(row => [placeKey(row), row]))
  const entries = records.flatMap((row): [number, StoredMetric][] => {
    const knownMetric = byNumber.get(row.metric)
    if (!knownMetric) return []
    const state = stateOf(row.state)
    const detention = state === 'dead' || state === 'held' ? detentionOf.get(placeKey(row)) : undefined
    const metric = { ...ownMetricAt(knownMetric, row, detention), state, collector: knownMetric.collector }
    return [[placeKey(row), detention ? { ...metric, reason: detention.reason } : metric]]
  })
  return new Map(entries)
}

/** Hours of some collectors with a delivered metric that is not pruned, oldest first. */
export function* deliveredHours(collectors: readonly string[], from?: Hour, to?: Hour): StoreWork<DeliveredHour[]> {
  const records = yield* query<{ hour: number; collector: string }>(sql`
    WITH RECURSIVE ${hoursOf('outbox', from, to)}
    SELECT hours.hour, collector.name AS collector FROM hours CROSS JOIN tidegauge.collector
    WHERE collector.name ${isIn('text', collectors)} AND EXISTS (
      SELECT 1 FROM tidegauge.metric CROSS JOIN tidegauge.outbox
      WHERE metric.collector = collector.id AND outbox.hour = hours.hour AND outbox.metric = metric.id
        AND outbox.state = ${stateNumber('delivered')})
    ORDER BY hours.hour, collector.name`)
  return records.map(({ hour, collector }) => ({ collector, hour: hourFromNumber(hour) }))
}

/** Why a metric is dead or held, and the unit that it was held with. */
interface Detention {
  readonly kind: DeadOrHeldMetric['kind']
  readonly reason: string
  readonly unit: string | null
}

/** The metric of a row, in a unit of its own where it is held for that. */
function ownMetricAt(known: KnownMetric, { hour, value }: RawValue, detention: Partial<Detention> | undefined): Metric {
  const { unit: locked, ...metric } = metricAt(known, hour, value)
  return { ...metric, ...descriptionOf({ unit: detention?.kind === 'unit' ? detention.unit : locked }) }
}

type RawHistory = RawValue & { [K in keyof Detention]: Detention[K] | null } & {
  readonly collectedMs: number
  readonly deliveredMs: number
}

/** As `OperatorStore.history`. */
export function* metricHistory(id: MetricId, from?: Hour, to?: Hour): StoreWork<HistoryEntry[]> {
  const knownMetric = (yield* metricsById([id])).get(id)
  if (!knownMetric) return []
  const [records, earlierValues] = yield* together(
    query<RawHistory>(sql`
      WITH RECURSIVE ${hoursOf('outbox', from, to)}
      SELECT outbox.hour, outbox.metric, outbox.state, outbox.value, outbox.collected_ms AS "collectedMs",
        outbox.delivered_ms AS "deliveredMs", detained.kind, detained.reason, detained.unit
      FROM hours CROSS JOIN tidegauge.outbox
        LEFT JOIN tidegauge.detained ON detained.hour = outbox.hour AND detained.metric = outbox.metric
      WHERE outbox.hour = hours.hour AND outbox.metric = ${knownMetric.number} ORDER BY outbox.hour`),
    query<EarlierValue & { hour: number }>(sql`
      SELECT hour, value, until_ms AS "untilMs" FROM tidegauge.earlier_value
      WHERE metric = ${knownMetric.number} AND hour BETWEEN ${from === undefined ? 0 : storedHour(from)}
        AND ${storedHour(to ?? endOfTime)} ORDER BY hour, until_ms`),
  )
  const byHour = Map.groupBy(earlierValues, ({ hour }) => hour)
  return records.map(row => {
    const { hour, collectedMs, deliveredMs, kind, reason, unit } = row
    const state = stateOf(row.state)
    const detention = kind && reason !== null && (state === 'dead' || state === 'held') && { kind, reason, unit }
    return {
      ...ownMetricAt(knownMetric, row, detention || undefined),
      state,
      collector: knownMetric.collector,
      ...(detention && { reason: detention.reason }),
      collectedMs,
      ...(state === 'delivered' && { deliveredMs }),
      earlier: (byHour.get(hour) ?? []).map(one => ({ value: one.value, untilMs: one.untilMs })),
    }
  })
}

/** A selected metric, as it is read. */
interface SelectedValue extends RawValue {
  readonly protocolId: string
}

/** A selected dead or held metric, as it is read. */
export interface DetainedValue extends SelectedValue {
  readonly kind: DeadOrHeldMetric['kind']
  readonly reason: string
  readonly status: number | null
  readonly attempts: number | null
  readonly unit: string | null
  readonly atMs: number
  readonly isPrivate: boolean
}

/** Rows of the selected dead or held metrics, by hour. There are few: those of all hours are looked through. */
export function* detainedValues({ state, ids, reason, hour }: Selection): StoreWork<DetainedValue[]> {
  const records = yield* query<Omit<DetainedValue, 'isPrivate'> & { isPrivate: number }>(sql`
    SELECT detained.hour, detained.metric, protocol.name AS "protocolId", outbox.state, outbox.value, detained.kind,
      detained.reason, detained.status, detained.attempts, detained.unit, detained.at_ms AS "atMs", detained.is_private AS "isPrivate"
    FROM tidegauge.detained CROSS JOIN tidegauge.outbox CROSS JOIN tidegauge.metric CROSS JOIN tidegauge.protocol
    WHERE outbox.hour = detained.hour AND outbox.metric = detained.metric AND outbox.state = ${stateNumber(state)}
      AND metric.id = detained.metric AND protocol.id = metric.protocol ${isOfHour('detained', hour)} ${isOfIds(ids)}
    ORDER BY detained.hour, detained.metric`)
  const words = asTyped(reason ?? '')
  const meant = records.filter(row => asTyped(row.reason).includes(words))
  return meant.map(row => ({ ...row, isPrivate: row.isPrivate === 1 }))
}

/** A reason as a person may type it: in lower case, with the minus sign of a keyboard. */
function asTyped(reason: string): string {
  return reason.toLowerCase().replaceAll('\u2212', '-')
}

/** Rows of the selected due metrics, by hour. */
export function selectedDue({ ids, protocolIds, hour }: DueSelection): StoreWork<SelectedValue[]> {
  const isOf = protocolIds ? sql`AND protocol.name ${isIn('text', protocolIds)}` : text('')
  return query<SelectedValue>(sql`
    SELECT outbox.hour, outbox.metric, protocol.name AS "protocolId", outbox.state, outbox.value
    FROM tidegauge.protocol CROSS JOIN tidegauge.outbox CROSS JOIN tidegauge.metric
    WHERE outbox.protocol = protocol.id AND outbox.state = 0 AND metric.id = outbox.metric
      ${isOf} ${isOfHour('outbox', hour)} ${isOfIds(ids)} ORDER BY outbox.hour, outbox.metric`)
}

function isOfHour(table: 'detained' | 'outbox', hour: Hour | undefined): Statement {
  return hour === undefined ? sql`` : sql`AND ${text(table)}.hour = ${storedHour(hour)}`
}

function isOfIds(ids: readonly string[] | undefined): Statement {
  return ids ? sql`AND (metric.name ${isIn('text', ids)} OR protocol.name ${isIn('text', ids)})` : sql``
}

/** The selected due metrics, by hour. */
export function* dueSelected(selection: DueSelection): StoreWork<Metric[]> {
  const found = yield* selectedDue(selection)
  const known = yield* metricsByNumber(found.map(({ metric }) => metric))
  return found.flatMap(row => metricOf(known, row) ?? [])
}

/** The selected dead or held metrics, by hour. */
export function* deadOrHeld(selection: Selection): StoreWork<DeadOrHeldMetric[]> {
  const found = yield* detainedValues(selection)
  const known = yield* metricsByNumber(found.map(({ metric }) => metric))
  return found.flatMap(row => {
    const metricOfRow = known.get(row.metric)
    if (!metricOfRow) return []
    const metric = ownMetricAt(metricOfRow, row, row)
    return {
      ...metric,
      ...{ state: selection.state, kind: row.kind, reason: row.reason },
      ...(row.status !== null && { status: row.status }),
      ...(row.attempts !== null && { attempts: row.attempts }),
      ...(row.isPrivate && { isPrivate: true }),
      ...{ sinceMs: row.atMs, collector: metricOfRow.collector },
    }
  })
}

/** Counts of dead and held metrics of some protocols in an hour. */
export function* deadAndHeldCounts(hour: Hour, protocolIds: readonly string[]): StoreWork<DeadAndHeldCounts> {
  const counts = yield* first<DeadAndHeldCounts>(sql`
    SELECT count(*) FILTER (WHERE kind = 'refused') AS dead, count(*) FILTER (WHERE kind <> 'refused') AS held
    FROM tidegauge.detained JOIN tidegauge.metric ON metric.id = detained.metric
      JOIN tidegauge.protocol ON protocol.id = metric.protocol
    WHERE detained.hour = ${storedHour(hour)} AND protocol.name ${isIn('text', protocolIds)}`)
  return counts ?? { dead: 0, held: 0 }
}

/** The oldest hour of some protocols, up to `latest`, with a held metric; `undefined` when there is none. */
export function* oldestHeld(protocolIds: readonly string[], latest: Hour): StoreWork<Hour | undefined> {
  const row = yield* first<{ hour: number | null }>(sql`
    SELECT min(detained.hour) AS hour FROM tidegauge.detained JOIN tidegauge.metric ON metric.id = detained.metric
      JOIN tidegauge.protocol ON protocol.id = metric.protocol
    WHERE kind <> 'refused' AND protocol.name ${isIn('text', protocolIds)} AND detained.hour <= ${storedHour(latest)}`)
  return row?.hour == null ? undefined : hourFromNumber(row.hour)
}

/** Counts of all metrics, and why deliveries wait: a few small rows, whatever the number of metrics. */
export function* backlogOf(): StoreWork<Backlog> {
  const [counts, waitingStates] = yield* together(
    query<{ protocol: string; state: number; metrics: number }>(sql`
      SELECT protocol.name AS protocol, tally.state, tally.metrics
      FROM tidegauge.tally JOIN tidegauge.protocol ON protocol.id = tally.protocol`),
    waitingDestinations(),
  )
  const byProtocol = [...Map.groupBy(counts, ({ protocol }) => protocol)].map(([protocol, own]) => {
    const { due, delivered, dead, dropped } = balanceOf(own)
    return [protocol, { due, finished: delivered + dead + dropped }] as const
  })
  return { balance: balanceOf(counts), byProtocol: new Map(byProtocol), waiting: waitingStates }
}

function balanceOf(counts: readonly { readonly state: number; readonly metrics: number }[]): Balance {
  const countState = (number: number) =>
    counts.reduce((sum, { state, metrics }) => sum + (state === number ? metrics : 0), 0)
  const balance = {
    due: countState(stateNumber('due')),
    delivered: countState(stateNumber('delivered')) + countState(prunedNumber),
    dead: countState(stateNumber('dead')),
    held: countState(stateNumber('held')),
    dropped: countState(stateNumber('dropped')),
    private: countState(stateNumber('private')),
  }
  return { enqueued: balance.due + balance.delivered + balance.dead + balance.held, ...balance }
}
