import { address, type ChainAsOf, defineCollector, z } from 'tidegauge'
import { erc20Abi } from 'viem'
import { repeated } from './values/contracts.ts'
import { decimalsReader } from './values/decimals.ts'
import { declaration, declared, labelOption } from './values/declared.ts'
import { type Fraction, nearestNumber, scaled, total } from './values/fraction.ts'
import { priced, priceOption } from './values/price/exact-price.ts'

const asset = z
  .strictObject({
    native: z.literal(true).optional().describe('the coin of the chain, with 18 decimals'),
    token: address.optional().describe('an ERC-20 token, with its own decimals'),
    price: priceOption,
    decimals: z.int().min(0).max(255).optional().describe('of a token that does not say them itself'),
  })
  .superRefine(({ native, token, price, decimals }, context) => {
    const tell = (path: readonly string[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    if ((native === undefined) === (token === undefined)) tell([], 'must be { native: true } or { token: "0x…" }')
    if (native && price === 'token') tell(['price'], 'must be the name of a price: a coin has no address')
    if (native && decimals !== undefined) tell(['decimals'], 'belongs to a token: a coin has 18')
  })

type Asset = z.output<typeof asset>

const holding = z.strictObject({
  owners: z.array(address).min(1).describe('accounts whose balances are added up'),
  assets: z.array(asset).min(1).describe('the native coin, or tokens, each with its price'),
})

type Holding = z.output<typeof holding>

const options = z
  .strictObject({
    of: z.record(z.string(), holding).describe('by the name of the chain: all owners with all assets'),
    label: labelOption.max(16).default('Balance').describe('must differ when a protocol uses several'),
    ...declared,
  })
  .superRefine(({ of }, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: ['of', ...path], message })
    const assets = Object.entries(of).flatMap(([chain, { assets }]) =>
      assets.map((each, place) => ({ ...each, path: [chain, 'assets', place] })),
    )
    if (assets.length === 0) tell([], 'must hold a chain')
    const priceless = assets.find(({ price }) => price === undefined)
    if (assets.length > 1 && priceless)
      tell(priceless.path, 'must have a price like price: ETH: without prices, a balance is of one asset on one chain')
    for (const [chain, { owners, assets }] of Object.entries(of)) {
      for (const place of repeated(owners)) tell([chain, 'owners', place], 'is there already: it would count twice')
      for (const place of repeated(assets.map(each => each.token ?? 'native')))
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
  async collect({ options: { of, label }, chain, price }) {
    // All is asked in one turn.
    const values = Object.entries(of).flatMap(([name, { owners, assets }]) => {
      const amountOf = amountReader(owners, chain(name))
      return assets.map(each => priced(price, each.price, amountOf(each), { chain: name, token: each.token ?? '0x' }))
    })
    return { [label]: nearestNumber(total(await Promise.all(values))) }
  },
})

/** Amounts that all owners have together, in whole units of the asset. */
function amountReader(owners: Holding['owners'], chain: ChainAsOf): (asset: Asset) => Promise<Fraction> {
  const decimalsOf = decimalsReader(chain, 'decimals: 18')
  const balancesOf = (token: `0x${string}`) =>
    chain.read(
      owners.map(owner => ({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }) as const),
    )
  return async ({ token, decimals }) => {
    const [balances, places] = await Promise.all([
      token ? balancesOf(token) : Promise.all(owners.map(owner => chain.balance(owner))),
      decimals ?? (token ? decimalsOf(token) : 18),
    ])
    const all = balances.reduce((sum, balance) => sum + balance, 0n)
    return scaled(all, places)
  }
}
