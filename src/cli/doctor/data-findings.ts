import type { AppContext } from '../../app/context.ts'
import { shortest } from '../../config/mistakes/mistakes.ts'
import { diskRoom, type OutboxFileCheck, openToOthers, writingFault } from '../../outbox/data-check.ts'
import { bytesText } from '../terminal.ts'
import { type Finding, failed, ok, warning } from './finding.ts'

/** Free room from which nothing needs to be said, as a multiple of the least. */
const roomAdvised = 8

/** The data folder: whether it can be written, its room, who else may read it, and whether the outbox is undamaged. */
export async function dataFindings(
  { config }: AppContext,
  outbox: Promise<OutboxFileCheck | undefined>,
): Promise<readonly Finding[]> {
  const folder = config.data
  const fault = writingFault(folder)
  const writing = fault ? failed('disk', fault.message, fault.fix) : roomFinding(folder)
  return [writing, modeFinding(folder), outboxFinding(await outbox)]
}

function roomFinding(folder: string): Finding {
  const room = diskRoom(folder)
  const where = shortest(folder)
  if (!room) return ok('disk', `${where} can be written`)
  const found = `${bytesText(room.free)} are free for ${where}`
  if (room.free < room.least) {
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
  const { bytes, damage } = checked
  if (damage === undefined) return ok('outbox', `all of its ${bytesText(bytes)} are sound`)
  const fix = 'stop the daemon and start it again: it saves all that can be read, and keeps the damaged file'
  return failed('outbox', `is damaged: ${damage}`, fix)
}
