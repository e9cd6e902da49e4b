import type { Roles } from './contract/role.ts'
import type { OutboxPlace } from './place.ts'
import { FolderRoles } from './roles.ts'

/** The roles of an outbox. @param config path of the configuration file of this process */
export async function rolesAt(place: OutboxPlace, config: string): Promise<Roles> {
  if (place.kind === 'folder') return new FolderRoles(place.folder, config)
  const { PostgresRoles } = await import('./postgres/roles.ts')
  return new PostgresRoles(place.address, config)
}
