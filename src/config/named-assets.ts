import { isRecord, valueAt } from '../model/json.ts'

/** Addresses of the tokens that a price is of, by the name of their chain; `native` is the coin of the chain. */
type TokensOfPrice = Readonly<Record<string, unknown>>

/** The tokens of the prices of a file, by the name of the price, as far as they are written well. */
export function tokensOfPrices(prices: unknown): ReadonlyMap<string, TokensOfPrice> {
  return new Map(
    Object.entries(isRecord(prices) ? prices : {}).flatMap(([name, price]) => {
      const tokens = valueAt(price, ['tokens'])
      return [[name, isRecord(tokens) ? tokens : {}] as const]
    }),
  )
}

/** An asset of `balances` that is named by its price. */
interface NamedAsset {
  readonly name: string
  readonly chain: string
  /** Within the options. */
  readonly path: readonly PropertyKey[]
}

/** A collector as it is written: code of one's own may mean something else by the same options. */
interface WrittenCollector {
  readonly use?: unknown
  readonly options?: unknown
}

/** The assets that are named by their prices. Only `balances` has such. */
export function namedAssets({ use, options }: WrittenCollector): NamedAsset[] {
  const holdingsByChain = use === 'balances' ? valueAt(options, ['of']) : undefined
  return Object.entries(isRecord(holdingsByChain) ? holdingsByChain : {}).flatMap(([chain, holding]) => {
    const assets = valueAt(holding, ['assets'])
    return (Array.isArray(assets) ? assets : []).flatMap((name: unknown, index): NamedAsset[] =>
      typeof name === 'string' ? [{ name, chain, path: ['of', chain, 'assets', index] }] : [],
    )
  })
}

/** Options of a collector in which each named asset is written out: its address on the chain, and its price. */
export function withAddresses(collector: WrittenCollector, tokens: ReadonlyMap<string, TokensOfPrice>): unknown {
  const assets = namedAssets(collector)
  if (assets.length === 0) return collector.options
  const options = structuredClone(collector.options)
  for (const { name, chain, path } of assets) {
    const address = tokens.get(name)?.[chain]
    const list = valueAt(options, path.slice(0, -1)) as unknown[]
    list[Number(path.at(-1))] = { ...(address === 'native' ? { native: true } : { token: address }), price: name }
  }
  return options
}
