import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { Loop } from '../../edge/loop.ts'
import { systemTime, type Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import { daemonAwayMs } from '../../model/limits.ts'
import type { PostgresAddress } from '../../model/postgres-address.ts'
import type { Role, RoleHolder, Roles } from '../contract/role.ts'
import type { PostgresDatabase } from './connection/database.ts'
import { databaseFault } from './connection/errors.ts'
import { openPostgresDatabase, withPostgresDatabase } from './postgres-outbox.ts'

/** Interval at which the delivery role is renewed. It is taken from a process that has not renewed it for `roleLeaseMs`. */
const renewMs = 1_000

/** Interval at which it is looked whether the process that has the role by its row shows that it is alive. */
const lookMs = 250

/**
 * Who works on an outbox in a database. The engine decides which daemon delivers; the delivery role is for a command
 * while no daemon is there: a row that it renews. A process that dies loses it after `roleLeaseMs`, and a daemon is away
 * after `daemonAwayMs`, both by the database's clock.
 */
export class PostgresRoles implements Roles {
  readonly #address: PostgresAddress
  readonly #config: string
  readonly #time: Time

  /** @param config path of the configuration file of this process */
  constructor(address: PostgresAddress, config: string, time: Time = systemTime) {
    this.#address = address
    this.#config = config
    this.#time = time
  }

  async takeDelivery(nowMs: number): Promise<Role> {
    const id = randomUUID()
    const own = { pid: process.pid, since: new Date(nowMs).toISOString(), config: this.#config, host: hostname() }
    const database = await openPostgresDatabase(this.#address, this.#time)
    try {
      for (let before: string | undefined; ; ) {
        const isTaken = await takeRole(database, id, own)
        // After it was taken: a daemon shows itself before it looks whether a command has the role.
        const daemon = await daemonHolder(database)
        if (isTaken && !daemon) return new LeasedRole({ database, id, holder: own, time: this.#time })
        if (isTaken) await leaveRole(database, id)
        const other = daemon ?? (await deliveryHolder(database))
        // A process that was killed leaves its row: one that gives a sign of life has the role.
        if (other && (other.isFresh || (before !== undefined && before !== other.sign))) {
          throw heldBy(daemon ? 'daemon' : 'command', other.holder)
        }
        before = other?.sign
        await this.#time.sleep(lookMs)
      }
    } catch (error) {
      await database.close()
      throw databaseFault(database.place, error)
    }
  }

  async deliverer(): Promise<RoleHolder | undefined> {
    return (await withPostgresDatabase(this.#address, deliveryHolder, this.#time))?.holder
  }

  async daemon(): Promise<RoleHolder | undefined> {
    return (await withPostgresDatabase(this.#address, daemonHolder, this.#time))?.holder
  }
}

function heldBy(by: 'daemon' | 'command', { pid, host = '', since, config }: RoleHolder): Fault {
  return new Fault('outbox-held', 'another tidegauge holds this outbox', {
    facts: { by, pid, host, since, config },
    fix: 'stop it first, or let it do the work',
  })
}

interface LeasedRoleDeps {
  /** It is closed with the role. */
  readonly database: PostgresDatabase
  /** Distinguishes this holder from those before it. */
  readonly id: string
  readonly holder: RoleHolder
  readonly time: Time
}

/** The delivery role, renewed until it is released. While the database does not answer, it counts as held: nothing can be delivered then. */
class LeasedRole implements Role {
  readonly #deps: LeasedRoleDeps
  readonly #loop = new Loop(signal => this.#pass(signal))
  #state: 'held' | 'renewed' | 'lost' = 'held'

  constructor(deps: LeasedRoleDeps) {
    this.#deps = deps
    this.#loop.start()
  }

  get isInPlace(): boolean {
    return this.#state === 'held'
  }

  renew(): 'held' | 'renewed' | 'lost' {
    const state = this.#state
    if (state === 'renewed') this.#state = 'held'
    return state
  }

  release(): void {
    void this.#released()
  }

  async #released(): Promise<void> {
    const { database, id } = this.#deps
    await this.#loop.stop()
    // A row that is left is free once its lease has ended.
    database.giveUp()
    await leaveRole(database, id).catch(() => {})
    await database.close()
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { database, id, holder, time } = this.#deps
    await time.sleep(renewMs, signal).catch(() => {})
    if (signal.aborted) return
    try {
      if (await keepRole(database, id)) return
      this.#state = (await takeRole(database, id, holder)) ? 'renewed' : 'lost'
    } catch {
      // It is tried again: whether another process has the role is not known.
    }
  }
}

/** Time without a renewal after which the delivery role is free. */
const roleLeaseMs = 12_000

/** Age of a daemon's sign up to which the next one is not late: it gives one each four seconds. */
const freshMs = 5_000

const untilNext = `now() + interval '${roleLeaseMs} milliseconds'`

/** Takes the delivery role when it is free, or this holder has it. @returns whether this holder has it now */
async function takeRole(
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
async function keepRole(database: PostgresDatabase, id: string): Promise<boolean> {
  return database.write(async transaction => {
    const rows = await transaction.query(
      `UPDATE tidegauge.role SET until = ${untilNext} WHERE name = 'delivery' AND holder = $1 RETURNING name`,
      [id],
    )
    return rows.length > 0
  }, 'unsynced')
}

/** Gives the delivery role up; no effect where another holder has it. */
async function leaveRole(database: PostgresDatabase, id: string): Promise<void> {
  await database.write(async transaction =>
    transaction.later("DELETE FROM tidegauge.role WHERE name = 'delivery' AND holder = $1", [id]),
  )
}

/** A process that has a role by its row, which one that was killed leaves. */
interface SignOfLife {
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
