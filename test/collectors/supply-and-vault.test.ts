import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OpenChainReader } from '../../src/chain/read/reader.ts'
import { artifact } from '../../src/devchain/contracts.ts'
import type { Deployed } from '../../src/devchain/miner.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { Hour } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import type { Runner } from '../../src/runner/runner.ts'
import { configured, testRunner } from '../runner/setup.ts'
import { ProtocolChain } from '../support/protocol-chain.ts'

const [first, second] = ['first', 'second'] as const
const address = `0x${'11'.repeat(20)}`
const other = `0x${'ab'.repeat(20)}`

/** OpenZeppelin's tokens and vaults on two nodes. */
describe('supplies and vaults on two chains', () => {
  let chains: readonly ProtocolChain[] = []
  let readers: Readonly<Record<string, OpenChainReader>> = {}
  let runner: Runner
  let tokens: Readonly<Record<'tide' | 'small' | 'bridged', Deployed>>
  let vaults: Readonly<Record<'large' | 'little' | 'away', Deployed>>
  let hours: readonly [Hour, Hour]

  beforeAll(async () => {
    const [here, there] = await Promise.all([ProtocolChain.start(), ProtocolChain.start(31_338)])
    chains = [here, there]
    tokens = {
      tide: await here.deploy(artifact('Token'), ['Tide', 'TIDE', 18]),
      small: await here.deploy(artifact('Token'), ['Small', 'SML', 6]),
      bridged: await there.deploy(artifact('Token'), ['Tide', 'TIDE', 8]),
    }
    vaults = {
      large: await here.deploy(artifact('Vault'), [tokens.tide.address, 'Large', 'L']),
      little: await here.deploy(artifact('Vault'), [tokens.tide.address, 'Little', 'l']),
      away: await there.deploy(artifact('Vault'), [tokens.bridged.address, 'Away', 'A']),
    }
    const live = async (factor: bigint) => {
      await mintAll(here, there, factor)
      await depositAll(here, there, factor)
      return Promise.all([here.nextHour(), there.nextHour()])
    }
    const [[hour], [next]] = [await live(1n), await live(7n)]
    // Events after an hour are not a part of it.
    await live(1_000n)
    hours = [hour, next]
    readers = { first: here.reader(first), second: there.reader(second) }
    runner = new ProcessRunner({ chains: readers, deadlineMs: 60_000, time: systemTime, log: () => {} })
  })
  afterAll(async () => {
    await runner?.stop()
    for (const reader of Object.values(readers)) reader.close()
    await Promise.all(chains.map(chain => chain.stop()))
  })

  async function mintAll(here: ProtocolChain, there: ProtocolChain, factor: bigint) {
    const [one = here.owner, two = here.owner] = here.others
    await here.send(tokens.tide, 'mint', [here.owner, factor * 123_456_789_012_345_678_901_234_567n])
    await here.send(tokens.tide, 'mint', [one, factor * 333_333_333_333_333_333n])
    await here.send(tokens.tide, 'mint', [two, 1n])
    await here.send(tokens.small, 'mint', [one, factor * 9_007_199_254_740_993n])
    await there.send(tokens.bridged, 'mint', [there.owner, factor * 99_999_999_999_999_999n])
    await there.send(tokens.bridged, 'mint', [one, factor * 17n])
  }

  async function depositAll(here: ProtocolChain, there: ProtocolChain, factor: bigint) {
    const deposits = [
      [here, tokens.tide, vaults.large, 10n ** 24n + 1n],
      [here, tokens.tide, vaults.little, 777n],
      [there, tokens.bridged, vaults.away, 333_333_333n],
    ] as const
    for (const [chain, asset, vault, amount] of deposits) {
      await chain.send(asset, 'approve', [vault.address, 2n ** 256n - 1n])
      await chain.send(vault, 'deposit', [factor * amount, chain.owner])
      // Its yield.
      await chain.send(asset, 'mint', [vault.address, factor * 12_345_678_901n])
    }
  }

  const here = () => chains[0] as ProtocolChain
  const there = () => chains[1] as ProtocolChain
  const collected = async (use: string, hour: Hour, options: Record<string, unknown>) => {
    const { readings, failures } = await runner.collect(configured(use, { options }), hour)
    expect(failures).toEqual({})
    return readings
  }

  it('has the supply less balances, of several tokens and chains, exactly', async () => {
    const { tide, small, bridged } = tokens
    const [one = ''] = here().others
    for (const hour of hours) {
      const raw = (chain: ProtocolChain, token: Deployed, name: string, ...args: string[]) =>
        chain.read(token, name, args, hour)
      const [supply, held, owned] = [
        await raw(here(), tide, 'totalSupply'),
        await raw(here(), tide, 'balanceOf', one),
        await raw(here(), tide, 'balanceOf', here().owner),
      ]
      const [little, away] = [await raw(here(), small, 'totalSupply'), await raw(there(), bridged, 'totalSupply')]
      const awayHeld = await raw(there(), bridged, 'balanceOf', one)
      const values = {
        All: { token: tide.address },
        Circulating: { token: tide.address, minus: [one, here().owner] },
        Both: { token: [tide.address, small.address], unit: 'T' },
        Chains: {
          of: { first: { token: tide.address, minus: [one] }, second: { token: bridged.address, minus: [one] } },
        },
        Away: { chain: second, token: bridged.address },
      }
      expect(await collected('erc20-supply', hour, { chain: first, values })).toEqual({
        All: decimal(supply, 18),
        Circulating: decimal(supply - held - owned, 18),
        Both: decimal(supply + little * 10n ** 12n, 18),
        Chains: decimal(supply - held + (away - awayHeld) * 10n ** 10n, 18),
        Away: decimal(away, 8),
      })
      const single = { chain: first, token: tide.address, minus: [one], label: 'Free' }
      expect(await collected('erc20-supply', hour, single)).toEqual({ Free: decimal(supply - held, 18) })
    }
  })

  it('has the assets of several vaults and chains, and share prices by label, exactly', async () => {
    const { large, little, away } = vaults
    for (const hour of hours) {
      const assets = (chain: ProtocolChain, vault: Deployed) => chain.read(vault, 'totalAssets', [], hour)
      const [ofLarge, ofLittle, ofAway] = [
        await assets(here(), large),
        await assets(here(), little),
        await assets(there(), away),
      ]
      // As OpenZeppelin's formula has it for 10^18 shares, on what the chain says of assets and supply.
      const priceOf = async (chain: ProtocolChain, vault: Deployed, assets: bigint, decimals: number) => {
        const supply = await chain.read<bigint>(vault, 'totalSupply', [], hour)
        return decimal((10n ** BigInt(decimals + 18) * (assets + 1n)) / (supply + 1n), decimals + 18)
      }
      const price = await priceOf(here(), large, ofLarge, 18)
      expect(await collected('erc4626-vault', hour, { chain: first, vault: large.address })).toEqual({
        TVL: decimal(ofLarge, 18),
        SharePrice: price,
      })
      const list = { chain: first, vault: [large.address, little.address] }
      expect(await collected('erc4626-vault', hour, list)).toEqual({ TVL: decimal(ofLarge + ofLittle, 18) })
      const of = { first: { vault: [large.address, little.address] }, second: { vault: away.address } }
      const all = decimal(ofLarge + ofLittle + ofAway * 10n ** 10n, 18)
      expect(await collected('erc4626-vault', hour, { of })).toEqual({ TVL: all })
      const values = {
        All: { of },
        Little: { vault: little.address },
        LargePrice: { vault: large.address, take: 'SharePrice' },
        AwayPrice: { chain: second, vault: away.address, take: 'SharePrice' },
      }
      expect(await collected('erc4626-vault', hour, { chain: first, values })).toEqual({
        All: all,
        Little: decimal(ofLittle, 18),
        LargePrice: price,
        AwayPrice: await priceOf(there(), away, ofAway, 8),
      })
    }
  })

  it('fails a sum of which a part fails, and no other value', async () => {
    const { tide } = tokens
    const values = {
      Sum: { token: [tide.address, address] },
      Chains: { of: { first: { token: tide.address }, second: { token: address } } },
      Whole: { token: tide.address },
    }
    const [hour] = hours
    const { readings, failures } = await runner.collect(
      configured('erc20-supply', { options: { chain: first, values } }),
      hour,
    )
    expect(Object.keys(readings)).toEqual(['Whole'])
    expect(Object.keys(failures).sort()).toEqual(['Chains', 'Sum'])
    const vaultValues = { Sum: { vault: [vaults.large.address, tide.address] }, Whole: { vault: vaults.large.address } }
    const options = { chain: first, values: vaultValues }
    const outcome = await runner.collect(configured('erc4626-vault', { options }), hour)
    expect(Object.keys(outcome.readings)).toEqual(['Whole'])
    expect(Object.keys(outcome.failures)).toEqual(['Sum'])
  })
})

