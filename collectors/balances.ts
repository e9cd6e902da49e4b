import { address, type CollectContext, defineCollector, z } from 'tidegauge'
import { erc20Abi } from 'viem'
import { repeated } from './values/contracts.ts'
import { coin, decimalsReader, isCoin, ofOption } from './values/decimals.ts'
import { tokenDecimals } from './values/decimals-option.ts'
import { declaration, declared, labelOption } from './values/declared.ts'
import { type Fraction, scaled, total } from './values/fraction.ts'
import { eachOption } from './values/items.ts'
import { noneMistakes, noneOption, readingOf } from './values/none.ts'
import { priced, priceOption } from './values/price/exact-price.ts'
import { atLeastOption, checkLeftOut, pricedParts, unpricedMistakes, unpricedOption } from './values/price/unpriced.ts'

/** The configuration puts the token of the price in place of its name; what is left has none on the chain. */
const assetName = z
  .string()
  .transform(price => ({ price, native: undefined, token: undefined, decimals: undefined }))
  .describe('the name of a price of the configuration that has a token on this chain')

const asset = z
  .strictObject({
    native: z
      .literal(true)
      .optional()
      .describe('the coin of the chain, with 18 decimals: the same as token 0x0 or 0xEeee…'),
    token: z
      .union([address, eachOption])
      .optional()
      .describe('an ERC-20 token, with its own decimals, or those of a list: { each: NAME }'),
    price: priceOption,
    decimals: tokenDecimals,
  })
  .superRefine(({ native, token, price, decimals }, context) => {
    const tell = (path: readonly string[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    if ((native === undefined) === (token === undefined)) tell([], 'must be { native: true } or { token: "0x…" }')
    if (typeof token === 'object' && price !== 'token')
      tell(['price'], 'must be price: token: each token of a list has a price of its own')
    if (decimals !== undefined && (native || (typeof token === 'string' && isCoin(token))))
      tell(['decimals'], 'belongs to a token: a coin has 18')
  })

const holding = z.strictObject({
  owners: z
    .union([z.array(z.union([address, eachOption])).min(1), eachOption])
    .describe('accounts whose balances are added up, those of a list: { each: NAME }, or both in one list'),
  assets: z
    .array(z.union([assetName, asset]))
    .min(1)
    .describe('the native coin, or tokens, each with its price, or the names of prices that have tokens'),
})

type Holding = z.output<typeof holding>

const options = z
  .strictObject({
    of: z.record(z.string(), holding).describe('by the name of the chain: all owners with all assets'),
    label: labelOption.max(16).default('Balance').describe('must differ when a protocol uses several'),
    unpriced: unpricedOption,
    atLeast: atLeastOption,
    none: noneOption,
    ...declared,
  })
  .superRefine(({ of: holdingsByChain, ...input }, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: ['of', ...path], message })
    const assets = Object.entries(holdingsByChain).flatMap(([chain, { assets }]) =>
      assets.map((each, place) => ({ ...each, path: [chain, 'assets', place] })),
    )
    if (Object.keys(holdingsByChain).length === 0) tell([], 'must hold a chain')
    const isPriced = assets.some(({ price }) => price !== undefined)
    for (const { path, message } of unpricedMistakes(input, isPriced))
      context.addIssue({ code: 'custom', path, message })
    const listable = Object.values(holdingsByChain).flatMap(({ owners, assets }) =>
      [owners, assets.map(({ token }) => token)].flat(),
    )
    for (const { path, message } of noneMistakes(input.none, ...listable))
      context.addIssue({ code: 'custom', path: [...path], message })
    const priceless = assets.find(({ price }) => price === undefined)
    if (assets.length > 1 && priceless)
      tell(priceless.path, 'must have a price like price: ETH: without prices, a balance is of one asset on one chain')
    for (const [chain, { owners, assets }] of Object.entries(holdingsByChain)) {
      const names = [owners].flat().map(owner => (typeof owner === 'string' ? owner : `each ${owner.each}`))
      for (const place of repeated(names)) tell([chain, 'owners', place], 'is there already: it would count twice')
      for (const place of repeated(
        assets.map(({ token, native, price }) => {
          if (typeof token === 'object') return `each ${token.each}`
          if (token === undefined && !native) return `named ${price}`
          return keyOf(token ?? coin)
        }),
      ))
        tell([chain, 'assets', place], 'is there already: it would count twice')
    }
  })

/**
 * The balances of any number of owners, of any number of assets, on several chains, as one number: in US dollars by the
 * prices of the configuration, or, without a price, in whole units of the one asset. It is whole, or it fails.
 */
