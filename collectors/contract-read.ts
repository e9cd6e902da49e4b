import { address, type CollectContext, defineCollector, z } from 'tidegauge'
import type { ArgumentNames } from './values/abi-argument.ts'
import { type DecimalsOf, decimalsReader, scaleAdvice } from './values/decimals.ts'
import { decimalsOption } from './values/decimals-option.ts'
import { declaration, declared, isMetric, labelMistake, readingsOf } from './values/declared.ts'
import {
  circleMistakes,
  exactValues,
  formulaMistakes,
  formulaOf,
  formulas,
  neededBy,
  unknownLabel,
} from './values/formula.ts'
import { type Fraction, fractionOf, nearestNumber, scaled } from './values/fraction.ts'
import { itemCondition, whereMistakes } from './values/item-condition.ts'
import { type AggregateKind, aggregate, aggregates, type ListItem, ofItems } from './values/items.ts'
import { noneOption, readingOf } from './values/none.ts'
import { priced, unscaledPrice } from './values/price/exact-price.ts'
import { similarWord } from './values/similar-word.ts'
import { callMistakes, returnsAddress, type ViewCall, viewCall } from './values/view-function.ts'

type Address = `0x${string}`

const aggregateKinds = Object.keys(aggregates) as readonly AggregateKind[]
const ofItem = (what: string) => z.string().optional().describe(`${what} of a value of all items of the list`)

const value = z.strictObject({
  call: z.string().optional().describe('a view function by its signature: "totalSupply() view returns (uint256)"'),
  address: z
    .string()
    .optional()
    .describe('the contract, where it is not the address of all values; or a label whose value is an address'),
  args: z
    .array(z.unknown())
    .optional()
    .describe('arguments of the call; a number beyond 2^53 in quotes; item, hour, block, or a label of an address'),
  take: z
    .union([z.string(), z.int().min(0)])
    .optional()
    .describe('which of several outputs, by name or place'),
  decimals: z
    .union([decimalsOption, z.strictObject({ address: z.string() })], {
      error: 'must be a whole number from 0 to 255, true (the contract’s own), or { address: "0x…" } (a token’s)',
    })
    .optional()
    .describe(
      'a number; true for those of the address; or { address } for those of a token; next to price: token, a number counts where the token has no decimals()',
    ),
  price: z.string().optional().describe('token, for the price of the token at the address, or the name of a price'),
  hoursBefore: z.int().min(0).max(8_784).optional().describe('whole hours by which it is read as of an earlier hour'),
  ...formulas,
  total: ofItem('the sum'),
  mean: ofItem('the mean'),
  highest: ofItem('the highest'),
  lowest: ofItem('the lowest'),
  count: z.literal(true).optional().describe('the number of items of the list'),
  atLeast: z
    .number()
    .positive()
    .max(1)
    .optional()
    .describe('share of the items that must have a value. Default: each must'),
  where: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('of a total and its like: labels of addresses or numbers of an item, and what they must be'),
  none: noneOption,
  ...declared,
})

type Value = z.output<typeof value>
type Values = Readonly<Record<string, Value>>

const ofCall = ['address', 'args', 'take', 'decimals', 'price', 'hoursBefore'] as const

const options = z
  .strictObject({
    chain: z.string().describe('the name of a chain of the configuration'),
    address: address.optional().describe('the contract of all values that name no other'),
    each: z.string().optional().describe('the name of a list: each value is of one item, at its address'),
    values: z.record(z.string(), value).describe('by label'),
  })
  .superRefine(({ values, ...common }, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    if (common.each !== undefined && common.address !== undefined)
      tell(['address'], 'belongs to values without each: here the address is that of the item')
    for (const [label, each] of Object.entries(values)) {
      const wrong = each.private ? undefined : labelMistake(label)
      if (wrong !== undefined) tell(['values', label], wrong)
      for (const { path, message } of mistakesOf(label, values, common)) tell(['values', label, ...path], message)
    }
    for (const { path, message } of circleMistakes(values, neededOf)) tell(['values', ...path], message)
    if (context.issues.length === 0 && metricsOf({ values, ...common }).length === 0)
      tell(['values'], common.each === undefined ? 'must hold a number' : 'must hold a total, its like, or a count')
  })

type Options = z.output<typeof options>
type Common = Pick<Options, 'address' | 'each'>

/**
 * Any view functions of contracts, by their signatures, and formulas over them: sums, products, differences, ratios; of
 * one contract, or of each item of a list, and then their total, mean, highest, lowest, or count. A call may be of an
 * address that another call returns, and have it as an argument. Numbers are exact until the last step. A value whose part
 * cannot be read fails; the others do not.
 */
