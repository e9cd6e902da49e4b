import { parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import { configured, faultOf, hour } from '../runner/setup.ts'
import { answeringRunner, contractOf } from './answering-contract.ts'

const answering = answeringRunner()
const { runner } = answering
const address = `0x${'11'.repeat(20)}`
const seconds = BigInt(hour / 1000)

const feedAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)',
  'function latestAnswer() view returns (int256)',
  'function latestTimestamp() view returns (uint256)',
])

describe('chainlink-feed', () => {
  const collect = (answers: Readonly<Record<string, unknown>>, more = {}) => {
    answering.use(contractOf(feedAbi, { decimals: 8, ...answers }))
    return runner.collect(configured('chainlink-feed', { options: { chain: 'demo', feed: address, ...more } }), hour)
  }
  const round = (answer: bigint, updatedAt: bigint, answeredIn = 5n) => ({
    latestRoundData: [5n, answer, 0n, updatedAt, answeredIn],
  })

  it.for<[string, Readonly<Record<string, unknown>>, object?]>([
    ['just not too old', round(250_000_000n, seconds - 3600n), { maxAge: 3600 }],
    ['not of the round that it was answered in', round(250_000_000n, seconds, 0n)],
    ['up to a minute ahead', round(250_000_000n, seconds + 60n)],
    ['without a time, where none is wanted', round(250_000_000n, 0n), { maxAge: 'none' }],
    ['in milliseconds, where no time is wanted', round(250_000_000n, seconds * 1000n), { maxAge: 'none' }],
    ['latestAnswer alone', { latestAnswer: 250_000_000n }, { maxAge: 'none' }],
    ['latestAnswer with its time', { latestAnswer: 250_000_000n, latestTimestamp: seconds - 60n }, { maxAge: 3600 }],
  ])('gives a price that is %s', async ([, answers, more]) => {
    expect((await collect(answers, more)).readings).toEqual({ Price: 2.5 })
  })

  it.for<[string, Readonly<Record<string, unknown>>, string | RegExp]>([
    [
      'too old',
      round(1n, seconds - 3601n),
      'the price is 3601 s old at 2026-11-20T13:00:00Z: look whether the feed is still in use, or write a larger maxAge than 3600',
    ],
    ['zero', round(0n, seconds), 'the feed answers 0, which is no price: look whether the feed is still in use'],
    ['negative', round(-1n, seconds), 'the feed answers -1, which is no price: look whether the feed is still in use'],
    ['not answered', round(1n, 0n), /^the feed says no time of its answer: .* write maxAge: none$/],
    [
      'to come',
      round(1n, seconds + 61n),
      /^the feed says 2026-11-20T13:01:01\.000Z as its time, which is after the hour$/,
    ],
    ['in milliseconds', round(1n, seconds * 1000n), `the feed says ${seconds}000 as its time, which is not in seconds`],
    ['latestAnswer alone', { latestAnswer: 1n }, /write maxAge: none$/],
    ['latestAnswer, too old', { latestAnswer: 1n, latestTimestamp: seconds - 9_999n }, /^the price is 9999 s old/],
    ['of no feed', {}, 'latestRoundData reverted: it gave no reason'],
  ])('gives no price that is %s', async ([, answers, message]) => {
    const fault = await faultOf(collect(answers, { maxAge: 3600 }))
    if (typeof message === 'string') expect(fault.message).toBe(message)
    else expect(fault.message).toMatch(message)
  })

  it('says what to write for a feed without decimals', async () => {
    const fault = await faultOf(collect({ ...round(1n, seconds), decimals: undefined }))
    expect(fault).toMatchObject({ code: 'chain-call-reverted', fix: expect.stringContaining('decimals: N') })
  })
})

const poolAbi = parseAbi([
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function decimals() view returns (uint8)',
  'function getReserves() view returns (uint256, uint256, uint16)',
  'function stable() view returns (uint256)',
  'function stableSwap() view returns (bool)',
])

