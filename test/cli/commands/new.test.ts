import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, stringToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { multicall3Address } from '../../../src/chain/read/read-memory.ts'
import { artifact } from '../../../src/devchain/contracts.ts'
import type { Deployed } from '../../../src/devchain/miner.ts'
import { forwardingTo, startNode } from '../../chain/support/node.ts'
import { command } from '../../support/command.ts'
import { uniswapContract } from '../../support/contracts.ts'
import { ProtocolChain } from '../../support/protocol-chain.ts'
import { publishedContract } from '../../support/published.ts'
import { configured } from '../../support/tidegauge.ts'
import { tinyContract } from './tiny-contract.ts'

/** A call that a proxy makes of its implementation when it is deployed; `decimals()` changes nothing. */
const initialised = '0x313ce567'

const require = createRequire(import.meta.url)
const zeppelin = (name: string) => publishedContract(`@openzeppelin/contracts/build/contracts/${name}.json`)
const core = (name: string) => publishedContract(`@uniswap/v3-core/artifacts/contracts/${name}.sol/${name}.json`)
const mintable = () =>
  publishedContract('@aave/core-v3/artifacts/contracts/mocks/tokens/MintableERC20.sol/MintableERC20.json')

let chain: ProtocolChain
let folder: string
let config: string
const at: Record<string, Address> = {}

beforeAll(async () => {
  chain = await ProtocolChain.start()
  folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
  config = join(folder, 'tidegauge.yaml')
  writeFileSync(config, fileWith([]))
  const deployed: Record<string, Deployed> = {}
  const deploy = async (name: string, ...made: Parameters<ProtocolChain['deploy']>) => {
    const one = await chain.deploy(...made)
    deployed[name] = one
    at[name] = one.address
    return one
  }
  const dollar = await deploy('token', mintable(), ['Dollar', 'USD', 6])
  await chain.send(dollar, 'mint', [1_234_567n])
  const tide = await deploy('tide', mintable(), ['Tide', 'TIDE', 18])
  const vault = await deploy('vault', artifact('Vault'), [dollar.address, 'Saved Dollar', 'sUSD'])
  await deploy('proxy', zeppelin('ERC1967Proxy'), [vault.address, initialised])
  const beacon = await deploy('beacon', zeppelin('UpgradeableBeacon'), [vault.address, chain.owner])
  await deploy('beaconProxy', zeppelin('BeaconProxy'), [beacon.address, initialised])
  const feed = await deploy('feed', artifact('Feed'), ['ETH / USD', 8])
  await chain.send(feed, 'update', [212_345_678n])
  const makers = await deploy('v3 factory', core('UniswapV3Factory'))
  await chain.send(makers, 'createPool', [dollar.address, tide.address, 3_000])
  at['v3 pool'] = await chain.read(makers, 'getPool', [dollar.address, tide.address, 3_000])
  const pairs = await deploy('v2 factory', uniswapContract('UniswapV2Factory'), [chain.owner])
  await chain.send(pairs, 'createPair', [dollar.address, tide.address])
  at['v2 pool'] = await chain.read(pairs, 'getPair', [dollar.address, tide.address])
  await deploy('timelock', zeppelin('TimelockController'), [3_600n, [], [], chain.owner])
  const word = (value: bigint | string) => BigInt(value).toString(16).padStart(64, '0')
  const both = { 'token0()': dollar.address, 'token1()': tide.address } as const
  await deploy(
    'solidly',
    tinyContract(
      { ...both, 'stable()': '0x00', 'getReserves()': `0x${[1n << 120n, 2n, 3n].map(word).join('')}` },
      'reverts',
    ),
  )
  const state = [1n << 96n, 0n, 500n, 0n, 0n, 1n]
  await deploy(
    'algebra',
    tinyContract({ ...both, 'liquidity()': '0x07', 'globalState()': `0x${state.map(word).join('')}` }, 'reverts'),
  )
  const old = { 'decimals()': '0x12', 'totalSupply()': '0x0de0b6b3a7640000', 'symbol()': rightPadded('MKR') } as const
  await deploy('old token', tinyContract(old, 'burns all gas'))
  await deploy('answers anything', tinyContract({}, { answers: '0x01' }))
  await deploy(
    'odd',
    tinyContract({ 'decimals()': '0x0100', 'paused()': '0x02', 'asset()': `0x${'ff'.repeat(32)}` }, 'reverts'),
  )
})
afterAll(async () => {
  if (folder) rmSync(folder, { recursive: true })
  await chain?.stop()
})

const rightPadded = (text: string) => stringToHex(text, { size: 32 })

