import { DamageError } from '../../sqlite/damage.ts'
import type { DeadOrHeldMetric, MetricState } from '../contract/metrics.ts'
import { type DescribedFrom, describe } from './metrics.ts'
import { rows, type SqlValue, sql, text } from './sql.ts'
import { query, type StoreWork, write } from './work.ts'

/** States of a metric, by the number they are stored as. Delivered metrics whose rows were pruned have a count, and no row. */
const metricStates = ['due', 'delivered', 'dead', 'held', 'dropped', 'pruned', 'private'] as const

/** Number that counts delivered metrics whose rows were pruned. */
export const prunedNumber = metricStates.indexOf('pruned')

/** The stored number of a state. */
export function stateNumber(state: MetricState): number {
  return metricStates.indexOf(state)
}

/** The state of a stored number. */
export function stateOf(number: number): MetricState {
  const state = metricStates[number]
  if (state === undefined || state === 'pruned') throw new DamageError(`no state of a metric has the number ${number}`)
  return state
}

/** A metric by its number and that of its hour, in hours since 1970. */
export interface MetricPlace {
  readonly hour: number
  readonly metric: number
}

/** A row of `outbox`. */
export interface OutboxRow extends MetricPlace {
  /** Number of its protocol. */
  readonly protocol: number
  /** Number of its state. */
  readonly state: number
  readonly value: number
  /** In milliseconds since 1970. */
  readonly collectedMs: number
  /** In milliseconds since 1970; as `collectedMs` until it is delivered. */
  readonly deliveredMs: number
}

/** A row of `detained`: why a metric is dead or held. */
interface DetainedRow extends MetricPlace {
  readonly kind: DeadOrHeldMetric['kind']
  readonly reason: string
  readonly status?: number | undefined
  readonly attempts?: number | undefined
  /** Its own unit, if it is held for that; absent when it has none. */
  readonly unit?: string | undefined
  /** Default: no. */
  readonly isPrivate?: boolean
  readonly sinceMs: number
}

/** Whether a metric is due, delivered or private: later values are judged by it, and derived ones computed from it. */
export function isValid({ state }: Pick<OutboxRow, 'state'>): boolean {
  return state === stateNumber('due') || state === stateNumber('delivered') || state === stateNumber('private')
}

interface DetainedChange extends MetricPlace {
  readonly isRemoved: boolean
  readonly words: string
  readonly row?: DetainedRow
}

const placeColumns = { hour: 'integer', metric: 'integer' } as const

/** The stored rows of metrics. In a transaction that holds the locks of their protocols they stay as they are. */
export function* storedRows(places: readonly MetricPlace[]): StoreWork<OutboxRow[]> {
  if (places.length === 0) return []
  const pairs = places.map(({ hour, metric }) => [hour, metric])
  return yield* query<OutboxRow>(sql`
    SELECT stored.hour, stored.metric, stored.protocol, stored.state, stored.value,
      stored.collected_ms AS "collectedMs", stored.delivered_ms AS "deliveredMs"
    FROM ${rows(placeColumns, pairs)} AS wanted CROSS JOIN tidegauge.outbox AS stored
    WHERE stored.hour = wanted.hour AND stored.metric = wanted.metric`)
}

/** Units of those of the rows that are held for theirs, by `placeKey`; `undefined` for none. */
export function* heldUnits(stored: readonly OutboxRow[]): StoreWork<ReadonlyMap<number, string | undefined>> {
  const places = stored.filter(({ state }) => state === stateNumber('held')).map(({ hour, metric }) => [hour, metric])
  if (places.length === 0) return new Map()
  const records = yield* query<MetricPlace & { readonly unit: string | null }>(sql`
    SELECT hour, metric, unit FROM tidegauge.detained
    WHERE kind = 'unit' AND (hour, metric) IN (SELECT hour, metric FROM ${rows(placeColumns, places)} AS held)`)
  return new Map(records.map(row => [placeKey(row), row.unit ?? undefined]))
}

/** Key of a metric's row. */
export function placeKey({ hour, metric }: MetricPlace): number {
  return hour * 2 ** 31 + metric
}

/**
 * Metrics as a transaction has loaded them, and what it changes of them, in memory: `write` stores the changes. The
 * transaction holds the locks of their protocols.
 */
export class MetricChanges {
  readonly #rows: Map<number, OutboxRow>
  readonly #added = new Set<number>()
  readonly #changed = new Set<number>()
  readonly #tally = new Map<number, readonly [protocol: number, state: number, metrics: number]>()
  readonly #detained = new Map<number, DetainedChange>()
  readonly #corrections = new Map<number, MetricPlace & { readonly atMs: number }>()
  readonly #settled = new Map<number, MetricPlace>()
  readonly #earlier: SqlValue[][] = []
  readonly #described = new Map<string, readonly [metric: number, DescribedFrom]>()
  readonly #renewed = new Map<number, MetricPlace>()

  /** @param stored rows of all metrics that may be asked for */
  constructor(stored: readonly OutboxRow[] = []) {
    this.#rows = new Map(stored.map(row => [placeKey(row), row]))
  }

