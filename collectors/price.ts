import { type CollectContext, defineCollector, z } from 'tidegauge'
import { labelOption } from './values/declared.ts'
import { type Fraction, nearestNumber } from './values/fraction.ts'
import { isUnread, priceFound } from './values/price/exact-price.ts'
import { isOnChain, type PriceSource, source, sourceName, sourcePrice } from './values/price/source.ts'
import { reworded } from './values/reworded.ts'

const options = z.strictObject({
  sources: z.array(source).min(1).describe('in order: the first that answers stands'),
  label: labelOption.max(16).default('Price').describe('must differ when a protocol uses several'),
  unit: z.string().default('USD').describe('currency of the price'),
})

type Context = CollectContext<z.output<typeof options>>

const collector = defineCollector({
  options,
  metrics: ({ label, unit }) => ({ [label]: { unit, min: 0 } }),
  history: true,
  collect: async context => ({ [context.options.label]: nearestNumber(await firstPrice(context)) }),
})

/**
 * A price as of the hour, from the first of several sources that answers. The daemon reads those of `prices:` with it,
 * and asks for the exact value.
 */
export default {
  ...collector,
  async pricesOf(context: Context) {
    return [priceFound(await firstPrice(context))]
  },
}

/** A source that gave no price. */
interface Failure {
  readonly of: PriceSource
  readonly error: unknown
}

/** @throws Error when no source answers; it says why each does not, and has the code of one that could not be asked */
async function firstPrice({ options: { sources }, ...means }: Context): Promise<Fraction> {
  // Those on chains are asked at once: their reads travel together, and the first may fail.
  const onChain = new Map(sources.filter(isOnChain).map(each => [each, begun(each, means)]))
  const failures: Failure[] = []
  for (const source of sources) {
    try {
      const price = await (onChain.get(source) ?? sourcePrice(source, means))
      if (failures.length > 0) means.log.warn(`${wordsOf(failures)}; ${sourceName(source)} answers`)
      return price
    } catch (error) {
      failures.push({ of: source, error })
    }
  }
  const [only, ...others] = failures
  if (only && others.length === 0) throw only.error
  throw reworded(failures.find(({ error }) => isUnread(error))?.error ?? new Error(), wordsOf(failures))
}

function begun(each: PriceSource, means: Omit<Context, 'options'>): Promise<Fraction> {
  const price = sourcePrice(each, means)
  // One before it may answer.
  price.catch(() => {})
  return price
}

function wordsOf(failures: readonly Failure[]): string {
  return failures.map(({ of, error }) => `${sourceName(of)}: ${messageOf(error)}`).join('; ')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
