import { parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import { configured, hour } from '../runner/setup.ts'
import { answeringRunner, contractOf } from './answering-contract.ts'

const answering = answeringRunner()
const { runner } = answering
const [comet, tide, coin, tideFeed, coinFeed] = ['11', '22', '33', '44', '55'].map(
  digits => `0x${digits.repeat(20)}`,
) as [string, string, string, string, string]

const abi = parseAbi([
  'struct AssetInfo { uint8 offset; address asset; address priceFeed; uint64 scale; uint64 borrowCollateralFactor; uint64 liquidateCollateralFactor; uint64 liquidationFactor; uint128 supplyCap; }',
  'function decimals() view returns (uint8)',
  'function totalSupply() view returns (uint256)',
  'function totalBorrow() view returns (uint256)',
  'function getUtilization() view returns (uint256)',
  'function getSupplyRate(uint256 utilization) view returns (uint64)',
  'function getBorrowRate(uint256 utilization) view returns (uint64)',
  'function numAssets() view returns (uint8)',
  'function getAssetInfo(uint8 i) view returns (AssetInfo)',
  'function totalsCollateral(address asset) view returns (uint128, uint128)',
  'function getPrice(address priceFeed) view returns (uint256)',
])

const used = 834_567_631_451_841_985n
const info = (offset: number, asset: string, priceFeed: string, scale: bigint) => ({
  offset,
  asset,
  priceFeed,
  scale,
  borrowCollateralFactor: 8n * 10n ** 17n,
  liquidateCollateralFactor: 85n * 10n ** 16n,
  liquidationFactor: 95n * 10n ** 16n,
  supplyCap: 10n ** 18n,
})

/** As a market of Compound's own contracts answered that was lent from and borrowed from: `compound-v3.soak.test.ts`. */
const recorded = {
  decimals: 6,
  totalSupply: 1_000_006_113_403n,
  totalBorrow: 834_574_117_500n,
  getUtilization: used,
  getSupplyRate: (utilization: bigint) => (utilization === used ? 1_453_166_304n : 0n),
  getBorrowRate: (utilization: bigint) => (utilization === used ? 1_914_329_318n : 0n),
  numAssets: 2,
  getAssetInfo: (place: number) =>
    place === 0 ? info(0, tide, tideFeed, 10n ** 18n) : info(1, coin, coinFeed, 10n ** 8n),
  totalsCollateral: (asset: string) => [asset === tide ? 333_333_333_333_333_333_333_333n : 12_345_678_901n, 0n],
  getPrice: (feed: string) => (feed === tideFeed ? 187_654_321n : 9_876_543_210_000n),
}

const collect = (answers: Record<string, unknown> = {}, own: Record<string, unknown> = {}) => {
  answering.use(contractOf(abi, { ...recorded, ...answers }))
  const options = { chain: 'demo', comet, collaterals: { TIDE: tide, COIN: coin }, ...own }
  return runner.collect(configured('compound-v3', { options }), hour)
}

describe('compound-v3', () => {
  it('gives what was computed from the same answers in whole numbers', async () => {
    const values = {
      Supplied: 1_000_006.113403,
      Borrowed: 834_574.1175,
      Utilisation: 83.4567631451842,
      Collateral: 12_818_777.515584515,
      TIDECollateral: 625_514.4033333333,
      COINCollateral: 12_193_263.112251181,
    }
    expect(await collect()).toMatchObject({
      failures: {},
      readings: { ...values, SupplyAPR: 4.5827052562944, BorrowAPR: 6.0370289372448 },
    })
    expect(await collect({}, { rates: 'APY' })).toMatchObject({
      failures: {},
      readings: { ...values, SupplyAPY: 4.689333774481899, BorrowAPY: 6.22298060778727 },
    })
  })

  it('has no worth without a price, but of nothing', async () => {
    const getPrice = (feed: string) => (feed === tideFeed ? 187_654_321n : 0n)
    const { readings, failures } = await collect({ getPrice })
    expect(Object.keys(failures).sort()).toEqual(['COINCollateral', 'Collateral'])
    expect(failures['Collateral']?.message).toBe(`the market has no price of ${coin}: it answers 0`)
    expect(readings['TIDECollateral']).toBe(625_514.4033333333)
    const totalsCollateral = (asset: string) => [asset === tide ? 333_333_333_333_333_333_333_333n : 0n, 0n]
    expect(await collect({ getPrice, totalsCollateral })).toMatchObject({
      failures: {},
      readings: { Collateral: 625_514.4033333333, COINCollateral: 0 },
    })
  })

  it('begins all labels with the prefix', async () => {
    const { readings } = await collect({}, { prefix: 'A', collaterals: { COIN: coin } })
    expect(Object.keys(readings)).toHaveLength(7)
    expect(readings).toMatchObject({ ABorrowed: 834_574.1175, ACOINCollateral: 12_193_263.112251181 })
  })

  it('fails the label of an asset that is not a collateral, and no other', async () => {
    const { failures } = await collect({}, { collaterals: { TIDE: tide, WETH: comet } })
    expect(Object.keys(failures)).toEqual(['WETHCollateral'])
    expect(failures['WETHCollateral']?.message).toBe(
      `${comet} is not a collateral of the market at this hour: check its address`,
    )
  })

  it('declares units, and tells mistakes at their place', async () => {
    const describeOptions = (own: Record<string, unknown>) =>
      runner.describe(configured('compound-v3', { options: { chain: 'demo', comet, ...own } }))
    expect(
      await describeOptions({ unit: 'WETH', currency: 'ETH', rates: 'APY', collaterals: { wstETH: tide } }),
    ).toEqual({
      kind: 'usable',
      history: true,
      metrics: {
        Supplied: { unit: 'WETH', min: 0 },
        Borrowed: { unit: 'WETH', min: 0 },
        Utilisation: { unit: '%', min: 0 },
        SupplyAPY: { unit: '%', min: 0 },
        BorrowAPY: { unit: '%', min: 0 },
        Collateral: { unit: 'ETH', min: 0 },
        wstETHCollateral: { unit: 'ETH', min: 0 },
      },
    })
    const { metrics } = (await describeOptions({ prefix: 'USDT', collaterals: { OP: tide } })) as { metrics?: object }
    expect(Object.keys(metrics ?? {})).toEqual([
      'USDTSupplied',
      'USDTBorrowed',
      'USDTUtilisation',
      'USDTSupplyAPR',
      'USDTBorrowAPR',
      'USDTCollateral',
      'USDTOPCollateral',
    ])
    for (const [own, path, message] of [
      [
        { prefix: 'USDT', collaterals: { WBTC: tide } },
        ['collaterals', 'WBTC'],
        'WBTC and the prefix together must have',
      ],
      [{ prefix: 'wstETH' }, ['prefix'], 'must have at most 5 characters'],
      [{ collaterals: { sevenst: tide } }, ['collaterals', 'sevenst'], 'sevenst must have at most 6 characters'],
      [{ collaterals: [tide] }, ['collaterals'], 'must be a map'],
      [{ comet: '0x1' }, ['comet'], 'must be an address'],
      [{ colaterals: {} }, ['colaterals'], 'unknown option "colaterals"'],
    ] as const) {
      expect(await describeOptions(own)).toMatchObject({
        kind: 'mistaken',
        mistakes: [{ path, message: expect.stringContaining(message) }],
      })
    }
  })
})
