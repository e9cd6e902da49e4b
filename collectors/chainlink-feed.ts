import { address, defineCollector, hourText, units, z } from 'tidegauge'
import { parseAbi } from 'viem'

const feedAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function latestRoundData() view returns (uint80 round, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredIn)',
])

/**
 * Price of a Chainlink feed (AggregatorV3), in whole units of the quote. The metric fails when the round is incomplete,
 * its answer is not positive, or it is older than `maxAge` as of the hour.
 */
export default defineCollector({
  options: z.strictObject({
    chain: z.string(),
    feed: address,
    unit: z.string().optional().describe('currency of the price, like USD'),
    label: z.string().max(16).default('Price').describe('must differ when a protocol uses several'),
    maxAge: z
      .int()
      .positive()
      .default(90_000)
      .describe('seconds; above the heartbeat of the feed, 25 hours when absent'),
  }),
  metrics: ({ label, unit }) => ({ [label]: { unit, min: 0 } }),
  history: true,
  async collect({ options, chain, hour }) {
    const feed = { address: options.feed, abi: feedAbi } as const
    const [decimals, [round, answer, , updatedAt, answeredIn]] = await chain(options.chain).read([
      { ...feed, functionName: 'decimals' },
      { ...feed, functionName: 'latestRoundData' },
    ])
    if (updatedAt === 0n || answeredIn < round) throw new Error(`round ${round} is not complete`)
    if (answer <= 0n) throw new Error(`round ${round} answers ${answer}, which is no price`)
    const ageSeconds = hour / 1000 - Number(updatedAt)
    if (ageSeconds > options.maxAge) throw new Error(`the price is ${ageSeconds} s old at ${hourText(hour)}`)
    return { [options.label]: units(answer, decimals) }
  },
})
