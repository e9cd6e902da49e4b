import {
  type AbiFunction,
  decodeFunctionResult,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  isAddress,
  parseAbiItem,
} from 'viem'
import type { ContractBasics, ContractReader } from '../../chain/read/node-questions.ts'
import type { ReadAnswer } from '../../chain/reads.ts'
import { Fault } from '../../model/fault.ts'
import { isRecord } from '../../model/json.ts'
import { shortened, withoutEnd } from '../../model/text.ts'
import { note } from '../terminal.ts'

/** Symbol and decimals of a token, as far as it has them. */
interface TokenFacts {
  readonly symbol?: string | undefined
  /** As the token answers. */
  readonly decimals?: number | undefined
}

/** Values of the standard functions that a contract answered. */
export type StandardValues = Readonly<Partial<Record<StandardName, unknown>>>

interface ContractFacts {
  readonly chain: string
  readonly address: Hex
  readonly values: StandardValues
  readonly ownToken: TokenFacts
  /** Other tokens that it names, by their addresses in lower case. */
  readonly tokens: ReadonlyMap<string, TokenFacts>
  /** Instant of the block in which it answered. Default: unknown. */
  readonly basics?: { readonly timestampSeconds?: number } | undefined
}

/** Functions whose answer is the address of a token. */
export const tokenFunctions = [
  'asset',
  'token0',
  'token1',
  'aaveAsset',
  'baseToken',
  'underlying',
  'coin0',
  'coin1',
  'stakingToken',
  'rewardsToken',
  'lpToken',
] as const satisfies readonly StandardName[]

type TokenFunction = (typeof tokenFunctions)[number]

/** A value of `contract-read`. */
export interface ReadEntry {
  readonly call: string
  readonly args?: readonly unknown[]
  readonly take?: string
  readonly decimals?: number | undefined
  readonly unit?: string | undefined
  readonly min?: number
}

/** An entry of `collectors:`. Options that are undefined are not written. */
export interface CollectorEntry {
  readonly use: string
  readonly options: Readonly<Record<string, unknown>>
}

/** A value of a well-known function: its label, and its decimals and unit as far as these are known. */
interface Measure {
  readonly of: StandardName
  readonly label: string
  /** Which facts a token's amount goes by; or fixed decimals. Default: a plain number. */
  readonly in?: 'own' | TokenFunction
  readonly decimals?: number
  readonly unit?: string
  /** It is offered only where these answered, too. */
  readonly with?: readonly StandardName[]
}

const measures: readonly Measure[] = [
  { of: 'getCash', label: 'Cash', in: 'underlying', with: ['underlying'] },
  { of: 'totalBorrows', label: 'Borrowed', in: 'underlying', with: ['underlying'] },
  { of: 'totalReserves', label: 'Reserves', in: 'underlying', with: ['underlying'] },
  { of: 'getVirtualPrice', label: 'VirtualPrice', decimals: 18 },
  { of: 'balance0', label: 'Balance0', in: 'coin0', with: ['coin0'] },
  { of: 'balance1', label: 'Balance1', in: 'coin1', with: ['coin1'] },
  { of: 'amplification', label: 'Amplification', with: ['getVirtualPrice'] },
  { of: 'getRate', label: 'Rate', decimals: 18 },
  { of: 'getSwapFeePercentage', label: 'SwapFee', decimals: 16, unit: '%', with: ['getPoolId'] },
  { of: 'getTotalPooledEther', label: 'PooledEther', decimals: 18, unit: 'ETH' },
  { of: 'getTotalShares', label: 'TotalShares', decimals: 18, with: ['getTotalPooledEther'] },
  { of: 'stEthPerToken', label: 'StEthPerToken', decimals: 18, unit: 'stETH' },
  { of: 'getExchangeRate', label: 'ExchangeRate', decimals: 18 },
  { of: 'exchangeRate', label: 'ExchangeRate', decimals: 18 },
  { of: 'pricePerShare', label: 'PricePerShare', in: 'own' },
  { of: 'getPricePerFullShare', label: 'PricePerShare', decimals: 18 },
  { of: 'chi', label: 'Chi', decimals: 27 },
  { of: 'workingSupply', label: 'WorkingSupply', decimals: 18 },
  { of: 'rewardRate', label: 'RewardRate', in: 'rewardsToken', with: ['rewardsToken'] },
  { of: 'getThreshold', label: 'Threshold', with: ['getOwners'] },
  { of: 'nonce', label: 'Nonce', with: ['getOwners', 'getThreshold'] },
  { of: 'votingPeriod', label: 'VotingPeriod', with: ['votingDelay'] },
  { of: 'getMinDelay', label: 'MinDelay', unit: 's' },
  { of: 'paused', label: 'Paused' },
]

