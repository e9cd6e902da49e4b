import { address, type ChainAsOf, type CollectContext, defineCollector, z } from 'tidegauge'
import type { AbiFunction } from 'viem'
import { addressesNow } from './values/contracts.ts'
import { type DecimalsOf, decimalsOption, decimalsReader, ofOption, scaleAdvice } from './values/decimals.ts'
import { declaration, declared, labelOption } from './values/declared.ts'
import { eventFilter, type ParsedEvent } from './values/event.ts'
import { decimalNumber, Fraction, fractionOf, nearestNumber, scaled, total } from './values/fraction.ts'
import { eachOption } from './values/items.ts'
import { OptionEntryMistake } from './values/mistake.ts'
import { noneOption, readingOf } from './values/none.ts'
import { exactPrice, exactTokenPrice, priceOption } from './values/price/exact-price.ts'

const notFactor = 'must be a number, like 0.003'

/** Options of an event; those next to `events` are of each that says nothing else. */
const ofEvent = {
  where: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('arguments that a log must have, all of them: a value, a list of values, or { min, max, not }'),
  sum: z.string().optional().describe('the argument that is added up, or a part of it, like fill.delta'),
  count: z.literal(true).optional().describe('the number of logs'),
  unique: z.string().optional().describe('the argument whose different values are counted'),
  abs: z.literal(true).optional().describe('adds up without signs'),
  token: z
    .string()
    .optional()
    .describe(
      'the token of the sum: an argument, an address, or a call of the contract: "token0() view returns (address)"',
    ),
  decimals: decimalsOption.optional().describe('of the sum; with token: of a token that has no decimals()'),
  price: priceOption,
  factor: z
    .union([z.number(), z.string().regex(decimalNumber, { error: notFactor })], { error: notFactor })
    .optional()
    .describe('the sum is multiplied by it, like a fee of 0.003'),
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
    none: noneOption,
    ...declared,
  })
  .superRefine((given, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    if ((given.event === undefined) === (given.events === undefined))
      tell(['event'], 'must be the signature of an event; of several: events: [{ event: …, sum: … }, …]')
    const kinds = new Set<string>()
    for (const [place, each] of eventsOf(given).entries()) {
      const own = given.events ? ['events', place] : []
      const isSeveral = typeof given.address !== 'string'
      for (const { path, message } of mistakesOf(each, isSeveral)) tell([...own, ...path], message)
      kinds.add(each.unique === undefined ? 'number' : 'unique')
    }
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
    const values = new Set(parts.flatMap(({ values }) => values))
    return { [label]: nearestNumber(total(parts.map(({ sum }) => sum))) + values.size }
  },
})

function eventsOf(given: Options): readonly OwnEvent[] {
  const { event = '', events = [{ event }], where, sum, count, unique, abs, token, decimals, price, factor } = given
  const common = { where, sum, count, unique, abs, token, decimals, price, factor }
  return events.map(each => ({ ...common, ...each }))
}

function mistakesOf(given: OwnEvent, isOfSeveral: boolean): readonly Pick<OptionEntryMistake, 'path' | 'message'>[] {
  const kinds = (['sum', 'count', 'unique'] as const).filter(kind => given[kind] !== undefined)
  const found: Pick<OptionEntryMistake, 'path' | 'message'>[] = []
  const tell = (path: readonly string[], message: string) => found.push({ path, message })
  const stray = (['abs', 'token', 'decimals', 'price', 'factor'] as const).find(name => given[name] !== undefined)
  if (kinds.length !== 1) {
    tell(kinds.slice(1, 2), `must have one of sum, count, unique, and has ${kinds.join(' and ') || 'nothing of it'}`)
  } else if (stray && given.sum === undefined) tell([stray], `belongs to a sum, and this is a ${kinds[0]}`)
  if (given.decimals === true && isOfSeveral && given.token === undefined)
    tell(['decimals'], 'must be a number or { address: "0x…" }: there are several contracts')
  if (given.token !== undefined && typeof (given.decimals ?? 0) !== 'number')
    tell(['decimals'], 'must be a number, for a token that has no decimals(): one that has them is asked')
  if (given.price === 'token' && given.token === undefined)
    tell(['price'], 'needs the token: token: an argument of the event, an address, or a call of the contract')
  return given.event === '' ? found : [...found, ...eventMistakes(given)]
}

/** All mistakes of an event: what is wrong is left out, and the rest is parsed again. */
function eventMistakes(given: OwnEvent): OptionEntryMistake[] {
  try {
    eventFilter(given)
    return []
  } catch (error) {
    if (!(error instanceof OptionEntryMistake)) throw error
    const [option, name] = error.path
    if (option === 'event') return [error]
    const { [option === 'where' ? String(name) : '']: _, ...where } = given.where ?? {}
    const others = eventMistakes({ ...given, where, ...(option !== 'where' && { [String(option)]: undefined }) })
    // An anonymous event may need a condition that is left out here.
    return [error, ...others.filter(({ path }) => path[0] !== 'event')]
  }
}

