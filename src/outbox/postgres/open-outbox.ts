import { systemTime, type Time } from '../../edge/time.ts'
import type { PostgresAddress } from '../../model/postgres-address.ts'
import { PostgresDatabase } from './connection/database.ts'
import { databaseFault } from './connection/faults.ts'
import { PostgresOutbox } from './postgres-outbox.ts'
import { makeTables } from './tables/made-tables.ts'

/**
 * Opens the outbox in a database, and makes its tables where there are none.
 *
 * @param time for the waits between attempts
 * @throws Fault `database-unreachable`, `database-unusable`, `database-failed` or `disk-full`
 */
export async function openPostgresOutbox(
  address: PostgresAddress,
  time: Pick<Time, 'sleep' | 'chance'> = systemTime,
): Promise<PostgresOutbox> {
  return new PostgresOutbox(await openPostgresDatabase(address, time), time)
}

/** As `openPostgresOutbox`, for what is no port of an outbox. */
export async function openPostgresDatabase(
  address: PostgresAddress,
  time: Pick<Time, 'sleep' | 'chance'> = systemTime,
  silenceMsMax?: number,
): Promise<PostgresDatabase> {
  const database = new PostgresDatabase(address, time, silenceMsMax)
  try {
    await makeTables(database)
    return database
  } catch (error) {
    await database.close()
    throw databaseFault(database.place, error)
  }
}
