import { address, defineCollector, units, z } from 'tidegauge'
import { erc20Abi, parseAbi } from 'viem'

const pairAbi = parseAbi([
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function getReserves() view returns (uint112 reserve0, uint112 reserve1, uint32 blockTimestampLast)',
])

/**
 * A Uniswap V2 pool or one of its forks: both reserves, the price of the other token in the quote token, and the pool's
 * value in the quote token. Both sides are worth the same, so the value is twice the quote reserve.
 */
export default defineCollector({
  options: z.strictObject({
    chain: z.string().describe('the name of a chain of the configuration'),
    pool: address.describe('the pair'),
    quote: z.enum(['token0', 'token1']).default('token1').describe('the token that prices are in'),
    unit0: z.string().optional().describe('symbol of token0'),
    unit1: z.string().optional().describe('symbol of token1'),
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
    const { read } = chain(options.chain)
    const pool = { address: options.pool, abi: pairAbi } as const
    const [token0, token1, [amount0, amount1]] = await read([
      { ...pool, functionName: 'token0' },
      { ...pool, functionName: 'token1' },
      { ...pool, functionName: 'getReserves' },
    ])
    const [decimals0, decimals1] = await read([
      { address: token0, abi: erc20Abi, functionName: 'decimals' },
      { address: token1, abi: erc20Abi, functionName: 'decimals' },
    ])
    if (amount0 === 0n || amount1 === 0n) throw new Error('the pool is empty: it has no price')
    const [reserve0, reserve1] = [units(amount0, decimals0), units(amount1, decimals1)]
    const [quote, base] = options.quote === 'token0' ? [reserve0, reserve1] : [reserve1, reserve0]
    return { Reserve0: reserve0, Reserve1: reserve1, Price: quote / base, TVL: 2 * quote }
  },
})
