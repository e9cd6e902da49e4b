import {
  address,
  type ChainAsOf,
  type CollectContext,
  defineCollector,
  type Hour,
  headers,
  hourText,
  z,
} from 'tidegauge'
import { part } from './values/abi-argument.ts'
import { addresses } from './values/contracts.ts'
import { argumentKey, eventFilter } from './values/event.ts'
import { answerOf, jsonPointer, valueAt } from './values/json-answer.ts'
import { OptionEntryMistake } from './values/mistake.ts'
import { asksBlock, inBody, inPlaces, readsPast, sourceBody, sourceUrl } from './values/placeholders.ts'
import { type CallForm, viewCall } from './values/view-function.ts'

type Address = `0x${string}`

const kinds = ['length', 'array', 'event', 'url', 'fixed'] as const

/** Options that belong to each kind besides `chain`: those it needs, and those it may have. */
const ofKind: Readonly<Record<(typeof kinds)[number], readonly [needed: string[], other: string[]]>> = {
  length: [['address', 'item'], ['take']],
  array: [['address'], ['take']],
  event: [['address', 'take', 'since'], []],
  url: [['pointer'], ['headers', 'body']],
  fixed: [[], []],
}

const missing: Readonly<Record<string, string>> = {
  address: 'must be the address of the contract',
  item: 'must be the function of one item, like "allPairs(uint256) view returns (address)"',
  take: 'must be the name of the argument that is the address',
  since: 'must be the hour from which on the events are read, like 2024-05-01T00:00:00Z',
  pointer: 'must be a JSON pointer like /tokens/*/address',
}

const hourMs = 3_600_000

const options = z
  .strictObject({
    chain: z.string().describe('the name of a chain of the configuration'),
    address: address.optional().describe('the contract that has the list, or emits the events'),
    length: z.string().optional().describe('the function of the length: "allPairsLength() view returns (uint256)"'),
    item: z.string().optional().describe('that of an item by its place: "allPairs(uint256) view returns (address)"'),
    array: z.string().optional().describe('the function of the whole list: "getAllMarkets() view returns (address[])"'),
    event: z.string().optional().describe('the event of a new item: "Deployed(address indexed vault, address token)"'),
    take: z.string().optional().describe('a field of the tuples, one of several outputs, or an argument of the event'),
    since: z
      .string()
      .refine(text => /Z$/.test(text) && Date.parse(text) % hourMs === 0, {
        error: 'must be a full UTC hour like 2024-05-01T00:00:00Z',
      })
      .transform(text => Date.parse(text) as Hour)
      .optional()
      .describe('first hour whose events count: that of the deployment, or an earlier one'),
    url: sourceUrl.optional().describe('an address that answers JSON, with {hour}, {hourSeconds}, {hourMs} or {block}'),
    headers: headers.optional(),
    body: sourceBody.optional(),
    pointer: jsonPointer.optional().describe('where the addresses are; * is every item: /tokens/*/address'),
    fixed: addresses.optional().describe('addresses that do not change'),
  })
  .superRefine((given, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    const written = Object.keys(given).filter(name => Reflect.get(given, name) !== undefined && name !== 'chain')
    const [kind, ...others] = kinds.filter(each => written.includes(each))
    if (!kind || others.length > 0) {
      const said = kind ? `${kind} and ${others[0]}` : 'nothing of it'
      return tell([], `must have one of ${kinds.join(', ')}, and has ${said}`)
    }
    const [needed, other] = ofKind[kind]
    const stray = written.find(name => name !== kind && ![...needed, ...other].includes(name))
    if (stray) tell([stray], `belongs to another kind of list, and this is of ${kind}`)
    for (const name of needed.filter(each => !written.includes(each))) tell([name], missing[name] ?? 'must be given')
    for (const { path, message } of signatureMistakes(given)) tell(path, message)
    if (given.url !== undefined && !readsPast({ ...given, url: given.url }))
      tell(['url'], 'must contain {hour}, {hourSeconds}, {hourMs} or {block}: a list is of its hour')
  })

type Options = z.output<typeof options>

/** Items of a list as of the final block of an hour. */
interface Memory {
  readonly hour: Hour
  readonly items: readonly Address[]
  /** Numbers of the blocks at which the items of an event came. */
  readonly blocks?: readonly number[] | undefined
}

/** The list, with what later hours need not read again; or an earlier hour to be read first. */
interface ReadList {
  readonly items: readonly Address[]
  readonly memory?: Memory
  readonly first?: Hour
}

interface Context extends CollectContext<Options> {
  /** Whether the block of the hour cannot be replaced any more. */
  readonly isFinal: boolean
  readonly known?: Memory | undefined
  /** The logs of several hours up to this one, which are final. */
  logsOver(chain: string, hours: number): Pick<ChainAsOf, 'logs'>
}

