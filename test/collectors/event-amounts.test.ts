import { encodeFunctionResult, type Hex, parseAbi, toFunctionSelector } from 'viem'
import { afterAll, describe, expect, it } from 'vitest'
import type { RawLog } from '../../src/chain/log-list.ts'
import { priceConfig, tokenPriceConfig } from '../../src/config/load.ts'
import { systemTime } from '../../src/edge/time.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { configured, faultOf, hour } from '../runner/setup.ts'
import { log } from '../support/event-log.ts'
import { chainOf } from '../support/reads.ts'

const address = (digit: string): Hex => `0x${digit.repeat(40)}`
const [dex, other, usd, eth, odd] = [address('1'), address('2'), address('a'), address('b'), address('c')]
const [ann, bob] = [address('d'), address('9')]
/** A token without `decimals()`, and the coin by its two addresses. */
const [mute, zero, eeee] = [address('7'), address('0'), address('e')]

const filled = 'Filled(address indexed maker, (uint8 kind, int256 delta, uint256[] fees) fill, address token)'
/** As `filled`, with an argument that has no name. */
const nameless = 'Noted(uint256, uint8 indexed kind, uint256 amount)'
const paid = 'Paid(uint8 indexed kind, uint256 amount)'
const fee = 'Fee(address token, uint256 amount)'
const swap = 'Swap(address tokenIn, address tokenOut, uint256 amountIn, uint256 amountOut, uint24 share)'
const sold = 'Sold((uint8 kind, address token, uint256 amount)[] parts)'

const fill = (maker: Hex, kind: number, delta: bigint, token: Hex, emitter = dex) =>
  log(emitter, filled, { maker, fill: { kind, delta, fees: [7n, 8n] }, token })

const logs = [
  fill(ann, 1, 5_000_000n, usd),
  fill(bob, 2, -2_500_000n, usd),
  fill(ann, 3, 3n * 10n ** 18n, eth),
  { ...log(dex, nameless.replace('256,', '256 first,'), { first: 1n, kind: 4, amount: 5n }) },
  log(dex, paid, { kind: 1, amount: 1_000_000n }),
  log(other, paid, { kind: 2, amount: 10n ** 18n }),
  log(dex, fee, { token: usd, amount: 5_500_000n }),
  log(dex, fee, { token: mute, amount: 1_275n }),
  log(dex, fee, { token: zero, amount: 10n ** 16n }),
  log(dex, fee, { token: eeee, amount: 3n * 10n ** 16n }),
  log(dex, swap, { tokenIn: odd, tokenOut: usd, amountIn: 77n, amountOut: 4_000_000n, share: 500 }),
  log(dex, swap, { tokenIn: eth, tokenOut: usd, amountIn: 10n ** 18n, amountOut: 1n, share: 3000 }),
  log(dex, swap, { tokenIn: odd, tokenOut: odd, amountIn: 5n, amountOut: 6n, share: 100 }),
  log(dex, sold, {
    parts: [
      { kind: 1, token: usd, amount: 2_000_000n },
      { kind: 2, token: eth, amount: 10n ** 17n },
      { kind: 1, token: eth, amount: 10n ** 16n },
    ],
  }),
  log(dex, sold, { parts: [] }),
]
/** The first side of a swap that has a price. */
const side = { event: swap, token: ['tokenIn', 'tokenOut'], sum: ['amountIn', 'amountOut'], price: 'token' }
const parts = { event: sold, sum: 'parts.*.amount', token: 'parts.*.token', price: 'token' }

/** As a node filters. */
const isAsked = ({ address: by, topics }: RawLog, filter: { address: unknown; topics: readonly unknown[] }) =>
  [filter.address].flat().some(each => String(each).toLowerCase() === by) &&
  filter.topics.every((wanted, place) => wanted === null || [wanted].flat().includes(topics[place]))

const abi = parseAbi([
  'function decimals() view returns (uint8)',
  'function asset() view returns (address)',
  'function rate() view returns (uint16)',
])
const decimals: Readonly<Record<Hex, number>> = { [usd]: 6, [eth]: 18 }
const assets: Readonly<Record<Hex, Hex>> = { [dex]: usd, [other]: eth }

const demo = chainOf({
  block: async () => ({ number: 1n, hash: '0x00', timestampSeconds: hour / 1000 }),
  logs: async (_hour, filter) => logs.filter(each => isAsked(each, filter)),
  read: async (_hour, requests) =>
    requests.map(request => {
      if (request.kind !== 'call') throw new Error('only calls are asked for')
      const names = ['asset', 'decimals', 'rate'] as const
      const name = names.find(each => request.input.startsWith(toFunctionSelector(`${each}()`))) ?? 'rate'
      const answers = { asset: assets, decimals, rate: { [dex]: 30 } as Record<Hex, number> }[name]
      const result = answers[request.to.toLowerCase() as Hex]
      if (result === undefined) return { kind: 'reverted', output: '0x' }
      return { kind: 'returned', output: encodeFunctionResult({ abi, functionName: name, result } as never) }
    }),
})

