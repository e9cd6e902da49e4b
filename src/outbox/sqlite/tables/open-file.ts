import { Fault } from '../../../model/fault.ts'
import { isDamage } from '../../../sqlite/damage.ts'
import { openDatabase, type Sqlite } from '../../../sqlite/database.ts'
import { fileFault } from '../../../sqlite/file-fault.ts'
import type { Disk } from '../file/disk.ts'
import { outboxSchema } from './schema.ts'

/**
 * Opens the outbox's file, creating it if missing. On a full disk the ballast is deleted to make room.
 *
 * @throws Fault `outbox-corrupt` for a damaged file, `disk-full`, or `outbox-unusable`
 */
export function openFile(file: string, disk: Disk): Sqlite {
  try {
    const database = openDatabase(file, outboxSchema)
    disk.opened()
    return database
  } catch (error) {
    if (disk.recover(error) === 'room-made') return openFile(file, disk)
    throw asFault(file, error, disk)
  }
}

function asFault(file: string, error: unknown, disk: Disk): Fault {
  if (!isDamage(error)) {
    const fault = fileFault('the outbox', file, error)
    return fault.code === 'disk-full' ? disk.fault(error) : fault
  }
  const message = `cannot open the outbox ${file}: ${error instanceof Error ? error.message : String(error)}`
  return new Fault('outbox-corrupt', message, { fix: damagedFix, cause: error })
}

const damagedFix = 'a running daemon salvages it; without a daemon, run this again'
