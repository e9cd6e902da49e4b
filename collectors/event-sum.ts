import { address, type ChainAsOf, type CollectContext, defineCollector, z } from 'tidegauge'
import type { AbiFunction } from 'viem'
import { addressesNow, repeated } from './values/contracts.ts'
import { coin, type DecimalsOf, decimalsReader, ofOption, scaleAdvice } from './values/decimals.ts'
import { decimalsOption } from './values/decimals-option.ts'
import { declaration, declared, labelOption } from './values/declared.ts'
import { eventFilter, type ParsedEvent, topicOf } from './values/event.ts'
import { decimalNumber, Fraction, fractionOf, nearestNumber, scaled, total } from './values/fraction.ts'
import { eachOption } from './values/items.ts'
import { OptionEntryMistake } from './values/mistake.ts'
import { noneMistakes, noneOption, readingOf } from './values/none.ts'
import { exactPrice, exactTokenPrice, priceOption, unscaledPrice } from './values/price/exact-price.ts'
import {
  atLeastOption,
  checkLeftOut,
  firstPriced,
  type LeftOut,
  pricedParts,
  unpricedMistakes,
  unpricedOption,
} from './values/price/unpriced.ts'

const texts = z.union([z.string(), z.array(z.string()).min(2)])

/** Options of an event; those next to `events` are of each that says nothing else. */
const ofEvent = {
  where: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('arguments that a log must have, all of them: a value, a list of values, or { min, max, not }'),
  sum: texts
    .optional()
    .describe(
      'the argument that is added up, or a part of it, like fill.delta or fees.*.amount; a list: one for each token',
    ),
  count: z.literal(true).optional().describe('the number of logs'),
  unique: z.string().optional().describe('the argument whose different values are counted'),
  abs: z.literal(true).optional().describe('adds up without signs'),
  token: texts
    .optional()
    .describe(
      'the token of the sum: an argument, an address, or a call of the contract: "token0() view returns (address)"; of a list, the first that has a price counts',
    ),
  decimals: decimalsOption.optional().describe('of the sum; with token: of a token that has no decimals()'),
  price: priceOption,
  factor: z
    .union([z.number(), z.string()])
    .optional()
    .describe(
      'the sum is multiplied by it: a number like 0.003, an argument, or a call of the contract: "fee() view returns (uint24)"',
    ),
  factorDecimals: z.int().min(0).max(255).optional().describe('decimals of a factor that is an argument or a call'),
}

const signature = z
  .string()
  .describe('its signature: "Transfer(address indexed from, address indexed to, uint256 value)"')

const options = z
  .strictObject({
    chain: z.string().describe('the name of a chain of the configuration'),
    address: z
      .union([address, z.array(address).min(1), eachOption])
      .describe('the contract, several, or those of a list: { each: NAME }'),
    event: signature.optional(),
    events: z
      .array(z.strictObject({ event: signature, ...ofEvent }))
      .min(1)
      .optional()
      .describe('several, in place of event, that are added up'),
    ...ofEvent,
    label: labelOption.max(16).describe('label of the metric'),
    unpriced: unpricedOption,
    atLeast: atLeastOption,
    none: noneOption,
    ...declared,
  })
  .superRefine((input, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    if ((input.event === undefined) === (input.events === undefined))
      tell(['event'], 'must be the signature of an event; of several: events: [{ event: …, sum: … }, …]')
    const kinds = new Set<string>()
    const allEvents = eventsOf(input)
    const isAmount = allEvents.some(each => isScaled(each))
    const summed = allEvents.map((each, place) => (each.unique === undefined ? keyOf(each) : String(place)))
    for (const place of repeated(summed)) tell(['events', place], 'is there already: it would count twice')
    for (const [place, eventOption] of allEvents.entries()) {
      const eventPath = input.events ? ['events', place] : []
      if (eventOption.count && isAmount)
        tell(
          [...eventPath, 'count'],
          'is a number of logs, and another event is an amount of a token: each needs its own metric',
        )
      const isSeveral = typeof input.address !== 'string'
      for (const { path, message } of mistakesOf(eventOption, isSeveral)) tell([...eventPath, ...path], message)
      kinds.add(eventOption.unique === undefined ? 'number' : 'unique')
    }
    const isPriced = allEvents.some(({ price }) => price !== undefined)
    for (const { path, message } of unpricedMistakes(input, isPriced)) tell(path, message)
    for (const { path, message } of noneMistakes(input.none, input.address)) tell(path, message)
    if (kinds.size > 1) tell(['events'], 'must have unique at each of them, or at none')
  })

