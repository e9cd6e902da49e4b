import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../model/fault.ts'
import { withFileFaults } from '../sqlite/file-fault.ts'
import { isLocked, openLock } from '../sqlite/lock.ts'
import { identityOf } from './identity.ts'

/** The right to deliver from a data folder, until released or the process ends. */
export interface DeliveryRole {
  release(): void
  /** Whether the lock is on the file that others look at: somebody may have deleted or replaced it. */
  readonly isInPlace: boolean
  /**
   * Sees to it that the lock is on the file that others look at.
   *
   * @returns `renewed` when it had to be taken anew, `lost` when another process has it
   */
  renew(): 'held' | 'renewed' | 'lost'
}

/** Who delivers from a data folder. */
export interface DeliveryHolder {
  readonly pid: number
  /** When it began, as ISO 8601 text. */
  readonly since: string
  /** Its configuration file. */
  readonly config: string
}

/**
 * Takes the role of the one process that delivers from a data folder. SQLite's own lock is free at once after kill -9;
 * `lock.json` beside it only tells people who holds it.
 *
 * @throws Fault `outbox-held` when another process has the role, with its pid and start
 */
export function takeDeliveryRole(dataFolder: string, config: string, nowMs: number): DeliveryRole {
  return withFileFaults('the lock', join(dataFolder, 'lock.db'), () => takeRole(dataFolder, config, nowMs))
}

function takeRole(dataFolder: string, config: string, nowMs: number): DeliveryRole {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  const file = join(dataFolder, 'lock.db')
  const holder: DeliveryHolder = { pid: process.pid, since: new Date(nowMs).toISOString(), config }
  let lock = openLock(file) ?? refuse(dataFolder)
  let identity = identityOf(file)
  tell(dataFolder, holder)
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
      tell(dataFolder, holder)
      return 'renewed'
    },
  }
}

function refuse(dataFolder: string): never {
  const holder = readHolder(join(dataFolder, 'lock.json'))
  throw new Fault('outbox-held', 'another tidegauge holds this outbox', {
    facts: { data: dataFolder, ...(holder && { pid: holder.pid, since: holder.since, config: holder.config }) },
    fix: 'stop it first, or let it do the work',
  })
}

function tell(dataFolder: string, holder: DeliveryHolder): void {
  try {
    writeFileSync(join(dataFolder, 'lock.json'), JSON.stringify(holder), { mode: 0o600 })
  } catch {
    // A full disk must not keep what is due from being delivered.
  }
}

/**
 * Who delivers from a data folder, as far as it says so itself; `undefined` when nobody does. A look: nothing is taken,
 * made or changed.
 */
export function deliveryHolder(dataFolder: string): Partial<DeliveryHolder> | undefined {
  const file = join(dataFolder, 'lock.db')
  if (!withFileFaults('the lock', file, () => isLocked(file))) return undefined
  return readHolder(join(dataFolder, 'lock.json')) ?? {}
}

function readHolder(file: string): DeliveryHolder | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as DeliveryHolder
  } catch {
    return undefined
  }
}
