import type { CollectorConfig } from '../../config/config.ts'
import { type BatchJob, BatchScheduler } from '../../edge/batch-scheduler.ts'
import { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import { valueAt } from '../../model/json.ts'
import { type Priced, type PriceFound, type TaskEnd, tokenIn } from '../messages.ts'

/** A price reader's answer. */
type PricesRead = Pick<Extract<TaskEnd, { readonly kind: 'priced' }>, 'prices' | 'pins'>

/** Runs the reader of a price, or of the tokens of a chain, once. Rejects with a Fault. */
type RunReader = (reader: CollectorConfig, hour: Hour, tokens: readonly string[]) => Promise<PricesRead>

/** A question for the price of a token. */
interface TokenAsk {
  readonly reader: CollectorConfig
  readonly hour: Hour
  readonly token: string
}

/** Reads the prices of the configuration. Tokens that are asked for in one tick are read together. */
export class Prices {
  readonly #run: RunReader
  readonly #tokens = new BatchScheduler<TokenAsk, Priced>(asks => this.#readTokens(asks))

  constructor(run: RunReader) {
    this.#run = run
  }

  /** Rejects with a Fault. @param name `tokenPriceName` for a token */
  async read(reader: CollectorConfig, hour: Hour, name: string): Promise<Priced> {
    const token = tokenIn(name)?.token
    if (token !== undefined) return this.#tokens.schedule({ reader, hour, token })
    const { prices, pins } = await this.#run(reader, hour, [])
    return { ...pricedIn(prices[0]), pins }
  }

  /** Those that have names among them are read apart: they alone may depend on blocks. */
  #readTokens(asks: readonly BatchJob<TokenAsk, Priced>[]): void {
    const groups = Map.groupBy(asks, ({ request: { reader, hour, token } }) =>
      [hour, reader.id, isNamed(token, reader.options)].join(' '),
    )
    for (const group of groups.values()) this.#readGroup(group)
  }

  #readGroup(asks: readonly BatchJob<TokenAsk, Priced>[]): void {
    const [first] = asks
    if (!first) return
    const { reader, hour } = first.request
    const tokens = asks.map(({ request }) => request.token)
    const reading = this.#run(reader, hour, tokens)
    for (const [place, { resolve, reject }] of asks.entries()) {
      reading.then(({ prices, pins }) => ({ ...pricedIn(prices[place]), pins })).then(resolve, reject)
    }
  }
}

/** Whether a token has the name of a price in a chain's sources, which are written by its address. */
function isNamed(token: string, options: unknown): boolean {
  const sources = valueAt(options, ['sources'])
  const keys = Array.isArray(sources) ? sources.flatMap(source => Object.keys(source)) : []
  return keys.some(key => key.toLowerCase() === token)
}

/** @throws Fault when none was found */
function pricedIn(price: PriceFound | undefined): Omit<Priced, 'pins'> {
  if (!price) throw new Fault('price-missing', 'its reader left it out')
  if ('failure' in price) throw new Fault(price.isUnread ? 'price-unread' : 'price-missing', price.failure)
  return price
}
