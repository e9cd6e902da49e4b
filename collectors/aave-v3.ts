import { address, type ChainAsOf, type DeclaredMetric, defineCollector, type ReadingValue, z } from 'tidegauge'
import { parseAbi, zeroAddress } from 'viem'
import { type DecimalsOf, decimalsReader } from './values/decimals.ts'
import { Fraction, nearestNumber, scaled, total } from './values/fraction.ts'
import { readingOf } from './values/none.ts'
import { longNames, prefixed, prefixOption } from './values/prefix.ts'
import { percentOfYear, rateKinds } from './values/rate.ts'

const poolAbi = parseAbi([
  'function ADDRESSES_PROVIDER() view returns (address)',
  'function getReservesList() view returns (address[])',
])
const providerAbi = parseAbi([
  'function getPool() view returns (address)',
  'function getPriceOracle() view returns (address)',
  'function getPoolDataProvider() view returns (address)',
])
const oracleAbi = parseAbi([
  'function BASE_CURRENCY() view returns (address)',
  'function BASE_CURRENCY_UNIT() view returns (uint256)',
  'function getAssetPrice(address asset) view returns (uint256)',
])
const dataProviderAbi = parseAbi([
  'struct State { uint256 unbacked; uint256 accruedToTreasuryScaled; uint256 totalAToken; uint256 totalStableDebt; uint256 totalVariableDebt; uint256 liquidityRate; uint256 variableBorrowRate; }',
  'function getReserveData(address asset) view returns (State)',
])

/** A part of labels of at most 16 characters, like `…SupplyAPY`. */
const nameCharsMax = 7

const options = z
  .strictObject({
    chain: z.string().describe('the name of a chain of the configuration'),
    pool: address.describe('the Pool of the market'),
    provider: address.optional().describe('its PoolAddressesProvider, to save a request; it is checked'),
    prefix: prefixOption(nameCharsMax),
    reserves: z.record(z.string(), address).default({}).describe('assets by the names that their labels begin with'),
    rates: rateKinds.default('APY').describe('APR is simple, APY compounded each second; both in % a year'),
    unit: z.string().default('USD').describe("the currency of the pool's oracle"),
  })
  .superRefine(({ prefix, reserves }, context) => {
    for (const { name, message } of longNames({ prefix, names: Object.keys(reserves) }, nameCharsMax, 'SupplyAPY'))
      context.addIssue({ code: 'custom', path: ['reserves', name], message })
  })

type Options = z.output<typeof options>
type Address = Options['pool']

/**
 * An Aave V3 pool or a fork of it: what is supplied and borrowed in the currency of the pool's own oracle, of all
 * reserves and of those that are named, and the rates of these. A sum over all reserves is whole or fails.
 */
export default defineCollector({
  options,
  metrics: ({ prefix, reserves, rates, unit }) =>
    prefixed<DeclaredMetric>(
      prefix,
      Object.fromEntries([
        ...['', ...Object.keys(reserves)].flatMap(name =>
          ['Supplied', 'Borrowed'].map(label => [`${name}${label}`, { unit, min: 0 }]),
        ),
        ...Object.keys(reserves).flatMap(name =>
          ['Supply', 'Borrow'].map(label => [`${name}${label}${rates}`, { unit: '%', min: 0 }]),
        ),
      ]),
    ),
  history: true,
  collect({ options, chain }) {
    const market = marketOf(chain(options.chain), options)
    const amounts = (['Supplied', 'Borrowed'] as const).flatMap(label => {
      const values = Object.entries(options.reserves).map(([name, asset]) => {
        const value = market.then(market => worth(market, asset, label))
        return [`${name}${label}`, value] as const
      })
      const marketTotal = market.then(async market => {
        const parts = await Promise.all(market.assets.map(each => worth(market, each, label)))
        return readingOf(total(parts), parts.length, undefined)
      })
      return [
        [label, marketTotal] as const,
        ...values.map(([label, value]) => [label, value.then(nearestNumber)] as const),
      ]
    })
    const rates = Object.entries(options.reserves).flatMap(([name, asset]) => {
      const state = market.then(market => stateOf(market, asset))
      return [
        [
          `${name}Supply${options.rates}`,
          state.then(({ liquidityRate }) => rate(options.rates, liquidityRate)),
        ] as const,
        [
          `${name}Borrow${options.rates}`,
          state.then(({ variableBorrowRate }) => rate(options.rates, variableBorrowRate)),
        ] as const,
      ]
    })
    const percents = rates.map(([label, value]) => [label, value.then(nearestNumber)] as const)
    return prefixed(options.prefix, Object.fromEntries<Promise<ReadingValue>>([...amounts, ...percents]))
  },
})

