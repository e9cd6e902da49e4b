import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { z } from 'zod'
import { Loop } from '../../edge/loop.ts'
import { systemTime, type Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import { jsonOf } from '../../model/json.ts'
import type { PostgresAddress } from '../../model/postgres-address.ts'
import type { Role, RoleHolder, Roles } from '../contract/role.ts'
import type { PostgresDatabase } from './connection/database.ts'
import { databaseFault } from './connection/errors.ts'
import { openPostgresDatabase, withPostgresDatabase } from './postgres-outbox.ts'
import { leaseEnd, millisecondsOf, renewedMsOf } from './rows.ts'

/** Interval at which the delivery role is renewed. It is taken from a process that has not renewed it for `daemonAwayMs`. */
const renewMs = 1_000

/** Interval at which it is looked whether the process that has the role by its row shows that it is alive. */
const lookMs = 250

/**
 * Who works on an outbox in a database, by its leases. Daemons have theirs; the delivery role is for a command while no daemon is
 * there. A process that dies loses its lease after `daemonAwayMs`, by the database's clock.
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
    const since = new Date(nowMs).toISOString()
    const holder = JSON.stringify({ id: randomUUID(), pid: process.pid, since, config: this.#config, host: hostname() })
    const database = await openPostgresDatabase(this.#address, this.#time)
    try {
      for (let signBefore: string | undefined; ; ) {
        const isTaken = await takeRole(database, holder)
        // After it was taken: a daemon shows itself before it looks whether a command has the role.
        const daemon = await daemonHolder(database)
        if (isTaken && !daemon) return new LeasedRole({ database, holder, time: this.#time })
        if (isTaken) await leaveRole(database, holder)
        const holderFound = daemon ?? (await deliveryHolder(database))
        // A process that was killed leaves its row: one that gives a sign of life has the role.
        if (holderFound && (holderFound.isFresh || (signBefore !== undefined && signBefore !== holderFound.sign))) {
          throw heldBy(daemon ? 'daemon' : 'command', holderFound.holder)
        }
        signBefore = holderFound?.sign
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

  async daemon(name?: string): Promise<RoleHolder | undefined> {
    const read = (database: PostgresDatabase) => daemonHolder(database, name)
    return (await withPostgresDatabase(this.#address, read, this.#time))?.holder
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
  /** Text of its row about this process, which distinguishes it from those before it. */
  readonly holder: string
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
    const { database, holder } = this.#deps
    await this.#loop.stop()
    // A row that is left is free once its lease has ended.
    database.giveUp()
    await leaveRole(database, holder).catch(() => {})
    await database.close()
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { database, holder, time } = this.#deps
    await time.sleep(renewMs, signal).catch(() => {})
    if (signal.aborted) return
    try {
      if (await keepRole(database, holder)) return
      this.#state = (await takeRole(database, holder)) ? 'renewed' : 'lost'
    } catch {
      // It is tried again: whether another process has the role is not known.
    }
  }
}

/** Age of a daemon's sign up to which the next one is not late: it gives one each two and a half seconds. */
const freshMs = 4_000

/** Takes the delivery role when it is free, or this process has it. @returns whether this process has it now */
async function takeRole(database: PostgresDatabase, holder: string): Promise<boolean> {
  return database.write(async transaction => {
    const rows = await transaction.query(
      `INSERT INTO tidegauge.lease AS own (name, holder, term, until) VALUES ('command', $1, 1, ${leaseEnd})
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, term = own.term + 1, until = excluded.until
       WHERE own.until < now() OR own.holder = excluded.holder RETURNING name`,
      [holder],
    )
    return rows.length > 0
  })
}

/** Renews the delivery role. @returns whether this process has it */
async function keepRole(database: PostgresDatabase, holder: string): Promise<boolean> {
  return database.write(async transaction => {
    const rows = await transaction.query(
      `UPDATE tidegauge.lease SET until = ${leaseEnd} WHERE name = 'command' AND holder = $1 RETURNING name`,
      [holder],
    )
    return rows.length > 0
  }, 'unsynced')
}

/** Gives the delivery role up; no effect where another process has it. */
async function leaveRole(database: PostgresDatabase, holder: string): Promise<void> {
  await database.write(async transaction =>
    transaction.later("DELETE FROM tidegauge.lease WHERE name = 'command' AND holder = $1", [holder]),
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

/** Shape of the text of a command's lease about it. */
const holderShape = z.object({ pid: z.number(), since: z.string(), config: z.string(), host: z.string() })

/** The command that has the delivery role; `undefined` while it is free. */
export async function deliveryHolder(database: PostgresDatabase): Promise<SignOfLife | undefined> {
  const [row] = await database.rows<{ readonly holder: string; readonly sign: string }>(
    `SELECT holder, holder || ' ' || extract(epoch FROM until) AS sign FROM tidegauge.lease WHERE name = 'command' AND until >= now()`,
  )
  // A command that runs again after it was killed comes at once.
  return row && { holder: holderShape.parse(jsonOf(row.holder)), sign: row.sign, isFresh: false }
}

/** A daemon of those that show that they are there, the one with the latest sign first; `undefined` when there is none. */
export async function daemonHolder(database: PostgresDatabase, name = ''): Promise<SignOfLife | undefined> {
  const [row] = await database.rows<
    Omit<RoleHolder, 'since'> & { started_ms: number; seen_ms: number; age_ms: number }
  >(
    `SELECT daemon.name AS name, pid, host, config_file AS config, ${millisecondsOf('started')} AS started_ms,
       ${renewedMsOf('lease')} AS seen_ms, ${millisecondsOf('now()')} - ${renewedMsOf('lease')} AS age_ms
     FROM tidegauge.daemon JOIN tidegauge.lease ON lease.name = 'daemon/' || daemon.name AND holder = instance::text
     WHERE until >= now() ORDER BY daemon.name = $1 DESC, until DESC, daemon.name LIMIT 1`,
    [name],
  )
  if (!row) return undefined
  const { started_ms: startedMs, seen_ms: seenMs, age_ms: ageMs, ...holder } = row
  const sign = `${holder.host} ${holder.pid} ${seenMs}`
  return { holder: { ...holder, since: new Date(startedMs).toISOString() }, sign, isFresh: ageMs <= freshMs }
}