/** Kinds of a contract in words; empty when it is of no known kind. Pure. */
export function kindsOf(facts: Pick<ContractFacts, 'values' | 'ownToken' | 'basics'>): string[] {
  const { values, ownToken } = facts
  const feed = feedOf(facts)
  const isStable = values.stable === true || values.stableSwap === true
  const has = (...names: readonly StandardName[]) => hasAll(values, ...names)
  const is = (name: StandardName) => values[name] === true && isErc165(values)
  const rules: readonly (readonly [string, boolean])[] = [
    ['Uniswap V3 pool', isV3Pool(values)],
    ['Algebra pool', isAlgebraPool(values)],
    ['factory of pairs (Uniswap V2)', isPairFactory(values)],
    ['factory of pools (Uniswap V3)', isPoolFactory(values)],
    [isStable ? 'stable pair (x³y + xy³)' : 'Uniswap V2 pool', isV2Pool(values)],
    [`Chainlink feed${typeof feed === 'string' ? `, ${feed}` : ''}`, feed !== undefined],
    ['ERC-4626 vault', isVault(values)],
    ['Aave V3 pool', isAavePool(values)],
    ['Compound III market (Comet)', isComet(values)],
    ['Compound II market', has('underlying', 'exchangeRateStored', 'getCash')],
    ['Aave token', has('aaveAsset', 'aavePool')],
    ['Curve pool', has('getVirtualPrice')],
    ['Balancer pool', has('getPoolId', 'getSwapFeePercentage')],
    ['ERC-20 token', isToken(values, ownToken)],
    ['ERC-721 collection', is('erc721')],
    ['ERC-1155 collection', is('erc1155')],
    ['Safe', has('getOwners', 'getThreshold')],
    ['governor', has('votingDelay', 'votingPeriod')],
    ['timelock', has('getMinDelay')],
    ['gauge or staking contract', has('workingSupply') || has('rewardRate', 'rewardsToken')],
    ['liquid staking', has('getTotalPooledEther') || has('stEthPerToken') || has('getExchangeRate')],
    ['with votes', has('clock', 'clockMode')],
    ['with access control', is('accessControl')],
    ['with an owner', has('owner')],
    ['pausable', has('paused')],
  ]
  return rules.flatMap(([name, holds]) => (holds ? [name] : []))
}

/** Every contract with ERC-165 says so, and denies the interface that does not exist. */
const isErc165 = ({ erc165, noInterface }: StandardValues) => erc165 === true && noInterface === false
const hasAll = (values: StandardValues, ...names: readonly StandardName[]) =>
  names.every(name => values[name] !== undefined)
const hasAny = (values: StandardValues, ...names: readonly StandardName[]) =>
  names.some(name => values[name] !== undefined)
const isV3Pool = (values: StandardValues) =>
  hasAll(values, 'token0', 'token1', 'liquidity', 'fee') && hasAny(values, 'slot0', 'slot0Wide')
const isV2Pool = (values: StandardValues) =>
  hasAll(values, 'token0', 'token1') && hasAny(values, 'getReserves', 'getReservesWide', 'getReservesFees')
const isAlgebraPool = (values: StandardValues) =>
  hasAll(values, 'token0', 'token1', 'liquidity') && hasAny(values, 'globalState', 'globalStateShort', 'globalStateOld')
