import { address, type ChainAsOf, defineCollector, z } from 'tidegauge'
import { decimalsOption, decimalsReader } from './values/decimals.ts'
import { declaration, declared, labelMistake } from './values/declared.ts'
import { circleMistakes, exactValues, formulaMistakes, formulaOf, formulas } from './values/formula.ts'
import { type Fraction, nearestNumber } from './values/fraction.ts'
import { calledNumber, callMistakes } from './values/view-function.ts'

const value = z.strictObject({
  call: z.string().optional().describe('a view function by its signature: "totalSupply() view returns (uint256)"'),
  address: address.optional().describe('the contract, where it is not the address of all values'),
  args: z.array(z.unknown()).optional().describe('arguments of the call; a number beyond 2^53 in quotes'),
  take: z
    .union([z.string(), z.int().min(0)])
    .optional()
    .describe('which of several outputs, by name or place'),
  decimals: decimalsOption
    .optional()
    .describe('a number; true for those of the address; or { address } for those of a token'),
  ...formulas,
  private: z.boolean().optional().describe('read for other values, and not sent'),
  ...declared,
})

type Value = z.output<typeof value>
type Values = Readonly<Record<string, Value>>

const ofCall = ['address', 'args', 'take', 'decimals'] as const

const options = z
  .strictObject({
    chain: z.string().describe('the name of a chain of the configuration'),
    address: address.optional().describe('the contract of all values that name no other'),
    values: z.record(z.string(), value).describe('by label'),
  })
  .superRefine(({ values, address }, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: ['values', ...path], message })
    for (const [label, each] of Object.entries(values)) {
      const wrong = each.private ? undefined : labelMistake(label)
      if (wrong !== undefined) tell([label], wrong)
      for (const { path, message } of mistakesOf(each, values, address)) tell([label, ...path], message)
    }
    for (const { path, message } of circleMistakes(values)) tell(path, message)
  })

/**
 * Any view functions of contracts, by their signatures, and formulas over them: sums, products, differences, ratios.
 * Numbers are exact until the last step. A value whose part cannot be read fails; the others do not.
 */
export default defineCollector({
  options,
  metrics: ({ values }) =>
    Object.fromEntries(
      Object.entries(values).flatMap(([label, each]) => (each.private ? [] : [[label, declaration(each)]])),
    ),
  history: true,
  collect({ options, chain, price }) {
    const exact = exactValues(options.values, callReader(options.address, chain(options.chain)), price)
    const sent = Object.keys(options.values).filter(label => !options.values[label]?.private)
    return Object.fromEntries(sent.map(label => [label, exact(label).then(nearestNumber)]))
  },
})

/** Reads calls exactly. @param common the contract of calls that name no other */
function callReader(common: `0x${string}` | undefined, chain: ChainAsOf) {
  const decimalsOf = decimalsReader(chain, 'decimals: 18')
  return async ({ call = '', address = common, ...more }: Value): Promise<Fraction> => {
    if (address === undefined) throw new Error(`${call} has no address`)
    return calledNumber(chain, decimalsOf, { ...more, call, address })
  }
}

function mistakesOf(each: Value, values: Values, common: string | undefined) {
  const mistakes: { readonly path: readonly (string | number)[]; readonly message: string }[] = [
    ...formulaMistakes(each, 'call', values),
  ]
  if (each.call === undefined) {
    const stray = ofCall.find(name => each[name] !== undefined)
    const formula = formulaOf(each)
    if (stray && formula) mistakes.push({ path: [stray], message: `belongs to a call, and this is a ${formula.kind}` })
    return mistakes
  }
  if (each.address === undefined && common === undefined) {
    mistakes.push({ path: ['address'], message: 'must be an address: here, or next to values for all of them' })
  }
  return [...mistakes, ...callMistakes(each.call, each)]
}
