import { type Abi, decodeFunctionData, encodeFunctionResult, type Hex, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ReadAnswer, ReadRequest } from '../../src/chain/reads.ts'
import type { CollectorConfig } from '../../src/config/config.ts'
import { priceConfig, tokenPriceConfig } from '../../src/config/load.ts'
import { systemTime } from '../../src/edge/time.ts'
import { type Hour, hourAfter } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { configured, faultOf, hour } from '../runner/setup.ts'
import { type Source, startSource } from '../runner/source.ts'
import { chainOf } from '../support/reads.ts'

const address = (digit: string): Hex => `0x${digit.repeat(40)}`
const [weth, usdc, pool, vault] = [address('a'), address('b'), address('c'), address('d')]
const feeds = {
  fresh: address('1'),
  stale: address('2'),
  zero: address('3'),
  negative: address('4'),
  dead: address('5'),
}

const abi: Abi = parseAbi([
  'function decimals() view returns (uint8)',
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
  'function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)',
  'function asset() view returns (address)',
  'function totalAssets() view returns (uint256)',
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function rates(uint256) view returns (uint256 rate, uint256 sum)',
  'function observe(uint32[] secondsAgos) view returns (int56[], uint160[])',
])

const round =
  (answer: bigint, ageSeconds = 60n) =>
  (at: Hour) => [9n, answer, 0n, BigInt(at / 1000) - ageSeconds, 9n]
/** A mean tick of -202,000.5 over 600 s: about 1,696 USDC for a WETH. */
const cumulatives = [
  [7_000_000n, 7_000_000n - 121_200_300n],
  [0n, 0n],
]

const answers: Readonly<Record<Hex, Readonly<Record<string, unknown>>>> = {
  [feeds.fresh]: { decimals: 18, latestRoundData: round(1_234_567_890_123_456_789n) },
  [feeds.stale]: { decimals: 8, latestRoundData: round(5n, 3_601n) },
  [feeds.zero]: { decimals: 8, latestRoundData: round(0n) },
  [feeds.negative]: { decimals: 8, latestRoundData: round(-1n) },
  [weth]: { decimals: 18, balanceOf: 2n * 10n ** 18n },
  [usdc]: { decimals: 6, balanceOf: 1_500_000n },
  [pool]: { token0: weth, token1: usdc, observe: cumulatives },
  [vault]: {
    asset: usdc,
    totalAssets: 7_500_000n,
    totalSupply: 3_000_000_000_000_000_000n,
    rates: [1_150_000_000_000_000_001n, 5n],
  },
}

function answer(request: ReadRequest, at: Hour): ReadAnswer {
  if (request.kind !== 'call')
    return { kind: 'returned', output: `0x${(5n * 10n ** 17n).toString(16).padStart(64, '0')}` }
  const { functionName } = decodeFunctionData({ abi, data: request.input })
  const own = answers[request.to.toLowerCase() as Hex]?.[functionName]
  const result: unknown = typeof own === 'function' ? own(at) : own
  // With a reason: not as a contract that has no such function.
  if (result === undefined) return { kind: 'reverted', output: '0x12345678' }
  return { kind: 'returned', output: encodeFunctionResult({ abi, functionName, result }) }
}

/** Turns of the event loop in which the chain was asked. */
let turns = 0
let isCounted = false

const demo = chainOf({
  block: async () => ({ number: 1n, hash: '0x00', timestampSeconds: hour / 1000 }),
  logs: async () => [],
  async read(at, requests) {
    if (!isCounted) setImmediate(() => (isCounted = false))
    turns += isCounted ? 0 : 1
    isCounted = true
    return requests.map(request => answer(request, at))
  },
})

const rates = 'rates(uint256) view returns (uint256 rate, uint256 sum)'
const feed = (name: keyof typeof feeds, more = {}) => ({ chain: 'demo', feed: feeds[name], maxAge: 3600, ...more })
const ofPool = { chain: 'demo', pool, window: 600, token: weth, quote: usdc, price: 'USDC' }
const place = { file: '/tidegauge.yaml', line: 1, column: 1 }

