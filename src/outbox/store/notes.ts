import type { MetricId } from '../../model/metric.ts'
import { type Remark, warningKind } from '../../model/remarks.ts'
import type { Cure } from '../../model/waiting.ts'
import type { DestinationState } from '../contract/delivery-store.ts'
import type { UnsuccessfulFlushes } from '../contract/hours.ts'
import type { Warning, WarningSelection } from '../contract/metrics.ts'
import type { Reporter } from '../contract/outbox.ts'
import { kindOfReason } from './hours.ts'
import { forUpdate, isIn, rows, sql, text } from './sql.ts'
import { first, query, type StoreWork, write } from './work.ts'

/** Columns of a destination's row. */
interface DestinationRow {
  readonly name: string
  readonly not_before_ms: number
  readonly probe_at_ms: number
  readonly failures: number
  readonly waiting: string | null
  readonly cure: Cure | null
  readonly last_push_ms: number | null
  readonly last_verdict: string | null
  readonly last_status: number | null
  readonly skew_ms: number | null
}

/** Value of `probe_at_ms` after a person asked for a flush: long past, so that nothing waits for it. */
const askedAtMs = 1

/** State of a destination without a row. */
const freshDestination: DestinationState = { notBeforeMs: 0, probeAtMs: 0, failures: 0 }

function destinationOf(row: DestinationRow): DestinationState {
  const isAsked = row.probe_at_ms === askedAtMs
  return {
    notBeforeMs: row.not_before_ms,
    probeAtMs: isAsked ? 0 : row.probe_at_ms,
    ...(isAsked && { isAsked }),
    failures: row.failures,
    ...(row.waiting !== null && { waiting: row.waiting }),
    ...(row.cure !== null && { cure: row.cure }),
    ...lastPushOf(row),
    ...(row.skew_ms !== null && { skewMs: row.skew_ms }),
  }
}

function lastPushOf({ last_push_ms: atMs, last_verdict: verdict, last_status: status }: DestinationRow) {
  if (atMs === null || verdict === null) return {}
  return { lastPush: { atMs, verdict, ...(status !== null && { status }) } }
}

/** The states of destinations, in the order asked. */
export function* destinationStates(names: readonly string[]): StoreWork<readonly DestinationState[]> {
  const found = yield* query<DestinationRow>(sql`SELECT * FROM tidegauge.destination WHERE name ${isIn('text', names)}`)
  const byName = new Map(found.map(row => [row.name, destinationOf(row)]))
  return names.map(name => byName.get(name) ?? freshDestination)
}

/** The state of a destination. */
export function* destinationState(name: string): StoreWork<DestinationState> {
  const [state = freshDestination] = yield* destinationStates([name])
  return state
}

/** The states of the destinations whose deliveries wait. */
export function* waitingDestinations(): StoreWork<readonly DestinationState[]> {
  const records = yield* query<DestinationRow>(
    sql`SELECT * FROM tidegauge.destination WHERE waiting IS NOT NULL ORDER BY name`,
  )
  return records.map(destinationOf)
}

/** Stores the state of a destination, and adds a flush that left metrics over to those before it. */
export function* saveDestination(name: string, state: DestinationState): StoreWork<void> {
  const { notBeforeMs, probeAtMs, failures, waiting: waitReason, cure, lastPush, skewMs } = state
  if (waitReason !== undefined && lastPush !== undefined) {
    const rowBefore = yield* first<Pick<DestinationRow, 'last_push_ms'>>(
      sql`SELECT last_push_ms FROM tidegauge.destination WHERE name = ${name} ${forUpdate}`,
    )
    if (rowBefore?.last_push_ms !== lastPush.atMs) yield* addUnsuccessfulFlush(name, waitReason, lastPush.atMs)
  }
  yield* write(sql`INSERT INTO tidegauge.destination
      (name, not_before_ms, probe_at_ms, failures, waiting, cure, last_push_ms, last_verdict, last_status,
        skew_ms)
    VALUES (${name}, ${notBeforeMs}, ${probeAtMs}, ${failures}, ${waitReason ?? null}, ${cure ?? null}, ${lastPush?.atMs ?? null},
      ${lastPush?.verdict ?? null}, ${lastPush?.status ?? null}, ${skewMs ?? null})
    ON CONFLICT (name) DO UPDATE SET not_before_ms = excluded.not_before_ms, probe_at_ms = excluded.probe_at_ms,
      failures = excluded.failures, waiting = excluded.waiting, cure = excluded.cure,
      last_push_ms = excluded.last_push_ms, last_verdict = excluded.last_verdict,
      last_status = excluded.last_status, skew_ms = excluded.skew_ms`)
}

/** Whether a state may be lost in a power cut: one without failures may, a `Retry-After` may not. Pure. */
export function mayBeLost({ failures, notBeforeMs }: DestinationState): boolean {
  return failures === 0 && notBeforeMs === 0
}

/** Lets the process that delivers probe at its next pass instead of waiting for the breakers: a person asked for it. */
export function requestFlush(): StoreWork<void> {
  return write(sql`UPDATE tidegauge.destination SET probe_at_ms = ${askedAtMs}`)
}

/** Deletes the reasons why all other destinations wait: no protocol uses their key any more. */
export function silenceOthers(names: readonly string[]): StoreWork<void> {
  return write(sql`UPDATE tidegauge.destination SET waiting = NULL, cure = NULL
    WHERE waiting IS NOT NULL AND NOT name ${isIn('text', names)}`)
}

