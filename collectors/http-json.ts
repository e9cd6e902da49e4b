import { type CollectorLog, defineCollector, headers, secret, z } from 'tidegauge'
import { declaration, declared, isMetric, labelMistake, labelOption, readingsOf } from './values/declared.ts'
import { circleMistakes, exactValues, formulaMistakes, formulaOf, formulas, neededBy } from './values/formula.ts'
import { scaled } from './values/fraction.ts'
import { ageMistakes, answerOf, jsonPointer, maxAgeOption, pointerRules } from './values/json-answer.ts'
import {
  conditions,
  isOfItems,
  itemOptions,
  limitIn,
  numberOf,
  pagedList,
  pageItems,
  rowsOfCsv,
  unmet,
} from './values/json-items.ts'
import { noneOption, readingOf } from './values/none.ts'
import { pagesMistakes, pagesOption, readPages } from './values/pages.ts'
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
  ...itemOptions,
  none: noneOption,
  decimals,
  ...formulas,
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
    ...itemOptions,
    none: noneOption,
    decimals,
    ...declared,
    time: jsonPointer.optional().describe('where the answer says what instant the value is of'),
    maxAge: maxAgeOption,
    require: conditions.optional().describe('what must stand at each pointer of an answer, else nothing of it counts'),
    pages: pagesOption.optional(),
    format: z
      .literal('csv')
      .optional()
      .describe('rows as a list of maps by the header; JSON, where nothing is written'),
    thousands: z
      .enum([',', "'", ' ', '_'], { error: 'must be a comma, an apostrophe, a blank or an underscore, in quotes' })
      .optional()
      .describe('separator of the digits of numbers'),
  })
  .superRefine((input, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    const ofOne = ['pointer', 'label', 'take', 'where', 'none', 'decimals', ...Object.keys(declared)] as const
    const stray = ofOne.find(name => Reflect.get(input, name) !== undefined)
    if (input.values && stray) tell([stray], 'belongs to one value: with values, it stands at each of them')
    if (!input.values && input.pointer === undefined) tell(['pointer'], pointerRules)
    const wrong = input.values ? mistakesIn(input.values) : []
    for (const { path, message } of wrong) tell(['values', ...path], message)
    for (const { path, message } of itemMistakes(input)) tell(path, message)
    for (const { path, message } of ageMistakes(input)) tell(path, message)
    if (asksBlock(input) && input.chain === undefined) tell(['chain'], 'must name the chain that {block} is of')
    if (!asksBlock(input) && input.chain !== undefined) {
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
  metrics: given => Object.fromEntries(metricsOf(valuesOf(given)).map(([label, each]) => [label, declaration(each)])),
  history: readsPast,
  async collect({ options, hour, nowMs, http, chain, price, log }) {
    const { url, headers = {}, body } = options
    const block = options.chain === undefined ? {} : { block: (await chain(options.chain).block()).number }
    const moment = { hour, ...block }
    const request = {
      headers: headersAt(headers, moment),
      body: inBody(body, moment),
      isRead: true,
      numbers: 'text',
    } as const
    const source = { ...options, pointer: isPlain(options) ? options.pointer : undefined }
    const unmetIn = (json: unknown) => unmet(json, options.require ?? {})
    const schema = answerOf({ ...source, unmet: unmetIn }, { hour, nowMs })
    const columns = new Set<string>()
    const readPage = async (address: string): Promise<unknown> => {
      if (options.format !== 'csv') return (await http.json(address, schema, request)).json
      const text = await http.text(address, request)
      return ofAnswer(url, () => {
        const csv = rowsOfCsv(text)
        const { data, error } = schema.safeParse(csv.rows)
        if (error) throw new Error(error.issues[0]?.message)
        for (const name of csv.columns) columns.add(name)
        return data.json
      })
    }
    const values = valuesOf(options)
    const answers = await answersOf(inPlaces(url, moment), options, readPage, log)
    const warn = (sentence: string) => log.warn(`in the answer of ${new URL(url).host} ${sentence}`)
    const cutReason = options.pages ? undefined : limitIn(url, request.body)
    const form = { ...options, warn, cutReason, ...(options.format === 'csv' && { columns }) }
    const ofNone = new Set<Value>()
    const readNumber = async (value: Value) => {
      const { number, items } = ofAnswer(url, () => numberOf(answers, value, form))
      if (items === 0 && value.none === undefined) ofNone.add(value)
      return value.take === 'count' ? number : number.mul(scaled(1n, value.decimals ?? 0))
    }
    const exact = exactValues(values, readNumber, price, each => ofNone.has(each))
    const reading = async (label: string, value: Value) =>
      readingOf(await exact(label), ofNone.has(value) ? 0 : 1, value.none)
    const needed = new Set(Object.values(values).flatMap(neededBy))
    const readings = Object.fromEntries(metricsOf(values).map(([label, value]) => [label, reading(label, value)]))
    return readingsOf(readings, label => values[label]?.private === true && needed.has(label))
  },
})

function metricsOf(values: Values): readonly (readonly [string, Value])[] {
  return Object.entries(values).filter(([label, value]) => isMetric(label, value))
}

/** The values by label: one, or several of one answer. */
function valuesOf({ values, label = 'Value', pointer = '', decimals, take, where, none, ...one }: Options): Values {
  return values ?? { [label]: { pointer, decimals, take, where, none, ...declaration(one) } }
}

/** Whether the answer is JSON with a number at a pointer: what else it has in place of that is then said in full. */
function isPlain(options: Options): boolean {
  return options.format === undefined && options.thousands === undefined && !isOfItems(options.pointer, options)
}

function headersAt(headers: Readonly<Record<string, string>>, moment: ReadMoment): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, inPlaces(text, moment)]))
}

