import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { openContractReader } from '../../app/open-chains.ts'
import type { ChainConfig, Config } from '../../config/config.ts'
import { loadChains } from '../../config/load.ts'
import { meant, shortest } from '../../config/mistakes.ts'
import type { Hex } from '../../model/block.ts'
import { Fault } from '../../model/fault.ts'
import { isRecord, parsedJson } from '../../model/json.ts'
import { shellWord } from '../../model/text.ts'
import { type ConfigOption, configuredCommand, isOwnFile, ownConfigFile } from '../configured-command.ts'
import {
  type Answered,
  type Asked,
  addressOf,
  askedIn,
  type CollectorEntry,
  entriesOf,
  factoryList,
  kindsOf,
  listName,
  noteAnswers,
  type ReadEntry,
  readContract,
  type SeenContract,
} from '../new/contract-kinds.ts'
import { openChainsContext } from '../open-context.ts'
import { note, print } from '../terminal.ts'
import { collectorFiles, extensionIn, writeFiles } from './init.ts'
import { refreshSchema } from './schema.ts'

interface NewOptions extends ConfigOption {
  readonly chain?: string
  readonly address?: string
  readonly abi?: string
}

/**
 * `new NAME`: a collector with its test. `new --chain --address`: list entries for a contract; ends with 1 when it is of no
 * known kind.
 */
export function newCommand(): Command {
  return configuredCommand('new')
    .description(
      'a collector with its test, ready to edit; with --chain and --address asks a contract what it is, and prints entries',
    )
    .argument('[name]', 'of a collector that is written to collectors/ next to the configuration')
    .option('--chain <name>', 'a chain of the configuration, of which nothing else is needed')
    .option('--address <address>', 'the contract, 0x and 40 digits')
    .option('--abi <file>', 'its JSON ABI, or an artefact that has it: view functions without arguments are asked, too')
    .action(async (name: string | undefined, options: NewOptions) => {
      const { chain, address } = options
      if (name !== undefined) return newCollector(name, demandOwnConfig(options, name))
      if (chain === undefined || address === undefined) {
        throw new Fault('usage', 'a collector has a name, and a contract is given by --chain and --address', {
          fix: 'tidegauge new my-vault, or tidegauge new --chain ethereum --address 0x…',
        })
      }
      const contractAddress = addressOf(address)
      const abi = options.abi === undefined ? [] : abiFunctions(options.abi)
      const context = openChainsContext(options.config)
      await using stack = new AsyncDisposableStack()
      const reader = openContractReader(chainOf(context.config, chain, options.config), context, stack)
      const seen = await readContract(reader, contractAddress, abi)
      if (!seen.basics.hasCode) throw noCode(chain, contractAddress)
      printContract(chain, contractAddress, seen)
    })
}

/** @throws Fault `usage` with options of the other form, and where there is no configuration of one's own */
function demandOwnConfig({ config, chain, address, abi }: NewOptions, name: string): string {
  if (chain !== undefined || address !== undefined || abi !== undefined) {
    throw new Fault('usage', 'a collector is new by its name, or by --chain and --address', {
      fix: `tidegauge new ${name}`,
    })
  }
  if (isOwnFile(config)) return config
  throw new Fault('usage', `there is no ${ownConfigFile} here`, {
    fix: 'name one with --config FILE, or tidegauge init',
  })
}

/** @throws Fault `usage` for a chain that is not configured */
function chainOf({ chains }: Config, name: string, file: string): ChainConfig {
  const found = chains.find(chain => chain.name === name)
  if (found) return found
  const names = chains.map(chain => chain.name)
  const suggestion = meant(name, names)
  const ownFile = isOwnFile(file) ? shortest(file) : `${ownConfigFile} here`
  const entry = `chains: { ${/^[\w-]+$/.test(name) ? name : 'mainnet'}: { id: …, rpc: [https://…] } }`
  const there =
    names.length > 0 ? `there are: ${names.join(', ')}` : `write it into ${ownFile}, as ${entry}; no more is needed`
  throw new Fault('usage', `no chain is called "${name}"`, { fix: suggestion ? `did you mean ${suggestion}?` : there })
}

