import type { Config } from '../config/config.ts'
import { resolveDatabase } from '../config/secret.ts'
import { Fault } from '../model/fault.ts'
import type { Roles } from '../outbox/contract/role.ts'
import type { OutboxPlace } from '../outbox/place.ts'
import { rolesAt } from '../outbox/roles-at.ts'

/**
 * Where the outbox of a configuration is.
 *
 * @throws Fault `secret-missing`, `config` when the address of the database is missing or none
 */
export function placeOf({ data }: Pick<Config, 'data'>): OutboxPlace {
  return data.kind === 'folder' ? data : { kind: 'postgres', address: resolveDatabase(data.address) }
}

/**
 * The roles of the outbox of a configuration.
 *
 * @throws Fault as `placeOf`
 */
export async function rolesOf(config: Pick<Config, 'data' | 'file'>): Promise<Roles> {
  return rolesAt(placeOf(config), config.file)
}

/** Whether two configurations keep their outbox in one place. */
export function isSamePlace({ data: one }: Pick<Config, 'data'>, { data: other }: Pick<Config, 'data'>): boolean {
  const textOf = (data: Config['data']) =>
    data.kind === 'folder' ? data.folder : JSON.stringify({ ...data.address, place: undefined })
  return one.kind === other.kind && textOf(one) === textOf(other)
}

/**
 * The data folder, for what works on files.
 *
 * @param fix what to do where the outbox is in a database
 * @throws Fault `usage` when the outbox is in a database
 */
export function requireFolder({ data }: Pick<Config, 'data'>, fix: string): string {
  if (data.kind === 'folder') return data.folder
  throw new Fault('usage', 'the outbox is in a PostgreSQL database, not in a folder', { fix })
}
