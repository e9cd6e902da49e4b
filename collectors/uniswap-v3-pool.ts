import { address, type ChainAsOf, type DeclaredMetric, defineCollector, z } from 'tidegauge'
import { erc20Abi, parseAbi } from 'viem'
import { decimalsReader, ofOption } from './values/decimals.ts'
import { tokenDecimals } from './values/decimals-option.ts'
import { Fraction, nearestNumber, scaled } from './values/fraction.ts'
import { prefixed, prefixOption } from './values/prefix.ts'

// Forks return more or fewer numbers of slot0 after these two.
const poolAbi = parseAbi([
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function liquidity() view returns (uint128)',
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick)',
])

const options = z.strictObject({
  chain: z.string().describe('the name of a chain of the configuration'),
  pool: address.describe('the pool'),
  quote: z.enum(['token0', 'token1']).default('token1').describe('the token that prices are in'),
  prefix: prefixOption(7),
  unit0: z.string().optional().describe('symbol of token0'),
  unit1: z.string().optional().describe('symbol of token1'),
  decimals0: tokenDecimals,
  decimals1: tokenDecimals,
  tokens: z
    .tuple([address, address], { error: 'must be a list of two addresses: token0 and token1 of the pool' })
    .optional()
    .describe('token0 and token1, to read everything in one request; they are checked'),
})

type Options = z.output<typeof options>
type Address = z.output<typeof address>
type Pair<T> = readonly [token0: T, token1: T]

/**
 * A Uniswap V3 pool or one of its forks: the price of the other token in the quote token, exactly as `sqrtPriceX96` has
 * it; the liquidity in range, as the pool counts it; the pool's balances, which include fees that were not collected
 * yet; and their value in the quote token.
 */
export default defineCollector({
  options,
  metrics({ quote, prefix, unit0, unit1 }) {
    const unit = quote === 'token0' ? unit0 : unit1
    return prefixed<DeclaredMetric>(prefix, {
      Price: { unit, min: 0 },
      TVL: { unit, min: 0 },
      Liquidity: { min: 0 },
      Balance0: { unit: unit0, min: 0 },
      Balance1: { unit: unit1, min: 0 },
    })
  },
  history: true,
  async collect({ options, chain }) {
    const { read } = chain(options.chain)
    const pool = { address: options.pool, abi: poolAbi } as const
    const poolTokens = read([
      { ...pool, functionName: 'token0' },
      { ...pool, functionName: 'token1' },
    ])
    const state = read([
      { ...pool, functionName: 'slot0' },
      { ...pool, functionName: 'liquidity' },
    ])
    const [[[root], liquidity], [balance0, balance1]] = await Promise.all([
      state,
      balancesOf(chain(options.chain), options, options.tokens ?? poolTokens),
      poolTokens.then(own => compare(options.tokens ?? own, own)),
    ])
    if (root === 0n) throw new Error('the pool is not initialised: it has no price')
    const price = priceOf(root, [balance0.decimals, balance1.decimals])
    const [quote, base, inQuote] =
      options.quote === 'token0' ? [balance0, balance1, price.inverse()] : [balance1, balance0, price]
    return prefixed(options.prefix, {
      Price: nearestNumber(inQuote),
      TVL: nearestNumber(quote.amount.add(base.amount.mul(inQuote))),
      Liquidity: Number(liquidity),
      Balance0: nearestNumber(balance0.amount),
      Balance1: nearestNumber(balance1.amount),
    })
  },
})

function compare(tokens: Pair<Address>, poolTokens: Pair<Address>): void {
  for (const place of [0, 1] as const) {
    if (tokens[place].toLowerCase() !== poolTokens[place].toLowerCase())
      throw new Error(
        `token${place} of the pool is ${poolTokens[place]}, and tokens has ${tokens[place]} in its place: write them, and all else with 0 or 1 in it, in the order of the pool`,
      )
  }
}

async function balancesOf(chain: ChainAsOf, options: Options, tokens: Pair<Address> | Promise<Pair<Address>>) {
  const balanceOf = async (token: Address, place: 0 | 1) => {
    const [balance, decimals] = await Promise.all([
      chain.read({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [options.pool] }),
      decimalsReader(chain, ofOption(`decimals${place}`))(token, options[`decimals${place}`]),
    ])
    return { amount: scaled(balance, decimals), decimals }
  }
  const [token0, token1] = await tokens
  return Promise.all([balanceOf(token0, 0), balanceOf(token1, 1)])
}

/**
 * The price of token0 in token1, in whole tokens.
 *
 * @param root of the price in smallest units, times 2^96
 */
function priceOf(root: bigint, [decimals0, decimals1]: Pair<number>): Fraction {
  return new Fraction(root ** 2n * 10n ** BigInt(decimals0), 2n ** 192n * 10n ** BigInt(decimals1))
}
