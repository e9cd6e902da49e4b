import type { Command } from 'commander'
import type { AppContext } from '../app/context.ts'
import { openExistingOutbox } from '../app/open-outbox.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { ConfigOption, JsonOption } from './configured-command.ts'
import { endIncomplete } from './exit.ts'
import { openContext } from './open-context.ts'
import { printJson } from './terminal.ts'

/** A command on the outbox, as it was typed. */
export interface OutboxCall<O extends ConfigOption = ConfigOption> {
  readonly context: AppContext
  /** Absent when nothing was ever collected. */
  readonly outbox: Outbox | undefined
  readonly options: O
  readonly command: Command
}

/** The result of a command in both forms, of which one is printed. */
interface CommandResult {
  readonly json: () => unknown
  readonly text: () => void | Promise<void>
  /** Whether the command ends with 1. Default: with 0. */
  readonly isIncomplete?: boolean
}

/**
 * The action of a command on the outbox: reads the configuration, opens the outbox if there is one, and prints the result.
 *
 * @param act gets the words of the command; without JSON it may print itself, and return nothing
 * @param openOutbox `openExistingForListing` for a command that writes nothing
 */
export function onOutbox<O extends ConfigOption & JsonOption, W extends readonly unknown[] = []>(
  act: (call: OutboxCall<O>, ...words: W) => Promise<CommandResult | undefined>,
  openOutbox = openExistingOutbox,
): (...typed: [...W, O, Command]) => Promise<void> {
  return async (...typed) => {
    const [options, command] = typed.slice(-2) as [O, Command]
    const words = typed.slice(0, -2) as readonly unknown[] as W
    const context = openContext(options.config)
    await using stack = new AsyncDisposableStack()
    const outbox = await openOutbox(context, stack)
    const result = await act({ context, outbox, options, command }, ...words)
    if (result) await printResult(result, options)
  }
}

/** Prints a result as JSON where that is asked for, and as text elsewhere. */
export async function printResult({ json, text, isIncomplete }: CommandResult, options: JsonOption): Promise<void> {
  if (options.json) printJson(json())
  else await text()
  if (isIncomplete) endIncomplete()
}
