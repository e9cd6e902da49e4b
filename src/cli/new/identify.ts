import type { Hex } from '../../model/block.ts'
import type { StandardName } from './standard-functions.ts'

/** Symbol and decimals of a token, as far as it has them. */
export interface TokenFacts {
  readonly symbol?: string
  /** As the token answers. */
  readonly decimals?: number
}

/** Values of the standard functions that a contract answered. */
export type StandardValues = Readonly<Partial<Record<StandardName, unknown>>>

/** All that is known of a contract. */
export interface ContractFacts {
  readonly chain: string
  readonly address: Hex
  readonly values: StandardValues
  readonly own: TokenFacts
  /** Other tokens that it names, by their addresses in lower case. */
  readonly tokens: ReadonlyMap<string, TokenFacts>
  /** Instant of the block in which it answered. Default: unknown. */
  readonly basics?: { readonly timestampSeconds?: number }
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
  readonly decimals?: number
  readonly unit?: string
  readonly min?: number
}

/** An entry of `collectors:`. */
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
export function kindsOf(facts: Pick<ContractFacts, 'values' | 'own' | 'basics'>): string[] {
  const { values, own } = facts
  const feed = feedOf(facts)
  const isStable = values.stable === true || values.stableSwap === true
  const has = (...names: readonly StandardName[]) => names.every(name => values[name] !== undefined)
  const is = (name: StandardName) => values[name] === true && isErc165(values)
  const rules: readonly (readonly [string, boolean])[] = [
    ['Uniswap V3 pool', isV3Pool(values)],
    [isStable ? 'stable pair (x³y + xy³)' : 'Uniswap V2 pool', isV2Pool(values)],
    [`Chainlink feed${typeof feed === 'string' ? `, ${feed}` : ''}`, feed !== undefined],
    ['ERC-4626 vault', isVault(values)],
    ['Aave V3 pool', isAavePool(values)],
    ['Compound III market (Comet)', isComet(values)],
    ['Compound II market', has('underlying', 'exchangeRateStored', 'getCash')],
    ['Aave token', has('aaveAsset', 'aavePool')],
    ['Curve pool', has('getVirtualPrice')],
    ['Balancer pool', has('getPoolId', 'getSwapFeePercentage')],
    ['ERC-20 token', isToken(values, own)],
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
const isV3Pool = ({ token0, token1, slot0, slot0Wide, liquidity, fee }: StandardValues) =>
  [token0, token1, slot0 ?? slot0Wide, liquidity, fee].every(value => value !== undefined)
const isV2Pool = ({ token0, token1, getReserves }: StandardValues) =>
  [token0, token1, getReserves].every(value => value !== undefined)
const isVault = ({ asset, totalAssets, convertToAssets, decimals }: StandardValues) =>
  [asset, totalAssets, convertToAssets, decimals].every(value => value !== undefined)
const isAavePool = ({ aaveReserves, aaveProvider, aaveFlashPremium }: StandardValues) =>
  [aaveReserves, aaveProvider, aaveFlashPremium].every(value => value !== undefined)
const isComet = ({ baseToken, getUtilization, totalBorrow }: StandardValues) =>
  [baseToken, getUtilization, totalBorrow].every(value => value !== undefined)
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
export function entriesOf(
  facts: ContractFacts,
  more: Readonly<Record<string, ReadEntry>>,
  signatureOf: (name: StandardName) => Pick<ReadEntry, 'call' | 'args'>,
): CollectorEntry[] {
  const { chain, address } = facts
  const values = { ...readValues(facts, signatureOf), ...more }
  const read = { use: 'contract-read', options: { chain, address, values } }
  return [...shippedEntries(facts), ...(Object.keys(values).length > 0 ? [read] : [])]
}

function shippedEntries({ chain, address, values, own, tokens, basics }: ContractFacts): CollectorEntry[] {
  const named = (key: string, value: string | undefined) => (value === undefined ? {} : { [key]: value })
  const symbolOf = (token: unknown) => tokens.get(String(token).toLowerCase())?.symbol
  const [unit0, unit1] = [symbolOf(values.token0), symbolOf(values.token1)]
  const units = { ...named('unit0', unit0), ...named('unit1', unit1) }
  if (isV3Pool(values)) {
    const options = { chain, pool: address, ...units, tokens: [values.token0, values.token1] }
    return [{ use: 'uniswap-v3-pool', options }]
  }
  if (isV2Pool(values)) return [{ use: 'uniswap-v2-pool', options: { chain, pool: address, ...units } }]
  const feed = feedOf({ values, ...(basics && { basics }) })
  if (typeof feed === 'object') {
    const unit = quoteOf(values.description)
    return [{ use: 'chainlink-feed', options: { chain, feed: address, ...named('unit', unit), ...feed } }]
  }
  if (isAavePool(values)) return [{ use: 'aave-v3', options: { chain, pool: address, provider: values.aaveProvider } }]
  // Its supply is one of the market's metrics.
  if (isComet(values)) {
    return [{ use: 'compound-v3', options: { chain, comet: address, ...named('unit', symbolOf(values.baseToken)) } }]
  }
  const vault = { chain, vault: address, ...named('unit', symbolOf(values.asset)) }
  const token = { chain, token: address, ...named('unit', own.symbol) }
  return [
    ...(isVault(values) ? [{ use: 'erc4626-vault', options: vault }] : []),
    ...(isToken(values, own) ? [{ use: 'erc20-supply', options: token }] : []),
  ]
}

/** The currency of a feed described as `ETH / USD`. */
function quoteOf(description: unknown): string | undefined {
  const quote = /^[^/]+\/ *([A-Za-z0-9.]{1,16}) *$/.exec(String(description ?? ''))?.[1]
  return quote
}

function readValues(
  facts: ContractFacts,
  signatureOf: (name: StandardName) => Pick<ReadEntry, 'call' | 'args'>,
): Record<string, ReadEntry> {
  const { values } = facts
  const answered = measures.filter(({ of, with: others = [] }) =>
    [of, ...others].every(name => values[name] !== undefined),
  )
  const read = answered.flatMap(measure => {
    const entry = entryOf(measure, facts, signatureOf(measure.of))
    return entry ? [[measure.label, entry] as const] : []
  })
  const collection = isErc165(values) && values.erc721 === true && values.totalSupply !== undefined
  const rate = compoundRate(facts, signatureOf('exchangeRateStored'))
  return Object.fromEntries([
    ...(collection ? [['Supply', { ...signatureOf('totalSupply'), unit: 'NFT', min: 0 }] as const] : []),
    ...(rate ? [['ExchangeRate', rate] as const] : []),
    ...read,
  ])
}

/** @returns `undefined` where the decimals of an amount are not known */
function entryOf(
  { in: holder, decimals, unit }: Measure,
  { values, own, tokens }: ContractFacts,
  signature: Pick<ReadEntry, 'call' | 'args'>,
): ReadEntry | undefined {
  if (holder === undefined) {
    return { ...signature, ...(decimals !== undefined && { decimals }), ...(unit !== undefined && { unit }), min: 0 }
  }
  const token = holder === 'own' ? own : tokens.get(String(values[holder]).toLowerCase())
  if (token?.decimals === undefined) return undefined
  const { symbol } = token
  return {
    ...signature,
    decimals: token.decimals,
    ...(symbol !== undefined && holder !== 'own' && { unit: symbol }),
    min: 0,
  }
}

/** Underlying tokens for one market token: scaled by 18 decimals and those of both. */
function compoundRate(
  { values, own, tokens }: ContractFacts,
  signature: Pick<ReadEntry, 'call' | 'args'>,
): ReadEntry | undefined {
  if (values.exchangeRateStored === undefined || values.underlying === undefined) return undefined
  const token = tokens.get(String(values.underlying).toLowerCase())
  if (token?.decimals === undefined || own.decimals === undefined) return undefined
  const { symbol } = token
  const decimals = 18 + token.decimals - own.decimals
  return { ...signature, decimals, ...(symbol !== undefined && { unit: symbol }), min: 0 }
}