const lines: string[] = []
let source: Source
let runner: ProcessRunner
beforeAll(async () => {
  source = await startSource({
    '/usd': { body: '{"usd":"2000.10","at":1732107600}' },
    '/exact': { body: '{"usd":2000.12345678901234567891}' },
    '/gone': { status: 404 },
    '/zero': { body: '{"usd":0}' },
    '/pyth': { body: '{"price":{"price":"6140993501000","conf":"3287868567","expo":-8},"confidence":0.01}' },
    '/huge': { body: '{"usd":"1e400"}' },
    '/tiny': { body: '{"usd":"1e-400"}' },
    '/long': { body: `{"usd":"0.${'3'.repeat(10_000)}"}` },
    '/later': { body: `{"usd":1,"at":${hour / 1000 + 60}}` },
  })
  const url = (path: string, more = {}) => ({ url: `${source.url}${path}?at={hourSeconds}`, pointer: '/usd', ...more })
  const written = {
    Fresh: [feed('fresh')],
    Api: [url('/usd')],
    Pyth: [
      url('/pyth', { pointer: '/price/price', decimals: '/price/expo', require: { '/confidence': { min: 0.9 } } }),
      url('/pyth', { pointer: '/price/price', decimals: 8, max: 60_000 }),
      url('/pyth', { pointer: '/price/price', decimals: '/price/expo', min: 1 }),
    ],
    Exact: [url('/exact')],
    Second: [feed('stale'), feed('zero'), feed('negative'), feed('dead'), url('/gone'), url('/zero'), url('/usd')],
    None: [feed('stale'), url('/gone'), url('/later', { time: '/at' })],
    Zero: [feed('zero')],
    Huge: [url('/huge')],
    Tiny: [url('/tiny')],
    Long: [url('/long')],
    USDC: [{ fixed: 1.0001 }],
    Third: [{ fixed: '0.3333333333333333333333' }],
    Pool: [ofPool],
    Rate: [{ chain: 'demo', address: vault, call: rates, args: [2], take: 'rate', decimals: 18, price: 'Api' }],
    Dead: [{ chain: 'demo', address: vault, call: 'token0() view returns (uint256)' }],
    Turned: [{ ...ofPool, token: usdc, quote: weth, price: 'USDC' }],
    Wrong: [{ ...ofPool, quote: feeds.fresh }],
    Same: [{ price: 'Api' }],
    Quoted: [feed('fresh', { price: 'Api' })],
  }
  const all = [
    ...Object.entries(written).map(([name, sources]) => priceConfig(name, sources, () => place)),
    tokenPriceConfig('demo', [{ [usdc]: 'USDC', [weth]: 'Api' }], () => place),
  ]
  const prices = Object.fromEntries(all.map(({ name, collector }): [string, CollectorConfig] => [name, collector]))
  runner = new ProcessRunner({
    chains: { demo },
    prices,
    deadlineMs: 60_000,
    time: systemTime,
    log: (_, __, message) => void lines.push(message),
  })
})
afterAll(async () => {
  await runner?.stop()
  await source?.stop()
})

const priced = (name: string, at: Hour = hour) =>
  runner.collect(configured('./priced.ts', { id: `priced/${name}`, options: { name } }), at)