function fileWith(entries: readonly string[], url = chain.url): string {
  const protocols = entries.map((text, index) => `  - id: p${index}\n    name: P\n    collectors:\n${text}`)
  const none = '  - { id: none, name: None, collectors: [{ use: host }] }\n'
  return `service: embedded\nchains: { dev: { id: 31337, rpc: ["${url}"] } }\nprotocols:\n${protocols.join('\n') || none}`
}

const ask = (name: string, ...more: readonly string[]) =>
  command(['new', '--chain', 'dev', '--address', at[name] ?? name, '--config', config, ...more])

/** Entries as data: `{ use: options }` without chain and address. */
function entriesIn(stdout: string): Record<string, unknown> {
  const entries = parse(stdout) as { use: string; options: Record<string, unknown> }[]
  return Object.fromEntries(
    entries.map(({ use, options }) => {
      const { chain: _, token, vault, pool, feed, address, ...rest } = options
      expect([token, vault, pool, feed, address].join('')).toMatch(/^0x[\da-fA-F]{40}$/)
      return [use, rest]
    }),
  )
}

const vaultEntries = { 'erc4626-vault': { unit: 'USD' }, 'erc20-supply': { unit: 'sUSD' } }

describe('new --chain --address', () => {
  const units = () => (BigInt(at['token'] ?? 0) < BigInt(at['tide'] ?? 0) ? ['USD', 'TIDE'] : ['TIDE', 'USD'])
  const poolUnits = () => ({ unit0: units()[0], unit1: units()[1] })
  const cases: readonly (readonly [string, string, () => Record<string, unknown>])[] = [
    ['token', 'ERC-20 token', () => ({ 'erc20-supply': { unit: 'USD' } })],
    ['vault', 'ERC-4626 vault, ERC-20 token', () => vaultEntries],
    ['proxy', 'ERC-4626 vault, ERC-20 token', () => ({ 'erc4626-vault': { unit: 'USD' }, 'erc20-supply': {} })],
    ['beaconProxy', 'ERC-4626 vault, ERC-20 token', () => ({ 'erc4626-vault': { unit: 'USD' }, 'erc20-supply': {} })],
    ['feed', 'Chainlink feed', () => ({ 'chainlink-feed': { unit: 'USD' } })],
    ['v2 pool', 'Uniswap V2 pool', () => ({ 'uniswap-v2-pool': poolUnits() })],
    ['v3 pool', 'Uniswap V3 pool', () => ({ 'uniswap-v3-pool': { ...poolUnits(), tokens: expect.any(Array) } })],
    ['old token', 'ERC-20 token', () => ({ 'erc20-supply': { unit: 'MKR' } })],
    [
      'timelock',
      'timelock, with access control',
      () => ({
        'contract-read': { values: { MinDelay: { call: 'getMinDelay() view returns (uint256)', unit: 's', min: 0 } } },
      }),
    ],
  ]
  const printed: string[] = []

  it.each(cases)('says what a contract is and prints entries: %s', async (name, kinds, entries) => {
    const { code, stdout, stderr } = await ask(name)
    expect(stderr).toContain(`${at[name]} on dev: ${kinds}`)
    expect(code).toBe(0)
    expect(entriesIn(stdout)).toEqual(entries())
    printed.push(stdout)
  })

  it.each([
    ['v2 factory', 'factory of pairs (Uniswap V2)', { length: 'allPairsLength() view returns (uint256)' }],
    ['v3 factory', 'factory of pools (Uniswap V3)', { take: 'pool' }],
  ] as const)('prints the list of a %s, and a TVL over it', async (name, kind, list) => {
    const { code, stdout, stderr } = await ask(name)
    expect(stderr).toContain(`${at[name]} on dev: ${kind}`)
    expect(code).toBe(0)
    const [, written = ''] = stdout.split('\n')
    expect(parse(written.slice(1))).toEqual({
      pools: expect.objectContaining({ chain: 'dev', address: at[name], ...list }),
    })
    const [entry] = parse(stdout) as { use: string; options: Record<string, unknown> }[]
    expect(entry).toMatchObject({
      use: 'contract-read',
      options: { each: 'pools', values: { TVL: { total: 'Both' } } },
    })
  })

  it.each([
    ['solidly', 'Uniswap V2 pool', 'uniswap-v2-pool'],
    ['algebra', 'Algebra pool', 'contract-read'],
  ])('knows a pool of %s', async (name, kind, use) => {
    const { code, stdout, stderr } = await ask(name)
    expect(stderr).toContain(`${at[name]} on dev: ${kind}`)
    expect(code).toBe(0)
    expect(Object.keys(entriesIn(stdout))).toEqual([use])
  })

  it('names the implementation of a proxy, also behind a beacon, and what was read', async () => {
    const proxy = await ask('proxy')
    expect(proxy.stderr.toLowerCase()).toContain(`a proxy (eip-1967) of ${at['vault']?.toLowerCase()}`)
    const { stderr } = await ask('beaconProxy')
    const both = `a proxy (eip-1967) of ${at['vault']}, by the beacon ${at['beacon']}`
    expect(stderr.toLowerCase()).toContain(both.toLowerCase())
    expect((await ask('token')).stderr).toContain('  totalSupply() = 1234567\n')
  })

  it('asks for all in one request with one eth_call, and once more for tokens that a contract names', async () => {
    const node = await startNode(forwardingTo(chain.url))
    const counted = async (name: string) => {
      writeFileSync(config, fileWith([], node.url))
      const before = node.requests.length
      await ask(name)
      return node.requests.slice(before)
    }
    const [[token, ...others], vault] = [await counted('token'), await counted('vault')]
    writeFileSync(config, fileWith([]))
    await node.stop()
    expect(others).toEqual([])
    expect(token?.toSorted()).toEqual([
      'eth_call',
      'eth_chainId',
      'eth_getBlockByNumber',
      'eth_getCode',
      'eth_getStorageAt',
      'eth_getStorageAt',
    ])
    expect(vault.flat().filter(method => method === 'eth_call')).toHaveLength(2)
  })

  it('prints view functions of an ABI that answer with numbers, each once', async () => {
    const abi = require.resolve('@uniswap/v2-core/build/UniswapV2Pair.json')
    const { code, stdout } = await ask('v2 pool', '--abi', abi)
    expect(code).toBe(0)
    const { values } = entriesIn(stdout)['contract-read'] as { values: Record<string, unknown> }
    expect(values).toMatchObject({
      KLast: { call: 'kLast() view returns (uint256)' },
      MinimumLiquidity: { call: 'MINIMUM_LIQUIDITY() view returns (uint256)' },
    })
    expect(Object.keys(values)).not.toContain('TotalSupply')
    printed.push(stdout)
  })

  it('prints entries that pass check where they are pasted', async () => {
    expect(printed.length).toBe(cases.length + 1)
    // Its data folder is the test's own.
    const { config: file } = configured(fileWith(printed))
    const { code, stderr } = await command(['check', '--config', file])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it.each([
    ['answers anything', [], 1, 'is of no known kind'],
    ['odd', [], 1, 'is of no known kind'],
    [`0x${'12'.repeat(20)}`, [], 1, 'there is no code at'],
    ['0x1234', [], 2, 'this is no address'],
    ['0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB4b', [], 2, 'the checksum of the address is wrong'],
    ['token', ['--chain', 'dve'], 2, 'did you mean dev?'],
    ['token', ['--abi', '/nowhere.json'], 2, 'cannot be read'],
    ['token', ['--abi', new URL('new.test.ts', import.meta.url).pathname], 2, 'is no ABI'],
  ] as const)('of %s %j ends with %i and says what to do', async (name, more, expected, words) => {
    const { code, stdout, stderr } = await ask(name, ...more)
    expect(stderr).toContain(words)
    expect(stderr).toContain('  → ')
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
  })

  it.each([
    ['the chains alone', '', 0, 'ERC-20 token'],
    ['a protocol that has no collectors yet', 'protocols:\n  - id: p\n    collectors:\n', 0, 'ERC-20 token'],
    ['a mistake of other parts', 'service: nowhere\nstatuss: {}\n', 0, 'ERC-20 token'],
    ['a mistake of what leads to a chain', 'proxy: 5\n', 78, 'proxy'],
  ])('needs of a configuration its chains: %s', async (_, rest, code, words) => {
    writeFileSync(config, `chains: { dev: { id: 31337, rpc: ["${chain.url}"] } }\n${rest}`)
    expect(await ask('token')).toMatchObject({ code, stderr: expect.stringContaining(words) })
    writeFileSync(config, fileWith([]))
  })

  it('says where a chain is written when there is none', async () => {
    const empty = join(folder, 'empty.yaml')
    writeFileSync(empty, 'service: embedded\n')
    const { code, stderr } = await ask('token', '--chain', 'base', '--config', empty)
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('empty.yaml, as chains: { base: { id: …, rpc: [https://…] } }'),
    })
  })

  it('asks each function for itself where Multicall3 is not deployed', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'anvil_setCode', params: [multicall3Address, '0x'] })
    await fetch(chain.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { code, stdout } = await ask('vault')
    expect(code).toBe(0)
    expect(entriesIn(stdout)).toEqual(vaultEntries)
  })

  it('says how it is called', async () => {
    expect(await command(['new', '--config', config])).toMatchObject({ code: 2 })
  })
})