type Options = z.output<typeof options>
type OwnEvent = Pick<Options, keyof typeof ofEvent> & { readonly event: string }
type Means = Pick<CollectContext<Options>, 'chain' | 'options' | 'price' | 'log'>
type Emitters = `0x${string}` | readonly `0x${string}`[]

/**
 * A number out of the events of an hour, those after the as-of block of the hour before up to this hour's: the sum of
 * an argument, their count, or the count of an argument's different values. No event at all is 0.
 */
export default defineCollector({
  options,
  metrics: given => ({ [given.label]: declaration(given) }),
  history: true,
  async collect({ list, ...means }) {
    const { address, label } = means.options
    const emitters = typeof address === 'string' ? address : await addressesNow(list, address)
    // A filter without an address is of all contracts.
    if (emitters.length === 0) return { [label]: readingOf(none, 0, means.options.none) }
    const parts = await Promise.all(eventsOf(means.options).map(each => readEvent(each, emitters, means)))
    checkLeftOut(
      label,
      parts.map(({ leftOut }) => leftOut),
      means.options,
      means.log,
    )
    const values = new Set(parts.flatMap(({ values }) => values))
    return { [label]: nearestNumber(total(parts.map(({ sum }) => sum))) + values.size }
  },
})

function eventsOf(given: Options): readonly OwnEvent[] {
  const { event = '', events = [{ event }] } = given
  const common = Object.fromEntries(Object.keys(ofEvent).map(name => [name, Reflect.get(given, name)]))
  return events.map(each => ({ ...common, ...each }))
}

/** The same for events that count the same logs in the same way. */
function keyOf({ event, where = {}, ...eventOption }: OwnEvent): string {
  return JSON.stringify([topicOf(event) ?? event, Object.entries(where).sort(), Object.entries(eventOption).sort()])
}

/** Whether its sum is in whole tokens or US dollars: no number of logs can be added to it. */
function isScaled({ sum, decimals = 0, token, price }: OwnEvent): boolean {
  return sum !== undefined && (decimals !== 0 || token !== undefined || price !== undefined)
}

function mistakesOf(
  eventOption: OwnEvent,
  isOfSeveral: boolean,
): readonly Pick<OptionEntryMistake, 'path' | 'message'>[] {
  const kinds = (['sum', 'count', 'unique'] as const).filter(kind => eventOption[kind] !== undefined)
  const mistakes: Pick<OptionEntryMistake, 'path' | 'message'>[] = []
  const tell = (path: readonly string[], message: string) => mistakes.push({ path, message })
  const ofSum = ['abs', 'token', 'decimals', 'price', 'factor', 'factorDecimals'] as const
  const strayOption = ofSum.find(name => eventOption[name] !== undefined)
  if (kinds.length !== 1) {
    tell(kinds.slice(1, 2), `must have one of sum, count, unique, and has ${kinds.join(' and ') || 'nothing of it'}`)
  } else if (strayOption && eventOption.sum === undefined)
    tell([strayOption], `belongs to a sum, and this is a ${kinds[0]}`)
  if (eventOption.decimals === true && isOfSeveral && eventOption.token === undefined)
    tell(
      ['decimals'],
      'must be a number or { address: "0x…" }, which holds for all of these contracts; for tokens with decimals of their own write an event-sum of each',
    )
  if (eventOption.token !== undefined && typeof (eventOption.decimals ?? 0) !== 'number')
    tell(['decimals'], 'must be a number, for a token that has no decimals(): one that has them is asked')
  if (eventOption.price === 'token' && eventOption.token === undefined)
    tell(['price'], 'needs the token: token: an argument of the event, an address, or a call of the contract')
  const [sums, tokens] = [[eventOption.sum ?? []].flat().length, [eventOption.token ?? []].flat().length]
  if ((sums > 1 || tokens > 1) && sums !== tokens) tell(['sum'], 'must have as many amounts as there are tokens')
  if (tokens > 1 && eventOption.price !== 'token')
    tell(['price'], 'must be price: token: the first token that has a price counts')
  const isNumber = eventOption.factor === undefined || decimalNumber.test(String(eventOption.factor))
  if (isNumber && Number(eventOption.factor ?? 1) === 0) tell(['factor'], 'must not be 0: so would be the sum')
  const { decimals, price = 'token', token, factor } = eventOption
  if (eventOption.sum !== undefined && price !== 'token' && (decimals ?? token ?? factor) === undefined)
    tell(['price'], unscaledPrice)
  if (eventOption.factorDecimals !== undefined && isNumber)
    tell(['factorDecimals'], 'belongs to a factor that is an argument or a call')
  return eventOption.event === '' ? mistakes : [...mistakes, ...eventMistakes(eventOption)]
}