/** The nearest number, as JavaScript's own parser has it. */
function decimal(amount: bigint, decimals: number): number {
  return Number(`${amount}e-${decimals}`)
}

describe('of supplies and vaults', () => {
  it('what is declared does not depend on how many there are', async () => {
    const { runner } = testRunner()
    const declaredOf = async (use: string, options: Record<string, unknown>) => {
      const description = await runner.describe(configured(use, { options }))
      return description.kind === 'usable' ? description.metrics : description
    }
    const one = { chain: first, token: address, unit: 'T' }
    expect(await declaredOf('erc20-supply', one)).toEqual({ Supply: { unit: 'T', min: 0 } })
    const values = { A: { token: address, unit: 'T', min: 5, maxJump: '20%' }, B: { chain: second, token: [address] } }
    expect(await declaredOf('erc20-supply', { chain: first, values })).toEqual({
      A: { unit: 'T', min: 5, maxJump: '20%' },
      B: { min: 0 },
    })
    const both = { TVL: { unit: 'D', min: 0 }, SharePrice: { unit: 'D', min: 0 } }
    expect(await declaredOf('erc4626-vault', { chain: first, vault: address, unit: 'D' })).toEqual(both)
    expect(await declaredOf('erc4626-vault', { chain: first, vault: [address, other], unit: 'D' })).toEqual({
      TVL: { unit: 'D', min: 0 },
    })
  })

  const twice = `0x${'AB'.repeat(20)}`
  const mistakes = [
    ['erc20-supply', { chain: first }, ['token'], 'must be an address in quotes'],
    ['erc20-supply', { token: address }, ['chain'], 'must be the name of a chain; of several: of: { ethereum: { token'],
    ['erc20-supply', { chain: first, token: [] }, ['token'], 'must not be empty'],
    ['erc20-supply', { chain: first, token: [other, twice] }, ['token', 1], 'is there already: remove one of the two'],
    ['erc20-supply', { chain: first, token: address, minus: [other, twice] }, ['minus', 1], 'is there already'],
    ['erc20-supply', { chain: first, token: address, minus: other }, ['minus'], 'must be a list'],
    ['erc20-supply', { of: {} }, ['of'], 'must hold a chain'],
    ['erc20-supply', { of: { a: { token: '0x' } } }, ['of', 'a', 'token'], 'must be an address'],
    ['erc20-supply', { chain: first, of: { a: { token: address } } }, ['chain'], 'belongs to one chain'],
    ['erc20-supply', { minus: [other], of: { a: { token: address } } }, ['minus'], 'belongs to one chain'],
    ['erc20-supply', { chain: first, token: address, values: { A: { token: other } } }, ['token'], 'to one value'],
    ['erc20-supply', { chain: first, label: 'A', values: { A: { token: other } } }, ['label'], 'to one value'],
    ['erc20-supply', { chain: first, values: {} }, ['values'], 'must hold a value'],
    ['erc20-supply', { values: { A: { token: other } } }, ['values', 'A', 'chain'], 'must be the name of a chain'],
    ['erc20-supply', { chain: first, values: { A: {} } }, ['values', 'A', 'token'], 'must be an address in quotes'],
    ['erc20-supply', { chain: first, token: other, colour: 1 }, ['colour'], 'unknown option "colour"'],
    ['erc4626-vault', { chain: first, vault: 5 }, ['vault'], 'must be an address in quotes'],
    ['erc4626-vault', { chain: first, unit: 'D', values: { A: { vault: other } } }, ['unit'], 'belongs to one value'],
    [
      'erc4626-vault',
      { chain: first, values: { A: { vault: [address, other], take: 'SharePrice' } } },
      ['values', 'A', 'take'],
      'is the price of one vault, and there are several',
    ],
    [
      'erc4626-vault',
      { chain: first, values: { A: { vault: other, take: 'APY' } } },
      ['values', 'A', 'take'],
      'must be',
    ],
  ] as const

  it('mistakes are reported at their place', async () => {
    const { runner } = testRunner()
    for (const [use, options, path, message] of mistakes) {
      expect(await runner.describe(configured(use, { options })), JSON.stringify(options)).toMatchObject({
        kind: 'mistaken',
        mistakes: [{ path, message: expect.stringContaining(message) }],
      })
    }
  })
})
