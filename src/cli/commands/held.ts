import { Command } from 'commander'
import { hourText } from '../../model/hour.ts'
import type { DeadOrHeldMetric } from '../../outbox/contract/selections.ts'
import { asTyped } from '../configured-command.ts'
import { change, dropCommand, listCommand, printDue, showCommand } from '../dead-and-held.ts'
import { exitCodes } from '../exit.ts'
import { changingCommand, type Selected, type SelectionOptions } from '../selection.ts'
import { counted, note } from '../terminal.ts'

interface ReleaseOptions extends SelectionOptions {
  readonly allowUnitChange?: boolean
}

/** `held ls|show|release|drop`: implausible values held back, and what a person decides about them. */
export function heldCommand(ended: (code: number) => void): Command {
  return new Command('held')
    .description('held metrics (implausible values): list, show, release, drop')
    .addCommand(listCommand('held', ended), { isDefault: true })
    .addCommand(showCommand('held', ended))
    .addCommand(releaseCommand(ended))
    .addCommand(dropCommand('held', ended))
}

function releaseCommand(ended: (code: number) => void): Command {
  return changingCommand('release')
    .description('make them due, to be sent')
    .option('--allow-unit-change', 'also those with another unit than before; it is the unit from their hour on')
    .action((ids: readonly string[], options: ReleaseOptions) =>
      change('release', 'held', ids, options, ended, async selected => {
        const { outbox, selection, found } = selected
        const stays = options.allowUnitChange ? [] : found.filter(({ kind }) => kind === 'unit')
        const count = (await outbox?.operators.release(selection, options.allowUnitChange ? 'changed' : 'locked')) ?? 0
        const released = found.filter(metric => !stays.includes(metric))
        if (released.length > 0) await printDue(count, released, selected)
        if (stays.length > 0) await noteStaying(stays, selected)
        if (stays.length > 0) ended(exitCodes.incomplete)
      }),
    )
}

/** Metric ids listed; further ones are counted. */
const shownMax = 5

async function noteStaying(stays: readonly DeadOrHeldMetric[], { outbox, options }: Selected): Promise<void> {
  const byId = [...Map.groupBy(stays, ({ id }) => id).values()].flatMap(([first]) => first ?? [])
  note(`${counted(stays.length, 'metric')} stay${stays.length === 1 ? 's' : ''} held, because the unit changes:`)
  const shown = byId.slice(0, shownMax)
  const pasts = await outbox?.intake.pasts(shown)
  for (const [place, { id, hour, unit = 'none' }] of shown.entries()) {
    const was = pasts?.[place]?.unit ?? 'none'
    note(`  ${id}: from ${was} to ${unit}, from ${hourText(hour)} on`)
  }
  if (byId.length > shownMax) note(`  and ${counted(byId.length - shownMax, 'metric id')} more`)
  const which = byId.length > shownMax ? 'ID…' : byId.map(({ id }) => id).join(' ')
  note(`  → if that is meant: ${asTyped(`held release ${which} --allow-unit-change`, options)}`)
  note(`    if not, repair the collector and then: ${asTyped(`held drop ${which}`, options)}`)
}