const isPairFactory = (values: StandardValues) => hasAny(values, 'allPairsLength', 'allPoolsLength')
const isPoolFactory = (values: StandardValues) => values.poolSpacing === 10 && hasAll(values, 'owner')
const isVault = (values: StandardValues) => hasAll(values, 'asset', 'totalAssets', 'convertToAssets', 'decimals')
const isAavePool = (values: StandardValues) => hasAll(values, 'aaveReserves', 'aaveProvider', 'aaveFlashPremium')
const isComet = (values: StandardValues) => hasAll(values, 'baseToken', 'getUtilization', 'totalBorrow')
const isToken = ({ totalSupply }: StandardValues, { decimals }: TokenFacts) =>
  totalSupply !== undefined && decimals !== undefined

/**
 * Options for a feed, by its last answer; a text says why no entry can collect that. `undefined` where it is no feed.
 */
function feedOf({
  values: { latestRoundData, latestAnswer, latestTimestamp, decimals },
  basics,
}: Pick<ContractFacts, 'values' | 'basics'>): { readonly maxAge?: 'none' } | string | undefined {
  const round: readonly unknown[] = Array.isArray(latestRoundData) ? latestRoundData : []
  const [answer, updatedAt] = round.length > 0 ? [round[1], round[3]] : [latestAnswer, latestTimestamp ?? 0n]
  if (typeof answer !== 'bigint' || typeof updatedAt !== 'bigint' || decimals === undefined) return undefined
  if (answer <= 0n) return `which answers ${answer}`
  if (updatedAt === 0n) return { maxAge: 'none' }
  const ageSeconds = Number(BigInt(basics?.timestampSeconds ?? updatedAt) - updatedAt)
  if (ageSeconds < -60) return `whose time ${updatedAt} is after the last block`
  return ageSeconds > feedMaxAgeSeconds ? `whose answer is ${ageSeconds} s old` : {}
}

/** Default of `chainlink-feed`. */
const feedMaxAgeSeconds = 90_000

/** Entries of `collectors:` for what a contract answered. Pure. */
export function entriesOf(facts: ContractFacts, more: Readonly<Record<string, ReadEntry>>): CollectorEntry[] {
  const { chain, address } = facts
  const values = { ...readValues(facts), ...more }
  const read = { use: 'contract-read', options: { chain, address, values } }
  if (factoryList(facts)) return [overPools(chain)]
  return [...shippedEntries(facts), ...(Object.keys(values).length > 0 ? [read] : [])]
}

/** Name of the list of a factory. */
export const listName = 'pools'

/** The list of what a factory has made, for `lists:`; `undefined` for a contract that is no factory. */
export function factoryList({ chain, address, values }: ContractFacts): Readonly<Record<string, unknown>> | undefined {
  if (isPairFactory(values)) {
    const [length, item] =
      values.allPairsLength === undefined ? ['allPoolsLength', 'allPools'] : ['allPairsLength', 'allPairs']
    return {
      chain,
      address,
      length: `${length}() view returns (uint256)`,
      item: `${item}(uint256) view returns (address)`,
    }
  }
  if (!isPoolFactory(values)) return undefined
  const event =
    'PoolCreated(address indexed token0, address indexed token1, uint24 indexed fee, int24 tickSpacing, address pool)'
  return { chain, address, event, take: 'pool' }
}

/** The number and the value of all pools of a factory. */
function overPools(chain: string): CollectorEntry {
  const token = (name: string) => ({ call: `${name}() view returns (address)`, private: true })
  const holding = (address: string) => ({
    ...{ call: 'balanceOf(address) view returns (uint256)', address, args: ['item'], decimals: true },
    ...{ price: 'token', private: true },
  })
  const values = {
    Token0: token('token0'),
    Token1: token('token1'),
    In0: holding('Token0'),
    In1: holding('Token1'),
    Both: { sum: ['In0', 'In1'], private: true },
    TVL: { total: 'Both', atLeast: 0.9, unit: 'USD', min: 0 },
    Pools: { count: true },
  }
  return { use: 'contract-read', options: { chain, each: listName, values } }
}