export default defineCollector({
  options,
  metrics: options => Object.fromEntries(metricsOf(options).map(([label, each]) => [label, declaration(each)])),
  history: true,
  async collect(context) {
    const { options, list, log } = context
    const begin = itemReader(context)
    const metrics = metricsOf(options)
    if (options.each === undefined) {
      const exact = begin(options.address)
      const needed = new Set(Object.values(options.values).flatMap(neededOf))
      const readings = Object.fromEntries(metrics.map(([label]) => [label, exact(label).then(nearestNumber)]))
      return readingsOf(readings, label => options.values[label]?.private === true && needed.has(label))
    }
    const totalled = metrics.flatMap(([, value]) => value[kindOf(value) ?? 'total'] ?? [])
    const items = await ofItems(list, options.each, begin, totalled)
    const readAggregate = async (label: string, value: Value) => {
      const matchingItems = await itemsMeant(items, value.where)
      if (matchingItems.length === 0 && items.length > 0)
        log.info(`${label}: none of ${items.length} items meets where`)
      if (value.count) return readingOf(fractionOf(matchingItems.length), matchingItems.length, value.none)
      const kind = kindOf(value) ?? 'total'
      const values = matchingItems.map(({ address, of }) => ({
        address,
        of: of.then(exact => exact(value[kind] ?? '')),
      }))
      const exact = await aggregate({ label, kind, atLeast: value.atLeast }, values, log)
      return readingOf(exact, matchingItems.length, value.none)
    }
    return Object.fromEntries(metrics.map(([label, each]) => [label, readAggregate(label, each)]))
  },
})

/** The values that are one number of the hour: neither an address nor of one item of a list. */
function metricsOf({ values, each: list }: Pick<Options, 'values' | 'each'>): readonly (readonly [string, Value])[] {
  return Object.entries(values).filter(
    ([label, value]) => (list === undefined ? !isAddress(value) : isAggregate(value)) && isMetric(label, value),
  )
}

/** A value that is read by a call, ready for every item. */
interface PlannedCall {
  readonly view: ViewCall
  readonly abi: readonly [ViewCall['abi']]
  /** Labels of addresses among its arguments. */
  readonly labels: readonly string[]
  readonly needsBlock: boolean
}

/** Reads the values of an item, which has them by label. All are begun at once; those of addresses when they are needed. */
function itemReader({ options, hour, price, ...means }: CollectContext<Options>) {
  const { chain, values } = options
  const plans = new Map(
    Object.entries(values).flatMap(([label, each]) =>
      each.call === undefined ? [] : [[each, planned(each, namesFor(label, values, options.each))] as const],
    ),
  )
  const numbers = Object.fromEntries(
    Object.entries(values).filter(([, each]) => !isAggregate(each) && !plans.get(each)?.view.isAddress),
  )
  const moments = new Map<number, ReturnType<typeof momentOf>>()
  const momentOf = (hoursBefore: number) => {
    const contractChain = means.chain(chain, { hoursBefore })
    return {
      own: contractChain,
      decimalsOf: decimalsReader(contractChain, options.each === undefined ? scaleAdvice : itemAdvice),
      hourSeconds: BigInt(hour / 1000 - hoursBefore * 3600),
    }
  }
  const momentAt = (hoursBefore = 0) => {
    const moment = moments.get(hoursBefore) ?? momentOf(hoursBefore)
    moments.set(hoursBefore, moment)
    return moment
  }

  return (item: Address | undefined) => {
    const addresses = new Map<string, Promise<Address>>()
    const addressOf = (name: string | undefined): Promise<Address> => {
      if (name === undefined || name === 'item') return item ? Promise.resolve(item) : Promise.reject(noAddress())
      const label = Object.hasOwn(values, name) ? values[name] : undefined
      if (!label) return Promise.resolve(name as Address)
      const address =
        addresses.get(name) ?? returnOf(label).then(({ view, returned }) => view.addresses(returned)[0] ?? '0x')
      addresses.set(name, address)
      return address
    }
    const returnOf = async (value: Value) => {
      const plan = plans.get(value)
      if (!plan) throw new Error('it is not read by a call')
      const { view, abi, labels, needsBlock } = plan
      const { own: asOfMoment, hourSeconds } = momentAt(value.hoursBefore)
      const [address, block, ...namedValues] = await Promise.all([
        addressOf(value.address),
        needsBlock ? asOfMoment.block() : undefined,
        ...labels.map(addressOf),
      ])
      const names = {
        ...{ hour: hourSeconds, block: block?.number ?? 0n, ...(item && { item }) },
        ...Object.fromEntries(labels.map((label, place) => [label, namedValues[place] ?? '0x'])),
      }
      const returned = asOfMoment.read({ address, abi, functionName: view.abi.name, args: view.argsOf(names) })
      return { view, address, returned: await returned }
    }
    const number = async (value: Value): Promise<Fraction> => {
      const { price: name } = value
      const places = decimalsFor(value, addressOf, momentAt(value.hoursBefore).decimalsOf)
      const amount = Promise.all([returnOf(value), places]).then(([{ view, returned }, digits]) =>
        scaled(view.taken(returned), digits),
      )
      return priced(price, name, amount, { chain, token: name === 'token' ? addressOf(value.address) : nowhere })
    }
    const exact = exactValues(numbers, number, price)
    return Object.assign(exact, { addressOf })
  }
}

