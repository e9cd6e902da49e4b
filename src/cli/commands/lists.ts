import { Command } from 'commander'
import { openExistingForListing } from '../../app/open-outbox.ts'
import type { Config } from '../../config/config.ts'
import { Fault } from '../../model/fault.ts'
import { hourText, instantText } from '../../model/hour.ts'
import type { RememberedList } from '../../model/list-memory.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { type OutboxCall, onOutbox } from '../outbox-action.ts'
import { printTable } from '../table.ts'
import { grouped, print } from '../terminal.ts'

/** `lists ls|forget`: memory of the lists of the configuration. */
export function listsCommand(): Command {
  return new Command('lists')
    .description('what is remembered of lists: list, forget')
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(forgetCommand())
}

function listCommand(): Command {
  return configuredCommand('ls')
    .description('what is remembered of each list, since when, as of which block (also without ls)')
    .option('--json', 'print JSON')
    .action(
      onOutbox(async call => {
        const remembered = (await call.outbox?.lists.all()) ?? []
        return { json: () => remembered.map(listJson), text: () => printLists(call.context.config, remembered) }
      }, openExistingForListing),
    )
}

function listJson({ name, items, sinceMs, hour, block }: RememberedList) {
  const { number, hash } = block ?? {}
  return {
    ...{ name, items: items.length, since: instantText(sinceMs), asOf: hourText(hour) },
    ...(number !== undefined && { block: Number(number), hash }),
  }
}

function printLists({ lists, protocols }: Config, listMemory: readonly RememberedList[]): void {
  const names = lists.map(({ name }) => name)
  const collectors = protocols.flatMap(protocol => protocol.collectors.map(({ id }) => id))
  const emptyLists = names.filter(name => listMemory.every(list => list.name !== name))
  const rows = listMemory.map(({ name, items, sinceMs, hour, block }) => {
    const isConfigured = names.includes(name) || collectors.some(id => name.startsWith(`${id} logs `))
    const shownName = isConfigured ? name : `${name} (no longer configured)`
    return [shownName, grouped(items.length), instantText(sinceMs), hourText(hour), String(block?.number ?? 'none')]
  })
  if (rows.length > 0) printTable(['list', 'items', 'read since', 'as of', 'block'], rows, ['items', 'block'])
  if (emptyLists.length > 0) print(`nothing is remembered of ${emptyLists.join(', ')}`)
  if (rows.length + emptyLists.length === 0) print('there are no lists')
}

function forgetCommand(): Command {
  return configuredCommand('forget')
    .argument('<name>', 'the name of a list')
    .description('forget what is remembered of a list: it is read from its beginning')
    .option('--json', 'print JSON')
    .action(
      onOutbox<ConfigOption & JsonOption, [name: string]>(async (call, name) => {
        const isForgotten = (await call.outbox?.lists.forget(name)) ?? false
        if (!isForgotten) requireList(call, name)
        const text = isForgotten ? `the list ${name} is read from its beginning` : `nothing is remembered of ${name}`
        return { json: () => ({ name, isForgotten }), text: () => print(text) }
      }),
    )
}

/** @throws Fault `usage` for a name that no list has */
function requireList({ context }: OutboxCall, name: string): void {
  const names = context.config.lists.map(list => list.name)
  if (names.includes(name)) return
  const fix = names.length > 0 ? `configured are: ${names.join(', ')}` : 'the configuration has no lists'
  throw new Fault('usage', `there is no list ${name}`, { fix })
}