  /** Metrics that have a new value, or one that is valid and was not before. */
  get renewed(): readonly MetricPlace[] {
    return [...this.#renewed.values()]
  }

  /** The row of a metric; `undefined` when it has no value at that hour. */
  at(place: MetricPlace): OutboxRow | undefined {
    return this.#rows.get(placeKey(place))
  }

  /** Adds a metric that has no value for its hour yet. */
  add(row: OutboxRow): void {
    const key = placeKey(row)
    this.#rows.set(key, row)
    this.#added.add(key)
    if (isValid(row)) this.#renewed.set(key, row)
    this.#count(row.protocol, row.state, 1)
  }

  /**
   * Moves a metric from one state to another.
   *
   * @param deliveredMs when it was delivered; default: it is not delivered now
   * @returns whether it was in the first
   */
  move(place: MetricPlace, from: MetricState, to: MetricState, deliveredMs?: number): boolean {
    const row = this.at(place)
    if (row?.state !== stateNumber(from)) return false
    this.#put({ ...row, state: stateNumber(to), deliveredMs: deliveredMs ?? row.deliveredMs })
    return true
  }

  /** Gives a stored metric another value or state; a value that changes is kept. */
  replace(row: OutboxRow, value: number, to: MetricState, nowMs: number): void {
    if (row.value !== value) this.#earlier.push([row.hour, row.metric, nowMs, row.value])
    this.#put({ ...row, value, state: stateNumber(to) })
  }

  /** Counts delivered, dropped or private rows that the transaction has deleted. */
  prune(protocol: number, state: number, metrics: number): void {
    this.#count(protocol, state, -metrics)
    if (stateOf(state) === 'delivered') this.#count(protocol, prunedNumber, metrics)
  }

  detain(row: DetainedRow): void {
    const { isRemoved = false } = this.#detained.get(placeKey(row)) ?? {}
    this.#detained.set(placeKey(row), { ...row, isRemoved, words: '', row })
  }

  /** Adds to the reason of a listed metric. */
  remark(place: MetricPlace, suffix: string): void {
    const changeBefore = this.#detained.get(placeKey(place)) ?? { ...place, isRemoved: false, words: '' }
    const { row, words } = changeBefore
    this.#detained.set(
      placeKey(place),
      row
        ? { ...changeBefore, row: { ...row, reason: row.reason + suffix } }
        : { ...changeBefore, words: words + suffix },
    )
  }

  /** Removes a metric from the list of dead and held ones. */
  free({ hour, metric }: MetricPlace): void {
    this.#detained.set(placeKey({ hour, metric }), { hour, metric, isRemoved: true, words: '' })
  }

  /** Lists a metric as corrected: another value of it may be on its way. */
  correct({ hour, metric }: MetricPlace, atMs: number): void {
    this.#corrections.set(placeKey({ hour, metric }), { hour, metric, atMs })
    this.#settled.delete(placeKey({ hour, metric }))
  }

  /** Removes a metric that will not be sent any more, or is delivered, from the list of corrected ones. */
  settle({ hour, metric }: MetricPlace): void {
    this.#settled.set(placeKey({ hour, metric }), { hour, metric })
    this.#corrections.delete(placeKey({ hour, metric }))
  }

  /** Describes a metric from an hour on. */
  describe(metric: number, from: DescribedFrom): void {
    this.#described.set(`${metric} ${from.since}`, [metric, from])
  }