function noCode(chain: string, address: Hex): Fault {
  return new Fault('chain-call-undecodable', `there is no code at ${address} on ${chain}`, {
    fix: 'is it an account, a contract of another chain, or one that was destroyed? For an account: balances',
  })
}

function printContract(chain: string, address: Hex, contract: SeenContract): void {
  const facts = { chain, address, ...contract }
  const known = entriesOf(facts, {})
  const labels = known.flatMap(({ options }) => Object.keys(options['values'] ?? {}))
  const inputs = contract.answered.filter(one => !contract.ofAbi.includes(one)).map(({ input }) => input)
  const entries = entriesOf(facts, abiEntries(contract.ofAbi, { labels, inputs }))
  const kinds = kindsOf(facts)
  noteAnswers(chain, address, kinds, contract)
  if (entries.length === 0) throw unknownKind(address, kinds)
  const list = factoryList(facts)
  print([...(list ? listLines(list) : []), entriesText(entries)].join('\n'))
}

/** The list of a factory, as comments: it stands elsewhere than the entries. */
function listLines(list: Readonly<Record<string, unknown>>): string[] {
  const since =
    'event' in list ? ['# and since: the hour in which the factory was deployed, like 2024-05-01T00:00:00Z'] : []
  const prices = `# price: token needs the prices of its tokens: tokenPrices: { ${list['chain']}: … }`
  return ['# to lists: in the configuration', `#   ${listName}: ${flow(list)}`, ...since, prices]
}

function unknownKind(address: Hex, kinds: readonly string[]): Fault {
  const what = kinds.length > 0 ? `nothing to collect is known of ${address}` : `${address} is of no known kind`
  return new Fault('chain-call-undecodable', what, {
    fix: 'give its ABI with --abi FILE (its implementation’s, if it is a proxy), or write a contract-read entry with its functions',
  })
}

/**
 * Writes a collector that reads a chain, its test and its recording into `collectors/` next to the configuration, and
 * prints the entry for it. The schema next to the configuration then knows its options.
 *
 * @throws Fault `usage` for a name that is no file name, and where one of the files exists
 */
async function newCollector(name: string, configFile: string): Promise<void> {
  if (!/^[A-Za-z0-9][\w-]{0,60}$/.test(name)) {
    throw new Fault('usage', 'a collector is named with letters, digits, - and _', { fix: 'tidegauge new my-vault' })
  }
  const folder = dirname(resolve(configFile))
  const extension = extensionIn(folder, false)
  const files = collectorFiles(name, extension)
  // One with another ending would have the same id.
  const others = ['.ts', '.mts', '.js', '.mjs'].map(ending => `collectors/${name}${ending}`)
  const there = [...Object.keys(files), ...others].find(file => existsSync(join(folder, file)))
  if (there !== undefined) {
    throw new Fault('usage', `${there} exists, and nothing is written over`, { fix: 'choose another name' })
  }
  const { writtenFiles } = writeFiles(folder, files)
  const pathWord = (file: string) => shellWord(relative(process.cwd(), join(folder, file)))
  for (const file of writtenFiles) note(`written: ${pathWord(file)}`)
  await refreshSchema(configFile)
  print(`- use: ./collectors/${name}${extension}`)
  print(`  options: { chain: ${firstChain(configFile)}, token: "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0" }`)
  note(
    [
      'Next: put these lines under collectors: of a protocol, with a chain of the configuration, then',
      `  npm test -- ${pathWord(`collectors/${name}.test${extension}`)}`,
      `  npx tidegauge collect --watch --only ${name} --dry-run`,
    ].join('\n'),
  )
}

/** A chain of the configuration, for an entry that is pasted; that of the tutorial where none can be read. */
function firstChain(configFile: string): string {
  return attempt(() => loadChains(configFile).chains[0]?.name) ?? 'local'
}

/** As deep as entries of `collectors:` stand in a configuration. */
const indent = '      '

/** Entries of `collectors:` as YAML that every parser reads alike: addresses and symbols stay text. */
function entriesText(entries: readonly CollectorEntry[]): string {
  return entries.map(entryText).join('\n')
}

