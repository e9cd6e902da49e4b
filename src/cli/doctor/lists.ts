import type { AppContext } from '../../app/context.ts'
import { readExistingOutbox } from '../../app/open-outbox.ts'
import { Fault } from '../../model/fault.ts'
import { hourText, instantText } from '../../model/hour.ts'
import { counted } from '../terminal.ts'
import { type Finding, ok } from './here.ts'

/** Memory of each list: how large, since when, as of which block. */
export async function listFindings(context: AppContext): Promise<readonly Finding[]> {
  const names = context.config.lists.map(({ name }) => name)
  if (names.length === 0) return []
  try {
    const listAges = await readExistingOutbox(context, async outbox => (await outbox?.lists.all()) ?? [])
    return listAges
      .filter(({ name }) => names.includes(name))
      .map(({ name, items, sinceMs, hour, block }) => {
        const asOf = `${hourText(hour)}${block ? `, block ${block.number}` : ''}`
        return ok(
          `list ${name}`,
          `${counted(items.length, 'item')}, remembered since ${instantText(sinceMs)}, as of ${asOf}`,
        )
      })
  } catch (error) {
    // An outbox that cannot be read is a finding of the disk.
    if (error instanceof Fault) return []
    throw error
  }
}
