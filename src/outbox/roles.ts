import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { makeFolders } from '../edge/make-folders.ts'
import { Fault } from '../model/fault.ts'
import { jsonOf } from '../model/json.ts'
import { isLocked, type Lock, openLock } from '../sqlite/lock.ts'
import { withFileFaults } from '../sqlite/trouble.ts'
import type { OutboxPlace } from './contract/outbox.ts'
import type { DaemonRoles, Role, RoleHolder, Roles } from './contract/role.ts'
import { identityOf } from './sqlite/file/disk.ts'

/**
 * The two roles. `daemon`: the one daemon of a data folder. `lock`: the process that delivers from it, daemon or
 * command. A command releases it when there is a daemon, so that a long flush or backfill never keeps one from
 * starting. The role is SQLite's lock on the `.db` file, free at once after kill -9; the `.json` file next to it only
 * tells people who has it.
 */
type RoleName = 'daemon' | 'lock'

/** The roles of a data folder. @param config path of the configuration file of this process */
export class FolderRoles implements DaemonRoles {
  readonly #dataFolder: string
  readonly #config: string

  constructor(dataFolder: string, config: string) {
    this.#dataFolder = dataFolder
    this.#config = config
  }

  async takeDaemon(nowMs: number): Promise<Role> {
    return takeDaemonRole(this.#dataFolder, this.#config, nowMs)
  }

  async takeDelivery(nowMs: number): Promise<Role> {
    return takeDeliveryRole(this.#dataFolder, this.#config, nowMs)
  }

  async takeDeliveryAsDaemon(nowMs: number): Promise<Role | undefined> {
    // Looking is quick; taking waits for the looks of others.
    return deliveryHolder(this.#dataFolder) ? undefined : take('lock', this.#dataFolder, this.#config, nowMs)
  }

  async deliverer(): Promise<Partial<RoleHolder> | undefined> {
    return deliveryHolder(this.#dataFolder)
  }

  async daemon(): Promise<Partial<RoleHolder> | undefined> {
    return daemonHolder(this.#dataFolder)
  }
}

/** As `DaemonRoles.takeDaemon`. @param config path of the configuration file of this process */
export function takeDaemonRole(dataFolder: string, config: string, nowMs: number): Role {
  return take('daemon', dataFolder, config, nowMs) ?? refuse('daemon', dataFolder)
}

/** As `Roles.takeDelivery`. @param config path of the configuration file of this process */
export function takeDeliveryRole(dataFolder: string, config: string, nowMs: number): Role {
  if (daemonHolder(dataFolder)) refuse('daemon', dataFolder)
  return take('lock', dataFolder, config, nowMs) ?? refuse('lock', dataFolder)
}

function take(name: RoleName, dataFolder: string, config: string, nowMs: number): Role | undefined {
  const file = join(dataFolder, `${name}.db`)
  return withFileFaults('the lock', file, () => {
    makeFolders(dataFolder, 0o700)
    const lock = openLock(file)
    if (!lock) return undefined
    const holder: RoleHolder = { pid: process.pid, since: new Date(nowMs).toISOString(), config, host: hostname() }
    return lockedRole(file, lock, () => tell(join(dataFolder, `${name}.json`), holder))
  })
}

/** @param note called with each lock that is taken: it writes down who has it */
function lockedRole(file: string, taken: Lock, note: () => void): Role {
  let lock = taken
  let identity = identityOf(file)
  note()
  return {
    release: () => lock.release(),
    get isInPlace() {
      return identityOf(file) === identity
    },
    renew() {
      if (identityOf(file) === identity) return 'held'
      const next = openLock(file)
      if (!next) return 'lost'
      lock.release()
      lock = next
      identity = identityOf(file)
      note()
      return 'renewed'
    },
  }
}

/** Two roles as one, lost with either. */
export function bothRoles(first: Role, second: Role): Role {
  return {
    release() {
      first.release()
      second.release()
    },
    get isInPlace() {
      return first.isInPlace && second.isInPlace
    },
    renew() {
      const states = [first.renew(), second.renew()]
      return states.find(state => state === 'lost') ?? states.find(state => state === 'renewed') ?? 'held'
    },
  }
}

function refuse(name: RoleName, dataFolder: string): never {
  const holder = readHolder(join(dataFolder, `${name}.json`))
  throw new Fault('outbox-held', 'another tidegauge holds this outbox', {
    facts: {
      data: dataFolder,
      by: name === 'daemon' ? 'daemon' : 'command',
      ...(holder && { pid: holder.pid, since: holder.since, config: holder.config }),
      ...(holder?.host !== undefined && { host: holder.host }),
    },
    fix: 'stop it first, or let it do the work',
  })
}

function tell(file: string, holder: RoleHolder): void {
  try {
    writeFileSync(file, JSON.stringify(holder), { mode: 0o600 })
  } catch {
    // A full disk must not keep due metrics from being delivered.
  }
}

/**
 * The process that delivers from a data folder, as far as its file says; `undefined` when there is none. Takes and
 * changes nothing.
 */
export function deliveryHolder(dataFolder: string): Partial<RoleHolder> | undefined {
  return holderOf('lock', dataFolder)
}

/** The daemon of a data folder, as `deliveryHolder`. It may still wait for the delivery role or its outbox. */
export function daemonHolder(dataFolder: string): Partial<RoleHolder> | undefined {
  return holderOf('daemon', dataFolder)
}

function holderOf(name: RoleName, dataFolder: string): Partial<RoleHolder> | undefined {
  const file = join(dataFolder, `${name}.db`)
  if (!withFileFaults('the lock', file, () => isLocked(file))) return undefined
  return readHolder(join(dataFolder, `${name}.json`)) ?? {}
}

/** The processes that had the roles of a data folder last, whether or not they still run. */
export function lastHolders(dataFolder: string): readonly RoleHolder[] {
  return (['daemon', 'lock'] as const).flatMap(name => readHolder(join(dataFolder, `${name}.json`)) ?? [])
}

function readHolder(file: string): RoleHolder | undefined {
  try {
    const { host, ...holder } = jsonOf(readFileSync(file, 'utf8')) as RoleHolder
    // A pid of another machine or container says nothing here.
    return host === undefined || host === hostname() ? holder : { ...holder, host }
  } catch {
    return undefined
  }
}

/** The roles of an outbox. @param config path of the configuration file of this process */
export async function rolesAt(place: OutboxPlace, config: string): Promise<Roles> {
  if (place.kind === 'folder') return new FolderRoles(place.folder, config)
  const { PostgresRoles } = await import('./postgres/roles.ts')
  return new PostgresRoles(place.address, config)
}