const collector = defineCollector({
  options,
  metrics: { Count: { min: 0 } },
  history: true,
  async collect(context) {
    if (context.options.event !== undefined)
      throw new Error('the past of events is remembered under lists: alone: count it there, by contract-read')
    const { items } = await listOf({ ...context, isFinal: false, logsOver: name => context.chain(name) })
    return { Count: items.length }
  },
})

/**
 * Addresses as of the hour: items of a contract by their place, an array that it returns, an argument of its events, an
 * answer in JSON, or fixed ones. The daemon reads those of `lists:` with it, on from what was read before.
 */
export default { ...collector, listOf }

async function listOf(context: Context): Promise<ReadList> {
  const { options } = context
  const listed = await byKind(context)
  return { ...listed, items: [...new Set(lower(listed.items))] }

  function byKind(of: Context): Promise<ReadList> | ReadList {
    if (options.length !== undefined) return indexed(of)
    if (options.event !== undefined) return emitted(of)
    if (options.url !== undefined) return answered(of)
    return options.array === undefined ? { items: options.fixed ?? [] } : returned(of)
  }
}

/** Items of a list at most. */
const itemsMax = 20_000

/** Reads in one question about a chain. */
const readsMax = 10_000

const itemForm = { wants: 'address', names: { place: 0n } } as const satisfies CallForm

/** Known items that are read again with the list's length, in the same `eth_call`. */
const readAgainMax = 1_000

/**
 * Items by their place. A contract that removes one may put another in its place, so those of a list that fits into one
 * `eth_call` are all read again. A longer one is a factory's, which only adds: what is known of it stands while its last
 * item is the same.
 */
async function indexed({ options, chain, hour, known }: Context): Promise<ReadList> {
  const { address = '0x', length = '', item = '', take } = options
  const own = chain(options.chain)
  const size = viewCall({ call: length })
  const { abi, argsOf, addresses } = viewCall({ call: item, args: ['place'], take }, itemForm)
  const callOf = (place: number) => ({
    ...{ address, abi: [abi], functionName: abi.name, args: argsOf({ place: BigInt(place) }) },
  })
  const itemsFrom = async (from: number, to: number) => {
    const places = Array.from({ length: to - from }, (_, index) => from + index)
    const questions = chunks(places, readsMax).map(each => own.read(each.map(callOf)))
    return lower((await Promise.all(questions)).flat().flatMap(addresses))
  }

  const before = known?.items ?? []
  const believed = before.length > readAgainMax ? before.length - 1 : 0
  // An earlier hour may have fewer: old contracts burn all gas at a place that they do not have.
  const isLater = known !== undefined && hour >= known.hour
  const [said, again] = await Promise.all([
    own.read({ address, abi: [size.abi], functionName: size.abi.name }),
    isLater ? itemsFrom(believed, before.length).catch(() => []) : [],
  ])
  const now = Number(size.taken(said))
  checkSize(now)
  const first = async () => {
    if (believed === 0) return again.slice(0, now)
    const shared = isLater ? before.length : now
    if (shared > Math.min(now, before.length)) return []
    const [last] = isLater ? again : await itemsFrom(Math.max(shared - 1, 0), shared)
    return last === before[shared - 1] ? before.slice(0, shared) : []
  }
  const items = [...(await first())]
  items.push(...(await itemsFrom(items.length, now)))
  return { items, memory: { hour, items } }
}

function lower(items: readonly Address[]): readonly Address[] {
  return items.map(item => item.toLowerCase() as Address)
}

function checkSize(items: number): void {
  if (items > itemsMax) throw new Error(`it has ${items} items, and at most ${itemsMax} are read`)
}

function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size))
}

async function returned({ options, chain }: Context): Promise<ReadList> {
  const { address = '0x', array = '', take } = options
  const { abi, args, addresses } = viewCall({ call: array, take }, { wants: 'addresses' })
  const items = addresses(await chain(options.chain).read({ address, abi: [abi], functionName: abi.name, args }))
  checkSize(items.length)
  return { items }
}

/** Hours of events that one run reads at most. */
const hoursMax = 720

/** Hours of events that are read one by one, since their blocks are not final. A longer past is read first. */
const openHoursMax = 24