function shippedEntries({ chain, address, values, ownToken, tokens, basics }: ContractFacts): CollectorEntry[] {
  const symbolOf = (token: unknown) => tokens.get(String(token).toLowerCase())?.symbol
  const units = { unit0: symbolOf(values.token0), unit1: symbolOf(values.token1) }
  if (isV3Pool(values)) {
    const options = { chain, pool: address, ...units, tokens: [values.token0, values.token1] }
    return [{ use: 'uniswap-v3-pool', options }]
  }
  if (isAlgebraPool(values)) return reservesOf(chain, address, values, tokens)
  if (isV2Pool(values)) return [{ use: 'uniswap-v2-pool', options: { chain, pool: address, ...units } }]
  const feed = feedOf({ values, basics })
  if (typeof feed === 'object') {
    return [{ use: 'chainlink-feed', options: { chain, feed: address, unit: quoteOf(values.description), ...feed } }]
  }
  if (isAavePool(values)) return [{ use: 'aave-v3', options: { chain, pool: address, provider: values.aaveProvider } }]
  // Its supply is one of the market's metrics.
  if (isComet(values)) {
    return [{ use: 'compound-v3', options: { chain, comet: address, unit: symbolOf(values.baseToken) } }]
  }
  const vault = { chain, vault: address, unit: symbolOf(values.asset) }
  const token = { chain, token: address, unit: ownToken.symbol }
  return [
    ...(isVault(values) ? [{ use: 'erc4626-vault', options: vault }] : []),
    ...(isToken(values, ownToken) ? [{ use: 'erc20-supply', options: token }] : []),
  ]
}

/** The tokens that a pool holds; none where their decimals are not known. */
function reservesOf(
  chain: string,
  pool: Hex,
  values: StandardValues,
  tokens: ContractFacts['tokens'],
): CollectorEntry[] {
  const reads = [values.token0, values.token1].flatMap((token, place) => {
    const { decimals, symbol: unit } = tokens.get(String(token).toLowerCase()) ?? {}
    const call = 'balanceOf(address) view returns (uint256)'
    const read = { call, address: token, args: [pool], decimals, ...(unit !== undefined && { unit }), min: 0 }
    return decimals === undefined ? [] : [[`Reserve${place}`, read] as const]
  })
  return reads.length < 2
    ? []
    : [{ use: 'contract-read', options: { chain, address: pool, values: Object.fromEntries(reads) } }]
}

/** The currency of a feed described as `ETH / USD`. */
function quoteOf(description: unknown): string | undefined {
  return /^[^/]+\/ *([A-Za-z0-9.]{1,16}) *$/.exec(String(description ?? ''))?.[1]
}

function readValues(facts: ContractFacts): Record<string, ReadEntry> {
  const { values } = facts
  const possibleMeasures = measures.filter(({ of, with: others = [] }) =>
    [of, ...others].every(name => values[name] !== undefined),
  )
  const reads = possibleMeasures.flatMap(measure => {
    const entry = entryOf(measure, facts)
    return entry ? [[measure.label, entry] as const] : []
  })
  const collection = isErc165(values) && values.erc721 === true && values.totalSupply !== undefined
  const rate = compoundRate(facts)
  return Object.fromEntries([
    ...(collection ? [['Supply', { ...standardFunctions.totalSupply, unit: 'NFT', min: 0 }] as const] : []),
    ...(rate ? [['ExchangeRate', rate] as const] : []),
    ...reads,
  ])
}

/** @returns `undefined` where the decimals of an amount are not known */
function entryOf(
  { of: functionName, in: holder, decimals, unit }: Measure,
  { values, ownToken, tokens }: ContractFacts,
): ReadEntry | undefined {
  const signature: StandardFunction = standardFunctions[functionName]
  if (holder === undefined) return { ...signature, decimals, unit, min: 0 }
  const token = holder === 'own' ? ownToken : tokens.get(String(values[holder]).toLowerCase())
  if (token?.decimals === undefined) return undefined
  return { ...signature, decimals: token.decimals, unit: holder === 'own' ? undefined : token.symbol, min: 0 }
}

