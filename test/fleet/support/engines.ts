import pg from 'pg'
import { onTestFinished } from 'vitest'
import { systemTime, type Time } from '../../../src/edge/time.ts'
import { JobEngine } from '../../../src/fleet/job-engine.ts'
import type { SharedTransaction } from '../../../src/outbox/contract/fleet-store.ts'
import { PostgresDatabase } from '../../../src/outbox/postgres/connection/database.ts'
import { addressOf } from '../../support/postgres/place.ts'

/** An engine on a database, as each daemon has one; stopped with the test. */
export function engineOn(address: string, time: Time = systemTime): JobEngine {
  const database = new PostgresDatabase(addressOf(address), systemTime)
  const engine = new JobEngine({ statements: database.jobs, time, reportFailure: () => {} })
  onTestFinished(async () => {
    await engine.stop()
    await database.close()
  })
  return engine
}

/** Runs a transaction on a connection of its own. */
export async function inTransaction<T>(
  address: string,
  work: (tx: SharedTransaction) => Promise<T>,
  end: 'COMMIT' | 'ROLLBACK' = 'COMMIT',
): Promise<T> {
  const client = new pg.Client(address)
  await client.connect()
  try {
    await client.query('BEGIN')
    const done = await work({ query: async (text, values = []) => (await client.query(text, [...values])).rows })
    await client.query(end)
    return done
  } finally {
    await client.end()
  }
}
