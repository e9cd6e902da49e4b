import { type ChainAsOf, defineCollector, z } from 'tidegauge'
import { erc20Abi } from 'viem'
import { placeMistakes } from './values/by-chain.ts'
import { addressesNow, addressesOrEach, contracts } from './values/contracts.ts'
import { decimalsReader, ofOption } from './values/decimals.ts'
import { tokenDecimals } from './values/decimals-option.ts'
import { declaration, declared, labelOption } from './values/declared.ts'
import { type Fraction, scaled, total } from './values/fraction.ts'
import { noneMistakes, noneOption, readingOf } from './values/none.ts'
import { priced, priceOption } from './values/price/exact-price.ts'

const minus = addressesOrEach
  .optional()
  .describe('accounts whose tokens do not circulate: their balances are subtracted')

const place = z.strictObject({ token: contracts, minus, decimals: tokenDecimals })

const ofOne = {
  chain: z.string().optional().describe('the name of a chain of the configuration'),
  token: contracts.optional().describe('the token, or several that are added up'),
  minus,
  decimals: tokenDecimals,
  of: z.record(z.string(), place).optional().describe('token and minus by the names of several chains, added up'),
  price: priceOption,
  none: noneOption,
  ...declared,
}

const options = z
  .strictObject({
    ...ofOne,
    unit: declared.unit.describe("the token's symbol"),
    label: labelOption.max(16).optional().describe('Supply, where nothing else is written'),
    values: z.record(labelOption, z.strictObject(ofOne)).optional().describe('by label, where there are several'),
  })
  .superRefine((input, context) => {
    const names = {
      ofChain: ['token', 'minus', 'decimals'],
      ofValue: ['label', 'price', 'none', ...Object.keys(declared)],
    } as const
    for (const { path, message } of placeMistakes(input, names))
      context.addIssue({ code: 'custom', path: [...path], message })
    for (const [label, each] of suppliesOf(input)) {
      const tokens = placesOf(each).map(({ token }) => token)
      for (const { path, message } of noneMistakes(each.none, ...tokens))
        context.addIssue({ code: 'custom', path: [...(input.values ? ['values', label] : []), ...path], message })
    }
  })

type Options = z.output<typeof options>
type Supply = Omit<Options, 'values' | 'label'>

/** Tokens of one chain, and the accounts whose balances of them are subtracted. */
interface SupplyPlace extends z.output<typeof place> {
  readonly chain: string
}

/**
 * Supply of ERC-20 tokens (`totalSupply()`), in whole tokens, less the balances of accounts whose tokens do not
 * circulate: of one token, or of several and of several chains together. Each token's own `decimals()` are used,
 * or `decimals`. With a price it is in US dollars. A sum is whole or fails.
 */
export default defineCollector({
  options,
  metrics: given =>
    Object.fromEntries(suppliesOf(given).map(([label, each]) => [label, { ...declaration(each), min: each.min ?? 0 }])),
  history: true,
  collect({ options, chain, price, list }) {
    const supplyIn = async (source: string | undefined, { chain: name, token, minus = [], decimals }: SupplyPlace) => {
      const [tokens, less] = await Promise.all([addressesNow(list, token), addressesNow(list, minus)])
      const parts = tokens.map(token =>
        priced(price, source, circulating(chain(name), token, less, decimals), { chain: name, token }),
      )
      return Promise.all(parts)
    }
    return Object.fromEntries(
      suppliesOf(options).map(([label, each]) => {
        const parts = placesOf(each, options.chain).map(place => supplyIn(each.price, place))
        const reading = Promise.all(parts).then(all => readingOf(total(all.flat()), all.flat().length, each.none))
        return [label, reading]
      }),
    )
  },
})

/** By label. */
function suppliesOf({ values, label = 'Supply', ...one }: Options): readonly (readonly [string, Supply])[] {
  return values ? Object.entries(values) : [[label, one]]
}

function placesOf({ of, chain, token = [], minus, decimals }: Supply, chainOfAll = ''): readonly SupplyPlace[] {
  if (of) return Object.entries(of).map(([chain, place]) => ({ chain, ...place }))
  return [{ chain: chain ?? chainOfAll, token, minus, decimals }]
}

async function circulating(
  chain: ChainAsOf,
  address: `0x${string}`,
  minus: readonly `0x${string}`[],
  ofSilent: number | undefined,
): Promise<Fraction> {
  const token = { address, abi: erc20Abi } as const
  const [supply, decimals, ...balances] = await Promise.all([
    chain.read({ ...token, functionName: 'totalSupply' }),
    decimalsReader(chain, ofOption('decimals'))(address, ofSilent),
    ...minus.map(account => chain.read({ ...token, functionName: 'balanceOf', args: [account] })),
  ])
  return scaled(
    balances.reduce((rest, balance) => rest - balance, supply),
    decimals,
  )
}
