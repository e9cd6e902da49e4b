import { address, type CollectContext, defineCollector, z } from 'tidegauge'
import { labelOption } from './values/declared.ts'
import { nearestNumber } from './values/fraction.ts'
import { priceFound } from './values/price/exact-price.ts'
import { tokenPrices, tokenSources } from './values/price/tokens.ts'

const byLabel = 'must be tokens by label, like { AAVE: "0x…" }'

const options = z.strictObject({
  sources: tokenSources.describe('in order: the first that has a price of a token stands'),
  tokens: z
    .record(labelOption, address, { error: byLabel })
    .refine(tokens => Object.keys(tokens).length > 0, { error: byLabel })
    .describe('addresses by label'),
  unit: z.string().default('USD').describe('currency of the prices'),
})

type Context = CollectContext<z.output<typeof options>>

const collector = defineCollector({
  options,
  metrics: ({ tokens, unit }) => Object.fromEntries(Object.keys(tokens).map(label => [label, { unit, min: 0 }])),
  history: true,
  async collect(context) {
    const { sources, tokens } = context.options
    const prices = await tokenPrices(sources, Object.values(tokens), context)
    return Object.fromEntries(
      Object.keys(tokens).map((label, place) => {
        const answer = prices[place] ?? { failure: 'it is not asked for' }
        return [label, 'price' in answer ? nearestNumber(answer.price) : Promise.reject(new Error(answer.failure))]
      }),
    )
  },
})

/**
 * Prices of tokens by their addresses as of the hour, many in a request. The daemon reads those of `tokenPrices:` with it,
 * and asks for the exact values.
 */
export default {
  ...collector,
  async pricesOf(context: Context, tokens: readonly string[]) {
    const prices = await tokenPrices(context.options.sources, tokens, context)
    return prices.map(answer => ('price' in answer ? priceFound(answer.price) : answer))
  },
}
