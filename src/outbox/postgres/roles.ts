import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { Loop } from '../../edge/loop.ts'
import { systemTime, type Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import type { PostgresAddress } from '../../model/postgres-address.ts'
import type { Role, RoleHolder, Roles } from '../contract/role.ts'
import type { PostgresDatabase } from './connection/database.ts'
import { databaseFault } from './connection/faults.ts'
import { openPostgresDatabase } from './open-outbox.ts'
import { keepRole, type LeasedRoleName, leaveRole, roleHolder, takeRole } from './tables/role-rows.ts'

/** Interval at which a role is renewed. It is taken from a process that has not renewed it for `roleLeaseMs`. */
const renewMs = 3_000

/**
 * The roles of an outbox in a database: rows that their holders renew. A process that dies loses its role after
 * `roleLeaseMs`, by the database's clock.
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

  async takeDaemon(nowMs: number): Promise<Role> {
    return (await this.#take('daemon', nowMs)) ?? this.#refuse('daemon')
  }

  async takeDelivery(nowMs: number): Promise<Role> {
    if (await this.daemon()) return this.#refuse('daemon')
    return (await this.#take('delivery', nowMs)) ?? this.#refuse('delivery')
  }

  takeDeliveryAsDaemon(nowMs: number): Promise<Role | undefined> {
    return this.#take('delivery', nowMs)
  }

  deliverer(): Promise<RoleHolder | undefined> {
    return this.#with(database => roleHolder(database, 'delivery'))
  }

  daemon(): Promise<RoleHolder | undefined> {
    return this.#with(database => roleHolder(database, 'daemon'))
  }

  async #take(name: LeasedRoleName, nowMs: number): Promise<Role | undefined> {
    const id = randomUUID()
    const holder = { pid: process.pid, since: new Date(nowMs).toISOString(), config: this.#config, host: hostname() }
    const database = await openPostgresDatabase(this.#address, this.#time)
    try {
      if (await takeRole(database, name, id, holder))
        return new LeasedRole({ database, name, id, holder, time: this.#time })
    } catch (error) {
      await database.close()
      throw databaseFault(database.place, error)
    }
    await database.close()
    return undefined
  }

  async #refuse(name: LeasedRoleName): Promise<never> {
    const holder = await this.#with(database => roleHolder(database, name))
    throw new Fault('outbox-held', 'another tidegauge holds this outbox', {
      facts: holder ? { pid: holder.pid, host: holder.host ?? '', since: holder.since, config: holder.config } : {},
      fix: 'stop it first, or let it do the work',
    })
  }

  async #with<T>(look: (database: PostgresDatabase) => Promise<T>): Promise<T> {
    const database = await openPostgresDatabase(this.#address, this.#time)
    try {
      return await look(database)
    } catch (error) {
      throw databaseFault(database.place, error)
    } finally {
      await database.close()
    }
  }
}

/** Dependencies of `LeasedRole`. */
interface LeasedRoleDeps {
  /** It is closed with the role. */
  readonly database: PostgresDatabase
  readonly name: LeasedRoleName
  /** Distinguishes this holder from those before it. */
  readonly id: string
  readonly holder: RoleHolder
  readonly time: Time
}

/** A role that is renewed until it is released. While the database does not answer, it counts as held: nothing can be delivered then. */
class LeasedRole implements Role {
  readonly #deps: LeasedRoleDeps
  readonly #loop = new Loop(signal => this.#turn(signal))
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
    const { database, name, id } = this.#deps
    await this.#loop.stop()
    // A row that is left is free once its lease has ended.
    database.giveUp()
    await leaveRole(database, name, id).catch(() => {})
    await database.close()
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { database, name, id, holder, time } = this.#deps
    await time.sleep(renewMs, signal).catch(() => {})
    if (signal.aborted) return
    try {
      if (await keepRole(database, name, id)) return
      this.#state = (await takeRole(database, name, id, holder)) ? 'renewed' : 'lost'
    } catch {
      // It is tried again: whether another process has the role is not known.
    }
  }
}
