import type { Command } from 'commander'
import { openContractLook } from '../../app/open-chains.ts'
import type { ChainConfig, Config } from '../../config/config.ts'
import { meant } from '../../config/mistakes.ts'
import type { Hex } from '../../model/block.ts'
import { Fault } from '../../model/fault.ts'
import { type ConfigOption, configuredCommand, isOwnFile, ownConfigFile } from '../configured-command.ts'
import { abiEntries, abiFunctions } from '../new/abi-file.ts'
import { addressOf } from '../new/address.ts'
import { entriesText } from '../new/entry-text.ts'
import { entriesOf, kindsOf } from '../new/identify.ts'
import { lookAtContract, type SeenContract, standardAsked } from '../new/look-at-contract.ts'
import { newCollector } from '../new/new-collector.ts'
import { noteAnswers } from '../new/report.ts'
import type { StandardName } from '../new/standard-functions.ts'
import { openContext } from '../open-context.ts'
import { print } from '../terminal.ts'

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
    .option('--chain <name>', 'a chain of the configuration')
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
      const at = addressOf(address)
      const abi = options.abi === undefined ? [] : abiFunctions(options.abi)
      const context = openContext(options.config)
      await using stack = new AsyncDisposableStack()
      const look = openContractLook(chainOf(context.config, chain), context, stack)
      const seen = await lookAtContract(look, at, abi)
      if (!seen.basics.hasCode) throw noCode(chain, at)
      printContract(chain, at, seen)
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
function chainOf({ chains }: Config, name: string): ChainConfig {
  const found = chains.find(chain => chain.name === name)
  if (found) return found
  const known = chains.map(chain => chain.name)
  const near = meant(name, known)
  const there = known.length > 0 ? `there are: ${known.join(', ')}` : 'add it to chains: in the configuration'
  throw new Fault('usage', `no chain is called "${name}"`, { fix: near ? `did you mean ${near}?` : there })
}

function noCode(chain: string, address: Hex): Fault {
  return new Fault('chain-call-undecodable', `there is no code at ${address} on ${chain}`, {
    fix: 'is it an account, a contract of another chain, or one that was destroyed? For an account: native-balance, balances',
  })
}

function printContract(chain: string, address: Hex, seen: SeenContract): void {
  const facts = { chain, address, ...seen }
  const signatureOf = (name: StandardName) => {
    const { call, args } = standardAsked(name)
    return { call, ...(args.length > 0 && { args: args.map(Number) }) }
  }
  const known = entriesOf(facts, {}, signatureOf)
  const labels = known.flatMap(({ use, options }) =>
    use === 'contract-read' ? Object.keys(options['values'] ?? {}) : [],
  )
  const inputs = seen.answered.filter(one => !seen.ofAbi.includes(one)).map(({ input }) => input)
  const entries = entriesOf(facts, abiEntries(seen.ofAbi, { labels, inputs }), signatureOf)
  const kinds = kindsOf(facts)
  noteAnswers(chain, address, kinds, seen)
  if (entries.length === 0) throw unknownKind(address, kinds)
  print(entriesText(entries))
}

function unknownKind(address: Hex, kinds: readonly string[]): Fault {
  const what = kinds.length > 0 ? `nothing to collect is known of ${address}` : `${address} is of no known kind`
  return new Fault('chain-call-undecodable', what, {
    fix: 'give its ABI with --abi FILE (its implementation’s, if it is a proxy), or write a contract-read entry with its functions',
  })
}
