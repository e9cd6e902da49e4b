import { type Address, parseUnits } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OpenChainReader } from '../../src/chain/read/reader.ts'
import type { Deployed } from '../../src/devchain/miner.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { Hour } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import type { Runner } from '../../src/runner/runner.ts'
import { configured } from '../runner/setup.ts'
import { type AaveMarket, aaveContract, deployAave } from '../support/aave.ts'
import { exactly } from '../support/exactly.ts'
import { ProtocolChain } from '../support/protocol-chain.ts'
import { isSoak } from '../support/soak.ts'
import { compoundedPercent } from './compounded-percent.ts'
import { collectorContract } from './contract.ts'

const zero = `0x${'00'.repeat(20)}` as const

let chain: ProtocolChain
let reader: OpenChainReader
let market: AaveMarket
let assets: Readonly<Record<'dollar' | 'tide' | 'coin' | 'late', Deployed>>
/** Two with a past of supplies and borrows; one in which the price of an asset is not known. */
let hours: readonly [Hour, Hour]
let paused: Hour
/** The same, where the oracle has another one to ask, which answers 0. */
let zeroed: Hour

beforeAll(async () => {
  chain = await ProtocolChain.start()
  market = await deployAave(chain)
  const dollar = await market.list({ symbol: 'USD', decimals: 6, price: '0.99987654' })
  const tide = await market.list({ symbol: 'TIDE', decimals: 18, price: '2.12345678' })
  const coin = await market.list({ symbol: 'COIN', decimals: 8, price: '5' })
  await supply(dollar, parseUnits('1000000.000001', 6))
  await supply(tide, parseUnits('333333.333333333333333333', 18), chain.others[0])
  await borrow(dollar, parseUnits('123456.789012', 6), chain.others[0])
  await borrow(tide, parseUnits('12345.678901234567890123', 18))
  const first = await chain.nextHour()
  const late = await market.list({ symbol: 'LATE', decimals: 8, price: '98765.4321' })
  await supply(late, 123_456_789n, chain.others[1])
  await borrow(dollar, parseUnits('50000', 6), chain.others[1])
  await market.setPrice(tide, '1.87654321')
  assets = { dollar, tide, coin, late }
  const second = await chain.nextHour()
  await market.setPrice(late, '0')
  // Of which there is nothing.
  await market.setPrice(coin, '0')
  hours = [first, second]
  paused = await chain.nextHour()
  const fallback = await chain.deploy(aaveContract('mocks/oracle/PriceOracle'))
  await chain.send(market.oracle, 'setFallbackOracle', [fallback.address])
  zeroed = await chain.nextHour()
  await market.setPrice(tide, '3')
  await supply(dollar, 1n)
  await chain.nextHour()
  reader = chain.reader('demo')
})
afterAll(async () => {
  reader?.close()
  await chain?.stop()
})

async function supply(asset: Deployed, amount: bigint, from = chain.owner) {
  await chain.send(asset, 'mint', [from, amount], { from })
  await chain.send(asset, 'approve', [market.pool.address, 2n ** 256n - 1n], { from })
  await chain.send(market.pool, 'supply', [asset.address, amount, from, 0], { from })
}

function borrow(asset: Deployed, amount: bigint, from = chain.owner) {
  const variable = 2n
  return chain.send(market.pool, 'borrow', [asset.address, amount, variable, 0, from], { from })
}

const chains = () => ({ demo: reader })
const options = () => ({
  chain: 'demo',
  pool: market.pool.address,
  reserves: { USD: assets.dollar.address.toLowerCase(), TIDE: assets.tide.address },
})

if (isSoak) collectorContract('aave-v3', { use: 'aave-v3', options, hours: () => hours, chains })

interface ReserveData {
  readonly currentLiquidityRate: bigint
  readonly currentVariableBorrowRate: bigint
  readonly aTokenAddress: Address
  readonly stableDebtTokenAddress: Address
  readonly variableDebtTokenAddress: Address
}

/** An amount of a reserve in USD, as a quotient of whole numbers: 10^26 is as many decimals as there are. */
const unit = 10n ** 26n

