import { daemonAwayMs } from '../../../model/limits.ts'
import type { RoleHolder } from '../../contract/role.ts'
import type { PostgresDatabase } from '../connection/database.ts'

/** Time without a renewal after which the delivery role is free. */
export const roleLeaseMs = 12_000

/** Age of a daemon's sign up to which the next one is not late: it gives one each four seconds. */
const freshMs = 5_000

const untilNext = `now() + interval '${roleLeaseMs} milliseconds'`

/** Takes the delivery role when it is free, or this holder has it. @returns whether this holder has it now */
export async function takeRole(
  database: PostgresDatabase,
  id: string,
  { pid, since, config, host }: RoleHolder,
): Promise<boolean> {
  return database.write(async transaction => {
    const rows = await transaction.query(
      `INSERT INTO tidegauge.role (name, holder, pid, host, since, config, until) VALUES ('delivery', $1, $2, $3, $4, $5, ${untilNext})
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, pid = excluded.pid, host = excluded.host, since = excluded.since,
         config = excluded.config, until = excluded.until
       WHERE role.until < now() OR role.holder = excluded.holder RETURNING name`,
      [id, pid, host ?? '', since, config],
    )
    return rows.length > 0
  })
}

/** Renews the delivery role. @returns whether this holder has it */
export async function keepRole(database: PostgresDatabase, id: string): Promise<boolean> {
  return database.write(async transaction => {
    const rows = await transaction.query(
      `UPDATE tidegauge.role SET until = ${untilNext} WHERE name = 'delivery' AND holder = $1 RETURNING name`,
      [id],
    )
    return rows.length > 0
  }, 'unsynced')
}

/** Gives the delivery role up; no effect where another holder has it. */
export async function leaveRole(database: PostgresDatabase, id: string): Promise<void> {
  await database.write(async transaction =>
    transaction.later("DELETE FROM tidegauge.role WHERE name = 'delivery' AND holder = $1", [id]),
  )
}

/** A process that has a role by its row, which one that was killed leaves. */
export interface SignOfLife {
  readonly holder: RoleHolder
  /** Changes each time that the process shows that it is alive. */
  readonly sign: string
  /** Whether the next sign is not late yet. */
  readonly isFresh: boolean
}

/** The command that has the delivery role; `undefined` while it is free. */
export async function deliveryHolder(database: PostgresDatabase): Promise<SignOfLife | undefined> {
  const [row] = await database.rows<RoleHolder & { readonly sign: string }>(
    `SELECT pid, host, since, config, holder || ' ' || extract(epoch FROM until) AS sign
     FROM tidegauge.role WHERE name = 'delivery' AND until >= now()`,
  )
  if (!row) return undefined
  const { sign, ...holder } = row
  // A command that runs again after it was killed comes at once.
  return { holder, sign, isFresh: false }
}

/** The daemon that has been there longest, of those that show that they are; `undefined` when there is none. */
export async function daemonHolder(database: PostgresDatabase): Promise<SignOfLife | undefined> {
  const [row] = await database.rows<
    Omit<RoleHolder, 'since'> & { started_ms: number; seen_ms: number; age_ms: number }
  >(
    `SELECT pid, host, config_file AS config, (extract(epoch FROM started) * 1000)::bigint AS started_ms,
       (extract(epoch FROM seen) * 1000)::bigint AS seen_ms, (extract(epoch FROM now() - seen) * 1000)::bigint AS age_ms
     FROM tidegauge.daemon
     WHERE seen >= now() - interval '${daemonAwayMs} milliseconds' 
     ORDER BY now() - seen > interval '${freshMs} milliseconds', started, name LIMIT 1`,
  )
  if (!row) return undefined
  const { started_ms: startedMs, seen_ms: seenMs, age_ms: ageMs, ...holder } = row
  const sign = `${holder.host} ${holder.pid} ${seenMs}`
  return { holder: { ...holder, since: new Date(startedMs).toISOString() }, sign, isFresh: ageMs <= freshMs }
}