interface EventParts {
  /** The sum, or the count. */
  readonly sum: Fraction
  /** The different values, where these are counted. */
  readonly values: readonly string[]
}

const none = new Fraction(0)

async function readEvent(
  given: OwnEvent,
  emitters: Emitters,
  { options, chain: chainOf, price, log }: Means,
): Promise<EventParts> {
  const chain = chainOf(options.chain)
  const event = eventFilter(given)
  const decimalsOf = decimalsReader(chain, given.token === undefined ? scaleAdvice : ofOption('decimals'))
  // Asked in the same turn as the logs; a price is missed only where there is something to be priced.
  const named = given.price === undefined || given.price === 'token' ? undefined : exactPrice(price, given.price)
  named?.catch(() => {})
  const [logs, ofSum] = await Promise.all([
    chain.logs({ address: emitters, event: event.abi, args: event.indexed }),
    decimalsOfSum(given, event, emitters, decimalsOf),
  ])
  const meant = logs.filter(({ args }) => event.isMeant(args))
  if (meant.length === 0 && logs.length > 0)
    log.info(`${options.label}: none of ${logs.length} logs of ${event.abi.name} meets where`)
  if (given.unique !== undefined) return { sum: none, values: meant.map(({ args }) => event.value(args)) }
  if (given.sum === undefined) return { sum: new Fraction(meant.length), values: [] }
  const worth = async ([token, amount]: readonly [`0x${string}` | '', bigint]) => {
    const [decimals, usd] = await Promise.all([
      ofSum ?? (token && decimalsOf(token, numberIn(given.decimals))),
      given.price === 'token' && token ? exactTokenPrice(price, options.chain, token) : named,
    ])
    const whole = scaled(amount, Number(decimals))
    return usd ? whole.mul(usd) : whole
  }
  const amounts = await amountsByToken(meant, event, given.abs === true, chain)
  const sum = total(await Promise.all([...amounts].map(worth)))
  return { sum: sum.mul(fractionOf(given.factor ?? 1)), values: [] }
}

/** Decimals that no log decides: those of the sum, where there is no token, and of a token that is written. */
function decimalsOfSum(
  { decimals, token }: OwnEvent,
  event: ParsedEvent,
  emitters: Emitters,
  decimalsOf: DecimalsOf,
): Promise<number> | number | undefined {
  if (token === undefined) {
    if (decimals === undefined || typeof decimals === 'number') return decimals ?? 0
    return decimalsOf(decimals === true ? ([emitters].flat()[0] ?? '0x') : decimals.address)
  }
  return event.token?.kind === 'address' ? decimalsOf(event.token.address, numberIn(decimals)) : undefined
}

/** Decimals that are written as a number; of a token they count only where it tells none. */
function numberIn(decimals: OwnEvent['decimals']): number | undefined {
  return typeof decimals === 'number' ? decimals : undefined
}

interface EmittedLog {
  readonly address: `0x${string}`
  readonly args: unknown
}

/** The sums of the logs' amounts by their tokens, in lower case; under an empty text without tokens. */
async function amountsByToken(
  logs: readonly EmittedLog[],
  { token, amount }: ParsedEvent,
  isUnsigned: boolean,
  chain: ChainAsOf,
): Promise<ReadonlyMap<`0x${string}` | '', bigint>> {
  const called = new Map<string, Promise<`0x${string}`>>()
  const tokenOf = ({ address, args }: EmittedLog) => {
    if (token?.kind !== 'call') return token?.kind === 'argument' ? token.of(args) : (token?.address ?? '')
    const answer = called.get(address) ?? readToken(chain, address, token.abi)
    called.set(address, answer)
    return answer
  }
  const tokens = await Promise.all(logs.map(tokenOf))
  const sums = new Map<`0x${string}` | '', bigint>()
  for (const [place, { args }] of logs.entries()) {
    const own = amount(args)
    const key = (tokens[place] ?? '').toLowerCase() as `0x${string}` | ''
    sums.set(key, (sums.get(key) ?? 0n) + (isUnsigned && own < 0n ? -own : own))
  }
  return sums
}

async function readToken(chain: ChainAsOf, address: `0x${string}`, abi: AbiFunction): Promise<`0x${string}`> {
  const answer: unknown = await chain.read({ address, abi: [abi], functionName: abi.name })
  return (Array.isArray(answer) ? answer[0] : answer) as `0x${string}`
}