  *write(): StoreWork<void> {
    yield* this.#writeRows()
    yield* this.#writeTally()
    yield* this.#writeDetained()
    yield* this.#writeCorrections()
    yield* describe([...this.#described.values()])
  }

  #put(row: OutboxRow): void {
    const [key, rowBefore] = [placeKey(row), this.at(row)]
    this.#rows.set(key, row)
    if (!this.#added.has(key)) this.#changed.add(key)
    if (rowBefore && (rowBefore.value !== row.value || (isValid(row) && !isValid(rowBefore))))
      this.#renewed.set(key, row)
    if (rowBefore && rowBefore.state !== row.state) {
      this.#count(row.protocol, rowBefore.state, -1)
      this.#count(row.protocol, row.state, 1)
    }
  }

  #count(protocol: number, state: number, metrics: number): void {
    const key = protocol * metricStates.length + state
    this.#tally.set(key, [protocol, state, (this.#tally.get(key)?.[2] ?? 0) + metrics])
  }

  *#writeRows(): StoreWork<void> {
    const rowOf = (key: number) => this.#rows.get(key) ?? []
    const newRows = [...this.#added].flatMap(rowOf)
    if (newRows.length > 0) {
      const columns = {
        ...placeColumns,
        ...({ protocol: 'integer', state: 'integer', value: 'double precision' } as const),
        ...({ collected_ms: 'bigint', delivered_ms: 'bigint' } as const),
      }
      const tuples = newRows.map(row => [
        ...[row.hour, row.metric, row.protocol, row.state, row.value, row.collectedMs, row.deliveredMs],
      ])
      const names = text(Object.keys(columns).join(', '))
      yield* write(sql`INSERT INTO tidegauge.outbox (${names}) SELECT ${names} FROM ${rows(columns, tuples)} AS added`)
    }
    const changedRows = [...this.#changed].flatMap(rowOf)
    if (changedRows.length > 0) {
      const columns = {
        ...placeColumns,
        ...({ state: 'integer', value: 'double precision', delivered_ms: 'bigint' } as const),
      }
      const changedTuples = changedRows.map(row => [row.hour, row.metric, row.state, row.value, row.deliveredMs])
      yield* write(sql`UPDATE tidegauge.outbox
        SET state = changed.state, value = changed.value, delivered_ms = changed.delivered_ms
        FROM ${rows(columns, changedTuples)} AS changed WHERE outbox.hour = changed.hour AND outbox.metric = changed.metric`)
    }
    if (this.#earlier.length > 0) {
      const columns = { ...placeColumns, until_ms: 'bigint', value: 'double precision' } as const
      yield* write(sql`INSERT INTO tidegauge.earlier_value (hour, metric, until_ms, value)
        SELECT hour, metric, until_ms, value FROM ${rows(columns, this.#earlier)} AS earlier
        WHERE true ON CONFLICT DO NOTHING`)
    }
  }

  /** Growing and shrinking counts: a check of a row rejects a negative number before it is added to another. */
  *#writeTally(): StoreWork<void> {
    const tallyRows = [...this.#tally.values()].toSorted((a, b) => a[0] - b[0] || a[1] - b[1])
    const increases = tallyRows.filter(([, , metrics]) => metrics > 0)
    const decreases = tallyRows.filter(([, , metrics]) => metrics < 0)
    const columns = { protocol: 'integer', state: 'integer', metrics: 'bigint' } as const
    if (increases.length > 0) {
      yield* write(sql`INSERT INTO tidegauge.tally (protocol, state, metrics)
        SELECT protocol, state, metrics FROM ${rows(columns, increases)} AS added WHERE true
        ON CONFLICT (protocol, state) DO UPDATE SET metrics = tally.metrics + excluded.metrics`)
    }
    if (decreases.length > 0) {
      yield* write(sql`UPDATE tidegauge.tally SET metrics = tally.metrics + fewer.metrics
        FROM ${rows(columns, decreases)} AS fewer WHERE tally.protocol = fewer.protocol AND tally.state = fewer.state`)
    }
  }

  *#writeDetained(): StoreWork<void> {
    const detentions = [...this.#detained.values()].toSorted((a, b) => placeKey(a) - placeKey(b))
    yield* deleteRows(
      'detained',
      detentions.filter(({ isRemoved }) => isRemoved),
    )
    const remarks = detentions
      .filter(({ words }) => words !== '')
      .map(({ hour, metric, words }) => [hour, metric, words])
    if (remarks.length > 0) {
      const columns = { ...placeColumns, words: 'text' } as const
      yield* write(sql`UPDATE tidegauge.detained SET reason = detained.reason || more.words
        FROM ${rows(columns, remarks)} AS more WHERE detained.hour = more.hour AND detained.metric = more.metric`)
    }
    const newRows = detentions.flatMap(({ row }) => row ?? [])
    if (newRows.length === 0) return
    const columns = {
      ...placeColumns,
      ...({
        kind: 'text',
        reason: 'text',
        status: 'integer',
        attempts: 'integer',
        unit: 'text',
        at_ms: 'bigint',
        is_private: 'integer',
      } as const),
    }
    const tuples = newRows.map(({ hour, metric, kind, reason, status, attempts, unit, sinceMs, isPrivate }) => [
      ...[hour, metric, kind, reason, status ?? null, attempts ?? null, unit ?? null, sinceMs, isPrivate ? 1 : 0],
    ])
    const names = text(Object.keys(columns).join(', '))
    yield* write(sql`INSERT INTO tidegauge.detained (${names}) SELECT ${names} FROM ${rows(columns, tuples)} AS added
      WHERE true ON CONFLICT DO NOTHING`)
  }

  *#writeCorrections(): StoreWork<void> {
    yield* deleteRows('correction', [...this.#settled.values()])
    const tuples = [...this.#corrections.values()].map(({ hour, metric, atMs }) => [hour, metric, atMs])
    if (tuples.length === 0) return
    yield* write(sql`INSERT INTO tidegauge.correction (hour, metric, at_ms)
      SELECT hour, metric, at_ms FROM ${rows({ ...placeColumns, at_ms: 'bigint' }, tuples)} AS added WHERE true
      ON CONFLICT (hour, metric) DO UPDATE SET at_ms = excluded.at_ms`)
  }
}

/** Deletes the rows of metrics in a table. */
export function* deleteRows(
  table: 'outbox' | 'detained' | 'correction' | 'earlier_value',
  places: readonly MetricPlace[],
): StoreWork<void> {
  if (places.length === 0) return
  const given = places.map(({ hour, metric }) => [hour, metric])
  yield* write(sql`DELETE FROM tidegauge.${text(table)}
    WHERE (hour, metric) IN (SELECT hour, metric FROM ${rows(placeColumns, given)} AS gone)`)
}