/** The pool as of the hour, with its provider's contracts and all of its reserves, in lower case. */
interface Market {
  readonly chain: ChainAsOf
  readonly decimalsOf: DecimalsOf
  readonly oracle: Address
  readonly dataProvider: Address
  readonly assets: readonly Address[]
  /** Of the oracle's prices. */
  readonly unit: string
}

async function marketOf(chain: ChainAsOf, { pool, unit, ...marketOptions }: Options): Promise<Market> {
  const contracts = async () => {
    const provider =
      marketOptions.provider ?? (await chain.read({ address: pool, abi: poolAbi, functionName: 'ADDRESSES_PROVIDER' }))
    const providerContract = { address: provider, abi: providerAbi } as const
    const [poolOfProvider, oracle, dataProvider] = await chain.read([
      { ...providerContract, functionName: 'getPool' },
      { ...providerContract, functionName: 'getPriceOracle' },
      { ...providerContract, functionName: 'getPoolDataProvider' },
    ])
    if (inLowerCase(poolOfProvider) !== inLowerCase(pool))
      throw new Error(`the provider ${provider} is that of the pool ${poolOfProvider}: write the provider of this pool`)
    return { oracle, dataProvider }
  }
  const [assets, marketContracts] = await Promise.all([
    chain.read({ address: pool, abi: poolAbi, functionName: 'getReservesList' }),
    contracts(),
  ])
  return { chain, decimalsOf: decimalsReader(chain), unit, assets: assets.map(inLowerCase), ...marketContracts }
}

async function stateOf({ chain, dataProvider, assets }: Market, asset: Address) {
  if (!assets.includes(inLowerCase(asset)))
    throw new Error(`${asset} is not a reserve of the pool at this hour: check its address`)
  return chain.read({ address: dataProvider, abi: dataProviderAbi, functionName: 'getReserveData', args: [asset] })
}

async function worth(market: Market, asset: Address, label: 'Supplied' | 'Borrowed'): Promise<Fraction> {
  const price = priceOf(market, asset)
  // Nothing is worth nothing, also at an unknown price: a delisted reserve fails no sum.
  price.catch(() => {})
  const [state, decimals] = await Promise.all([stateOf(market, asset), market.decimalsOf(asset)])
  const amount = label === 'Supplied' ? state.totalAToken : state.totalStableDebt + state.totalVariableDebt
  return amount === 0n ? new Fraction(0) : scaled(amount, decimals).mul(await price)
}

async function priceOf({ chain, oracle, unit }: Market, asset: Address): Promise<Fraction> {
  const oracleContract = { address: oracle, abi: oracleAbi } as const
  const [base, unitPrice, price] = await chain.read([
    { ...oracleContract, functionName: 'BASE_CURRENCY' },
    { ...oracleContract, functionName: 'BASE_CURRENCY_UNIT' },
    { ...oracleContract, functionName: 'getAssetPrice', args: [asset] },
  ])
  if (base !== zeroAddress && unit === 'USD') {
    throw new Error(`the oracle's prices are not in USD but in ${base}: write its symbol as unit`)
  }
  if (price === 0n || unitPrice === 0n) throw new Error(`the oracle has no price of ${asset}: it answers 0`)
  return new Fraction(price, unitPrice)
}

/** @param ray the simple rate of a year, times 10^27 */
function rate(kind: Options['rates'], ray: bigint): Fraction {
  return percentOfYear(kind, scaled(ray, 27))
}

function inLowerCase(given: Address): Address {
  return given.toLowerCase() as Address
}