const flushColumns = text('first_ms AS "firstMs", last_ms AS "lastMs", flushes, reason')

function* addUnsuccessfulFlush(destination: string, reason: string, nowMs: number): StoreWork<void> {
  const last = yield* first<UnsuccessfulFlushes>(sql`SELECT ${flushColumns} FROM tidegauge.unsuccessful_flush
    WHERE destination = ${destination} ORDER BY first_ms DESC LIMIT 1`)
  const isSame = last !== undefined && kindOfReason(last.reason) === kindOfReason(reason)
  yield* write(sql`INSERT INTO tidegauge.unsuccessful_flush (destination, first_ms, last_ms, flushes, reason)
    VALUES (${destination}, ${isSame ? last.firstMs : nowMs}, ${nowMs}, 1, ${reason})
    ON CONFLICT (destination, first_ms) DO UPDATE SET reason = excluded.reason, flushes = unsuccessful_flush.flushes + 1,
      last_ms = CASE WHEN excluded.last_ms > unsuccessful_flush.last_ms THEN excluded.last_ms ELSE unsuccessful_flush.last_ms END`)
}

/** As `OperatorStore.unsuccessfulFlushes`. */
export function unsuccessfulFlushes(
  destination: string,
  fromMs: number,
  toMs: number,
): StoreWork<UnsuccessfulFlushes[]> {
  return query<UnsuccessfulFlushes>(sql`SELECT ${flushColumns} FROM tidegauge.unsuccessful_flush
    WHERE destination = ${destination} AND last_ms >= ${fromMs} AND first_ms <= ${toMs} ORDER BY first_ms`)
}

/** Columns of a warning's row. */
interface WarningRow {
  /** Empty for one that is about no metric. */
  readonly metric: string
  readonly kind: string
  readonly text: string
  readonly count: number
  readonly first_ms: number
  readonly last_ms: number
  readonly acknowledged: number
}

/**
 * Distinct warnings kept; above it the least recently seen is deleted, so that ever-changing words cannot fill the
 * disk.
 */
const warningsMax = 1_000

/** Counts warnings, each kind once for each metric. */
export function* recordWarnings(remarks: readonly Remark[], nowMs: number): StoreWork<void> {
  if (remarks.length === 0) return
  const groups = new Map<string, { metric: string; kind: string; words: string; count: number }>()
  for (const { metric, text: words } of remarks) {
    const [id, kind] = [metric?.id ?? '', warningKind(words)]
    const key = JSON.stringify([id, kind])
    groups.set(key, { metric: id, kind, words, count: (groups.get(key)?.count ?? 0) + 1 })
  }
  // Rows are locked in one order by all processes.
  const tuples = [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { metric, kind, words, count }]) => [metric, kind, words, count, nowMs])
  const columns = { metric: 'text', kind: 'text', words: 'text', count: 'integer', at_ms: 'bigint' } as const
  yield* write(sql`INSERT INTO tidegauge.warning (metric, kind, text, count, first_ms, last_ms)
    SELECT metric, kind, words, count, at_ms, at_ms FROM ${rows(columns, tuples)} AS seen WHERE true
    ON CONFLICT (metric, kind) DO UPDATE SET count = warning.count + excluded.count, last_ms = excluded.last_ms,
      text = excluded.text`)
  yield* write(sql`DELETE FROM tidegauge.warning WHERE (metric, kind) IN (
    SELECT metric, kind FROM tidegauge.warning ORDER BY last_ms DESC, metric, kind LIMIT 1000000 OFFSET ${warningsMax})`)
}

/** Marks selected warnings as seen. @returns how many were not seen before */
export function* acknowledgeWarnings({ ids, kind }: WarningSelection): StoreWork<number> {
  const isOf = ids ? sql`AND metric ${isIn('text', ids)}` : text('')
  const isKind = kind === undefined ? text('') : sql`AND kind = ${kind}`
  const records = yield* query(
    sql`UPDATE tidegauge.warning SET acknowledged = 1 WHERE acknowledged = 0 ${isOf} ${isKind} RETURNING kind`,
  )
  return records.length
}

/** All warnings, last seen first. */
export function* allWarnings(): StoreWork<Warning[]> {
  const found = yield* query<WarningRow>(sql`SELECT * FROM tidegauge.warning ORDER BY last_ms DESC, metric, kind`)
  return found.map(({ metric, kind, text: words, count, first_ms, last_ms, acknowledged }) => ({
    ...(metric !== '' && { metricId: metric as MetricId }),
    ...{ kind, text: words, count, firstSeenMs: first_ms, lastSeenMs: last_ms, isAcknowledged: acknowledged === 1 },
  }))
}

/** The state that a reporter saved last, as JSON; `undefined` before the first. */
export function* reportState(reporter: Reporter): StoreWork<string | undefined> {
  return (yield* first<{ state: string }>(sql`SELECT state FROM tidegauge.report WHERE reporter = ${reporter}`))?.state
}

/** Replaces the state of a reporter. */
export function saveReport(reporter: Reporter, state: string): StoreWork<void> {
  return write(sql`INSERT INTO tidegauge.report (reporter, state) VALUES (${reporter}, ${state})
    ON CONFLICT (reporter) DO UPDATE SET state = excluded.state`)
}
