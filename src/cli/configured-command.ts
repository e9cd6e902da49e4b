import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, Option } from 'commander'
import { meant, quoted, shortest } from '../config/mistakes.ts'
import { packageUrl } from '../edge/program-files.ts'
import { adviseFile } from '../model/advice.ts'
import { Fault } from '../model/fault.ts'
import { note } from './terminal.ts'

/**
 * Used when neither `--config` nor `TIDEGAUGE_CONFIG` names a file and there is no `tidegauge.yaml`, so that everything
 * can be tried without an account.
 */
const embeddedDefaults = fileURLToPath(new URL('config/local.yaml', packageUrl))

/** Option with the configuration file. */
export interface ConfigOption {
  /** Path of the configuration file, as typed or the default. */
  readonly config: string
}

/** The configuration file, where commands do not find it without `--config`; otherwise `undefined`. */
export function namedFile(config: string): string | undefined {
  return resolve(config) === resolve(defaultFile()) ? undefined : config
}

/** Option of every reading command. */
export interface JsonOption {
  /** Whether JSON is printed instead of text. */
  readonly json?: boolean | undefined
}

/** A command that works on a configuration. */
export function configuredCommand(name: string): Command {
  const option = new Option('-c, --config <file>', 'configuration file')
  const command = new Command(name).addOption(
    option.default(defaultFile(), 'TIDEGAUGE_CONFIG, ./tidegauge.yaml, or an embedded service'),
  )
  return command.hook('preAction', () => {
    const config = String(command.opts()['config'])
    adviseFile(namedFile(config))
    // The daemon says it in its log.
    if (config === embeddedDefaults && name !== 'run')
      note(`no configuration is named, and no ${ownConfigFile} is here: ${shortest(config)} is used`)
  })
}

/** Name of the configuration that is used where it lies in the working directory; `init` writes it. */
export const ownConfigFile = 'tidegauge.yaml'

/** Whether a configuration file is the user's, and not the embedded defaults. */
export function isOwnFile(file: string): boolean {
  return file !== embeddedDefaults && existsSync(file)
}

function defaultFile(): string {
  return process.env['TIDEGAUGE_CONFIG'] || (existsSync(ownConfigFile) ? ownConfigFile : embeddedDefaults)
}

/**
 * Refuses a misspelt command of a group, `warnings akc`, and one behind an option, `held --json ls`. Commander would pass
 * the word to the group's default command.
 *
 * @throws Fault `usage`, unless that command takes such words
 */
export function demandCommand(program: Command, [name, word, ...words]: readonly string[]): void {
  const group = program.commands.find(command => command.name() === name)
  if (!group || group.commands.length === 0 || word === undefined) return
  if (word.startsWith('-')) {
    const misplacedWord = words.find(other => namesIn(group).includes(other))
    if (misplacedWord === undefined) return
    throw new Fault('usage', `${quoted(misplacedWord)} stands behind an option`, {
      fix: `write ${name} ${misplacedWord} first, and its options behind it`,
    })
  }
  if ([...namesIn(group), 'help'].includes(word)) return
  if (group.commands.find(command => command.name() === 'ls')?.registeredArguments.length) return
  throw strayWord(group, word)
}

/** The Fault for an unknown word. @param also why it is nothing else either @param others further words that may be meant */
export function strayWord(group: Command, word: string, also = '', others: readonly string[] = []): Fault {
  const near = meant(word, namesIn(group)) ?? meant(word, others)
  const fix = near ? `did you mean ${group.name()} ${near}?` : `its commands: ${namesIn(group).join(', ')}`
  return new Fault('usage', `${group.name()} has no command ${quoted(word)}${also}`, { fix })
}

const namesIn = (group: Command) => group.commands.map(command => command.name())