/** Underlying tokens for one market token: scaled by 18 decimals and those of both. */
function compoundRate({ values, ownToken, tokens }: ContractFacts): ReadEntry | undefined {
  if (values.exchangeRateStored === undefined || values.underlying === undefined) return undefined
  const token = tokens.get(String(values.underlying).toLowerCase())
  if (token?.decimals === undefined || ownToken.decimals === undefined) return undefined
  const decimals = 18 + token.decimals - ownToken.decimals
  return { ...standardFunctions.exchangeRateStored, decimals, unit: token.symbol, min: 0 }
}

/** A view function that standards and well-known protocols have. */
interface StandardFunction {
  readonly call: string
  /** Default: none. */
  readonly args?: readonly unknown[]
}

const text = (name: string) => ({ call: `${name}() view returns (string)` })
const number = (name: string, bits = 256) => ({ call: `${name}() view returns (uint${bits})` })
const address = (name: string) => ({ call: `${name}() view returns (address)` })
const flag = (name: string) => ({ call: `${name}() view returns (bool)` })
const bytes = (name: string) => ({ call: `${name}() view returns (bytes32)` })
const supports = (id: string) => ({ call: 'supportsInterface(bytes4 id) view returns (bool)', args: [id] })
const at = (name: string, type: string, place: number) => ({
  call: `${name}(uint256 place) view returns (${type})`,
  args: [place],
})

