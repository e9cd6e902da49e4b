import '../../edge/process-settings.ts'
import { Command } from 'commander'
import { version } from '../../edge/version.ts'
import { adviseFile } from '../../model/advice.ts'
import { demandCommand } from '../configured-command.ts'
import { exitCodes, reportError, takeExitCode } from '../exit.ts'
import { note, print, takeLostResult } from '../terminal.ts'
import { helpBelow } from './help.ts'

type MakeCommand = () => Command

/** Modules of the commands. Each is loaded when called, so that a health check does not cost as much as the daemon. */
const loaders: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  run: async () => (await import('./run.ts')).runCommand,
  collect: async () => (await import('./collect.ts')).collectCommand,
  backfill: async () => (await import('./backfill.ts')).backfillCommand,
  flush: async () => (await import('./flush.ts')).flushCommand,
  check: async () => (await import('./check.ts')).checkCommand,
  backup: async () => (await import('./backup.ts')).backupCommand,
  move: async () => (await import('./move.ts')).moveCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  status: async () => (await import('./status.ts')).statusCommand,
  explain: async () => (await import('./explain.ts')).explainCommand,
  history: async () => (await import('./history.ts')).historyCommand,
  export: async () => (await import('./export.ts')).exportCommand,
  gaps: async () => (await import('./gaps.ts')).gapsCommand,
  diff: async () => (await import('./diff.ts')).diffCommand,
  lists: async () => (await import('./lists.ts')).listsCommand,
  fleet: async () => (await import('./fleet.ts')).fleetCommand,
  due: async () => (await import('./due.ts')).dueCommand,
  dead: async () => (await import('./dead.ts')).deadCommand,
  held: async () => (await import('./dead.ts')).heldCommand,
  warnings: async () => (await import('./warnings.ts')).warningsCommand,
  notify: async () => (await import('./notify.ts')).notifyCommand,
  init: async () => (await import('./init.ts')).initCommand,
  new: async () => (await import('./new.ts')).newCommand,
  schema: async () => (await import('./schema.ts')).schemaCommand,
  show: async () => (await import('./show.ts')).showCommand,
  verify: async () => (await import('./verify.ts')).verifyCommand,
  register: async () => (await import('./register.ts')).registerCommand,
  service: async () => (await import('./service.ts')).serviceCommand,
  devchain: async () => (await import('./devchain.ts')).devchainCommand,
  healthcheck: async () => (await import('./healthcheck.ts')).healthcheckCommand,
}

/** Runs one command line. Never rejects: errors are printed on stderr. Resolves to the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  takeExitCode()
  adviseFile(undefined)
  const program = await programOf(wanted(argv))
  try {
    demandCommand(program, argv)
    await program.parseAsync([...argv], { from: 'user' })
    return withResult(takeExitCode())
  } catch (error) {
    return withResult(await reportError(error))
  }
}

/** The program with these commands, or with all. `docs/cli.md` is made of its help. */
export async function programOf(loads = Object.values(loaders)): Promise<Command> {
  const program = new Command('tidegauge')
    .description('Collects a protocol’s values every full hour and pushes them to a metrics service.')
    .version(version)
    .showHelpAfterError('(tidegauge --help lists the commands; options come after the command)')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: text => print(text.trimEnd()), writeErr: text => note(text.trimEnd()) })
    .addHelpText('after', helpBelow('', false))
  for (const load of loads) {
    const command = (await load())()
    program.addCommand(command)
    inherit(program, command)
  }
  return program
}

/** The exit code of a command that ended: never that of success where its result could not be written. */
function withResult(exitCode: number): number {
  const lost = takeLostResult()
  if (lost === undefined) return exitCode
  note(`tidegauge: the result could not be written to stdout (${lost}): free room where it goes, and run this again`)
  return exitCode === exitCodes.done ? exitCodes.incomplete : exitCode
}

/** The called command; none for the version, all of them for help or an unknown name. */
function wanted([name]: readonly string[]): (() => Promise<MakeCommand>)[] {
  if (name === '--version' || name === '-V') return []
  const called = name !== undefined && Object.hasOwn(loaders, name) ? loaders[name] : undefined
  return called ? [called] : Object.values(loaders)
}

/** Gives a command the program's ways to exit and print, which commander does not pass on. */
function inherit(program: Command, command: Command): void {
  command.copyInheritedSettings(program)
  const words = wordsOf(command)
  const hasConfig = command.options.some(({ long }) => long === '--config')
  command.showHelpAfterError(`(${words} --help shows more)`)
  command.addHelpText('after', helpBelow(words.replace(/^tidegauge /, ''), hasConfig))
  for (const child of command.commands) inherit(program, child)
}

/** The command as typed: `tidegauge dead ls`. */
function wordsOf(command: Command): string {
  return command.parent ? `${wordsOf(command.parent)} ${command.name()}` : command.name()
}