describe('a price', () => {
  it.for([
    ['Fresh', 1.2345678901234567],
    ['Api', 2000.1],
    ['Second', 2000.1],
    ['Pyth', 61409.93501],
    ['USDC', 1.0001],
    ['Same', 2000.1],
    ['Quoted', 2469.2592370359257],
    ['Rate', 2300.115],
  ] as const)('%s is of the first source that answers', async ([name, price]) => {
    expect((await priced(name)).readings['Price']).toBe(price)
  })

  it('says in the log which sources did not answer', async () => {
    await priced('Pyth', hourAfter(hour, 1))
    expect(lines.at(-1)).toMatch(
      /^127\.0\.0\.1:\d+: .*require asks.*\/confidence.*; .*it is 61409\.93501, which is above max: 60000; .* answers$/,
    )
    await priced('Second', hourAfter(hour, 1))
    expect(lines.at(-1)).toMatch(
      /^feed 0x2{40} of demo: the price is 3601 s old .*; feed 0x3{40} .*: the feed answers 0, .*; 127\.0\.0\.1:\d+ answers$/,
    )
  })

  it('is exact before it is rounded', async () => {
    const { readings } = await priced('Fresh')
    // A fraction crosses in its lowest terms.
    expect(readings).toMatchObject({ Numerator: Number(1_234_567_890_123_456_789n), Denominator: 1e18 })
  })

  it('is the mean of a pool over its window, by the tick rounded down', async () => {
    // 1.0001 ** -202001 * 1e12 * 1.0001, by Python's decimal with 60 digits.
    expect((await priced('Pool')).readings['Price']).toBe(1689.2350099457708)
    expect((await priced('Turned')).readings['Price']).toBe(0.0005921023446181767)
    expect((await faultOf(priced('Wrong'))).message).toContain('the pool is of')
  })

  it('says of each source why it does not answer', async () => {
    const { code, message, permanence } = await faultOf(priced('None'))
    expect([code, permanence]).toEqual(['price-missing', 'transient'])
    expect(message).toMatch(
      /^there is no price of None: feed 0x2{40} of demo: the price is 3601 s old at .*; 127\.0\.0\.1:\d+: .*; 127\.0\.0\.1:\d+: .* the time at \/at must be/,
    )
    expect((await faultOf(priced('Dead'))).message).toMatch(/^there is no price of Dead: token0 reverted: /)
    expect((await faultOf(priced('Zero'))).message).toBe(
      'there is no price of Zero: the feed answers 0, which is no price: look whether the feed is still in use',
    )
  })

  it.for([
    ['Huge', 'it is Infinity, which is no price'],
    ['Tiny', 'it is 0, which is no price'],
    ['Long', 'it has more digits than any price'],
  ] as const)('%s is beyond every price, and ends no process', async ([name, message]) => {
    expect((await faultOf(priced(name))).message).toBe(`there is no price of ${name}: ${message}`)
  })

  it('that is not configured is named, with what was meant', async () => {
    expect(await faultOf(priced('Pol'))).toMatchObject({
      code: 'price-unknown',
      message: 'there is no price "Pol" in the configuration',
      fix: 'did you mean Pool? If not, add it under prices:',
    })
  })

  it('is read once an hour, however many ask', async () => {
    const at = hourAfter(hour, 5)
    const before = source.asked.length
    const many = Array.from({ length: 20 }, () => priced('Api', at))
    await Promise.all(many)
    await priced('Same', at)
    expect(source.asked.slice(before).map(({ target }) => target)).toEqual([`/usd?at=${at / 1000}`])
  })

  it('that fails is read again by the next run', async () => {
    const [at, before] = [hourAfter(hour, 6), source.asked.length]
    await faultOf(priced('None', at))
    const once = source.asked.length - before
    await faultOf(priced('None', at))
    expect(source.asked.length - before).toBe(2 * once)
  })
})

const Supply = { call: 'totalSupply() view returns (uint256)', decimals: 18 }
const reads = (values: Record<string, unknown>) =>
  configured('contract-read', { options: { chain: 'demo', address: vault, values } })