/** All mistakes of an event: what is wrong is left out, and the rest is parsed again. */
function eventMistakes(eventOption: OwnEvent): OptionEntryMistake[] {
  try {
    eventFilter(eventOption)
    return []
  } catch (error) {
    if (!(error instanceof OptionEntryMistake)) throw error
    const [option, name] = error.path
    if (option === 'event') return [error]
    const { [option === 'where' ? String(name) : '']: _, ...where } = eventOption.where ?? {}
    const others = eventMistakes({ ...eventOption, where, ...(option !== 'where' && { [String(option)]: undefined }) })
    // An anonymous event may need a condition that is left out here.
    return [error, ...others.filter(({ path }) => path[0] !== 'event')]
  }
}

interface EventParts {
  /** The sum, or the count. */
  readonly sum: Fraction
  /** The different values, where these are counted. */
  readonly values: readonly string[]
  readonly leftOut: LeftOut
}

const none = new Fraction(0)

/** Part of a log, and the contract that has emitted it. */
type EmittedItem = ReturnType<ParsedEvent['items']>[number] & { readonly emitter: `0x${string}` }

async function readEvent(eventOption: OwnEvent, emitters: Emitters, means: Means): Promise<EventParts> {
  const { options, price, log } = means
  const chain = means.chain(options.chain)
  const event = eventFilter(eventOption)
  const decimalsOf = decimalsReader(chain, eventOption.token === undefined ? scaleAdvice : ofOption('decimals'))
  // Asked in the same turn as the logs; a price is missed only where there is something to be priced.
  const fixedPrice =
    eventOption.price === undefined || eventOption.price === 'token' ? undefined : exactPrice(price, eventOption.price)
  fixedPrice?.catch(() => {})
  const [logs, ofSum] = await Promise.all([
    chain.logs({ address: emitters, event: event.abi, args: event.indexed }),
    decimalsOfSum(eventOption, event, emitters, decimalsOf),
  ])
  const items = logs.flatMap(({ address, args }) => event.items(args).map(item => ({ ...item, emitter: address })))
  if (items.length === 0 && logs.length > 0)
    log.info(`${options.label}: none of ${logs.length} logs of ${event.abi.name} meets where`)
  const allItems = { leftOut: { items: items.length, reasons: [] } }
  if (eventOption.unique !== undefined) return { ...allItems, sum: none, values: items.map(({ value }) => value) }
  if (eventOption.sum === undefined) return { ...allItems, sum: new Fraction(items.length), values: [] }
  const amountOf = async (token: `0x${string}` | undefined, amount: bigint) => {
    const decimals = ofSum ?? (token ? await decimalsOf(token, numberIn(eventOption.decimals)) : 0)
    return scaled(amount, decimals)
  }
  const isByToken = eventOption.price === 'token'
  const worth = async ({ tokens, amounts }: TokenSum): Promise<Fraction> => {
    if (!isByToken) {
      const [amount, usd] = await Promise.all([amountOf(tokens[0], amounts[0] ?? 0n), fixedPrice])
      return usd ? amount.mul(usd) : amount
    }
    return firstPriced(
      tokens.map((token = coin, place) => async () => {
        // Asked in one turn. Where there is no price, it does not matter that there are no decimals.
        const amount = amountOf(token, amounts[place] ?? 0n)
        amount.catch(() => {})
        const usd = await exactTokenPrice(price, options.chain, token)
        return usd.mul(await amount)
      }),
    )
  }
  const sums = await sumsByTokens(items, event, eventOption, chain)
  const { values, leftOut } = await pricedParts([...sums.values()], worth, options.unpriced)
  const isNumber = decimalNumber.test(String(eventOption.factor ?? 1))
  const factor = isNumber ? fractionOf(eventOption.factor ?? 1) : scaled(1n, eventOption.factorDecimals ?? 0)
  return { sum: total(values).mul(factor), values: [], leftOut }
}