/** The functions that a contract is asked for, by a name of ours. */
export const standardFunctions = {
  // ERC-20, and tokens older than it, whose texts are 32 bytes.
  name: text('name'),
  nameBytes: bytes('name'),
  symbol: text('symbol'),
  symbolBytes: bytes('symbol'),
  decimals: number('decimals', 8),
  totalSupply: number('totalSupply'),
  // ERC-165: every contract that has it denies the last one.
  erc165: supports('0x01ffc9a7'),
  noInterface: supports('0xffffffff'),
  erc721: supports('0x80ac58cd'),
  erc1155: supports('0xd9b67a26'),
  accessControl: supports('0x7965db0b'),
  // ERC-4626.
  asset: address('asset'),
  totalAssets: number('totalAssets'),
  convertToAssets: { call: 'convertToAssets(uint256 shares) view returns (uint256)', args: [1] },
  // Ownable, Pausable, votes.
  owner: address('owner'),
  paused: flag('paused'),
  clock: number('clock', 48),
  clockMode: text('CLOCK_MODE'),
  // Chainlink.
  latestRoundData: {
    call: 'latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
  },
  latestAnswer: { call: 'latestAnswer() view returns (int256)' },
  latestTimestamp: number('latestTimestamp'),
  description: text('description'),
  version: number('version'),
  // Uniswap.
  token0: address('token0'),
  token1: address('token1'),
  factory: address('factory'),
  getReserves: { call: 'getReserves() view returns (uint112 reserve0, uint112 reserve1, uint32 blockTimestampLast)' },
  // Solidly, Camelot: the same with other widths and fees.
  getReservesWide: { call: 'getReserves() view returns (uint256 reserve0, uint256 reserve1, uint256 at)' },
  getReservesFees: {
    call: 'getReserves() view returns (uint112 reserve0, uint112 reserve1, uint16 fee0, uint16 fee1)',
  },
  stable: flag('stable'),
  stableSwap: flag('stableSwap'),
  slot0: {
    call: 'slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)',
  },
  slot0Wide: {
    call: 'slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint32 feeProtocol, bool unlocked)',
  },
  // Algebra.
  globalState: {
    call: 'globalState() view returns (uint160 price, int24 tick, uint16 fee, uint16 index, uint8 fee0, uint8 fee1, bool unlocked)',
  },
  globalStateShort: {
    call: 'globalState() view returns (uint160 price, int24 tick, uint16 fee, uint8 plugin, uint16 communityFee, bool unlocked)',
  },
  globalStateOld: {
    call: 'globalState() view returns (uint160 price, int24 tick, uint16 fee, uint16 index, uint16 fee0, uint16 fee1, bool unlocked)',
  },
  // Factories.
  allPairsLength: number('allPairsLength'),
  allPoolsLength: number('allPoolsLength'),
  feeTo: address('feeTo'),
  poolSpacing: { call: 'feeAmountTickSpacing(uint24 fee) view returns (int24)', args: [500] },
  liquidity: number('liquidity', 128),
  fee: number('fee', 24),
  tickSpacing: { call: 'tickSpacing() view returns (int24)' },
  // Aave.
  aavePool: address('POOL'),
  aaveAsset: address('UNDERLYING_ASSET_ADDRESS'),
  scaledTotalSupply: number('scaledTotalSupply'),
  aaveReserves: { call: 'getReservesList() view returns (address[])' },
  aaveFlashPremium: number('FLASHLOAN_PREMIUM_TOTAL', 128),
  aaveProvider: address('ADDRESSES_PROVIDER'),
  // Compound: Comet, and the markets before it.
  baseToken: address('baseToken'),
  totalBorrow: number('totalBorrow'),
  getUtilization: number('getUtilization'),
  underlying: address('underlying'),
  exchangeRateStored: number('exchangeRateStored'),
  getCash: number('getCash'),
  totalBorrows: number('totalBorrows'),
  totalReserves: number('totalReserves'),
  // Curve.
  getVirtualPrice: number('get_virtual_price'),
  coin0: at('coins', 'address', 0),
  coin1: at('coins', 'address', 1),
  balance0: at('balances', 'uint256', 0),
  balance1: at('balances', 'uint256', 1),
  amplification: number('A'),
  // Balancer.
  getPoolId: bytes('getPoolId'),
  getRate: number('getRate'),
  getSwapFeePercentage: number('getSwapFeePercentage'),
  // Lido, Rocket Pool, Coinbase, Yearn, Sky.
  getTotalPooledEther: number('getTotalPooledEther'),
  getTotalShares: number('getTotalShares'),
  stEthPerToken: number('stEthPerToken'),
  getExchangeRate: number('getExchangeRate'),
  exchangeRate: number('exchangeRate'),
  pricePerShare: number('pricePerShare'),
  getPricePerFullShare: number('getPricePerFullShare'),
  chi: number('chi'),
  // Gauges and staking.
  workingSupply: number('working_supply'),
  lpToken: address('lp_token'),
  stakingToken: address('stakingToken'),
  rewardsToken: address('rewardsToken'),
  rewardRate: number('rewardRate'),
  // Safe, governors, timelocks.
  getThreshold: number('getThreshold'),
  getOwners: { call: 'getOwners() view returns (address[])' },
  nonce: number('nonce'),
  votingDelay: number('votingDelay'),
  votingPeriod: number('votingPeriod'),
  getMinDelay: number('getMinDelay'),
} as const satisfies Readonly<Record<string, StandardFunction>>

export type StandardName = keyof typeof standardFunctions

/** A function that a contract is asked for. */
export interface Asked {
  readonly abi: AbiFunction
  readonly args: readonly unknown[]
  /** Signature, as `contract-read` takes it. */
  readonly call: string
  readonly input: Hex
}

/** A function with what it returned. */
export interface Answered extends Asked {
  readonly value: unknown
}

/** Functions that no contract has: one that answers them has a fallback that answers anything. */
const nonsense: readonly Hex[] = ['0x5a17c0de', '0xf1c7a3e9']

/** A standard function with its call data. */
export function askedOf({ call, args = [] }: StandardFunction): Asked {
  const abi = parseAbiItem(`function ${call}` as string) as AbiFunction
  return askedAs(abi, call, args)
}

/** The view functions of an ABI that take no arguments. */
export function askedIn(abi: readonly unknown[]): Asked[] {
  const isWanted = (item: unknown): item is AbiFunction =>
    isRecord(item) &&
    item['type'] === 'function' &&
    ['view', 'pure'].includes(String(item['stateMutability'])) &&
    Array.isArray(item['inputs']) &&
    item['inputs'].length === 0 &&
    Array.isArray(item['outputs']) &&
    item['outputs'].length > 0
  return abi.filter(isWanted).map(item => askedAs(item, signatureOf(item), []))
}

