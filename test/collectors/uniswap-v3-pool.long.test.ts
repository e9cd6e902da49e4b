import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OpenChainReader } from '../../src/chain/read/reader.ts'
import { priceConfig, tokenPriceConfig } from '../../src/config/load.ts'
import type { Deployed } from '../../src/devchain/miner.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { Hour } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import type { Runner } from '../../src/runner/runner.ts'
import { configured, faultOf, testRunner } from '../runner/setup.ts'
import { aaveContract } from '../support/aave.ts'
import { exactly } from '../support/exactly.ts'
import { ProtocolChain } from '../support/protocol-chain.ts'
import { publishedContract } from '../support/published.ts'
import { isSoak } from '../support/soak.ts'
import { collectorContract } from './contract.ts'

const core = (name: string) => publishedContract(`@uniswap/v3-core/artifacts/contracts/${name}.sol/${name}.json`)
const periphery = (name: string) =>
  publishedContract(`@uniswap/v3-periphery/artifacts/contracts/${name}.sol/${name}.json`)

const never = 2n ** 256n - 1n
const fee = 3_000
const zero = `0x${'00'.repeat(20)}` as const

let chain: ProtocolChain
let reader: OpenChainReader
let pool: Deployed
let positions: Deployed
let factory: Deployed
/** By their addresses, as the pool has them. */
let tokens: readonly [Deployed, Deployed]
let decimals: readonly [number, number]
let hours: readonly Hour[]

/** Uniswap's factory, pool, position manager and router, and tokens of 6 and 18 decimals. */
beforeAll(async () => {
  chain = await ProtocolChain.start()
  const weth = await chain.deploy(aaveContract('dependencies/weth/WETH9'))
  factory = await chain.deploy(core('UniswapV3Factory'))
  const mintable = aaveContract('mocks/tokens/MintableERC20')
  const dollar = await chain.deploy(mintable, ['Dollar', 'USD', 6])
  const tide = await chain.deploy(mintable, ['Tide', 'TIDE', 18])
  const isDollarFirst = BigInt(dollar.address) < BigInt(tide.address)
  tokens = isDollarFirst ? [dollar, tide] : [tide, dollar]
  decimals = isDollarFirst ? [6, 18] : [18, 6]
  const manager = await chain.deploy(periphery('NonfungiblePositionManager'), [factory.address, weth.address, zero])
  positions = manager
  const router = await chain.deploy(periphery('SwapRouter'), [factory.address, weth.address])
  for (const [token, amount] of [
    [dollar, 10n ** 15n],
    [tide, 10n ** 27n],
  ] as const) {
    await chain.send(token, 'mint', [amount])
    await chain.send(token, 'approve', [manager.address, never])
    await chain.send(token, 'approve', [router.address, never])
  }
  const [token0, token1] = [tokens[0].address, tokens[1].address]
  // A tide costs some 2 dollars: the root of the ratio of smallest units, times 2^96.
  const root = isDollarFirst ? 56_022_770_974_786_139_918_731_938_227_456_789n : 112_045_541_949_572_287_496_682n
  await chain.send(manager, 'createAndInitializePoolIfNecessary', [token0, token1, fee, root])
  pool = { address: await chain.read(factory, 'getPool', [token0, token1, fee]), abi: core('UniswapV3Pool').abi }
  const tick = await chain.read<readonly [bigint, number]>(pool, 'slot0').then(([, tick]) => tick - (tick % 60))
  // So that means of windows with a swap in them are known.
  await chain.send(pool, 'increaseObservationCardinalityNext', [20])
  const mint = (width: number, dollars: bigint, tides: bigint) => {
    const [amount0Desired, amount1Desired] = isDollarFirst ? [dollars, tides] : [tides, dollars]
    const range = { tickLower: tick - width, tickUpper: tick + width }
    const least = { amount0Min: 0n, amount1Min: 0n, recipient: chain.owner, deadline: never }
    return chain.send(manager, 'mint', [{ token0, token1, fee, ...range, amount0Desired, amount1Desired, ...least }])
  }
  const swap = (tokenIn: Deployed, tokenOut: Deployed, amountIn: bigint) => {
    const between = { tokenIn: tokenIn.address, tokenOut: tokenOut.address, fee, recipient: chain.owner }
    const limits = { deadline: never, amountIn, amountOutMinimum: 0n, sqrtPriceLimitX96: 0n }
    return chain.send(router, 'exactInputSingle', [{ ...between, ...limits }])
  }
  await mint(600, 2_000_000_000_001n, 1_000_000_000_000_000_000_000_003n)
  await mint(60_000, 500_000_000_000n, 250_000_000_000_000_000_000_000n)
  await swap(dollar, tide, 12_345_678_901n)
  const first = await chain.nextHour()
  // Out of the narrow position.
  await swap(tide, dollar, 1_500_000_123_456_789_012_345_678n)
  const second = await chain.nextHour()
  await swap(dollar, tide, 999_999_999_999n)
  hours = [first, second]
  reader = chain.reader('demo')
})
afterAll(async () => {
  reader?.close()
  await chain?.stop()
})