describe('prices in formulas', () => {
  it('are exact, and one that is missing fails only what needs it', async () => {
    const { readings, failures } = await runner.collect(
      reads({
        Supply,
        TVL: { product: ['Supply', { price: 'Fresh' }] },
        Ratio: { ratio: [{ price: 'Api' }, 'Supply'] },
        // One less the product of a third with 22 digits and 3.
        Digits: { difference: [1, 'Thirds'] },
        Thirds: { product: ['Supply', { price: 'Third' }], private: true },
        Long: { difference: ['2.00000000000000000000001', 2] },
        Written: { difference: [{ price: 'Exact' }, '2000.1234567890123456789'] },
        Lost: { product: ['Supply', { price: 'None' }] },
        Sum: { sum: ['Lost', 1] },
      }),
      hour,
    )
    expect(readings).toMatchObject({
      Supply: 3,
      TVL: 3.7037036703703703,
      Ratio: 666.7,
      Digits: 1e-22,
      Long: 1e-23,
      Written: 1e-20,
    })
    expect(Object.keys(failures).sort()).toEqual(['Lost', 'Sum'])
    expect(failures['Lost']?.message).toContain('there is no price of None')
  })

  it('are read in the same turn as all else of the hour', async () => {
    const at = hourAfter(hour, -7)
    const collectors = [
      reads({ Supply, TVL: { product: ['Supply', { price: 'Quoted' }] } }),
      reads({ Supply, TVL: { product: ['Supply', { price: 'Second' }] } }),
      reads({ Value: { sum: [{ price: 'Pool' }, 1] } }),
      configured('balances', {
        options: { label: 'All', of: { demo: { owners: [weth, usdc], assets: [{ native: true, price: 'Turned' }] } } },
      }),
    ]
    await Promise.all(collectors.map(collector => runner.describe(collector)))
    const before = turns
    const outcomes = await Promise.all(collectors.map(collector => runner.collect(collector, at)))
    expect(outcomes.map(({ failures }) => failures)).toEqual([{}, {}, {}, {}])
    expect(turns - before).toBe(1)
    const [alone] = collectors
    if (alone) await runner.collect(alone, hourAfter(hour, -8))
    expect(turns - before).toBe(2)
  })
})

describe('balances', () => {
  const balances = (of: Record<string, unknown>, more = {}) =>
    configured('balances', { options: { label: 'Treasury', of, ...more } })
  const owners = [address('7'), address('8')]

  it('are one number of all owners and assets, by their prices', async () => {
    const of = {
      demo: {
        owners,
        assets: [
          { native: true, price: 'Api' },
          { token: usdc, price: 'USDC' },
        ],
      },
    }
    // 1 coin, 3 USDC.
    expect((await runner.collect(balances(of), hour)).readings).toEqual({ Treasury: 2003.1003 })
  })

  it('are priced by their tokens, as supplies and vaults are', async () => {
    const assets = [
      { token: weth, price: 'token' },
      { token: usdc, price: 'token' },
    ]
    expect((await runner.collect(balances({ demo: { owners, assets } }), hour)).readings).toEqual({
      Treasury: 8003.4003,
    })
    const { readings } = await runner.collect(
      configured('erc4626-vault', {
        options: { chain: 'demo', values: { TVL: { vault, price: 'token' }, Plain: { vault } } },
      }),
      hour,
    )
    expect(readings).toEqual({ TVL: 7.50075, Plain: 7.5 })
    const supply = { chain: 'demo', token: vault, decimals: 18, price: 'Api' }
    expect((await runner.collect(configured('erc20-supply', { options: supply }), hour)).readings).toEqual({
      Supply: 6000.3,
    })
  })

  it('are in units of the asset without a price', async () => {
    const assets = [{ token: weth }]
    expect((await runner.collect(balances({ demo: { owners, assets } }), hour)).readings).toEqual({ Treasury: 4 })
    const native = [{ native: true }]
    expect((await runner.collect(balances({ demo: { owners, assets: native } }), hour)).readings).toEqual({
      Treasury: 1,
    })
    // Its own decimals count, whatever is written; the coin has two addresses.
    for (const [asset, Treasury] of [
      [{ token: weth, decimals: 17 }, 4],
      [{ token: address('E') }, 1],
      [{ token: address('0') }, 1],
    ] as const)
      expect((await runner.collect(balances({ demo: { owners, assets: [asset] } }), hour)).readings).toEqual({
        Treasury,
      })
  })

  it.for([
    ['a price is missing', { native: true, price: 'None' }],
    ['a token does not answer', { token: vault, price: 'USDC' }],
    ['there is no contract', { token: address('9'), price: 'USDC' }],
  ] as const)('fail as a whole when %s', async ([, asset]) => {
    const of = { demo: { owners, assets: [{ token: usdc, price: 'USDC' }, asset] } }
    await faultOf(runner.collect(balances(of), hour))
  })

  it('tell mistakes at their place', async () => {
    const usd = { token: usdc, price: 'USDC' }
    const cases: [Record<string, unknown>, readonly (string | number)[], string][] = [
      [{}, ['of'], 'must hold a chain'],
      [{ demo: { owners, assets: [usd, { native: true }] } }, ['of', 'demo', 'assets', 1], 'must have a price'],
      [
        {
          demo: {
            owners,
            assets: [
              { native: true, price: 'ETH' },
              { token: address('e'), price: 'ETH' },
            ],
          },
        },
        ['of', 'demo', 'assets', 1],
        'is there already',
      ],
      [
        { demo: { owners, assets: [{ token: address('0'), decimals: 6 }] } },
        ['of', 'demo', 'assets', 0, 'decimals'],
        'a coin',
      ],
      [{ demo: { owners, assets: [{}] } }, ['of', 'demo', 'assets', 0], 'must be { native: true } or { token'],
      [{ demo: { owners: [...owners, owners[0]], assets: [usd] } }, ['of', 'demo', 'owners', 2], 'is there already'],
      [{ demo: { owners, assets: [usd, usd] } }, ['of', 'demo', 'assets', 1], 'is there already'],
      [{ demo: { owners: [], assets: [usd] } }, ['of', 'demo', 'owners'], 'must not be empty'],
    ]
    for (const [of, path, message] of cases) {
      expect(await runner.describe(balances(of)), JSON.stringify(of)).toMatchObject({
        kind: 'mistaken',
        mistakes: [{ path, message: expect.stringContaining(message) }],
      })
    }
  })
})

