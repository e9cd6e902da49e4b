import { describe, expect, it } from 'vitest'
import { viewCall } from '../../../collectors/values/view-function.ts'
import {
  askedOf,
  entriesOf,
  kindsOf,
  plainText,
  type StandardName,
  type StandardValues,
  standardFunctions,
  strictValue,
  tokenFunctions,
} from '../../../src/cli/new/contract-kinds.ts'
import type { Hex } from '../../../src/model/block.ts'

const names = Object.keys(standardFunctions) as StandardName[]
const address = `0x${'11'.repeat(20)}` as const
const none: ReadonlySet<Hex> = new Set()

/** Entries for a contract that answered these, whose tokens are TKN with 6 decimals; its own are 8. */
function entriesFor(...answered: readonly StandardName[]) {
  const values: StandardValues = Object.fromEntries(answered.map(name => [name, answerOf(name)]))
  const tokens = new Map([[address as string, { symbol: 'TKN', decimals: 6 }]])
  const entries = entriesOf({ chain: 'dev', address, values, own: { symbol: 'OWN', decimals: 8 }, tokens }, {})
  return entries
}

function answerOf(name: StandardName): unknown {
  if (name === 'noInterface') return false
  return tokenFunctions.some(one => one === name) ? address : name.startsWith('erc') ? true : 1n
}

describe('the standard functions', () => {
  it('are some eighty, each with call data of its own', () => {
    const inputs = names.map(name => `${askedOf(standardFunctions[name]).input}`)
    expect(names.length).toBeGreaterThan(60)
    // Texts may be words of 32 bytes, and pools have several kinds of slot0, getReserves and globalState.
    expect(new Set(inputs).size).toBe(names.length - 7)
  })

  it('give entries that contract-read takes, with labels of at most 16 characters', () => {
    const isPool = (name: StandardName) =>
      /^(token0|latestRoundData|aaveReserves|baseToken|all\w+Length|poolSpacing)$/.test(name)
    const [read] = entriesFor(...names.filter(name => !isPool(name))).filter(({ use }) => use === 'contract-read')
    const values = Object.entries(read?.options['values'] as Record<string, Parameters<typeof viewCall>[0]>)
    expect(values.length).toBeGreaterThan(18)
    for (const [label, value] of values) {
      expect(label).toMatch(/^[A-Z][A-Za-z0-9]{0,15}$/)
      expect(() => viewCall(value)).not.toThrow()
    }
  })
})