const chains = () => ({ demo: reader })
const options = () => ({ chain: 'demo', pool: pool.address })

if (isSoak) {
  collectorContract('uniswap-v3-pool', { use: 'uniswap-v3-pool', options, hours: () => hours, chains })
}

describe('a pool of Uniswap’s own contracts', () => {
  let runner: Runner
  beforeAll(() => {
    runner = new ProcessRunner({ chains: chains(), deadlineMs: 60_000, time: systemTime, log: () => {} })
  })
  afterAll(() => runner.stop())

  const collect = (hour: Hour, own: Record<string, unknown> = {}) =>
    runner.collect(configured('uniswap-v3-pool', { options: { ...options(), ...own } }), hour)
  const first = () => hours[0] as Hour

  /** From raw reads, in whole numbers alone. */
  async function expected(hour: Hour, quote: 'token0' | 'token1') {
    const [root] = await chain.read<readonly [bigint]>(pool, 'slot0', [], hour)
    const liquidity = await chain.read(pool, 'liquidity', [], hour)
    const balance0 = await chain.read(tokens[0], 'balanceOf', [pool.address], hour)
    const balance1 = await chain.read(tokens[1], 'balanceOf', [pool.address], hour)
    const [unit0, unit1] = decimals.map(places => 10n ** BigInt(places)) as [bigint, bigint]
    const square = root * root
    const x192 = 1n << 192n
    return {
      Price: quote === 'token1' ? exactly(square * unit0, x192 * unit1) : exactly(x192 * unit1, square * unit0),
      TVL:
        quote === 'token1'
          ? exactly(balance1 * x192 + balance0 * square, x192 * unit1)
          : exactly(balance0 * square + balance1 * x192, square * unit0),
      Liquidity: Number(liquidity),
      Balance0: exactly(balance0, unit0),
      Balance1: exactly(balance1, unit1),
    }
  }

  it('has price, value, liquidity and balances in either direction, exactly', async () => {
    const seen: number[] = []
    for (const hour of hours) {
      for (const quote of ['token0', 'token1'] as const) {
        const { readings, failures } = await collect(hour, { quote })
        expect(failures).toEqual({})
        expect(readings).toEqual(await expected(hour, quote))
        seen.push(...Object.values(readings))
      }
    }
    expect(new Set(seen).size).toBeGreaterThanOrEqual(14)
    expect(seen.every(value => value > 0)).toBe(true)
    const dollarSide = decimals[0] === 6 ? 'token0' : 'token1'
    const { Price = 0 } = (await collect(first(), { quote: dollarSide })).readings
    expect(Price).toBeGreaterThan(1.9)
    expect(Price).toBeLessThan(2.1)
  })

  it('gives the positions of an owner and their fees, by the recipe of code', async () => {
    const manager = positions.address
    const [token0, token1] = tokens.map(({ address }) => address)
    const prices = { [token0 ?? '']: 'Two', [token1 ?? '']: 'Three' }
    const placeOf = () => ({ file: '/tidegauge.yaml', line: 1, column: 1 })
    const all = [
      priceConfig('Two', [{ fixed: 2 }], placeOf),
      priceConfig('Three', [{ fixed: 3 }], placeOf),
      tokenPriceConfig('demo', [prices], placeOf),
    ]
    const { runner } = testRunner({
      chains: chains(),
      prices: Object.fromEntries(all.map(({ name, collector }) => [name, collector])),
    })
    const use = fileURLToPath(new URL('../../docs/recipes/uniswap-v3-positions/index.js', import.meta.url))
    const owners = [chain.owner, zero.replace('00', '01')]
    const found = await runner.collect(configured(use, { options: { chain: 'demo', manager, owners } }), first())
    expect(found.failures).toEqual({})
    const values = found.readings
    expect(values['PositionCount']).toBe(2)
    // All that the pool holds belongs to the two positions, up to a unit for each side of each, and call.
    const held = tokens.map(token => chain.read(token, 'balanceOf', [pool.address], first()))
    const [held0 = 0n, held1 = 0n] = await Promise.all(held)
    const units = decimals.map(places => 10n ** BigInt(places))
    const worth = exactly(
      2n * held0 * (units[1] ?? 1n) + 3n * held1 * (units[0] ?? 1n),
      (units[0] ?? 1n) * (units[1] ?? 1n),
    )
    expect((values['Positions'] ?? 0) + (values['UnclaimedFees'] ?? 0)).toBeCloseTo(worth, 4)
    // 0.3 % of what was sold to the pool.
    const dollar = decimals[0] === 6 ? 2 : 3
    expect(values['UnclaimedFees']).toBeCloseTo(12_345.678901 * 0.003 * dollar, 4)
  })

  it('reads everything in one request when the tokens are written', async () => {
    const calls = (own: Record<string, unknown>) => chain.ethCalls(() => collect(first(), own))
    expect(await calls({ tokens: tokens.map(({ address }) => address.toLowerCase()) })).toBeLessThanOrEqual(1)
    expect(await calls({})).toBeLessThanOrEqual(2)
  })

  it('begins all labels with the prefix', async () => {
    const { readings } = await collect(first(), { prefix: 'Tide' })
    const labels = Object.entries(await expected(first(), 'token1')).map(([label, value]) => [`Tide${label}`, value])
    expect(readings).toEqual(Object.fromEntries(labels))
  })

  it('fails when other tokens are written, and says which', async () => {
    const [token0, token1] = tokens.map(({ address }) => address)
    const message = (await faultOf(collect(first(), { tokens: [token1, token0] }))).message
    expect(message).toBe(
      `token0 of the pool is ${token0}, and tokens has ${token1} in its place: write them, and all else with 0 or 1 in it, in the order of the pool`,
    )
  })

  it('fails where there is no pool, and where a pool has no price', async () => {
    const nothing = 'slot0 returned nothing: no contract there at that hour?'
    expect((await faultOf(collect(first(), { pool: zero }))).message).toBe(nothing)
    expect((await faultOf(collect(first(), { pool: tokens[0].address }))).message).toContain('slot0 reverted')
    const [token0, token1] = tokens.map(({ address }) => address)
    await chain.send(factory, 'createPool', [token0, token1, 500])
    const later = await chain.nextHour()
    await chain.nextHour()
    const empty = await chain.read<string>(factory, 'getPool', [token0, token1, 500])
    expect((await faultOf(collect(later, { pool: empty }))).message).toBe(
      'the pool is not initialised: it has no price',
    )
    // Before its deployment.
    expect((await faultOf(collect(first(), { pool: empty }))).message).toBe(nothing)
  })

  it('tells mistakes at their place', async () => {
    for (const [own, path, message] of [
      [{ tokens: [zero] }, ['tokens'], 'must be a list of two addresses'],
      [{ tokens: [zero, '0x1'] }, ['tokens', 1], 'must be an address'],
      [{ quote: 'USDC' }, ['quote'], 'must be token0 or token1'],
      [{ prefix: 'StableTokens' }, ['prefix'], 'must have at most 7 characters'],
      [{ qoute: 'token0' }, ['qoute'], 'unknown option "qoute"'],
    ] as const) {
      const collector = configured('uniswap-v3-pool', { options: { chain: 'demo', pool: zero, ...own } })
      expect(await runner.describe(collector), message).toMatchObject({
        kind: 'mistaken',
        mistakes: [{ path, message: expect.stringContaining(message) }],
      })
    }
  })
})