/** Decimals that no log decides: those of the sum, where there is no token, and of a single token that is written. */
function decimalsOfSum(
  { decimals, token }: OwnEvent,
  { tokens: [first, ...furtherTokens] }: ParsedEvent,
  emitters: Emitters,
  decimalsOf: DecimalsOf,
): Promise<number> | number | undefined {
  if (token === undefined) {
    if (decimals === undefined || typeof decimals === 'number') return decimals ?? 0
    return decimalsOf(decimals === true ? ([emitters].flat()[0] ?? '0x') : decimals.address)
  }
  if (first?.kind !== 'address' || furtherTokens.length > 0) return undefined
  return decimalsOf(first.address, numberIn(decimals))
}

/** Decimals that are written as a number; of a token they count only where it tells none. */
function numberIn(decimals: OwnEvent['decimals']): number | undefined {
  return typeof decimals === 'number' ? decimals : undefined
}

/** The amounts of all items with the same tokens: one for each of them. */
interface TokenSum {
  readonly tokens: readonly (`0x${string}` | undefined)[]
  readonly amounts: readonly bigint[]
  /** Number of the items. */
  readonly items: number
}

/** The sums of the items' amounts, each times its factor, by their tokens in lower case. */
async function sumsByTokens(
  items: readonly EmittedItem[],
  event: ParsedEvent,
  { abs }: OwnEvent,
  chain: ChainAsOf,
): Promise<ReadonlyMap<string, TokenSum>> {
  const answers = new Map<string, Promise<unknown>>()
  const ask = (emitter: `0x${string}`, abi: AbiFunction) => {
    const key = `${emitter} ${abi.name}`
    const answer = answers.get(key) ?? readFirst(chain, emitter, abi)
    answers.set(key, answer)
    return answer
  }
  const pricedItems = items.map(async ({ emitter, tokens, factor }) => {
    const addresses = event.tokens.map((token, place) => {
      if (token.kind === 'address') return token.address
      return token.kind === 'call' ? (ask(emitter, token.abi) as Promise<`0x${string}`>) : tokens[place]
    })
    const called = event.factorCall ? (ask(emitter, event.factorCall) as Promise<bigint | number>) : factor
    return [await Promise.all(addresses), BigInt(await called)] as const
  })
  const sums = new Map<string, TokenSum>()
  for (const [place, [named, factor]] of (await Promise.all(pricedItems)).entries()) {
    const tokens = named.map(token => token?.toLowerCase() as `0x${string}` | undefined)
    const previousSum = sums.get(tokens.join())
    const amounts = (items[place]?.amounts ?? []).map((amount, number) => {
      return (previousSum?.amounts[number] ?? 0n) + (abs && amount < 0n ? -amount : amount) * factor
    })
    sums.set(tokens.join(), {
      tokens: tokens.length > 0 ? tokens : [undefined],
      amounts,
      items: 1 + (previousSum?.items ?? 0),
    })
  }
  return sums
}

/** The first output of a view function of a contract. */
async function readFirst(chain: ChainAsOf, address: `0x${string}`, abi: AbiFunction): Promise<unknown> {
  const answer: unknown = await chain.read({ address, abi: [abi], functionName: abi.name })
  return Array.isArray(answer) ? answer[0] : answer
}
