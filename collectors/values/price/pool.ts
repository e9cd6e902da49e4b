import type { ChainAsOf } from 'tidegauge'
import { isAddressEqual, parseAbi } from 'viem'
import { decimalsReader, ofOption } from '../decimals.ts'
import { Fraction, scaled } from '../fraction.ts'

const poolAbi = parseAbi([
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function observe(uint32[] secondsAgos) view returns (int56[] tickCumulatives, uint160[] secondsPerLiquidity)',
])

/** A Uniswap V3 pool, and which of its tokens is priced in the other. */
export interface PricedPool {
  readonly pool: `0x${string}`
  /** The token that is priced. */
  readonly token: `0x${string}`
  /** The token in which it is priced. */
  readonly quote: `0x${string}`
  /** Seconds up to the as-of block that the price is the mean of. */
  readonly window: number
  /** Decimals of the token, where it has no `decimals()`. */
  readonly decimals?: unknown
  /** Those of the quote. */
  readonly quoteDecimals?: number | undefined
}

/**
 * The time-weighted price of a token in a Uniswap V3 pool: the geometric mean over a window, from the mean tick rounded
 * down, as the OracleLibrary of Uniswap's v3-periphery has it. All of it is read in one turn.
 *
 * @returns whole units of the quote token for a whole token
 * @throws Error when the pool has other tokens; Fault when it cannot be read, or remembers less than the window
 */
export async function poolPrice(chain: ChainAsOf, market: PricedPool): Promise<Fraction> {
  const { pool, token, quote, window } = market
  const call = { address: pool, abi: poolAbi } as const
  const [[token0, token1], [cumulatives], decimals, quoteDecimals] = await Promise.all([
    chain.read([
      { ...call, functionName: 'token0' },
      { ...call, functionName: 'token1' },
    ]),
    chain
      .read({ ...call, functionName: 'observe', args: [[window, 0]] })
      .catch(error => Promise.reject(worded(error, window))),
    decimalsReader(chain, ofOption('decimals'))(
      token,
      typeof market.decimals === 'number' ? market.decimals : undefined,
    ),
    decimalsReader(chain, ofOption('quoteDecimals'))(quote, market.quoteDecimals),
  ])
  const [startCumulative = 0n, endCumulative = 0n] = cumulatives
  const isToken0 = isAddressEqual(token, token0) && isAddressEqual(quote, token1)
  const isToken1 = isAddressEqual(token, token1) && isAddressEqual(quote, token0)
  if (!isToken0 && !isToken1)
    throw new Error(
      `the pool is of ${token0} and ${token1}: write the one whose price it is as token, and the other as quote`,
    )
  const tick = floored(endCumulative - startCumulative, BigInt(window))
  const raw = powerOfTick(isToken0 ? tick : -tick)
  return raw.mul(scaled(10n ** BigInt(decimals), quoteDecimals))
}

/** The pool reverts with the word OLD. */
function worded(error: unknown, window: number): unknown {
  if (!(error instanceof Error && /\bOLD\b/.test(error.message))) return error
  return new Error(
    `the pool remembers less than ${window} s: shorten the window, or let it remember more (increaseObservationCardinalityNext)`,
  )
}

function floored(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}

/** Bits after the point: with them the error is far below what a double can hold, at the outermost tick, too. */
const precision = 256n
const one = 1n << precision

/** 1.0001 to the power of a tick, by squaring: the same on every machine, unlike `Math.pow`. */
export function powerOfTick(tick: bigint): Fraction {
  let power = one
  let square = (one * 10_001n) / 10_000n
  for (let rest = tick < 0n ? -tick : tick; rest > 0n; rest >>= 1n) {
    if (rest & 1n) power = (power * square) >> precision
    square = (square * square) >> precision
  }
  return tick < 0n ? new Fraction(one, power) : new Fraction(power, one)
}
