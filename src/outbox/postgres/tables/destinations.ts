import type { DestinationState } from '../../contract/destination.ts'
import type { PostgresDatabase } from '../connection/database.ts'
import type { Transaction } from '../connection/transaction.ts'
import type { RowReader } from './known-metrics.ts'
import { addUnsuccessfulFlush } from './unsuccessful-flushes.ts'

interface DestinationRow {
  readonly not_before_ms: number
  readonly probe_at_ms: number
  readonly failures: number
  readonly waiting: string | null
  readonly last_push_ms: number | null
  readonly last_verdict: string | null
  readonly skew_ms: number | null
}

/** Value of `probe_at_ms` after a person asked for a flush: long past, so that nothing waits for it. */
const hurriedAtMs = 1

const fresh: DestinationState = { notBeforeMs: 0, probeAtMs: 0, failures: 0 }

/** The states of some destinations, in the order asked. */
export async function destinationStates(
  reading: RowReader,
  names: readonly string[],
): Promise<readonly DestinationState[]> {
  const rows = await reading.query<DestinationRow & { readonly name: string }>(
    'SELECT * FROM tidegauge.destination WHERE name = ANY($1)',
    [names],
  )
  const byName = new Map(rows.map(row => [row.name, stateOf(row)]))
  return names.map(name => byName.get(name) ?? fresh)
}

/** The state of a destination. */
export async function destinationState(reading: RowReader, name: string): Promise<DestinationState> {
  const [state] = await destinationStates(reading, [name])
  return state ?? fresh
}

function stateOf(row: DestinationRow): DestinationState {
  const isAsked = row.probe_at_ms === hurriedAtMs
  const isAnswered = row.last_push_ms !== null && row.last_verdict !== null
  return {
    notBeforeMs: row.not_before_ms,
    probeAtMs: isAsked ? 0 : row.probe_at_ms,
    ...(isAsked && { isAsked }),
    failures: row.failures,
    ...(row.waiting !== null && { waiting: row.waiting }),
    ...(isAnswered && { lastPush: { atMs: row.last_push_ms ?? 0, verdict: row.last_verdict ?? '' } }),
    ...(row.skew_ms !== null && { skewMs: row.skew_ms }),
  }
}

/** Stores the state of a destination. A state without failures may be lost in a power cut; a `Retry-After` may not. */
export function saveDestination(database: PostgresDatabase, name: string, state: DestinationState): Promise<void> {
  const isLight = state.failures === 0 && state.notBeforeMs === 0
  return database.write(transaction => written(transaction, name, state), isLight ? 'unsynced' : 'synced')
}

async function written(transaction: Transaction, name: string, state: DestinationState): Promise<void> {
  const { notBeforeMs, probeAtMs, failures, waiting, lastPush, skewMs } = state
  const { atMs = null, verdict = null } = lastPush ?? {}
  if (waiting !== undefined && atMs !== null) {
    const [before] = await transaction.query<Pick<DestinationRow, 'last_push_ms'>>(
      'SELECT last_push_ms FROM tidegauge.destination WHERE name = $1 FOR UPDATE',
      [name],
    )
    if (before?.last_push_ms !== atMs) await addUnsuccessfulFlush(transaction, name, waiting, atMs)
  }
  transaction.later(
    `INSERT INTO tidegauge.destination (name, not_before_ms, probe_at_ms, failures, waiting, last_push_ms, last_verdict, skew_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (name) DO UPDATE SET not_before_ms = excluded.not_before_ms, probe_at_ms = excluded.probe_at_ms,
       failures = excluded.failures, waiting = excluded.waiting, last_push_ms = excluded.last_push_ms,
       last_verdict = excluded.last_verdict, skew_ms = excluded.skew_ms`,
    [name, notBeforeMs, probeAtMs, failures, waiting ?? null, atMs, verdict, skewMs ?? null],
  )
}

/** Lets the process that delivers probe at its next look instead of waiting for the breakers: a person asked for it. */
export function hurryDestinations(database: PostgresDatabase): Promise<void> {
  return database.write(async transaction =>
    transaction.later('UPDATE tidegauge.destination SET probe_at_ms = $1', [hurriedAtMs]),
  )
}

/** Deletes the reasons why all other destinations wait: no protocol uses their key any more. */
export function silenceOthers(database: PostgresDatabase, names: readonly string[]): Promise<void> {
  return database.write(async transaction =>
    transaction.later(
      'UPDATE tidegauge.destination SET waiting = NULL WHERE waiting IS NOT NULL AND name <> ALL($1::text[])',
      [names],
    ),
  )
}
