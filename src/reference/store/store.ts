import type { Time } from '../../edge/time.ts'
import { openDatabase } from '../../sqlite/database.ts'
import { withFileFaults } from '../../sqlite/file-fault.ts'
import { type Keys, keysIn } from './keys.ts'
import { type Protocols, protocolsIn } from './protocols.ts'
import { serviceSchema } from './schema.ts'
import { type StoredBy, storedIn } from './stored.ts'
import { type StoredValues, valuesIn } from './values.ts'

/** The service's file. Several processes may have it open at once. */
export interface Store {
  readonly keys: Keys
  readonly protocols: Protocols
  readonly values: StoredValues
  readonly storedBy: StoredBy
  close(): void
}

/**
 * Opens the service's file, creating it if missing.
 *
 * @param file `:memory:` for a temporary one
 * @throws Fault `outbox-unusable` or `disk-full`; other errors of `openDatabase`
 */
export function openStore(file: string, time: Time): Store {
  const database = withFileFaults('the service’s file', file, () => openDatabase(file, serviceSchema))
  return {
    keys: keysIn(database, time),
    protocols: protocolsIn(database, time),
    values: valuesIn(database),
    storedBy: storedIn(database),
    close: () => database.close(),
  }
}
