import { address, type ChainAsOf, defineCollector, z } from 'tidegauge'
import { parseAbi } from 'viem'
import { lacksFunction } from './values/contracts.ts'
import { decimalsReader, ofOption } from './values/decimals.ts'
import { tokenDecimals } from './values/decimals-option.ts'
import { type Fraction, nearestNumber, scaled } from './values/fraction.ts'

// Forks return wider reserves, and other numbers after these two.
const pairAbi = parseAbi([
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function getReserves() view returns (uint256 reserve0, uint256 reserve1)',
  'function stable() view returns (bool)',
  'function stableSwap() view returns (bool)',
])

/**
 * A Uniswap V2 pool or one of its forks: both reserves, the price of the other token in the quote token, and the pool's
 * value in the quote token. The price is that of the pool's curve: x·y, or x³y + xy³ of a pair that says that it is
 * stable, as Solidly's and Camelot's do.
 */
export default defineCollector({
  options: z.strictObject({
    chain: z.string().describe('the name of a chain of the configuration'),
    pool: address.describe('the pair'),
    quote: z.enum(['token0', 'token1']).default('token1').describe('the token that prices are in'),
    unit0: z.string().optional().describe('symbol of token0'),
    unit1: z.string().optional().describe('symbol of token1'),
    decimals0: tokenDecimals,
    decimals1: tokenDecimals,
  }),
  metrics({ quote, unit0, unit1 }) {
    const unit = quote === 'token0' ? unit0 : unit1
    return {
      Reserve0: { unit: unit0, min: 0 },
      Reserve1: { unit: unit1, min: 0 },
      Price: { unit, min: 0 },
      TVL: { unit, min: 0 },
    }
  },
  history: true,
  async collect({ options, chain }) {
    const asOf = chain(options.chain)
    const pool = { address: options.pool, abi: pairAbi } as const
    const [[token0, token1, [amount0, amount1]], isStable] = await Promise.all([
      asOf.read([
        { ...pool, functionName: 'token0' },
        { ...pool, functionName: 'token1' },
        { ...pool, functionName: 'getReserves' },
      ]),
      saysStable(asOf, options.pool),
    ])
    const [decimals0, decimals1] = await Promise.all([
      decimalsReader(asOf, ofOption('decimals0'))(token0, options.decimals0),
      decimalsReader(asOf, ofOption('decimals1'))(token1, options.decimals1),
    ])
    if (amount0 === 0n || amount1 === 0n) throw new Error('the pool is empty: it has no price')
    const [reserve0, reserve1] = [scaled(amount0, decimals0), scaled(amount1, decimals1)]
    const price = isStable ? stablePrice(reserve0, reserve1) : reserve1.div(reserve0)
    const [quote, base, inQuote] =
      options.quote === 'token0' ? [reserve0, reserve1, price.inverse()] : [reserve1, reserve0, price]
    return {
      Reserve0: nearestNumber(reserve0),
      Reserve1: nearestNumber(reserve1),
      Price: nearestNumber(inQuote),
      TVL: nearestNumber(quote.add(base.mul(inQuote))),
    }
  },
})

/**
 * Solidly's pairs have `stable()`, Camelot's `stableSwap()`, and Uniswap's own neither: only both tell. That a pair lacks
 * them is remembered, and costs no call in later hours.
 *
 * @throws Fault when the pair has such a function, and its answer is not understood: its curve is not known then
 */
async function saysStable(chain: ChainAsOf, address: `0x${string}`): Promise<boolean> {
  const pool = { address, abi: pairAbi } as const
  const answers = await chain.read(
    [
      { ...pool, functionName: 'stable' },
      { ...pool, functionName: 'stableSwap' },
    ],
    { partial: true },
  )
  const failure = answers.find(({ error }) => error !== undefined && !lacksFunction(error))
  if (failure) throw failure.error
  return answers.some(({ result }) => result === true)
}

/** The price of token0 in token1 on the curve x³y + xy³. */
function stablePrice(x: Fraction, y: Fraction): Fraction {
  const [xx, yy] = [x.mul(x), y.mul(y)]
  return y.mul(xx.mul(3).add(yy)).div(x.mul(xx.add(yy.mul(3))))
}
