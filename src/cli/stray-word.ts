import type { Command } from 'commander'
import { meant, quoted } from '../config/mistakes.ts'
import { Fault } from '../model/fault.ts'

/**
 * Refuses a misspelt command of a group: `warnings akc`. Commander would pass the word to the group's default command.
 *
 * @throws Fault `usage`, unless that command takes such words
 */
export function demandCommand(program: Command, [name, word]: readonly string[]): void {
  const group = program.commands.find(command => command.name() === name)
  if (!group || group.commands.length === 0 || word === undefined || word.startsWith('-')) return
  if ([...namesIn(group), 'help'].includes(word)) return
  if (group.commands.find(command => command.name() === 'ls')?.registeredArguments.length) return
  throw strayWord(group, word)
}

/** The Fault for an unknown word. @param also why it is nothing else either */
export function strayWord(group: Command, word: string, also = ''): Fault {
  const near = meant(word, namesIn(group))
  const fix = near ? `did you mean ${group.name()} ${near}?` : `its commands: ${namesIn(group).join(', ')}`
  return new Fault('usage', `${group.name()} has no command ${quoted(word)}${also}`, { fix })
}

const namesIn = (group: Command) => group.commands.map(command => command.name())