describe('uniswap-v2-pool', () => {
  const collect = (answers: Readonly<Record<string, unknown>>, more = {}) => {
    answering.use(contractOf(poolAbi, { token0: address, token1: address, decimals: 2, ...answers }))
    return runner.collect(configured('uniswap-v2-pool', { options: { chain: 'demo', pool: address, ...more } }), hour)
  }
  const getReserves = [1000n, 4000n, 0] as const

  it.for([
    ['does not speak of another curve', {}],
    ['says that it is not stable', { stable: 0n, stableSwap: false }],
  ] as const)('tells prices in token1, or in token0 when asked to, of a pool that %s', async ([, more]) => {
    const { readings } = await collect({ getReserves, ...more })
    expect(readings).toEqual({ Reserve0: 10, Reserve1: 40, Price: 4, TVL: 80 })
    const turned = await collect({ getReserves, ...more }, { quote: 'token0' })
    expect(turned.readings).toEqual({ Reserve0: 10, Reserve1: 40, Price: 0.25, TVL: 20 })
  })

  it.for([
    ['stable', 1n],
    ['stableSwap', true],
  ] as const)('tells the price on the curve of a pool whose %s() is true', async ([name, says]) => {
    const stable = {
      getReserves: [812_345_678_901n * 10n ** 12n, 1_200_000_500_000n, 0],
      [name]: says,
      decimals: undefined,
    }
    const decimals = { decimals0: 18, decimals1: 6 }
    // By Python's fractions.
    const [Price, TVL] = [1.0144003576374285, 2024044.247202394]
    expect((await collect(stable, decimals)).readings).toEqual({
      Reserve0: 812345.678901,
      Reserve1: 1200000.5,
      Price,
      TVL,
    })
    const turned = { Price: 0.9858040688481544, TVL: 1995311.0544208197 }
    expect((await collect(stable, { ...decimals, quote: 'token0' })).readings).toMatchObject(turned)
  })

  it('has no price on a curve that it does not understand', async () => {
    const { message } = await faultOf(collect({ getReserves, stable: 2n }))
    expect(message).toBe('stable returned 0x2, which is no bool')
  })

  it('says what to write for a token without decimals', async () => {
    const fault = await faultOf(collect({ getReserves, decimals: undefined }, { decimals1: 2 }))
    expect(fault.fix).toMatch(/; for a token without decimals\(\) write its number as decimals0: N, which/)
  })

  it.for([0, 5])('has no price when it is empty, or %i to nothing', async amount => {
    const empty = collect({ getReserves: [BigInt(amount), 0n, 0] })
    expect((await faultOf(empty)).message).toBe('the pool is empty: it has no price')
  })
})

const decimalsAbi = parseAbi(['function decimals() view returns (uint8)'])

const tokenAbi = parseAbi([
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
  'function totalAssets() view returns (uint256)',
  'function asset() view returns (address)',
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function liquidity() view returns (uint128)',
  'function slot0() view returns (uint160, int24)',
])

describe('a token without decimals()', () => {
  const [token, other] = [`0x${'22'.repeat(20)}`, `0x${'33'.repeat(20)}`]
  const answers = {
    totalSupply: 1250n,
    balanceOf: 1250n,
    totalAssets: 1250n,
    asset: token,
    token0: token,
    token1: other,
    liquidity: 1n,
    slot0: [2n ** 96n, 0],
  }
  const vault = { chain: 'demo', values: { V: { vault: address } } }
  const v3 = { chain: 'demo', pool: address }
  const balance = { owners: [other], assets: [{ token }] }
  const event = { chain: 'demo', address, event: 'A(uint256 x)', sum: 'x', label: 'X' }

  it.for<[string, Record<string, unknown>, object, string]>([
    ['erc20-supply', { chain: 'demo', token }, { decimals: 2 }, 'decimals'],
    ['erc4626-vault', vault, { values: { V: { vault: address, decimals: 2 } } }, 'decimals'],
    ['uniswap-v3-pool', { ...v3, decimals0: 2 }, { decimals0: 2, decimals1: 2 }, 'decimals1'],
    [
      'balances',
      { of: { demo: balance } },
      { of: { demo: { ...balance, assets: [{ token, decimals: 2 }] } } },
      'decimals',
    ],
    ['event-sum', { ...event, decimals: true }, { decimals: 2 }, 'decimals'],
    ['event-sum', { ...event, token }, { decimals: 2 }, 'decimals'],
    [
      'contract-read',
      {
        chain: 'demo',
        address: token,
        values: { V: { call: 'totalSupply() view returns (uint256)', decimals: true } },
      },
      { values: { V: { call: 'totalSupply() view returns (uint256)', decimals: 2 } } },
      'decimals',
    ],
  ])('fails %s, which says what to write, and takes it: %j', async ([use, options, written, option]) => {
    answering.use(contractOf(tokenAbi, answers))
    const collect = (more: object) =>
      runner.collect(configured(use, { options: { ...options, ...more } as Record<string, unknown> }), hour)
    const outcome = await collect({}).catch((error: unknown) => ({ failures: { error } }))
    const [fault] = Object.values(outcome.failures)
    expect(fault).toMatchObject({ fix: expect.stringMatching(`for a (token|contract) without .* ${option}: N, `) })
    const { readings, failures } = await collect(written)
    expect(failures).toEqual({})
    // A token that tells them is believed, and not the number: what follows the advice cannot be wrong for it.
    answering.use(contractOf([...tokenAbi, ...decimalsAbi], { ...answers, decimals: 2 }))
    const others = JSON.parse(JSON.stringify(written).replaceAll(/(decimals\d?":)2/g, '$16')) as object
    if (use !== 'contract-read' && options['decimals'] !== true)
      expect((await collect(others)).readings).toEqual(readings)
  })
})