type ItemValues = ReturnType<ReturnType<typeof itemReader>>

/**
 * The items of which all conditions hold. One whose address or number cannot be read stays: its own value tells whether it
 * counts.
 */
async function itemsMeant(
  items: readonly ListItem<Promise<ItemValues>>[],
  writtenConditions: Value['where'],
): Promise<readonly ListItem<Promise<ItemValues>>[]> {
  if (!writtenConditions) return items
  const conditions = Object.entries(writtenConditions).map(
    ([label, written]) => [label, itemCondition(written)] as const,
  )
  const isMeant = async ({ of }: ListItem<Promise<ItemValues>>) => {
    const exact = await of
    const conditionsMet = conditions.map(async ([label, { kind, holds }]) => {
      return kind === 'address' ? holds(await exact.addressOf(label)) : holds(await exact(label))
    })
    return (await Promise.all(conditionsMet)).every(Boolean)
  }
  const meant = await Promise.all(items.map(item => isMeant(item).catch(() => true)))
  return items.filter((_, place) => meant[place])
}

function planned(value: Value, names: ArgumentNames): PlannedCall {
  const view = viewCall({ ...value, call: value.call ?? '' }, { wants: 'number or address', names })
  const texts = textsIn(value.args)
  const labels = texts.filter(text => Object.hasOwn(names, text) && !reserved.includes(text))
  return { view, abi: [view.abi], labels: [...new Set(labels)], needsBlock: texts.includes('block') }
}

/** Advice for an item whose token has no decimals: a number that is a scale would be that of all items. */
const itemAdvice =
  'for a token without decimals() write decimals: N next to price: token, where it counts for such tokens alone, and for each of them; where their numbers differ, or without a price, read such items as a list of their own'

/**
 * The decimals of what a call returns. An amount that is priced by its token has those of the token, and a number counts
 * where it tells none; any other number is the scale of the value, whatever the contract says.
 */
async function decimalsFor(
  { decimals, price, address }: Value,
  addressOf: (name: string | undefined) => Promise<Address>,
  decimalsOf: DecimalsOf,
): Promise<number> {
  if (typeof decimals === 'object') return decimalsOf(await addressOf(decimals.address))
  if (decimals === true || price === 'token')
    return decimalsOf(await addressOf(address), decimals === true ? undefined : decimals)
  return decimals ?? 0
}

