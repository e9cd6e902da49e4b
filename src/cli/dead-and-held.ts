import type { Command } from 'commander'
import { openExistingOutbox } from '../app/open-outbox.ts'
import type { DeadOrHeldMetric, Selection } from '../outbox/contract/selections.ts'
import { configuredCommand, type JsonOption } from './configured-command.ts'
import { delivererSentence } from './daemon-role.ts'
import { deadOrHeldJson, printDeadOrHeld, printInFull } from './dead-and-held-text.ts'
import type { EndWith } from './exit.ts'
import { openContext } from './open-context.ts'
import {
  changingCommand,
  demandSelection,
  isKnown,
  isNarrow,
  noteMisfits,
  type Selected,
  type SelectionOptions,
  selectingCommand,
  selectionOf,
} from './selection.ts'
import { strayWord } from './stray-word.ts'
import { counted, note, print, printJson } from './terminal.ts'

type State = Selection['state']
/** `ls`: dead or held metrics as a table. */
export function listCommand(state: State, ended: EndWith): Command {
  return selectingCommand('ls')
    .description(`list ${state} metrics (also without ls)`)
    .option('--json', 'print JSON: all of them, in full')
    .action((ids: readonly string[], options: SelectionOptions & JsonOption, { parent }: Command) =>
      withSelected(state, ids, options, async selected => {
        if (parent && parent.args[0] !== 'ls') await demandKnown(selected, parent)
        if (options.json) printJson(selected.found.map(deadOrHeldJson))
        else printDeadOrHeld(selected)
        await noteMisfits(selected, ended)
      }),
    )
}

/** Refuses an unknown name without `ls`, which may be a misspelt command. @throws Fault `usage` */
async function demandKnown(selected: Selected, group: Command): Promise<void> {
  for (const name of selected.selection.ids ?? []) {
    if (await isKnown(name, selected)) continue
    throw strayWord(group, name, ', and no metric or protocol has that name')
  }
}

/** `show ID…`: each metric in full. */
export function showCommand(state: State, ended: EndWith): Command {
  return configuredCommand('show')
    .description('show each metric in full, and what to do next')
    .argument('<id...>', 'metric or protocol ids')
    .option('--hour <hour>', 'a full hour, like 2026-11-20T13:00:00Z')
    .option('--json', 'print JSON')
    .action((ids: readonly string[], options: SelectionOptions & JsonOption) =>
      withSelected(state, ids, options, async selected => {
        if (options.json) printJson(selected.found.map(deadOrHeldJson))
        else printInFull(selected)
        await noteMisfits(selected, ended)
      }),
    )
}

/** `drop`: gives metrics up. */
export function dropCommand(state: State, ended: EndWith): Command {
  return changingCommand('drop')
    .description('drop them for ever: not sent, not collected again')
    .action((ids: readonly string[], options: SelectionOptions) =>
      change('drop', state, ids, options, ended, async ({ outbox, selection }) => {
        const count = (await outbox?.operators.drop(selection)) ?? 0
        print(`${counted(count, 'metric')} dropped: not sent, and not collected again`)
      }),
    )
}

/** Runs a changing command once the selection is known not to be empty. */
export async function change(
  verb: string,
  state: State,
  ids: readonly string[],
  options: SelectionOptions,
  ended: EndWith,
  act: (selected: Selected) => Promise<void>,
): Promise<void> {
  demandSelection(verb, selectionOf(state, ids, options), options)
  await withSelected(state, ids, options, async selected => {
    if (selected.found.length > 0) await act(selected)
    else if (!isNarrow(selected.selection)) print(`nothing is ${state}`)
    await noteMisfits(selected, ended)
  })
}

/** Reports that metrics are due from now on, and which process pushes them. */
export async function printDue(
  count: number,
  released: readonly DeadOrHeldMetric[],
  { context, options }: Selected,
): Promise<void> {
  const deliverer = count === 0 ? '' : `: ${await delivererSentence(context, options)}`
  print(`${counted(count, 'metric')} due${deliverer}`)
  const configured = new Set(context.config.protocols.map(({ id }) => id))
  const homeless = new Set(released.map(({ protocolId }) => protocolId).filter(id => !configured.has(id)))
  for (const id of homeless) note(`${id} is not in ${context.config.file}: its metrics stay due until it is`)
}

async function withSelected(
  state: State,
  ids: readonly string[],
  options: SelectionOptions,
  act: (selected: Selected) => Promise<void>,
): Promise<void> {
  const selection = selectionOf(state, ids, options)
  const context = openContext(options.config)
  await using stack = new AsyncDisposableStack()
  const outbox = await openExistingOutbox(context, stack)
  await act({ context, outbox, selection, found: (await outbox?.operators.deadOrHeld(selection)) ?? [], options })
}
