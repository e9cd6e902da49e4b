import { Command } from 'commander'
import { change, dropCommand, listCommand, printDue, showCommand } from '../dead-and-held.ts'
import { changingCommand, type SelectionOptions } from '../selection.ts'

/** `dead ls|show|retry|drop`: metrics that the service rejected for good, and what a person decides about them. */
export function deadCommand(ended: (code: number) => void): Command {
  return new Command('dead')
    .description('dead metrics (refused for good): list, show, retry, drop')
    .addCommand(listCommand('dead', ended), { isDefault: true })
    .addCommand(showCommand('dead', ended))
    .addCommand(retryCommand(ended))
    .addCommand(dropCommand('dead', ended))
}

function retryCommand(ended: (code: number) => void): Command {
  return changingCommand('retry')
    .description('make them due, to be sent again')
    .action((ids: readonly string[], options: SelectionOptions) =>
      change('retry', 'dead', ids, options, ended, async selected => {
        const count = (await selected.outbox?.operators.release(selected.selection, 'locked')) ?? 0
        await printDue(count, selected.found, selected)
      }),
    )
}