/** The labels that a value needs: of its formula, and of addresses. */
function neededOf(value: Value): readonly string[] {
  return [...neededBy(value), ...textsIn([value.address, value.args, value.decimals])]
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** Names that may stand among arguments, and are no labels. */
const reserved = ['item', 'hour', 'block']

const nowhere: Address = `0x${'00'.repeat(20)}`

/** Names that the arguments of a value may use, each with a value of its kind. */
function namesFor(label: string, values: Values, listName: string | undefined): ArgumentNames {
  const labels = Object.keys(values).filter(other => other !== label && isAddress(values[other]))
  return {
    ...Object.fromEntries(labels.map(other => [other, nowhere])),
    ...{ hour: 0n, block: 0n, ...(listName !== undefined && { item: nowhere }) },
  }
}

/** By value: each is asked about for each other one, and to parse a signature takes as long as a thousand look-ups. */
const addresses = new WeakMap<Value, boolean>()

function isAddress(value: Value | undefined): boolean {
  if (value?.call === undefined) return false
  const known = addresses.get(value) ?? returnsAddress({ ...value, call: value.call })
  addresses.set(value, known)
  return known
}

/** The computation over all items that a value is; absent for a count, and for a value of one item. */
function kindOf(value: Value): AggregateKind | undefined {
  return aggregateKinds.find(kind => value[kind] !== undefined)
}

function isAggregate(value: Value): boolean {
  return value.count !== undefined || kindOf(value) !== undefined
}

function noAddress(): Error {
  return new Error('the call has no address')
}

interface ReadMistake {
  readonly path: readonly (string | number)[]
  readonly message: string
}

function mistakesOf(label: string, values: Values, common: Common): ReadMistake[] {
  const value = values[label]
  if (!value) return []
  const ofAll = [...aggregateKinds, 'count'] as const
  const kindOfAll = ofAll.find(kind => value[kind] !== undefined)
  if (kindOfAll && common.each === undefined)
    return [{ path: [kindOfAll], message: 'is of the items of a list: add each: NAME next to values' }]
  const strayOption = value.call === undefined ? ofCall.find(name => value[name] !== undefined) : undefined
  const kindName = formulaOf(value)?.kind ?? kindOfAll
  return [
    ...formulaMistakes(value, 'call', values, common.each === undefined ? [] : ofAll),
    ...(strayOption && kindName
      ? [{ path: [strayOption], message: `belongs to a call, and this is a ${kindName}` }]
      : []),
    ...aggregateMistakes(value, values, common),
    ...wrongOperands(value, values),
    ...(value.call === undefined ? [] : callMistakesOf(label, value.call, values, common)),
  ]
}

/** Mistakes of a value of all items, and of one of a single item that would be sent. */
function aggregateMistakes(value: Value, values: Values, common: Common): ReadMistake[] {
  if (common.each === undefined)
    return (['none', 'atLeast', 'where'] as const)
      .filter(name => value[name] !== undefined)
      .map(name => ({ path: [name], message: 'is of the items of a list: add each: NAME' }))
  const kind = kindOf(value)
  if (value.atLeast !== undefined && !kind)
    return [{ path: ['atLeast'], message: `belongs to one of ${aggregateKinds.join(', ')}` }]
  if (!isAggregate(value) && !value.private && !isAddress(value)) {
    const message = `is of one item: add private: true, and send one of ${aggregateKinds.join(', ')} of it, or count`
    return [{ path: [], message }]
  }
  if (value.where && !isAggregate(value))
    return [{ path: ['where'], message: `belongs to one of ${aggregateKinds.join(', ')}, or count` }]
  if (value.where) {
    const mistakes = whereMistakes(value.where, label => {
      const other = Object.hasOwn(values, label) ? values[label] : undefined
      if (!other || isAggregate(other)) return undefined
      return isAddress(other) ? 'address' : 'number'
    })
    if (mistakes.length > 0) return mistakes.map(({ path, message }) => ({ path: ['where', ...path], message }))
  }
  if (value.none !== undefined && kind !== 'total' && !value.count)
    return [{ path: ['none'], message: 'belongs to a total or a count' }]
  const of = kind && value[kind]
  if (kind === undefined || of === undefined || Object.hasOwn(values, of)) return []
  return [{ path: [kind], message: unknownLabel(of, value, values) }]
}

/** Labels that are no numbers of one item, where one is needed. */
function wrongOperands(value: Value, values: Values): ReadMistake[] {
  const kind = formulaOf(value)?.kind ?? kindOf(value)
  const [over] = kind ? [value[kind]] : []
  const labels = typeof over === 'string' ? [over] : neededBy(value)
  return labels.flatMap(label => {
    const other = Object.hasOwn(values, label) ? values[label] : undefined
    const is = isAddress(other) ? 'an address' : other && isAggregate(other) ? 'of all items' : undefined
    return is && kind ? [{ path: [kind], message: `${label} is ${is}, and this needs a number of one` }] : []
  })
}

function callMistakesOf(label: string, call: string, values: Values, common: Common): ReadMistake[] {
  const value = values[label] ?? {}
  const names = namesFor(label, values, common.each)
  const mistakes: ReadMistake[] = [...callMistakes(call, value, { wants: 'number or address', names })]
  const knownNames = Object.keys(names).filter(name => names[name] !== 0n)
  const checkAddress = (path: readonly string[], name: string | undefined) => {
    if (name === undefined || /^0x[0-9a-f]{40}$/i.test(name) || knownNames.includes(name)) return
    const near = similarWord(name, knownNames)
    const words = 'an address in quotes (0x and 40 hexadecimal digits), or the label of a value that is an address'
    mistakes.push({ path, message: `must be ${words}${near === undefined ? '' : `: did you mean ${near}?`}` })
  }
  checkAddress(['address'], value.address)
  if (typeof value.decimals === 'object') checkAddress(['decimals', 'address'], value.decimals.address)
  if (value.address === undefined && common.address === undefined && common.each === undefined)
    mistakes.push({ path: ['address'], message: 'must be an address: here, or next to values for all of them' })
  if (!isAddress(value)) {
    const isUnscaled = (value.price ?? 'token') !== 'token' && value.decimals === undefined
    return isUnscaled ? [...mistakes, { path: ['price'], message: unscaledPrice }] : mistakes
  }
  const stray = (['decimals', 'price'] as const).find(name => value[name] !== undefined)
  if (stray) mistakes.push({ path: [stray], message: 'belongs to a number, and this is an address' })
  if (reserved.includes(label))
    mistakes.push({ path: [], message: `cannot be a label of an address: ${label} is known` })
  if (!value.private) mistakes.push({ path: [], message: 'is an address, which cannot be sent: add private: true' })
  return mistakes
}
