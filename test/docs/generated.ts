import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { type CommandHelp, commandHelp } from '../../src/cli/commands/help.ts'
import { programOf } from '../../src/cli/commands/program.ts'
import { Fault, faultCodes } from '../../src/model/fault.ts'
import { faultGuide } from './fault-guide.ts'
import { type JsonSchema, rowsOf } from './schema-rows.ts'

const note = (source: string) => `<!-- Generated from ${source} by \`node test/docs/generate.ts\`. Do not edit. -->`

/** The generated documents, by their name in `docs/`. */
export async function generated(): Promise<Readonly<Record<string, string>>> {
  const schema = JSON.parse(textOf('config/tidegauge.schema.json')) as JsonSchema
  return {
    'configuration.md': configuration(schema),
    'collectors.md': collectors(schema),
    'errors.md': errors(),
    'cli.md': cli(await programOf()),
  }
}

function textOf(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
}

function configuration(schema: JsonSchema): string {
  const sections = Object.entries(schema.properties ?? {}).map(([key, own]) => {
    const required = schema.required?.includes(key) ? ' Required.' : ''
    const rows = rowsOf(own, key, schema).map(tableRow)
    return [`## \`${key}\``, `${own.description ?? ''}${required}`.trim(), ...table(rows)].join('\n\n')
  })
  const intro = `One YAML file, parsed once and strictly: an unknown key is a mistake with its line and a suggestion. \`tidegauge check\` finds every mistake
offline, and the first line \`# yaml-language-server: $schema=./tidegauge.schema.json\` gives completion in an editor. Only \`service\`, and \`protocols\` here or in an
included file, are required. Durations are written as \`30s\`, \`15m\`, \`7d\`. \`[]\` stands for each entry of a list, \`NAME\` for a name of your own. What the
collectors take as \`options\` is in [collectors.md](collectors.md).`
  const anchors = `What is the same in several places is written once: \`&NAME\` before a value names it, \`*NAME\` stands for it, and \`<<: *NAME\` takes the keys of a
map, of which each may be given again. Such values may also stand under keys of the file that begin with \`x-\`, which mean nothing else. A mistake in one has its own
place. Anchors hold within a file: an included one has its own.

\`\`\`yaml
x-vault: &vault { use: erc4626-vault, since: 2026-11-01T00:00:00Z, deadline: 30s }
protocols:
  - id: savings
    name: Savings
    collectors:
      - { <<: *vault, options: { chain: ethereum, vault: "0x83F20F44975D03b1b09e64809B757c47f942BEeA" } }
  - id: staking
    name: Staking
    collectors:
      - { <<: *vault, options: { chain: ethereum, vault: "0xa3931d71877C0E7a3148CB7Eb4463524FEc27fbD" }, deadline: 60s }
\`\`\``
  return document('Configuration', 'config/tidegauge.schema.json', [intro, anchors, ...sections])
}

function collectors(schema: JsonSchema): string {
  const prefix = 'options-of-'
  const shipped = Object.entries(schema.$defs ?? {}).filter(([name]) => name.startsWith(prefix))
  const sections = shipped.map(([name, own]) => {
    const use = name.slice(prefix.length)
    const rows = rowsOf(own, '', schema).map(tableRow)
    return [
      `## \`${use}\``,
      `[${use} in collectors/README.md](../collectors/README.md): its source, metrics, and what fails.`,
      ...table(rows),
    ].join('\n\n')
  })
  const intro = `The options of every shipped collector, as \`check\` and an editor know them. [collectors/README.md](../collectors/README.md) says what each reads, as of when,
and when it fails; [docs/recipes](recipes/README.md) has whole configurations.`
  return document('Options of the collectors', 'config/tidegauge.schema.json', [intro, ...sections])
}

function errors(): string {
  const sections = faultCodes.map(code => {
    const { cause, cure } = faultGuide[code]
    const kind =
      new Fault(code, '').permanence === 'transient'
        ? 'It may pass without a change.'
        : 'It stays until something is changed.'
    return `## \`${code}\`\n\n${cause} ${kind}\n\n**What to do:** ${cure}`
  })
  const intro = `Every failure has one of these codes, as a closed list. \`gaps --json\`, \`/status.json\` and the log name the code or its message; a message ends with what to do. A failed read
never becomes 0 or the last value: the metric has no value for that hour, and the hour is retried where it may pass.

Advice that begins with \`its process says:\` comes from the process of a package's collector: check it before you follow it.`
  return document('Errors', 'src/model/fault.ts', [intro, ...sections])
}

function cli(program: Command): string {
  const intro = `Made of what \`tidegauge COMMAND --help\` prints. Every command that reads a configuration takes \`--config FILE\`; without it, it takes what the variable
\`TIDEGAUGE_CONFIG\` names, \`./tidegauge.yaml\`, or a shipped one with an embedded service. Hours are written like \`2026-11-20T13:00:00Z\`. Results are printed on stdout, the log on stderr.

| exit code | means |
|---|---|
| 0 | all done |
| 1 | something was not collected or not delivered, and nothing is lost; below, for each command |
| 2 | a wrong command line, or what it names is not there |
| 75 | another daemon holds this outbox |
| 78 | a wrong configuration, or one that is not there |`
  return document('Commands', 'the commands’ own help', [intro, ...program.commands.flatMap(commandSections)])
}

/** A section for each command that does something of its own: `dead` alone only groups others. */
function commandSections(command: Command): string[] {
  const words = wordsOf(command)
  const help = commandHelp[words]
  const own = help ? [commandSection(command, words, help)] : []
  return [...own, ...command.commands.flatMap(commandSections)]
}

function commandSection(command: Command, words: string, { notes, examples, fails, whenOwned }: CommandHelp): string {
  const taken = command.registeredArguments.map(one => ({ name: command.createHelp().argumentTerm(one), one }))
  const usage = [words, ...taken.map(({ name, one }) => (one.required ? `<${name}>` : `[${name}]`))].join(' ')
  const rows = [
    ...taken.map(({ name, one }) => [name, command.createHelp().argumentDescription(one)]),
    ...command.options
      .filter(({ long }) => long !== '--config')
      .map(option => [option.flags, command.createHelp().optionDescription(option)]),
  ]
  const ends = [fails && `1 when ${fails}`, whenOwned && `75 when ${whenOwned}`].filter(Boolean).join('; ')
  return [
    `## \`${usage}\``,
    [capital(command.description()), notes ?? ''].join('. ').trim(),
    ...(rows.length === 0 ? [] : [rows.map(([name, meaning]) => `- \`${name}\`: ${meaning}`).join('\n')]),
    ['```sh', ...examples.map(([typed, does]) => `${`tidegauge ${typed}`.padEnd(55)}  # ${does}`), '```'].join('\n'),
    ...(ends === '' ? [] : [`Ends with ${ends}.`]),
  ].join('\n\n')
}

function wordsOf(command: Command): string {
  return command.parent?.parent ? `${wordsOf(command.parent)} ${command.name()}` : command.name()
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

function document(title: string, source: string, parts: readonly string[]): string {
  return `${[`# ${title}`, note(source), ...parts].join('\n\n')}\n`
}

function table(rows: readonly string[]): string[] {
  return rows.length === 0 ? [] : [['| key | type | default | meaning |', '|---|---|---|---|', ...rows].join('\n')]
}

function tableRow({ path, type, standard, meaning }: ReturnType<typeof rowsOf>[number]): string {
  const cells = [`\`${path}\``, type, standard === undefined ? '' : `\`${standard}\``, meaning]
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
}