function askedAs(abi: AbiFunction, call: string, args: readonly unknown[]): Asked {
  return { abi, args, call, input: encodeFunctionData({ abi: [abi], functionName: abi.name, args }) }
}

/** `name() view returns (uint256 value)`; tuples in the form of the ABI's own type. */
function signatureOf({ name, stateMutability, outputs }: AbiFunction): string {
  return `${name}() ${stateMutability} returns (${outputs.map(parameterText).join(', ')})`
}

function parameterText(parameter: AbiFunction['outputs'][number]): string {
  const name = /^[A-Za-z_$][\w$]*$/.test(parameter.name ?? '') ? ` ${parameter.name}` : ''
  if (!('components' in parameter)) return `${parameter.type}${name}`
  const parts = parameter.components.map(parameterText).join(', ')
  return `(${parts})${parameter.type.slice('tuple'.length)}${name}`
}

/**
 * The value of an answer. It counts only if it is exactly what the function's ABI describes, to the last byte: fallback
 * functions answer anything.
 *
 * @param fallback answers to functions that no contract has
 * @returns `undefined` for any other answer
 */
export function strictValue({ abi, args }: Asked, answer: ReadAnswer | undefined, fallback: ReadonlySet<Hex>): unknown {
  if (answer?.kind !== 'returned' || answer.output === '0x' || fallback.has(answer.output)) return undefined
  try {
    const value: unknown = decodeFunctionResult({ abi: [abi], functionName: abi.name, args, data: answer.output })
    const values: unknown = abi.outputs.length === 1 ? [value] : value
    const again = encodeAbiParameters(abi.outputs, Array.isArray(values) ? values : [])
    return again.toLowerCase() === answer.output.toLowerCase() ? value : undefined
  } catch {
    return undefined
  }
}

/** Text of a token, also one in 32 bytes: printable, at most 32 characters; absent when nothing is left of it. */
export function plainText(value: unknown): string | undefined {
  const written = typeof value === 'string' && /^0x[\da-f]{64}$/i.test(value) ? bytesText(value) : value
  if (typeof written !== 'string') return undefined
  const text = written
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim()
    .slice(0, 32)
  return text === '' ? undefined : text
}

function bytesText(word: string): string {
  const bytes = Buffer.from(withoutEnd(word.slice(2), '00'), 'hex')
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : ''
}

/** A contract with all that it answered. */
export interface SeenContract {
  readonly basics: ContractBasics
  readonly values: StandardValues
  readonly ownToken: TokenFacts
  readonly tokens: ReadonlyMap<string, TokenFacts>
  /** Functions that answered, those of the ABI file last. */
  readonly answered: readonly Answered[]
  /** Functions of the ABI file among them. */
  readonly ofAbi: readonly Answered[]
}

const standards = Object.entries(standardFunctions).map(([name, one]) => [name as StandardName, askedOf(one)] as const)

const call = (to: Hex, input: Hex) => ({ kind: 'call', to, input }) as const

/** Asks a contract for the standard functions and those of an ABI, then the tokens that it names for symbol and decimals. */
export async function readContract(reader: ContractReader, address: Hex, abi: readonly Asked[]): Promise<SeenContract> {
  const questions = [...standards.map(([, one]) => one), ...abi]
  const inputs = [...nonsense, ...questions.map(({ input }) => input)]
  const { basics, answers } = await reader.contract(
    address,
    inputs.map(input => call(address, input)),
  )
  const fallback = new Set(answers.slice(0, nonsense.length).flatMap(outputOf))
  const answersByFunction = questions.map((one, index) => {
    const value = strictValue(one, answers[nonsense.length + index], fallback)
    return { ...one, value }
  })
  const values: StandardValues = Object.fromEntries(
    standards.map(([name], index) => [name, answersByFunction[index]?.value]),
  )
  const isBeacon = basics.beacon !== undefined && basics.implementation === undefined
  const { tokens, implementation } = await others(reader, values, isBeacon ? basics.beacon : undefined)
  return {
    basics: { ...basics, ...(implementation && { implementation }) },
    values,
    ownToken: factsOf(values.symbol ?? values.symbolBytes, values.decimals),
    tokens,
    answered: answersByFunction.filter(({ value }) => value !== undefined),
    ofAbi: answersByFunction.slice(standards.length).filter(({ value }) => value !== undefined),
  }
}