it('the sources of a price are checked', async () => {
  const url = 'https://api.example.com/eth?at={hour}'
  const cases: [Record<string, unknown>, readonly (string | number)[], string][] = [
    [{}, [0], 'must have one of feed, pool, call, url, fixed, or a price alone'],
    [{ fixed: 1, url }, [0], 'must have one of feed, pool, call, url, fixed, and has url and fixed'],
    [{ fixed: 0 }, [0, 'fixed'], 'must be'],
    [{ fixed: 'one' }, [0, 'fixed'], 'must be a number above 0'],
    [{ fixed: '-1' }, [0, 'fixed'], 'must be a number above 0'],
    [{ fixed: '0.00' }, [0, 'fixed'], 'must be a number above 0'],
    [{ feed: feeds.fresh }, [0, 'chain'], 'must be the name of the chain'],
    [{ ...feed('fresh'), pointer: '/usd' }, [0, 'pointer'], 'belongs to another kind of source, and this is a feed'],
    [{ url, pointer: 'usd' }, [0, 'pointer'], 'must be a JSON pointer'],
    [{ url }, [0, 'pointer'], 'must be a JSON pointer'],
    [{ url: 'https://api.example.com/eth', pointer: '/usd' }, [0, 'url'], 'a price is of its hour'],
    [{ ...ofPool, price: undefined }, [0, 'price'], 'must be the name of the price of the quote token'],
    [{ call: rates, chain: 'demo', args: [1], take: 0 }, [0, 'address'], 'must be the address of the contract'],
    [{ call: rates, address: vault, chain: 'demo', take: 'rate' }, [0, 'args'], 'rates takes 1 argument'],
    [{ ...feed('fresh'), maxAge: 'never' }, [0, 'maxAge'], 'must be a number of seconds, or none'],
    [{ url, pointer: '/usd', maxAge: 'none' }, [0, 'maxAge'], 'must be a number of seconds'],
    [{ ...ofPool, decimals: true }, [0, 'decimals'], 'must be a number'],
    [{ ...ofPool, window: 5 }, [0, 'window'], 'must be at least 60'],
    [{ ...feed('fresh'), maxage: 5 }, [0, 'maxage'], 'unknown option "maxage"'],
  ]
  for (const [one, path, message] of cases) {
    const { collector } = priceConfig('ETH', [one], () => place)
    expect(await runner.describe(collector), JSON.stringify(one)).toMatchObject({
      kind: 'mistaken',
      mistakes: [{ path: ['sources', ...path], message: expect.stringContaining(message) }],
    })
  }
})
