import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { commandHelp } from '../../src/cli/commands/help.ts'
import { programOf } from '../../src/cli/commands/program.ts'

const program = await programOf()

/** Commands that do something of their own, by their words. */
function actionsOf(command: Command, words: string): [string, Command][] {
  const name = `${words} ${command.name()}`.trim()
  const isGroup = command.commands.length > 0 && name !== 'service'
  return [
    ...(isGroup ? [] : [[name, command] as [string, Command]]),
    ...command.commands.flatMap(c => actionsOf(c, name)),
  ]
}

const actions = new Map(program.commands.flatMap(command => actionsOf(command, '')))

it('every command has an example, and what else its help needs; nothing more is written', () => {
  expect([...actions.keys()].sort()).toEqual(Object.keys(commandHelp).sort())
})

it.each(
  Object.entries(commandHelp).flatMap(([words, { examples }]) => examples.map(([typed]) => [typed, words] as const)),
)('tidegauge %s is a command line', (typed, words) => {
  const command = actions.get(words)
  const isShort = words.endsWith(' ls') && !typed.startsWith(words)
  const rest = typed.slice(isShort ? words.length - ' ls'.length : words.length).split('>')[0] ?? ''
  expect(typed.startsWith(isShort ? words.replace(/ ls$/, '') : words)).toBe(true)
  // It exits where an option or a word is not known, or one is missing.
  command?.action(() => {})
  command?.parse(rest.trim() === '' ? [] : rest.trim().split(' '), { from: 'user' })
})

it('no help names a path of this machine', () => {
  for (const [, command] of actions) expect(command.helpInformation()).not.toContain(process.cwd())
})
