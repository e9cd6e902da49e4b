import { address, type ChainAsOf, type DeclaredMetric, defineCollector, type ReadingValue, z } from 'tidegauge'
import { parseAbi } from 'viem'
import { decimalsReader } from './values/decimals.ts'
import { Fraction, nearestNumber, scaled, total } from './values/fraction.ts'
import { readingOf } from './values/none.ts'
import { longNames, prefixed, prefixOption } from './values/prefix.ts'
import { percentOfYear, rateKinds, secondsOfYear } from './values/rate.ts'

const cometAbi = parseAbi([
  'struct AssetInfo { uint8 offset; address asset; address priceFeed; uint64 scale; uint64 borrowCollateralFactor; uint64 liquidateCollateralFactor; uint64 liquidationFactor; uint128 supplyCap; }',
  'function totalSupply() view returns (uint256)',
  'function totalBorrow() view returns (uint256)',
  'function getUtilization() view returns (uint256)',
  'function getSupplyRate(uint256 utilization) view returns (uint64)',
  'function getBorrowRate(uint256 utilization) view returns (uint64)',
  'function numAssets() view returns (uint8)',
  'function getAssetInfo(uint8 place) view returns (AssetInfo)',
  'function totalsCollateral(address asset) view returns (uint128 totalSupplyAsset, uint128 reserved)',
  'function getPrice(address priceFeed) view returns (uint256)',
])

/** Of prices, in every Comet. */
const priceDecimals = 8
/** Of utilisation and rates. */
const factorDecimals = 18
/** A part of labels of at most 16 characters, `…Collateral`. */
const nameCharsMax = 6

const options = z
  .strictObject({
    chain: z.string().describe('the name of a chain of the configuration'),
    comet: address.describe('the Comet of the market'),
    prefix: prefixOption(5),
    unit: z.string().optional().describe("the base token's symbol"),
    currency: z.string().default('USD').describe("the currency of the Comet's price feeds: ETH in the WETH market"),
    collaterals: z.record(z.string(), address).default({}).describe('assets by the names that their labels begin with'),
    rates: rateKinds.default('APR').describe('APR is simple, APY compounded each second; both in % a year'),
  })
  .superRefine(({ prefix, collaterals }, context) => {
    for (const { name, message } of longNames({ prefix, names: Object.keys(collaterals) }, nameCharsMax, 'Collateral'))
      context.addIssue({ code: 'custom', path: ['collaterals', name], message })
  })

type Options = z.output<typeof options>
type Address = Options['comet']

/**
 * A Compound III market (Comet): what is supplied and borrowed in its base token, its utilisation and rates, and the
 * worth of its collateral by its own price feeds, in all and of the assets that are named. A sum is whole or fails.
 */
export default defineCollector({
  options,
  metrics: ({ prefix, unit, currency, collaterals, rates }) =>
    prefixed<DeclaredMetric>(
      prefix,
      Object.fromEntries([
        ...['Supplied', 'Borrowed'].map(label => [label, { unit, min: 0 }]),
        ...['Utilisation', `Supply${rates}`, `Borrow${rates}`].map(label => [label, { unit: '%', min: 0 }]),
        ...['', ...Object.keys(collaterals)].map(name => [`${name}Collateral`, { unit: currency, min: 0 }]),
      ]),
    ),
  history: true,
  collect({ options, chain }) {
    const market = { comet: options.comet, chain: chain(options.chain) }
    const { read } = market.chain
    const comet = { address: options.comet, abi: cometAbi } as const
    const inBase = async (amount: Promise<bigint>) => {
      const [raw, decimals] = await Promise.all([amount, decimalsReader(market.chain)(options.comet)])
      return scaled(raw, decimals)
    }
    const utilisation = read({ ...comet, functionName: 'getUtilization' })
    const rate = async (functionName: 'getSupplyRate' | 'getBorrowRate') => {
      const perSecond = await read({ ...comet, functionName, args: [await utilisation] })
      return percentOfYear(options.rates, scaled(perSecond * secondsOfYear, factorDecimals))
    }
    const collaterals = collateralsOf(market)
    const values: Record<string, Promise<Fraction>> = {
      Supplied: inBase(read({ ...comet, functionName: 'totalSupply' })),
      Borrowed: inBase(read({ ...comet, functionName: 'totalBorrow' })),
      Utilisation: utilisation.then(used => scaled(used, factorDecimals - 2)),
      [`Supply${options.rates}`]: rate('getSupplyRate'),
      [`Borrow${options.rates}`]: rate('getBorrowRate'),
    }
    for (const [name, asset] of Object.entries(options.collaterals)) {
      values[`${name}Collateral`] = collaterals.then(all => worth(market, found(all, asset)))
    }
    const numbers = Object.entries(values).map(([label, value]) => [label, value.then(nearestNumber)] as const)
    const Collateral = collaterals.then(async all => {
      const parts = await Promise.all(all.map(each => worth(market, each)))
      return readingOf(total(parts), parts.length, undefined)
    })
    return prefixed<Promise<ReadingValue>>(options.prefix, { ...Object.fromEntries(numbers), Collateral })
  },
})

interface Market {
  readonly comet: Address
  readonly chain: ChainAsOf
}

interface CollateralAsset {
  readonly asset: Address
  readonly priceFeed: Address
  /** One whole token, in smallest units. */
  readonly scale: bigint
}

async function collateralsOf({ comet, chain }: Market): Promise<readonly CollateralAsset[]> {
  const count = await chain.read({ address: comet, abi: cometAbi, functionName: 'numAssets' })
  const places = Array.from({ length: count }, (_, place) => place)
  return Promise.all(
    places.map(place => chain.read({ address: comet, abi: cometAbi, functionName: 'getAssetInfo', args: [place] })),
  )
}

function found(all: readonly CollateralAsset[], asset: Address): CollateralAsset {
  const own = all.find(each => each.asset.toLowerCase() === asset.toLowerCase())
  if (!own) throw new Error(`${asset} is not a collateral of the market at this hour: check its address`)
  return own
}

async function worth({ comet, chain }: Market, { asset, priceFeed, scale }: CollateralAsset): Promise<Fraction> {
  const price = chain.read({ address: comet, abi: cometAbi, functionName: 'getPrice', args: [priceFeed] })
  // Nothing is worth nothing, also at an unknown price: the paused feed of an unused asset fails no sum.
  price.catch(() => {})
  const [amount] = await chain.read({ address: comet, abi: cometAbi, functionName: 'totalsCollateral', args: [asset] })
  if (amount === 0n) return new Fraction(0)
  const known = await price
  if (known === 0n) throw new Error(`the market has no price of ${asset}: it answers 0`)
  return new Fraction(amount, scale).mul(scaled(known, priceDecimals))
}