/** The result of a search in an answer. @throws Error that names its host alone, since a key may stand in the address */
function ofAnswer<T>(url: string, found: () => T): T {
  try {
    return found()
  } catch (error) {
    throw new Error(`in the answer of ${new URL(url).host} ${(error as Error).message}`)
  }
}

/** The answer, or its pages. @throws Error as `readPages` */
async function answersOf(
  first: string,
  options: Options,
  readPage: (address: string) => Promise<unknown>,
  log: CollectorLog,
): Promise<readonly unknown[]> {
  if (!options.pages) return [await readPage(first)]
  const pointers = Object.values(valuesOf(options)).flatMap(({ pointer = '' }) =>
    isOfItems(pointer, options) ? [pagedList(pointer, options)] : [],
  )
  const lists = [...new Set(pointers)]
  return readPages(first, options.pages, {
    read: readPage,
    listsOf: page => ofAnswer(first, () => lists.map(list => pageItems(page, list))),
    warn: sentence => log.warn(`of ${new URL(first).host} ${sentence}`),
  })
}

/** Mistakes in what is taken of lists, offline. */
function itemMistakes(input: Options) {
  const entries = input.values
    ? Object.entries(input.values).map(([label, value]) => [['values', label], value] as const)
    : [[[], input] as const]
  const mistakes = entries.flatMap(([path, { pointer, take, where: itemConditions, none: valueOfNone, decimals }]) => {
    if (take === 'count' && decimals !== undefined)
      return [{ path: [...path, 'decimals'], message: 'belongs to an amount, and this is a count' }]
    if (valueOfNone !== undefined && take !== 'sum' && take !== 'count')
      return [
        { path: [...path, 'none'], message: 'belongs to take: sum or count: of no items there is no mean, min or max' },
      ]
    const strayOption = take !== undefined ? 'take' : 'where'
    const isPlain = take === undefined && itemConditions === undefined
    const isOfList = pointer !== undefined && isOfItems(pointer, input)
    // A CSV may have one row alone.
    if (isPlain && isOfList && pointer.includes('*')) {
      const message = 'leads to several items: add take: sum, mean, min, max or count, or where that leaves one'
      return [{ path: [...path, 'pointer'], message }]
    }
    const message = 'belongs to a pointer with * in it, which stands for each item of a list: /data/*/tvl'
    return isPlain || isOfList ? [] : [{ path: [...path, strayOption], message }]
  })
  const listOf = ({ pointer }: Pick<Value, 'pointer'>) =>
    pointer !== undefined && isOfItems(pointer, input) ? [`${pagedList(pointer, input)}/`] : []
  const paged = input.pages ? entries.flatMap(([, value]) => listOf(value)) : []
  for (const [path, { pointer = '' }] of entries) {
    if (isOfItems(pointer, input) || !paged.some(list => pointer.startsWith(list))) continue
    const message = 'leads into the list of the first page alone: with pages, an item is found by where, as /data/*/tvl'
    mistakes.push({ path: [...path, 'pointer'], message })
  }
  for (const { path, message } of input.pages ? pagesMistakes(input.pages) : [])
    mistakes.push({ path: ['pages', ...path], message })
  if (input.pages && !entries.some(([, { pointer }]) => pointer !== undefined && isOfItems(pointer, input)))
    mistakes.push({ path: ['pages'], message: 'needs a pointer with * in it: a page without items is the last' })
  return mistakes
}

function mistakesIn(values: Values) {
  const mistakes = Object.entries(values).flatMap(([label, value]) => {
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
  const isEmpty = metricsOf(values).length === 0
  return isEmpty ? [{ path: [], message: 'must hold a value' }] : [...mistakes, ...circleMistakes(values)]
}