describe('a price by the mean of the pool', () => {
  /** The exact power of the mean tick, rounded down, in whole tokens. */
  async function expected(hour: Hour, window: number, isOfToken0: boolean): Promise<number> {
    const [[before = 0n, now = 0n]] = await chain.read<readonly [readonly bigint[]]>(
      pool,
      'observe',
      [[window, 0]],
      hour,
    )
    const seconds = BigInt(window)
    const tick = (now - before - ((((now - before) % seconds) + seconds) % seconds)) / seconds
    const power = tick < 0n ? -tick : tick
    const [over, under] = tick < 0n ? [10_000n ** power, 10_001n ** power] : [10_001n ** power, 10_000n ** power]
    const [unit0, unit1] = decimals.map(places => 10n ** BigInt(places)) as [bigint, bigint]
    return isOfToken0 ? exactly(over * unit0, under * unit1) : exactly(under * unit1, over * unit0)
  }

  it('is that of the pool’s own observations, and of no other window or pool', async () => {
    const [token0 = '', token1 = ''] = tokens.map(({ address }) => address)
    const mean = { chain: 'demo', pool: pool.address, price: 'USD', token: token0, quote: token1 }
    const sources: Readonly<Record<string, unknown>> = {
      USD: { fixed: 1 },
      Still: { ...mean, window: 1_800 },
      Moved: { ...mean, window: 3_600 },
      Turned: { ...mean, window: 3_600, token: token1, quote: token0 },
      Forgotten: { ...mean, window: 604_800 },
      Other: { ...mean, window: 1_800, quote: factory.address },
    }
    const place = { file: '/tidegauge.yaml', line: 1, column: 1 }
    const entries = Object.entries(sources).map(
      ([name, source]) => [name, priceConfig(name, [source], () => place).collector] as const,
    )
    const prices = Object.fromEntries(entries)
    const runner = new ProcessRunner({ chains: chains(), prices, deadlineMs: 60_000, time: systemTime, log: () => {} })
    const values = Object.fromEntries(Object.keys(sources).map(name => [name, { product: [1, { price: name }] }]))
    const collector = configured('contract-read', { options: { chain: 'demo', values } })
    const [, second = 0 as Hour] = hours
    const { readings, failures } = await runner.collect(collector, second)
    await runner.stop()
    expect(readings).toEqual({
      USD: 1,
      Still: await expected(second, 1_800, true),
      Moved: await expected(second, 3_600, true),
      Turned: await expected(second, 3_600, false),
    })
    expect(readings['Moved']).not.toBe(readings['Still'])
    expect(failures['Forgotten']?.message).toContain('the pool remembers less than 604800 s')
    // An address without decimals.
    expect(failures['Other']?.message).toContain('there is no price of Other')
  })
})