const place = { file: '/tidegauge.yaml', line: 1, column: 1 }
const prices = [
  priceConfig('ETH', [{ fixed: 2000 }], () => place),
  priceConfig('USD', [{ fixed: 1 }], () => place),
  tokenPriceConfig(
    'demo',
    [{ [usd]: 'USD', [eth]: 'ETH', [mute]: 'ETH', [eeee.replace('e', 'E')]: 'ETH' }],
    () => place,
  ),
]
const runner = new ProcessRunner({
  chains: { demo },
  prices: Object.fromEntries(prices.map(({ name, collector }) => [name, collector])),
  deadlineMs: 60_000,
  time: systemTime,
  log: () => {},
})
afterAll(() => runner.stop())

async function collected(own: Record<string, unknown>) {
  const options = { chain: 'demo', address: dex, label: 'Value', ...own }
  const { readings, failures } = await runner.collect(configured('event-sum', { options }), hour)
  return readings['Value'] ?? failures['Value']?.message
}

const delta = { event: filled, sum: 'fill.delta' }

describe('event-sum', () => {
  it.for([
    ['a part of an argument', { ...delta, where: { token: usd } }, 2_500_000],
    ['without signs', { ...delta, abs: true, where: { token: usd } }, 7_500_000],
    ['an element of a list in it', { event: filled, sum: 'fill.fees.1' }, 24],
    ['the token of each log', { ...delta, abs: true, token: 'token', price: 'token' }, 7.5 + 6000],
    ['whole tokens alone', { ...delta, token: 'token', where: { token: usd } }, 2.5],
    ['a token by its address, and a factor', { ...delta, where: { token: eth }, token: eth, factor: '0.003' }, 0.009],
    ['a price by its name', { ...delta, where: { token: eth }, token: eth, price: 'ETH' }, 6000],
    ['a token’s own decimals, whatever is written', { ...delta, where: { token: eth }, token: eth, decimals: 17 }, 3],
    [
      'written decimals for a token that has none, and 18 for the coin',
      { event: fee, sum: 'amount', token: 'token', price: 'token', decimals: 2 },
      5.5 + 2000 * (12.75 + 0.04),
    ],
    [
      'the coin that is written',
      { event: fee, sum: 'amount', where: { token: zero }, token: eeee, price: 'token' },
      20,
    ],
    [
      'a call of the emitting contract',
      { address: [dex, other], event: paid, sum: 'amount', token: 'asset() view returns (address)', price: 'token' },
      2001,
    ],
    [
      'several events',
      {
        token: usd,
        events: [
          { ...delta, where: { token: usd } },
          { event: paid, sum: 'amount', factor: -1 },
        ],
      },
      1.5,
    ],
    ['several counts', { count: true, events: [{ event: filled }, { event: paid }] }, 4],
    [
      'values of several events, each once',
      {
        events: [
          { event: filled, unique: 'maker' },
          { event: filled, unique: 'token' },
        ],
      },
      4,
    ],
    ['an argument next to one without a name', { event: nameless, sum: 'amount', where: { amount: { max: 5 } } }, 5],
    ['one of a list of values', { event: filled, count: true, where: { 'fill.kind': [1, 2] } }, 2],
    ['one of a list of topics', { address: [dex, other], event: paid, count: true, where: { kind: [2, 3] } }, 1],
    ['a small number that is no topic', { event: filled, count: true, where: { 'fill.kind': 3 } }, 1],
    ['at least and at most', { event: filled, count: true, where: { 'fill.delta': { min: -2_500_000, max: 0 } } }, 1],
    ['bounds of a topic', { address: [dex, other], event: paid, count: true, where: { kind: { min: 2 } } }, 1],
    ['not one value', { event: filled, count: true, where: { maker: { not: ann } } }, 1],
    ['not one of several', { event: filled, count: true, where: { token: { not: [usd, odd] } } }, 1],
    ['the side that has a price', { ...side, where: { share: { min: 500 } } }, 4 + 2000],
    ['what has a price, without the rest', { ...side, unpriced: 'leave out', atLeast: 0.6 }, 2004],
    [
      'a factor of each log',
      { ...side, where: { share: { min: 500 } }, factor: 'share', factorDecimals: 6 },
      4 * 0.0005 + 2000 * 0.003,
    ],
    ['a factor that the contract says', { event: paid, sum: 'amount', factor: 'rate() view returns (uint16)' }, 30e6],
    ['each item of an array', parts, 2 + 200 + 20],
    ['the items that are meant', { ...parts, where: { 'parts.*.kind': 1 } }, 22],
    ['the count of items', { event: sold, count: true, where: { 'parts.*.token': eth } }, 2],
    ['the different values of items', { event: sold, unique: 'parts.*.kind' }, 2],
    ['nothing, whatever the price', { event: paid, sum: 'amount', decimals: 6, price: 'None', where: { kind: 9 } }, 0],
  ] as const)('gives %s', async ([, own, value]) => {
    expect(await collected(own)).toBe(value)
  })

  it('fails for a token without a price, and one without decimals', async () => {
    const event = { event: paid, sum: 'amount' }
    const priced = await faultOf(collected({ ...event, token: odd, price: 'token', decimals: 1 }))
    expect(priced.message).toBe(`there is no price of the token ${odd} of demo: no source of tokenPrices has it`)
    expect((await faultOf(collected({ ...event, token: odd }))).message).toMatch(/^decimals reverted/)
    expect((await faultOf(collected(side))).message).toMatch(/^there is no price of the token 0xc/)
    const few = await faultOf(collected({ ...side, unpriced: 'leave out', atLeast: 0.7 }))
    expect(few.message).toMatch(/^1 of 3 have no price, and atLeast is 0.7: there is no price of the token 0xc/)
  })

  it.for([
    [{ event: filled, sum: 'fill' }, ['sum'], 'must be an integer or a bool, and fill is tuple'],
    [
      { event: filled, sum: 'fill.dleta' },
      ['sum'],
      'fill.dleta: there is no part "dleta": tuple has kind, delta, fees',
    ],
    [{ event: filled, sum: 'fill.fees.x' }, ['sum'], 'there is no part "x": uint256[] has places from 0 on'],
    [{ event: paid, sum: 'amount.a' }, ['sum'], 'there is no part "a": uint256 has no parts'],
    [{ event: paid, count: true, abs: true }, ['abs'], 'belongs to a sum, and this is a count'],
    [{ event: paid, sum: 'amount', price: 'token' }, ['price'], 'needs the token'],
    [{ event: paid, sum: 'amount', token: 'kind' }, ['token'], 'must be an argument of the event that is an address'],
    [{ ...side, sum: 'amountIn' }, ['sum'], 'must have as many amounts as there are tokens'],
    [{ ...side, price: 'ETH' }, ['price'], 'must be price: token'],
    [{ event: paid, sum: 'amount', unpriced: 'leave out' }, ['unpriced'], 'belongs to a sum with prices'],
    [{ ...parts, atLeast: 0.5 }, ['atLeast'], 'belongs to unpriced: leave out'],
    [{ event: paid, sum: 'amount', factor: 2, factorDecimals: 3 }, ['factorDecimals'], 'belongs to a factor that is'],
    [{ event: filled, sum: 'fill.*.a' }, ['sum'], 'there is no part "*"'],
    [{ event: paid, sum: 'amount', token: 'who' }, ['token'], 'Paid has no argument "who"'],
    [{ event: paid, sum: 'amount', token: 'asset() returns (address)' }, ['token'], 'like "token0() view returns'],
    [{ event: paid, sum: 'amount', token: usd, decimals: true }, ['decimals'], 'must be a number, for a token'],
    [{ event: paid, sum: 'amount', factor: 'a' }, ['factor'], 'must be a number like 0.003, an argument'],
    [{ event: paid, count: true, where: { kind: [] } }, ['where', 'kind'], 'must hold a value'],
    [{ event: paid, count: true, where: { kind: { mni: 1 } } }, ['where', 'kind', 'mni'], '{ min: 1, max: 5, not: 3 }'],
    [
      { event: paid, count: true, where: { kind: { min: 9, max: 1 } } },
      ['where', 'kind', 'max'],
      'must be at least min',
    ],
    [{ event: paid, count: true, where: { kind: { min: 'x' } } }, ['where', 'kind', 'min'], 'a whole number that fits'],
    [{ event: filled, count: true, where: { maker: { min: 1 } } }, ['where', 'maker', 'min'], 'or { not: … }'],
    [{ event: 'A(string indexed name)', count: true, where: { name: { not: 'x' } } }, ['where', 'name'], 'only a hash'],
    [{ count: true }, ['event'], 'of several: events: [{ event: …, sum: … }, …]'],
    [{ event: paid, events: [{ event: paid }], count: true }, ['event'], 'of several'],
    [{ events: [{ event: paid, sum: 'amuont' }] }, ['events', 0, 'sum'], 'Paid has no argument "amuont"'],
    [{ events: [{ event: paid, count: true, wher: {} }] }, ['events', 0, 'wher'], 'unknown option "wher"'],
    [
      {
        events: [
          { event: paid, count: true },
          { event: paid, unique: 'kind' },
        ],
      },
      ['events'],
      'must have unique at each of them, or at none',
    ],
  ] as const)('tells a mistake at its place: %j', async ([own, path, message]) => {
    const options = { chain: 'demo', address: dex, label: 'Value', ...own }
    expect(await runner.describe(configured('event-sum', { options }))).toMatchObject({
      kind: 'mistaken',
      mistakes: [{ path, message: expect.stringContaining(message) }],
    })
  })
})