async function truthOf(asset: Deployed, hour: Hour) {
  const data = await chain.read<ReserveData>(market.pool, 'getReserveData', [asset.address], hour)
  const supplyOf = (address: Address) => chain.read({ ...asset, address }, 'totalSupply', [], hour)
  const decimals = await chain.read<number>(asset, 'decimals', [], hour)
  const supplied = await supplyOf(data.aTokenAddress)
  const borrowed = (await supplyOf(data.stableDebtTokenAddress)) + (await supplyOf(data.variableDebtTokenAddress))
  const price = await chain.read(market.oracle, 'getAssetPrice', [asset.address], hour)
  const worth = (amount: bigint) => amount * price * 10n ** BigInt(18 - decimals)
  return { supplied: worth(supplied), borrowed: worth(borrowed), data }
}

describe('a pool of Aave’s own contracts', () => {
  let runner: Runner
  beforeAll(() => {
    runner = new ProcessRunner({ chains: chains(), deadlineMs: 60_000, time: systemTime, log: () => {} })
  })
  afterAll(() => runner.stop())

  const collect = (hour: Hour, own: Record<string, unknown> = {}) =>
    runner.collect(configured('aave-v3', { options: { ...options(), ...own } }), hour)

  it('has what is supplied and borrowed, by reserve and in all, and rates, exactly', async () => {
    for (const [hour, listed] of [
      [hours[0], [assets.dollar, assets.tide, assets.coin]],
      [hours[1], [assets.dollar, assets.tide, assets.coin, assets.late]],
    ] as const) {
      const truths = await Promise.all(listed.map(asset => truthOf(asset, hour)))
      const [dollar, tide] = truths
      if (!dollar || !tide) throw new Error('there are two')
      const sum = (part: 'supplied' | 'borrowed') => truths.reduce((sum, each) => sum + each[part], 0n)
      const amounts = {
        Supplied: exactly(sum('supplied'), unit),
        Borrowed: exactly(sum('borrowed'), unit),
        USDSupplied: exactly(dollar.supplied, unit),
        USDBorrowed: exactly(dollar.borrowed, unit),
        TIDESupplied: exactly(tide.supplied, unit),
        TIDEBorrowed: exactly(tide.borrowed, unit),
      }
      expect(amounts.USDBorrowed).toBeGreaterThan(100_000)
      const inAll = async (own: Record<string, unknown>) => {
        const { readings, failures } = await collect(hour, own)
        expect(failures).toEqual({})
        return readings
      }
      expect(await inAll({ provider: market.provider.address })).toEqual({
        ...amounts,
        USDSupplyAPY: compoundedPercent(dollar.data.currentLiquidityRate, 10n ** 27n),
        USDBorrowAPY: compoundedPercent(dollar.data.currentVariableBorrowRate, 10n ** 27n),
        TIDESupplyAPY: compoundedPercent(tide.data.currentLiquidityRate, 10n ** 27n),
        TIDEBorrowAPY: compoundedPercent(tide.data.currentVariableBorrowRate, 10n ** 27n),
      })
      expect(await inAll({ rates: 'APR' })).toEqual({
        ...amounts,
        USDSupplyAPR: exactly(dollar.data.currentLiquidityRate, 10n ** 25n),
        USDBorrowAPR: exactly(dollar.data.currentVariableBorrowRate, 10n ** 25n),
        TIDESupplyAPR: exactly(tide.data.currentLiquidityRate, 10n ** 25n),
        TIDEBorrowAPR: exactly(tide.data.currentVariableBorrowRate, 10n ** 25n),
      })
    }
  })

  it('begins all labels with the prefix', async () => {
    const plain = await collect(hours[1], { reserves: { USD: assets.dollar.address } })
    const { readings } = await collect(hours[1], { prefix: 'Core', reserves: { USD: assets.dollar.address } })
    const labels = Object.entries(plain.readings).map(([label, value]) => [`Core${label}`, value])
    expect(readings).toEqual(Object.fromEntries(labels))
  })

  it('has interest in it that accrued since the last transaction', async () => {
    const of = async (hour: Hour) => (await collect(hour, { reserves: { TIDE: assets.tide.address } })).readings
    const [before, after] = [(await of(hours[1]))['TIDEBorrowed'] ?? 0, (await of(paused))['TIDEBorrowed'] ?? 0]
    expect(after).toBeGreaterThan(before)
  })

  it('fails the worth of an asset without a price, and every sum with it, and nothing else', async () => {
    const reserves = { LATE: assets.late.address, USD: assets.dollar.address, COIN: assets.coin.address }
    const { readings, failures } = await collect(paused, { reserves })
    // Nothing was borrowed of it, so the sum of what is borrowed is known.
    expect(Object.keys(failures).sort()).toEqual(['LATESupplied', 'Supplied'])
    expect(readings).toMatchObject({ LATEBorrowed: 0, COINSupplied: 0, COINSupplyAPY: 0 })
    expect(failures['Supplied']?.message).toContain('getAssetPrice')
    const answered = await collect(zeroed, { reserves })
    expect(Object.keys(answered.failures).sort()).toEqual(['LATESupplied', 'Supplied'])
    expect(answered.failures['Supplied']?.message).toBe(
      `the oracle has no price of ${assets.late.address.toLowerCase()}: it answers 0`,
    )
  })

  it('reads an hour in two steps when the provider is written, and else in three', async () => {
    const calls = (own: Record<string, unknown>) => chain.ethCalls(() => collect(hours[1], own))
    expect(await calls({ provider: market.provider.address })).toBe(2)
    // Equal calls of an hour are asked once.
    expect(await calls({})).toBeLessThanOrEqual(3)
  })

  it.each([
    [
      'an asset that is no reserve',
      () => ({ reserves: { WETH: market.pool.address } }),
      'is not a reserve of the pool',
    ],
    ['the provider of another pool', () => ({ provider: market.oracle.address }), 'getPool'],
    ['no pool', () => ({ pool: zero }), 'getReservesList'],
    ['a token in place of the pool', () => ({ pool: assets.dollar.address }), ''],
  ])('fails for %s, and says so', async (_, own, words) => {
    const { failures } = await collect(hours[0], own())
    const messages = Object.values(failures).map(({ message }) => message)
    expect(messages.length).toBeGreaterThan(0)
    expect(messages[0]).toContain(words)
  })

  it('does not call prices in another currency USD', async () => {
    const feed = await chain.deploy(aaveContract('mocks/oracle/CLAggregators/MockAggregator'), [10n ** 18n])
    const listed = Object.values(assets).map(({ address }) => address)
    const sources = listed.map(() => feed.address)
    const oracleArguments = [market.provider.address, listed, sources, zero, assets.tide.address, 10n ** 18n]
    const other = await chain.deploy(aaveContract('misc/AaveOracle'), oracleArguments)
    await chain.send(market.provider, 'setPriceOracle', [other.address])
    const hour = await chain.nextHour()
    await chain.nextHour()
    const { failures } = await collect(hour, { reserves: {} })
    expect(failures['Supplied']?.message).toContain('prices are not in USD')
    const { readings } = await collect(hour, { reserves: { TIDE: assets.tide.address }, unit: 'TIDE' })
    expect(readings['TIDESupplied']).toBeGreaterThan(333_333)
  })

  it('tells mistakes at their place', async () => {
    const fine = { chain: 'demo', pool: zero }
    for (const [own, path, message] of [
      [{ reserves: { eightstr: zero } }, ['reserves', 'eightstr'], 'eightstr must have at most 7 characters'],
      [{ prefix: 'Core', reserves: { USDC: zero } }, ['reserves', 'USDC'], 'USDC and the prefix together must have'],
      [{ reserves: { USDC: 5 } }, ['reserves', 'USDC'], 'must be an address in quotes'],
      [{ reserves: [zero] }, ['reserves'], 'must be a map'],
      [{ rates: 'apr' }, ['rates'], 'must be'],
      [{ pool: '0x1' }, ['pool'], 'must be an address'],
      [{ reserve: {} }, ['reserve'], 'unknown option "reserve"'],
    ] as const) {
      expect(await runner.describe(configured('aave-v3', { options: { ...fine, ...own } })), message).toMatchObject({
        kind: 'mistaken',
        mistakes: [{ path, message: expect.stringContaining(message) }],
      })
    }
  })
})
