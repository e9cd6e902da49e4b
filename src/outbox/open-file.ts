import { Fault } from '../model/fault.ts'
import { isDamage, isFull } from '../sqlite/damage.ts'
import { openDatabase, SchemaTooNewError, type Sqlite } from '../sqlite/database.ts'
import type { Disk } from './disk.ts'
import { migrations } from './schema/migrations.ts'

/**
 * Opens the outbox's file, made when missing, and brings it to this version. On a full disk the ballast makes room.
 *
 * @throws Fault `outbox-corrupt` for a damaged file, `disk-full`, or `outbox-unusable`
 */
export function openFile(file: string, disk: Disk): Sqlite {
  try {
    const database = openDatabase(file, migrations)
    disk.opened()
    return database
  } catch (error) {
    if (disk.saw(error) === 'room-made') return openFile(file, disk)
    throw asFault(file, error, disk)
  }
}

function asFault(file: string, error: unknown, disk: Disk): Fault {
  const message = `cannot open the outbox ${file}: ${error instanceof Error ? error.message : String(error)}`
  if (isFull(error)) return disk.fault(error)
  if (isDamage(error)) return new Fault('outbox-corrupt', message, { fix: damagedFix, cause: error })
  const fix =
    error instanceof SchemaTooNewError
      ? 'run the version of tidegauge that wrote it, or a newer one'
      : 'check the folder’s owner, and that the file is an outbox of tidegauge'
  return new Fault('outbox-unusable', message, { fix, cause: error })
}

const damagedFix = 'a running daemon saves what can be read by itself; where none runs, run this again'