const outputOf = (answer: ReadAnswer): Hex[] =>
  answer.kind === 'returned' && answer.output !== '0x' ? [answer.output] : []

function factsOf(symbol: unknown, decimals: unknown): TokenFacts {
  return { symbol: plainText(symbol), decimals: typeof decimals === 'number' ? decimals : undefined }
}

/** Symbols and decimals of the tokens that a contract names, and what a beacon stands for, by one call. */
async function others(reader: ContractReader, values: StandardValues, beacon: Hex | undefined) {
  const tokenAddresses = tokenFunctions.flatMap(name =>
    typeof values[name] === 'string' ? [values[name].toLowerCase() as Hex] : [],
  )
  const addresses = [...new Set(tokenAddresses)].filter(one => !/^0x0{40}$/.test(one))
  const questions = (['symbol', 'symbolBytes', 'decimals'] as const).map(name => askedOf(standardFunctions[name]))
  const implementationOf = askedOf({ call: 'implementation() view returns (address)' })
  const calls = [
    ...addresses.flatMap(to => questions.map(({ input }) => call(to, input))),
    ...(beacon ? [call(beacon, implementationOf.input)] : []),
  ]
  if (calls.length === 0) return { tokens: new Map<string, TokenFacts>() }
  const answers = await reader.read(calls)
  const tokens = new Map(
    addresses.map((address, index) => {
      const [symbol, bytes, decimals] = questions.map((each, at) =>
        strictValue(each, answers[index * questions.length + at], new Set()),
      )
      return [address as string, factsOf(symbol ?? bytes, decimals)]
    }),
  )
  const implementation = beacon && strictValue(implementationOf, answers.at(-1), new Set())
  return { tokens, ...(typeof implementation === 'string' && { implementation: implementation as Hex }) }
}

/** Characters of an answer that are shown. */
const charsMax = 90

/** Reports on stderr what a contract is and what it answered, so that a person sees whether it is plausible. */
export function noteAnswers(chain: string, address: Hex, kinds: readonly string[], contract: SeenContract): void {
  note(`${address} on ${chain}: ${kinds.join(', ') || 'of no known kind'}`)
  const { implementation, beacon } = contract.basics
  const via = beacon ? `, by the beacon ${getAddress(beacon)}` : ''
  const target = implementation ? getAddress(implementation) : 'an unknown implementation'
  if (implementation ?? beacon) note(`  a proxy (EIP-1967) of ${target}${via}`)
  note('what it answered at the last block, raw:')
  for (const one of unique(contract.answered)) note(`  ${callText(one)} = ${valueText(one.value)}`)
}

function unique(answered: readonly Answered[]): Answered[] {
  return [...new Map(answered.map(one => [`${one.input} ${valueText(one.value)}`, one])).values()]
}

function callText({ abi, args }: Answered): string {
  return `${abi.name}(${args.map(String).join(', ')})`
}

function valueText(value: unknown): string {
  const isNumber = (part: unknown) => typeof part === 'bigint' || typeof part === 'number'
  const text = JSON.stringify(value, (_, part: unknown) => (isNumber(part) ? String(part) : part)) ?? ''
  const plain = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
  const shown = isNumber(value) ? String(value) : plain
  return shortened(shown, charsMax)
}

/** @throws Fault `usage` for what is no address, or has a checksum that is wrong */
export function addressOf(text: string): Hex {
  if (isAddress(text, { strict: true })) return text
  const isMistyped = isAddress(text, { strict: false })
  throw new Fault('usage', isMistyped ? 'the checksum of the address is wrong' : 'this is no address', {
    fix: isMistyped ? 'copy it again; or write it in lower case' : 'write 0x and 40 digits from 0 to 9 and a to f',
  })
}
