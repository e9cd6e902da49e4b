import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../model/fault.ts'
import { openLock } from '../sqlite/lock.ts'

/** The right to deliver from a data folder, until released or the process ends. */
export interface DeliveryRole {
  release(): void
}

interface Holder {
  readonly pid: number
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
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  const lock = openLock(join(dataFolder, 'lock.db'))
  const holderFile = join(dataFolder, 'lock.json')
  if (!lock) {
    const holder = readHolder(holderFile)
    throw new Fault('outbox-held', 'another tidegauge holds this outbox', {
      facts: { data: dataFolder, ...(holder && { pid: holder.pid, since: holder.since, config: holder.config }) },
      fix: 'stop it first, or let it do the work',
    })
  }
  const holder: Holder = { pid: process.pid, since: new Date(nowMs).toISOString(), config }
  try {
    writeFileSync(holderFile, JSON.stringify(holder), { mode: 0o600 })
  } catch {
    // A full disk must not keep what is due from being delivered.
  }
  return lock
}

function readHolder(file: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Holder
  } catch {
    return undefined
  }
}