/** The argument of all events up to the hour, on from those that are known. */
async function emitted({ options, hour, known, isFinal, log, ...means }: Context): Promise<ReadList> {
  const { address = '0x', event = '', take = '', since = hour } = options
  if (hour < since)
    throw new Error(`it is read from ${hourText(since)} on: for ${hourText(hour)} write an earlier since`)
  const own = means.chain(options.chain)
  const { number } = await own.block()
  if (known && hour <= known.hour) {
    return { items: known.items.filter((_, place) => BigInt(known.blocks?.[place] ?? 0) <= number) }
  }
  const from = known?.hour ?? ((since - hourMs) as Hour)
  const gap = (hour - from) / hourMs
  if (gap > hoursMax) return { items: [], first: (from + hoursMax * hourMs) as Hour }
  if (!isFinal && gap > openHoursMax) return { items: [], first: (hour - openHoursMax * hourMs) as Hour }

  const filter = { address, event: eventFilter({ event }).abi }
  const key = argumentKey(filter.event, take)
  const byHour = () =>
    Array.from({ length: gap }, (_, index) => means.chain(options.chain, { hoursBefore: gap - 1 - index }).logs(filter))
  const logs = (await Promise.all(isFinal ? [means.logsOver(options.chain, gap).logs(filter)] : byHour())).flat()
  const blocks = new Map<Address, number>(known?.items.map((item, place) => [item, known.blocks?.[place] ?? 0]))
  for (const { args, blockNumber } of logs) {
    const [item] = lower([part(args, key) as Address])
    if (item !== undefined && !blocks.has(item)) blocks.set(item, Number(blockNumber))
  }
  checkSize(blocks.size)
  const items = [...blocks.keys()]
  // So is that of a mistyped event, and what is over it would be 0 for ever.
  if (items.length === 0)
    log.warn(
      `is empty: no such event from ${hourText(since)} to ${hourText(hour)}; check its address, its since, and which arguments are indexed`,
    )
  return { items, memory: { hour, items, blocks: [...blocks.values()] } }
}

async function answered({ options, chain, http, hour, nowMs }: Context): Promise<ReadList> {
  const { url = '', body, pointer = '' } = options
  const source = { url, body, headers: options.headers }
  const block = asksBlock(source) ? (await chain(options.chain).block()).number : undefined
  const moment = { hour, ...(block !== undefined && { block }) }
  const request = { headers: options.headers, body: inBody(body, moment), isRead: true, numbers: 'text' } as const
  const answer = answerOf({ ...source, maxAge: 0 }, { hour, nowMs })
  const { json } = await http.json(inPlaces(url, moment), answer, request)
  const items = valuesAt(json, pointer, '')
  checkSize(items.length)
  return { items }
}

/** The addresses at a pointer, in which * is every item of a list or a map. @throws Error where there is none */
function valuesAt(json: unknown, pointer: string, above: string): Address[] {
  const star = /\/\*(?=\/|$)/.exec(pointer)
  const path = star ? pointer.slice(0, star.index) : pointer
  const found = valueAt(json, path)
  const where = `${above}${path}` || 'the root'
  if (star) {
    if (typeof found !== 'object' || found === null) throw new Error(`there is no list at ${where} of the answer`)
    const rest = pointer.slice(star.index + star[0].length)
    return Object.entries(found).flatMap(([name, item]) => valuesAt(item, rest, `${above}${path}/${name}`))
  }
  return [found].flat().map(item => {
    if (typeof item === 'string' && /^0x[0-9a-fA-F]{40}$/.test(item)) return item as Address
    throw new Error(`there is no address at ${where} of the answer: look at the answer, and correct the pointer`)
  })
}

/** Mistakes in the functions and the event, each at its option. */
function signatureMistakes({ length, item, array, event, take }: Options): readonly OptionEntryMistake[] {
  const mistakeOf = (option: string, parse: () => unknown): OptionEntryMistake[] => {
    try {
      parse()
      return []
    } catch (error) {
      if (!(error instanceof OptionEntryMistake)) throw error
      return [new OptionEntryMistake([/^(take|unique)$/.test(String(error.path[0])) ? 'take' : option], error.message)]
    }
  }
  return [
    ...(length === undefined ? [] : mistakeOf('length', () => viewCall({ call: length }))),
    ...(item === undefined ? [] : mistakeOf('item', () => viewCall({ call: item, args: ['place'], take }, itemForm))),
    ...(array === undefined ? [] : mistakeOf('array', () => viewCall({ call: array, take }, { wants: 'addresses' }))),
    ...(event === undefined ? [] : mistakeOf('event', () => eventArgument(event, take))),
  ]
}

function eventArgument(event: string, take: string | undefined): void {
  const { abi } = eventFilter({ event, ...(take !== undefined && { unique: take }) })
  const type = abi.inputs.find(({ name }) => name === take)?.type
  if (type !== undefined && type !== 'address')
    throw new OptionEntryMistake(['take'], `must be an argument that is an address, and ${take} is ${type}`)
}
