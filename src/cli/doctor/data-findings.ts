import type { AppContext } from '../../app/context.ts'
import { readOutbox } from '../../app/open-outbox.ts'
import { shortest } from '../../config/mistakes.ts'
import { Fault } from '../../model/fault.ts'
import { diskRoom, type OutboxFileCheck, openToOthers, writingFault } from '../../outbox/data-check.ts'
import { bytesText, counted } from '../terminal.ts'
import { type Finding, failed, ok, warning } from './finding.ts'

/** Free room from which nothing needs to be said, as a multiple of the least. */
const roomAdvised = 8

/**
 * The data folder: whether it can be written, its room, who else may read it, and whether the outbox is undamaged; or the
 * database: whether it can be reached and read.
 */
export async function dataFindings(
  context: AppContext,
  outbox: Promise<OutboxFileCheck | undefined>,
): Promise<readonly Finding[]> {
  const { data } = context.config
  if (data.kind === 'postgres') return databaseFindings(context)
  const { folder } = data
  const fault = writingFault(folder)
  const writing = fault ? failed('disk', fault.message, fault.fix) : roomFinding(folder)
  return [writing, modeFinding(folder), outboxFinding(await outbox)]
}

async function databaseFindings(context: AppContext): Promise<readonly Finding[]> {
  try {
    const { balance } = await readOutbox(context, outbox => outbox.operators.backlog())
    return [ok('database', `can be reached, and holds ${counted(balance.enqueued, 'metric')}`)]
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [failed('database', error.message, error.fix)]
  }
}

function roomFinding(folder: string): Finding {
  const room = diskRoom(folder)
  const where = shortest(folder)
  if (!room) return ok('disk', `${where} can be written`)
  const found = `${bytesText(room.free)} are free for ${where}`
  if (!room.isEnough) {
    return failed('disk', `${found}; nothing is collected below ${bytesText(room.least)}`, 'free some room')
  }
  if (room.free < roomAdvised * room.least) return warning('disk', found, 'free some room before it runs out')
  return ok('disk', found)
}

function modeFinding(folder: string): Finding {
  const open = openToOthers(folder)
  if (open.length === 0) return ok('files', 'no other user may read the data folder')
  return warning(
    'files',
    `other users may read ${open.map(path => shortest(path)).join(', ')}`,
    `chmod 700 ${shortest(folder)}`,
  )
}

function outboxFinding(checked: OutboxFileCheck | undefined): Finding {
  if (!checked) return ok('outbox', 'is not there yet: the daemon makes it')
  const { bytes, damage, hidden } = checked
  if (hidden !== undefined) {
    return warning('outbox', `cannot be looked at: ${hidden}`, 'run doctor as the user that the daemon runs as')
  }
  if (damage === undefined) return ok('outbox', `all of its ${bytesText(bytes)} are sound`)
  const fix = 'stop the daemon and start it again: it saves all that can be read, and keeps the damaged file'
  return failed('outbox', `is damaged: ${damage}`, fix)
}
