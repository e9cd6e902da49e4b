import type { RoleHolder } from '../../contract/role.ts'
import type { PostgresDatabase } from '../connection/database.ts'

/** A role, as it is stored. */
export type LeasedRoleName = 'daemon' | 'delivery'

/** Time without a renewal after which a role is free. */
export const roleLeaseMs = 12_000

const untilNext = `now() + interval '${roleLeaseMs} milliseconds'`

/** Takes a role that is free, or that this holder has. @returns whether this holder has it now */
export async function takeRole(
  database: PostgresDatabase,
  name: LeasedRoleName,
  id: string,
  { pid, since, config, host }: RoleHolder,
): Promise<boolean> {
  return database.write(async transaction => {
    const rows = await transaction.query(
      `INSERT INTO tidegauge.role (name, holder, pid, host, since, config, until) VALUES ($1, $2, $3, $4, $5, $6, ${untilNext})
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, pid = excluded.pid, host = excluded.host, since = excluded.since,
         config = excluded.config, until = excluded.until
       WHERE role.until < now() OR role.holder = excluded.holder RETURNING name`,
      [name, id, pid, host ?? '', since, config],
    )
    return rows.length > 0
  })
}

/** Renews a role. @returns whether this holder has it */
export async function keepRole(database: PostgresDatabase, name: LeasedRoleName, id: string): Promise<boolean> {
  return database.write(async transaction => {
    const rows = await transaction.query(
      `UPDATE tidegauge.role SET until = ${untilNext} WHERE name = $1 AND holder = $2 RETURNING name`,
      [name, id],
    )
    return rows.length > 0
  }, 'unsynced')
}

/** Gives a role up; no effect where another holder has it. */
export async function leaveRole(database: PostgresDatabase, name: LeasedRoleName, id: string): Promise<void> {
  await database.write(async transaction =>
    transaction.later('DELETE FROM tidegauge.role WHERE name = $1 AND holder = $2', [name, id]),
  )
}

/** The holder of a role; `undefined` while it is free. */
export async function roleHolder(database: PostgresDatabase, name: LeasedRoleName): Promise<RoleHolder | undefined> {
  const [row] = await database.rows<RoleHolder>(
    'SELECT pid, host, since, config FROM tidegauge.role WHERE name = $1 AND until >= now()',
    [name],
  )
  return row
}
