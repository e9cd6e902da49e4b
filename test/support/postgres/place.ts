import { type PostgresAddress, parsePostgresAddress } from '../../../src/model/postgres-address.ts'
import { openPostgresOutbox, type PostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { anHour } from '../metrics.ts'
import { VirtualTime } from '../virtual-time.ts'
import type { TestDatabases } from './databases.ts'

/** The address of a text that is one. */
export function addressOf(text: string): PostgresAddress {
  const parsed = parsePostgresAddress(text)
  if (parsed.kind === 'mistake') throw new Error(parsed.mistake)
  return parsed.address
}

/** A place for an outbox in a database of its own without rows. */
export async function postgresOutboxPlace(databases: TestDatabases) {
  const address = addressOf(await databases.cleared())
  const open = (): Promise<PostgresOutbox> => openPostgresOutbox(address)
  const damage = async (statement: string) => {
    await databases.server.query(`SET search_path = tidegauge; ${statement}`, [], address.database)
  }
  return { address, open, damage, time: new VirtualTime(anHour) }
}
