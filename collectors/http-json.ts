import { defineCollector, headers, secret, z } from 'tidegauge'
import { declaration, declared, labelMistake, labelOption } from './values/declared.ts'
import { circleMistakes, exactValues, formulaMistakes, formulaOf, formulas } from './values/formula.ts'
import { type Fraction, fractionOf, nearestNumber, scaled } from './values/fraction.ts'
import { answerOf, decimalAt, jsonPointer, pointerRules } from './values/json-answer.ts'
import {
  asksBlock,
  inBody,
  inPlaces,
  type ReadMoment,
  readsPast,
  sourceBody,
  sourceUrl,
} from './values/placeholders.ts'

const decimals = z
  .int({ error: 'must be a whole number from 0 to 255' })
  .min(0)
  .max(255)
  .optional()
  .describe('of an amount in smallest units: with 8, the number 150000000 is 1.5')

const value = z.strictObject({
  pointer: jsonPointer.optional().describe('where the number stands in the answer'),
  decimals,
  ...formulas,
  private: z.boolean().optional().describe('read for other values, and not sent'),
  ...declared,
})

const options = z
  .strictObject({
    url: z
      .union([sourceUrl, secret], {
        error: 'must be an http or https address, or { env: NAME } or { file: PATH } of one',
      })
      .describe(
        'an address with a key in it is { env: NAME } or { file: PATH }; past hours need a placeholder elsewhere then',
      ),
    headers: headers
      .optional()
      .describe(
        'what is secret is { env: NAME } or { file: PATH }; the placeholders of the address stand in them, too',
      ),
    body: sourceBody
      .optional()
      .describe('makes it a POST: JSON, or text as it is; the placeholders of the address stand in it, too'),
    chain: z.string().optional().describe('the chain whose as-of block {block} is the number of'),
    values: z.record(z.string(), value).optional().describe('by label, where the answer holds several'),
    pointer: jsonPointer.optional().describe('where the number stands in the answer'),
    label: labelOption.max(16).optional().describe('Value, where nothing else is written'),
    decimals,
    ...declared,
    time: jsonPointer.optional().describe('where the answer says what instant the value is of'),
    maxAge: z.number().positive().default(3600).describe('seconds that instant may lie before the hour'),
  })
  .superRefine((given, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    const ofOne = ['pointer', 'label', 'decimals', ...Object.keys(declared)] as const
    const stray = ofOne.find(name => Reflect.get(given, name) !== undefined)
    if (given.values && stray) tell([stray], 'belongs to one value: with values, it stands at each of them')
    if (!given.values && given.pointer === undefined) tell(['pointer'], pointerRules)
    const wrong = given.values ? mistakesIn(given.values) : []
    for (const { path, message } of wrong) tell(['values', ...path], message)
    if (asksBlock(given) && given.chain === undefined) tell(['chain'], 'must name the chain that {block} is of')
    if (!asksBlock(given) && given.chain !== undefined) {
      tell(['chain'], 'is of no use: {block} is neither in url nor in headers nor in body')
    }
  })

type Options = z.output<typeof options>

type Value = z.output<typeof value>
type Values = Readonly<Record<string, Value>>

/**
 * Numbers from any JSON answer, each at a JSON pointer (RFC 6901: `/prices/0/usd`; an empty pointer is the whole answer,
 * and -1 the last of a list), and formulas over them. A text that is a decimal number, as many services answer, counts
 * as that number. A source whose address, headers or body contain the hour or the block can read the past; any other
 * reads only the present.
 */
export default defineCollector({
  options,
  metrics: given =>
    Object.fromEntries(
      Object.entries(valuesOf(given)).flatMap(([label, each]) => (each.private ? [] : [[label, declaration(each)]])),
    ),
  history: readsPast,
  async collect({ options, hour, nowMs, http, chain, price }) {
    const { url, headers = {}, body } = options
    const block = options.chain === undefined ? {} : { block: (await chain(options.chain).block()).number }
    const moment = { hour, ...block }
    const request = {
      headers: headersAt(headers, moment),
      body: inBody(body, moment),
      isRead: true,
      numbers: 'text',
    } as const
    const { json } = await http.json(inPlaces(url, moment), answerOf(options, { hour, nowMs }), request)
    const values = valuesOf(options)
    const exact = exactValues(values, numberReader(json, new URL(url).host), price)
    const sent = Object.keys(values).filter(label => !values[label]?.private)
    return Object.fromEntries(sent.map(label => [label, exact(label).then(nearestNumber)]))
  },
})

/** The values by label: one, or several of one answer. */
function valuesOf({ values, label = 'Value', pointer = '', decimals, ...one }: Options): Values {
  return values ?? { [label]: { pointer, decimals, ...declaration(one) } }
}

function headersAt(headers: Readonly<Record<string, string>>, moment: ReadMoment): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, inPlaces(text, moment)]))
}

/** Reads numbers of an answer exactly. One that is not there fails. */
function numberReader(json: unknown, host: string) {
  return async ({ pointer = '', decimals = 0 }: Value): Promise<Fraction> => {
    try {
      return fractionOf(decimalAt(json, pointer)).mul(scaled(1n, decimals))
    } catch (error) {
      throw new Error(`in the answer of ${host} ${(error as Error).message}`)
    }
  }
}

function mistakesIn(values: Values) {
  const each = Object.entries(values).flatMap(([label, value]) => {
    const formula = formulaOf(value)
    const isEmpty = value.pointer === undefined && !formula
    const isStray = value.decimals !== undefined && value.pointer === undefined && formula
    const wrong = value.private ? undefined : labelMistake(label)
    return [
      ...(wrong === undefined ? [] : [{ path: [], message: wrong }]),
      ...(isEmpty ? [{ path: ['pointer'], message: pointerRules }] : formulaMistakes(value, 'pointer', values)),
      ...(isStray ? [{ path: ['decimals'], message: `belongs to a pointer, and this is a ${formula.kind}` }] : []),
    ].map(({ path, message }) => ({ path: [label, ...path], message }))
  })
  const isEmpty = Object.keys(values).length === 0
  return isEmpty ? [{ path: [], message: 'must hold a value' }] : [...each, ...circleMistakes(values)]
}
