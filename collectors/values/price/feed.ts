import { type ChainAsOf, type Hour, hourText, z } from 'tidegauge'
import { parseAbi } from 'viem'
import { lacksFunction } from '../contracts.ts'
import { decimalsReader } from '../decimals.ts'
import { type Fraction, scaled } from '../fraction.ts'

const feedAbi = parseAbi([
  'function latestRoundData() view returns (uint80 round, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredIn)',
  'function latestAnswer() view returns (int256)',
  'function latestTimestamp() view returns (uint256)',
])

/** Seconds that an answer may be old at the hour, where nothing else is written: above the usual heartbeat of a day. */
export const feedMaxAge = 90_000

/** Milliseconds that an answer's time may lie after the hour, although no block does. */
const aheadMsMax = 60_000

/** As seconds it is after the year 5000. */
const secondsMax = 10n ** 11n

/** Options schema for the age of an answer; `none` takes the answer whatever time it has. */
export const maxAgeOption = z
  .union([z.number().positive(), z.literal('none')], { error: 'must be a number of seconds, or none' })
  .optional()

export type MaxAge = z.output<typeof maxAgeOption>

/** The last answer of a feed, in smallest units. */
interface FeedRound {
  readonly answer: bigint
  /** Seconds since 1970; 0 where the feed does not say it. */
  readonly updatedAt: bigint
}

/**
 * The answer of a Chainlink feed (AggregatorV3, or one with `latestAnswer` alone), in whole units of its quote.
 *
 * @param maxAge seconds that its answer may be old at the hour
 * @throws Error when the answer is not positive, without a time, older, or of a time after the hour; Fault when it
 * cannot be read
 */
export async function feedAnswer(
  chain: ChainAsOf,
  address: `0x${string}`,
  maxAge: NonNullable<MaxAge>,
  hour: Hour,
): Promise<Fraction> {
  const decimalsOf = decimalsReader(
    chain,
    'for a feed without decimals() read its answer as a call: { call: "latestAnswer() view returns (int256)", decimals: N }, with N from its documents',
  )
  const [decimals, { answer, updatedAt }] = await Promise.all([decimalsOf(address), lastRound(chain, address)])
  if (answer <= 0n)
    throw new Error(`the feed answers ${answer}, which is no price: look whether the feed is still in use`)
  if (maxAge === 'none') return scaled(answer, decimals)
  if (updatedAt === 0n) {
    const kinds = 'its round is not complete, or it computes its answer at each read: for that, write maxAge: none'
    throw new Error(`the feed says no time of its answer: ${kinds}`)
  }
  if (updatedAt > secondsMax) throw new Error(`the feed says ${updatedAt} as its time, which is not in seconds`)
  const atMs = 1000 * Number(updatedAt)
  if (atMs > hour + aheadMsMax)
    throw new Error(`the feed says ${new Date(atMs).toISOString()} as its time, which is after the hour`)
  if (hour - atMs > 1000 * maxAge)
    throw new Error(
      `the price is ${(hour - atMs) / 1000} s old at ${hourText(hour)}: look whether the feed is still in use, or write a larger maxAge than ${maxAge}`,
    )
  return scaled(answer, decimals)
}

async function lastRound(chain: ChainAsOf, address: `0x${string}`): Promise<FeedRound> {
  const feed = { address, abi: feedAbi } as const
  try {
    const [, answer, , updatedAt] = await chain.read({ ...feed, functionName: 'latestRoundData' })
    return { answer, updatedAt }
  } catch (error) {
    if (!lacksFunction(error)) throw error
    const [answer, updatedAt] = await chain.read(
      [
        { ...feed, functionName: 'latestAnswer' },
        { ...feed, functionName: 'latestTimestamp' },
      ],
      { partial: true },
    )
    // A contract that has neither is no feed.
    if (answer.status === 'failure') throw error
    if (updatedAt.status === 'failure' && !lacksFunction(updatedAt.error)) throw updatedAt.error
    return { answer: answer.result, updatedAt: updatedAt.result ?? 0n }
  }
}