export default defineCollector({
  options,
  metrics: ({ label, unit, min = 0, ...more }) => ({ [label]: declaration({ ...more, unit, min }) }),
  history: true,
  async collect({
    options: { of: holdingsByChain, label, none: valueOfNone, unpriced: unpricedRule, ...options },
    log,
    ...means
  }) {
    // All is asked in one turn, but for lists.
    const allHoldings = (
      await Promise.all(Object.entries(holdingsByChain).map(([chain, all]) => holdings(chain, all, means)))
    ).flat()
    const parts = await counted(allHoldings, unpricedRule)
    const { values, leftOut } = await pricedParts(parts, ({ worth }) => worth, unpricedRule)
    checkLeftOut(label, [leftOut], options, log)
    return { [label]: readingOf(total(values), allHoldings.length, valueOfNone) }
  },
})

type Means = Pick<CollectContext<unknown>, 'chain' | 'price' | 'list'>

/** The balance of one asset, of all owners together. Both are begun, and may reject. */
interface Held {
  /** In whole units of the asset. */
  readonly amount: Promise<Fraction>
  /** In US dollars, or in the unit of the asset where there is no price. */
  readonly worth: Promise<Fraction>
}

/** The assets, each as one item where there is any of it: an empty balance needs no price where others are left out. */
async function counted(
  holdings: readonly Held[],
  unpriced: unknown,
): Promise<readonly (Held & { readonly items: number })[]> {
  if (unpriced === undefined) return holdings.map(each => ({ ...each, items: 1 }))
  const amounts = await Promise.all(holdings.map(({ amount }) => amount))
  return holdings.flatMap((each, place) => (amounts[place]?.n === 0n ? [] : [{ ...each, items: 1 }]))
}

/** The assets that all owners have on one chain; none where there are no owners. */
async function holdings(
  name: string,
  { owners: ownersOption, assets }: Holding,
  means: Means,
): Promise<readonly Held[]> {
  const { price, list } = means
  const unknown = assets.find(({ native, token }) => !native && token === undefined)
  if (unknown)
    throw new Error(
      `no token of the price ${unknown.price} is known on ${name}: write { token: "0x…", price: ${unknown.price} }`,
    )
  const [owners, ...tokens] = await Promise.all([
    ownersNow(list, ownersOption),
    ...assets.map(({ token = coin }) => (typeof token === 'object' ? list(token.each) : [token])),
  ])
  if (owners.length === 0) return []
  const amountOf = amountReader(owners, means.chain(name))
  // A token of a list that has an entry of its own counts there alone, and one of two lists once.
  const countedTokens = new Set(assets.map(({ token = coin }) => (typeof token === 'string' ? keyOf(token) : '')))
  const values = assets.flatMap(({ token, price: priceOption, decimals }, place) => {
    const isListed = typeof token === 'object'
    const ofAsset = (tokens[place] ?? []).filter(address => {
      if (!isListed) return true
      const isNew = !countedTokens.has(keyOf(address))
      countedTokens.add(keyOf(address))
      return isNew
    })
    return ofAsset.map((token): Held => {
      const amount = amountOf(token, decimals)
      const worth = priced(price, priceOption, amount, { chain: name, token })
      for (const each of [amount, worth]) each.catch(() => {})
      return { amount, worth }
    })
  })
  return values
}

/** The owners as of the hour, each once: one that is written may be on a list, too. */
async function ownersNow(list: Means['list'], written: Holding['owners']): Promise<readonly `0x${string}`[]> {
  const parts = [written].flat().map(owner => (typeof owner === 'string' ? [owner] : list(owner.each)))
  return [...new Map((await Promise.all(parts)).flat().map(owner => [owner.toLowerCase(), owner])).values()]
}

/** The same for all addresses of one asset. */
function keyOf(token: string): string {
  return isCoin(token) ? coin : token.toLowerCase()
}

/** Amounts that all owners have together, in whole units of the asset. */
function amountReader(owners: readonly `0x${string}`[], chain: ReturnType<Means['chain']>) {
  const decimalsOf = decimalsReader(chain, ofOption('decimals'))
  const balancesOf = (token: `0x${string}`) =>
    isCoin(token)
      ? Promise.all(owners.map(owner => chain.balance(owner)))
      : chain.read(
          owners.map(owner => ({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }) as const),
        )
  return async (token: `0x${string}`, ofSilent: number | undefined): Promise<Fraction> => {
    const [balances, decimals] = await Promise.all([balancesOf(token), decimalsOf(token, ofSilent)])
    const all = balances.reduce((sum, balance) => sum + balance, 0n)
    return scaled(all, decimals)
  }
}