function entryText({ use, options }: CollectorEntry): string {
  const lines = definedIn(options).flatMap(([key, value]) => {
    if (key !== 'values') return [`${indent}    ${key}: ${flow(value)}`]
    const values = Object.entries(value as Readonly<Record<string, unknown>>)
    return [`${indent}    values:`, ...values.map(([label, each]) => `${indent}      ${flow(label)}: ${flow(each)}`)]
  })
  return [`${indent}- use: ${use}`, `${indent}  options:`, ...lines].join('\n')
}

const definedIn = (value: object) => Object.entries(value).filter(([, part]) => part !== undefined)

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    return `{ ${definedIn(value)
      .map(([key, part]) => `${key}: ${flow(part)}`)
      .join(', ')} }`
  }
  return typeof value === 'string' && !isPlain(value) ? JSON.stringify(value) : String(value)
}

/** Whether a text means itself without quotes, also to parsers of YAML 1.1. */
function isPlain(text: string): boolean {
  return /^[A-Za-z][\w-]*$/.test(text) && !/^(true|false|yes|no|on|off|null|y|n)$/i.test(text)
}

/** View functions of an ABI that are asked for, at most: they share one call. */
const functionsMax = 200

/**
 * Functions of a JSON ABI, or of an artefact with one in `abi`.
 *
 * @throws Fault `usage` when the file cannot be read, is no ABI, or has no view function without arguments
 */
function abiFunctions(file: string): Asked[] {
  const abi = abiIn(parsedJson(textOf(file)))
  if (!abi) {
    throw new Fault('usage', `${file} is no ABI`, {
      fix: 'give a JSON ABI (a list), or an artefact of a compiler that has it in "abi"',
    })
  }
  const questions = attempt(() => askedIn(abi))
  if (!questions || questions.length === 0) {
    throw new Fault('usage', `${file} has no view function without arguments`, {
      fix: 'write a contract-read entry by hand for functions with arguments',
    })
  }
  return questions.slice(0, functionsMax)
}

function textOf(file: string): string {
  const text = attempt(() => readFileSync(file, 'utf8'))
  if (text === undefined) throw new Fault('usage', `${file} cannot be read`, { fix: 'give the path of a JSON ABI' })
  return text
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch {
    return undefined
  }
}

function abiIn(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (!isRecord(value)) return undefined
  const { abi, output } = value
  if (Array.isArray(abi)) return abi
  // Etherscan's API has it as text, metadata of a compiler a level below.
  if (typeof value['result'] === 'string') return abiIn(parsedJson(value['result']))
  return isRecord(output) ? abiIn(output) : undefined
}

const isNumber = (type: string) => /^u?int\d*$|^bool$/.test(type)

const labelCharsMax = 16

/**
 * Entries of `contract-read` for the functions of an ABI that answered with numbers, by labels that are not taken.
 *
 * @param namesInUse labels, and call data of functions that have an entry already
 */
function abiEntries(
  answers: readonly Answered[],
  namesInUse: { readonly labels: readonly string[]; readonly inputs: readonly string[] },
): Record<string, ReadEntry> {
  const entries: Record<string, ReadEntry> = {}
  for (const { abi, call, input } of answers) {
    if (namesInUse.inputs.includes(input)) continue
    for (const [place, { name = '', type }] of abi.outputs.entries()) {
      if (!isNumber(type)) continue
      const isOnly = abi.outputs.length === 1
      const label = freeLabel(isOnly ? abi.name : `${abi.name}_${name || place}`, [
        ...namesInUse.labels,
        ...Object.keys(entries),
      ])
      const take = isOnly ? {} : { take: name || String(place) }
      entries[label] = { call, ...take }
    }
  }
  return entries
}

/** A label of letters and digits, at most as long as is advised. */
function freeLabel(name: string, labels: readonly string[]): string {
  const isShouted = /^[A-Z0-9_]+$/.test(name)
  const parts = (isShouted ? name.toLowerCase() : name).split(/[^A-Za-z0-9]+/)
  const words = parts.map(word => word.charAt(0).toUpperCase() + word.slice(1))
  const baseLabel = words.join('').slice(0, labelCharsMax) || 'Value'
  for (let count = 1; ; count += 1) {
    const end = count === 1 ? '' : String(count)
    const label = `${baseLabel.slice(0, labelCharsMax - end.length)}${end}`
    if (!labels.includes(label)) return label
  }
}
