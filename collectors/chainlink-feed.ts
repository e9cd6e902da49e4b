import { address, defineCollector, z } from 'tidegauge'
import { labelOption } from './values/declared.ts'
import { nearestNumber } from './values/fraction.ts'
import { feedAnswer, feedMaxAge, maxAgeOption } from './values/price/feed.ts'

/**
 * Price of a Chainlink feed (AggregatorV3, or one with `latestAnswer` alone), in whole units of the quote. The metric
 * fails when the answer is not positive, has no time, is older than `maxAge` as of the hour, or of a time after it.
 */
export default defineCollector({
  options: z.strictObject({
    chain: z.string().describe('the name of a chain of the configuration'),
    feed: address.describe('a Chainlink feed (AggregatorV3, or latestAnswer alone)'),
    unit: z.string().optional().describe('currency of the price, like USD'),
    label: labelOption.max(16).default('Price').describe('must differ when a protocol uses several'),
    maxAge: maxAgeOption
      .default(feedMaxAge)
      .describe('seconds; above the heartbeat of the feed, 25 hours when absent; none for a rate without a time'),
  }),
  metrics: ({ label, unit }) => ({ [label]: { unit, min: 0 } }),
  history: true,
  async collect({ options, chain, hour }) {
    const { feed, maxAge, label } = options
    return { [label]: nearestNumber(await feedAnswer(chain(options.chain), feed, maxAge, hour)) }
  },
})
