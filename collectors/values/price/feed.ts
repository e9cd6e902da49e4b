import { type ChainAsOf, type Hour, hourText } from 'tidegauge'
import { parseAbi } from 'viem'
import { type Fraction, scaled } from '../fraction.ts'

const feedAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function latestRoundData() view returns (uint80 round, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredIn)',
])

/** Seconds that a round may be old at the hour, where nothing else is written: above the usual heartbeat of a day. */
export const feedMaxAge = 90_000

/**
 * The answer of a Chainlink feed (AggregatorV3), in whole units of its quote.
 *
 * @param maxAge seconds that its round may be old at the hour
 * @throws Error when the round is incomplete, not positive or older; Fault when it cannot be read
 */
export async function feedAnswer(
  chain: ChainAsOf,
  address: `0x${string}`,
  maxAge: number,
  hour: Hour,
): Promise<Fraction> {
  const feed = { address, abi: feedAbi } as const
  const [decimals, [round, answer, , updatedAt, answeredIn]] = await chain.read([
    { ...feed, functionName: 'decimals' },
    { ...feed, functionName: 'latestRoundData' },
  ])
  if (updatedAt === 0n || answeredIn < round) throw new Error(`round ${round} is not complete`)
  if (answer <= 0n) throw new Error(`round ${round} answers ${answer}, which is no price`)
  const ageSeconds = hour / 1000 - Number(updatedAt)
  if (ageSeconds > maxAge) throw new Error(`the price is ${ageSeconds} s old at ${hourText(hour)}`)
  return scaled(answer, decimals)
}
