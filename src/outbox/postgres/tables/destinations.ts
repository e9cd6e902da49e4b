import type { DestinationState } from '../../contract/destination.ts'
import {
  type DestinationRow,
  destinationColumns,
  destinationOf,
  freshDestination,
  hurriedAtMs,
  mayBeLost,
} from '../../rows/destination-row.ts'
import type { PostgresDatabase } from '../connection/database.ts'
import type { Transaction } from '../connection/transaction.ts'
import type { RowReader } from './known-metrics.ts'
import { addUnsuccessfulFlush } from './unsuccessful-flushes.ts'

/** The states of some destinations, in the order asked. */
export async function destinationStates(
  reading: RowReader,
  names: readonly string[],
): Promise<readonly DestinationState[]> {
  const rows = await reading.query<DestinationRow & { readonly name: string }>(
    'SELECT * FROM tidegauge.destination WHERE name = ANY($1)',
    [names],
  )
  const byName = new Map(rows.map(row => [row.name, destinationOf(row)]))
  return names.map(name => byName.get(name) ?? freshDestination)
}

/** The state of a destination. */
export async function destinationState(reading: RowReader, name: string): Promise<DestinationState> {
  const [state] = await destinationStates(reading, [name])
  return state ?? freshDestination
}

/** Stores the state of a destination. */
export function saveDestination(database: PostgresDatabase, name: string, state: DestinationState): Promise<void> {
  return database.write(transaction => written(transaction, name, state), mayBeLost(state) ? 'unsynced' : 'synced')
}

async function written(transaction: Transaction, name: string, state: DestinationState): Promise<void> {
  const { waiting, lastPush } = state
  if (waiting !== undefined && lastPush !== undefined) {
    const [before] = await transaction.query<Pick<DestinationRow, 'last_push_ms'>>(
      'SELECT last_push_ms FROM tidegauge.destination WHERE name = $1 FOR UPDATE',
      [name],
    )
    const { atMs } = lastPush
    if (before?.last_push_ms !== atMs) await addUnsuccessfulFlush(transaction, name, waiting, atMs)
  }
  transaction.later(
    `INSERT INTO tidegauge.destination (name, not_before_ms, probe_at_ms, failures, waiting, last_push_ms, last_verdict, skew_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (name) DO UPDATE SET not_before_ms = excluded.not_before_ms, probe_at_ms = excluded.probe_at_ms,
       failures = excluded.failures, waiting = excluded.waiting, last_push_ms = excluded.last_push_ms,
       last_verdict = excluded.last_verdict, skew_ms = excluded.skew_ms`,
    destinationColumns(name, state),
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
