import { defineCollector, z } from 'tidegauge'
import { declaration, declared, labelMistake } from './values/declared.ts'
import { zeroDivisorMistakes } from './values/formula.ts'

const named = z.union([z.string(), z.number()], {
  error: 'must be a label of this protocol, a whole metric id like vault___TVL, or a number',
})
const operands = z
  .array(named)
  .min(2, { error: 'must be a list of two or more: labels of this protocol, whole metric ids, or numbers' })

const takes = ['sum', 'mean', 'min', 'max', 'change', 'growth', 'annualised'] as const
const formulas = ['sum', 'product', 'difference', 'ratio'] as const
/** Those that may lack a few hours: a sum with a hole is another number. */
const lenient: readonly string[] = ['mean', 'min', 'max']
const comparing: readonly string[] = ['change', 'growth', 'annualised']

const value = z.strictObject({
  sum: operands.optional().describe('labels, metric ids and numbers that are added up, of the same hour'),
  product: operands.optional().describe('labels, metric ids and numbers that are multiplied, of the same hour'),
  difference: operands.optional().describe('the first less all others, of the same hour'),
  ratio: z
    .tuple([named, named], { error: 'must be a list of two: what is divided, and by what' })
    .optional()
    .describe('the first divided by the second, of the same hour'),
  of: z.string().optional().describe('the label or metric id whose hours are taken together'),
  take: z
    .enum(takes, { error: `must be one of ${takes.join(', ')}` })
    .optional()
    .describe(
      'what is made of them; change, growth (%) and annualised (%) compare with the value so many hours before',
    ),
  hours: z.int().min(1).max(8_760).optional().describe('the hours that end with this one, or how far back'),
  since: z
    .enum(['day', 'month'], { error: 'must be day or month' })
    .optional()
    .describe('in place of hours, of sum, mean, min and max: the hours since the day or the month (UTC) began'),
  missing: z.int().min(0).optional().describe('how many hours may lack, of mean, min and max; default: none'),
  ...declared,
})

type Value = z.output<typeof value>

const options = z
  .strictObject({ values: z.record(z.string(), value).describe('by label') })
  .superRefine(({ values }, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: ['values', ...path], message })
    if (Object.keys(values).length === 0) tell([], 'must hold a value')
    for (const [label, formula] of Object.entries(values)) {
      const wrong = labelMistake(label)
      if (wrong !== undefined) tell([label], wrong)
      for (const { path, message } of mistakesOf(formula)) tell([label, ...path], message)
    }
  })

/**
 * Values over values that the outbox has, of any collector and protocol: formulas of one hour, and windows of many. The daemon
 * computes them itself, exactly, once their inputs are stored: no chain is asked, and nothing is run.
 */
export default defineCollector({
  options,
  metrics: ({ values }) =>
    Object.fromEntries(Object.entries(values).map(([label, each]) => [label, declaration(each)])),
  history: true,
  collect() {
    throw new Error('a derived value is computed from the outbox, not by its collector')
  },
})

function mistakesOf(entry: Value): readonly { readonly path: readonly string[]; readonly message: string }[] {
  const kinds = [...formulas, 'of'] as const
  const kindsGiven = kinds.filter(kind => entry[kind] !== undefined)
  if (kindsGiven.length !== 1) {
    const said = kindsGiven.length === 0 ? 'nothing of it' : kindsGiven.join(' and ')
    return [{ path: [], message: `must have one of ${kinds.join(', ')}, and has ${said}` }]
  }
  if (entry.of === undefined) {
    const strayOption = (['take', 'hours', 'since', 'missing'] as const).find(name => entry[name] !== undefined)
    return strayOption
      ? [{ path: [strayOption], message: `belongs to a window with of, and this is a ${kindsGiven.join()}` }]
      : zeroDivisorMistakes(entry)
  }
  const { take = '', hours, since, missing: missingMax } = entry
  return [
    ...(take === '' ? [{ path: [], message: `must have take with of: one of ${takes.join(', ')}` }] : []),
    ...(hours === undefined && since === undefined
      ? [{ path: [], message: 'must have hours with of, such as hours: 24, or since: day' }]
      : []),
    ...(hours !== undefined && since !== undefined
      ? [{ path: ['since'], message: 'stands in place of hours: write one of them' }]
      : []),
    ...(since !== undefined && comparing.includes(take)
      ? [
          {
            path: ['since'],
            message: `is for sum, mean, min and max: ${take} compares with a value so many hours before`,
          },
        ]
      : []),
    ...(missingMax !== undefined && take !== '' && !lenient.includes(take)
      ? [{ path: ['missing'], message: `is for ${lenient.join(', ')}: ${take} needs all of its hours` }]
      : []),
    ...(missingMax !== undefined && hours !== undefined && missingMax >= hours
      ? [{ path: ['missing'], message: `must be less than the ${hours} of hours` }]
      : []),
  ]
}