describe('what a contract is', () => {
  const cases: readonly (readonly [kind: string, answered: readonly StandardName[], values: object])[] = [
    [
      'Compound II market',
      ['underlying', 'exchangeRateStored', 'getCash', 'totalBorrows'],
      { ExchangeRate: { decimals: 16, unit: 'TKN' }, Cash: { decimals: 6, unit: 'TKN' }, Borrowed: { decimals: 6 } },
    ],
    [
      'Curve pool',
      ['getVirtualPrice', 'coin0', 'balance0'],
      { VirtualPrice: { decimals: 18 }, Balance0: { decimals: 6 } },
    ],
    [
      'Balancer pool',
      ['getPoolId', 'getSwapFeePercentage', 'getRate'],
      { Rate: { decimals: 18 }, SwapFee: { unit: '%' } },
    ],
    ['liquid staking', ['getTotalPooledEther'], { PooledEther: { decimals: 18, unit: 'ETH' } }],
    ['liquid staking', ['stEthPerToken'], { StEthPerToken: { decimals: 18, unit: 'stETH' } }],
    ['Safe', ['getOwners', 'getThreshold', 'nonce'], { Threshold: {}, Nonce: {} }],
    ['governor', ['votingDelay', 'votingPeriod'], { VotingPeriod: {} }],
    ['gauge or staking contract', ['rewardRate', 'rewardsToken'], { RewardRate: { decimals: 6, unit: 'TKN' } }],
  ]
  it.each(cases)('%s by %j', (kind, answered, values) => {
    const all: StandardValues = Object.fromEntries(answered.map(name => [name, answerOf(name)]))
    expect(kindsOf({ values: all, own: {} })).toContain(kind)
    expect(entriesFor(...answered)[0]).toMatchObject({ use: 'contract-read', options: { values } })
  })

  it('is a Compound III market, whose supply is no further entry', () => {
    const answered = ['baseToken', 'getUtilization', 'totalBorrow', 'totalSupply', 'decimals'] as const
    expect(kindsOf({ values: Object.fromEntries(answered.map(name => [name, 1n])), own: {} })).toContain(
      'Compound III market (Comet)',
    )
    expect(entriesFor(...answered)).toEqual([
      { use: 'compound-v3', options: { chain: 'dev', comet: address, unit: 'TKN' } },
    ])
  })

  const seconds = 1_800_000_000
  it.for<[string, StandardValues, object | undefined, string]>([
    ['a round', { latestRoundData: [5n, 7n, 0n, BigInt(seconds - 60), 0n] }, {}, 'Chainlink feed'],
    ['a rate without a time', { latestRoundData: [0n, 7n, 0n, 0n, 0n] }, { maxAge: 'none' }, 'Chainlink feed'],
    ['an answer alone', { latestAnswer: 7n }, { maxAge: 'none' }, 'Chainlink feed'],
    ['an answer with its time', { latestAnswer: 7n, latestTimestamp: BigInt(seconds) }, {}, 'Chainlink feed'],
    [
      'an old round',
      { latestRoundData: [5n, 7n, 0n, 1n, 5n] },
      undefined,
      'Chainlink feed, whose answer is 1799999999 s',
    ],
    [
      'a time in milliseconds',
      { latestRoundData: [5n, 7n, 0n, BigInt(seconds) * 1000n, 5n] },
      undefined,
      'Chainlink feed, whose time 1800000000000 is after the last block',
    ],
    ['nothing yet', { latestRoundData: [0n, 0n, 0n, 0n, 0n] }, undefined, 'Chainlink feed, which answers 0'],
  ])('is a feed that answers %s, with an entry that can be collected or none', ([, answers, options, kind]) => {
    const facts = { values: { decimals: 8, ...answers }, own: {}, basics: { timestampSeconds: seconds } }
    expect(kindsOf(facts)).toEqual([expect.stringContaining(kind)])
    const entries = entriesOf({ chain: 'dev', address, tokens: new Map(), ...facts }, {})
    const entry = { use: 'chainlink-feed', options: { chain: 'dev', feed: address, ...options } }
    expect(entries).toEqual(options === undefined ? [] : [entry])
  })

  it('is a stable pair where it says so, and no Uniswap V2 pool', () => {
    const pair = { token0: address, token1: address, getReserves: [1n, 1n, 1] }
    expect(kindsOf({ values: { ...pair, stable: false }, own: {} })).toEqual(['Uniswap V2 pool'])
    expect(kindsOf({ values: { ...pair, stable: true }, own: {} })).toEqual(['stable pair (x³y + xy³)'])
    expect(kindsOf({ values: { ...pair, stableSwap: true }, own: {} })).toEqual(['stable pair (x³y + xy³)'])
  })

  it('is a collection of tokens only where it denies the interface that does not exist', () => {
    const honest = { erc165: true, erc721: true, noInterface: false, totalSupply: 3n }
    expect(kindsOf({ values: honest, own: {} })).toEqual(['ERC-721 collection'])
    expect(kindsOf({ values: { ...honest, noInterface: true }, own: {} })).toEqual([])
  })

  it('gives no amount whose decimals are not known', () => {
    const values = { underlying: address, getCash: 5n, getVirtualPrice: 1n }
    const [entry] = entriesOf({ chain: 'dev', address, values, own: {}, tokens: new Map() }, {})
    expect(Object.keys(entry?.options['values'] ?? {})).toEqual(['VirtualPrice'])
  })
})

describe('an answer', () => {
  const word = (digits: string) => digits.padStart(64, '0')
  const read = (name: StandardName, output: string, fallback = none) =>
    strictValue(askedOf(standardFunctions[name]), { kind: 'returned', output: `0x${output}` }, fallback)

  it('counts only if it is exactly what the function returns', () => {
    expect(read('decimals', word('12'))).toBe(18)
    expect(read('paused', word('1'))).toBe(true)
    for (const output of ['', '12', word('112'), word('12') + word('0'), word('12').slice(2)]) {
      expect(read('decimals', output)).toBeUndefined()
    }
    expect(read('paused', word('2'))).toBeUndefined()
    expect(read('asset', 'ff'.repeat(32))).toBeUndefined()
    expect(read('symbol', word('20') + word('3') + '444149'.padEnd(64, '0'))).toBe('DAI')
    expect(read('symbol', word('20') + word('3') + '4441494a'.padEnd(64, '0')), 'dirty bytes').toBeUndefined()
    expect(read('symbol', '4d4b52'.padEnd(64, '0'))).toBeUndefined()
    expect(plainText(read('symbolBytes', '4d4b52'.padEnd(64, '0')))).toBe('MKR')
  })

  it('does not count if functions that no contract has are answered alike', () => {
    expect(read('totalSupply', word('1'), new Set<Hex>([`0x${word('1')}`]))).toBeUndefined()
  })

  it('is shown and written without control characters', () => {
    expect(plainText(' US\u001b[31mD\n\u202e ')).toBe('US[31mD')
    expect(plainText('\n')).toBeUndefined()
    expect(plainText('x'.repeat(99))).toHaveLength(32)
  })
})
