import {
  address,
  type ChainAsOf,
  type CollectContext,
  defineCollector,
  type Hour,
  headers,
  hourText,
  noItems,
  z,
} from 'tidegauge'
import { part } from './values/abi-argument.ts'
import { addresses } from './values/contracts.ts'
import { argumentKey, eventFilter } from './values/event.ts'
import { answerOf, jsonPointer, valueAt } from './values/json-answer.ts'
import {
  conditions,
  isOfItems,
  itemsAt,
  limitIn,
  pagedList,
  pageItems,
  partsAtStar,
  unmet,
} from './values/json-items.ts'
import { OptionEntryMistake } from './values/mistake.ts'
import { pagesMistakes, pagesOption, readPages } from './values/pages.ts'
import { asksBlock, inBody, inPlaces, readsPast, sourceBody, sourceUrl } from './values/placeholders.ts'
import { type CallForm, viewCall } from './values/view-function.ts'

type Address = `0x${string}`

const kinds = ['length', 'array', 'event', 'url', 'fixed'] as const

/** Options that belong to each kind besides `chain` and `except`: those it needs, and those it may have. */
const ofKind: Readonly<Record<(typeof kinds)[number], readonly [needed: string[], other: string[]]>> = {
  length: [
    ['address', 'item'],
    ['take', 'grows'],
  ],
  array: [['address'], ['take']],
  event: [['address', 'take', 'since'], []],
  url: [['pointer'], ['headers', 'body', 'where', 'pages', 'now']],
  fixed: [[], []],
}

const missing: Readonly<Record<string, string>> = {
  address: 'must be the address of the contract',
  item: 'must be the function of one item, like "allPairs(uint256) view returns (address)"',
  take: 'must be the name of the argument that is the address',
  since: 'must be the hour from which on the events are read, like 2024-05-01T00:00:00Z',
  pointer: 'must be a JSON pointer like /tokens/*/address',
}

/** Options of every kind. */
const shared: readonly string[] = ['chain', 'except']

const hourMs = 3_600_000

const options = z
  .strictObject({
    chain: z.string().describe('the name of a chain of the configuration'),
    address: z
      .union([address, addresses], {
        error: 'must be an address in quotes (0x and 40 hexadecimal digits), or a list of these',
      })
      .optional()
      .describe('the contract that has the list or emits the events, or several whose items are one list'),
    length: z.string().optional().describe('the function of the length: "allPairsLength() view returns (uint256)"'),
    item: z.string().optional().describe('that of an item by its place: "allPairs(uint256) view returns (address)"'),
    grows: z
      .literal(true)
      .optional()
      .describe('the contract only adds: of more than 1,000 items, known ones are not all read again each hour'),
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
    url: sourceUrl
      .optional()
      .describe('an address that answers JSON, with {hour}, {hourSeconds}, {hourMs} or {block}, unless now is written'),
    headers: headers.optional(),
    body: sourceBody.optional(),
    pointer: jsonPointer.optional().describe('where the addresses are; * is every item: /tokens/*/address'),
    where: conditions
      .optional()
      .describe('what must stand at each pointer from the item on: a value, a list of values, or { min, max, not }'),
    pages: pagesOption.optional(),
    now: z
      .literal(true)
      .optional()
      .describe('the source knows the present alone: what uses the list is read for the current hour alone'),
    fixed: addresses.optional().describe('addresses that do not change'),
    except: addresses.optional().describe('addresses that are left out'),
  })
  .superRefine((input, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    const optionNames = Object.keys(input).filter(
      name => Reflect.get(input, name) !== undefined && !shared.includes(name),
    )
    const [kind, ...others] = kinds.filter(each => optionNames.includes(each))
    if (!kind || others.length > 0) {
      const said = kind ? `${kind} and ${others[0]}` : 'nothing of it'
      return tell([], `must have one of ${kinds.join(', ')}, and has ${said}`)
    }
    const [requiredNames, other] = ofKind[kind]
    const strayOption = optionNames.find(name => name !== kind && ![...requiredNames, ...other].includes(name))
    if (strayOption) tell([strayOption], `belongs to another kind of list, and this is of ${kind}`)
    for (const name of requiredNames.filter(each => !optionNames.includes(each)))
      tell([name], missing[name] ?? 'must be given')
    for (const { path, message } of signatureMistakes(input)) tell(path, message)
    if (input.url !== undefined && !input.now && !readsPast({ ...input, url: input.url })) {
      const places = '{hour}, {hourSeconds}, {hourMs} or {block}'
      tell(
        ['url'],
        `must contain ${places}: a list is of its hour; of a source that knows the present alone, now: true`,
      )
    }
    if (input.where && input.pointer !== undefined && !isOfItems(input.pointer, {}))
      tell(['where'], 'belongs to a pointer with * in it, which stands for each item of a list: /tokens/*/address')
    for (const { path, message } of input.pages ? pagesMistakes(input.pages) : []) tell(['pages', ...path], message)
    if (input.pages && input.pointer !== undefined && !isOfItems(input.pointer, {}))
      tell(['pages'], 'needs a pointer with * in it: a page without items is the last')
    if (input.grows && contractsOf(input).length > 1)
      tell(['grows'], 'belongs to a list of one contract: write a list for each, or leave it out')
  })

type Options = z.output<typeof options>

function contractsOf({ address = [] }: Pick<Options, 'address'>): readonly Address[] {
  return [address].flat()
}

/** Memory of a list as of an hour. */
interface Memory {
  readonly hour: Hour
  readonly items: readonly Address[]
  /** Numbers of the blocks at which the items of an event came. */
  readonly blocks?: readonly number[] | undefined
}

/** The list, with what later hours need not read again; or an hour to be read first. */
interface ReadList {
  readonly items: readonly Address[]
  readonly memory?: Memory
  readonly first?: Hour
}

interface Context extends CollectContext<Options> {
  /** The newest hour whose block cannot be replaced any more. */
  readonly finalHour: Hour
  readonly memory?: Memory | undefined
  /** The logs of several hours up to this one, which are final: they are remembered, so more is asked as evidence for them. */
  logsOver(chain: string, hours: number): Pick<ChainAsOf, 'logs'>
}

/** Mistake of a list of events as an entry of a protocol. */
const notCounted = 'belongs to a list under lists:, where its past is remembered: count that one by contract-read'

const collector = defineCollector({
  options,
  metrics: { Count: { min: 0 } },
  history: given => !given.now,
  async collect(context) {
    if (context.options.event !== undefined) throw new Error(`event ${notCounted}`)
    const { hour: finalHour } = context
    const { items } = await listOf({ ...context, finalHour, logsOver: name => context.chain(name) })
    return { Count: items.length === 0 ? noItems : items.length }
  },
})

/**
 * Addresses as of the hour: items of a contract by their place, an array that it returns, an argument of its events, an
 * answer in JSON, or fixed ones. The daemon reads those of `lists:` with it, on from what was read before.
 */
export default {
  ...collector,
  listOf,
  entryMistakes: ({ event }: Options) => (event === undefined ? [] : [{ path: ['event'], message: notCounted }]),
}

async function listOf(context: Context): Promise<ReadList> {
  const { options } = context
  const listed = await byKind(context)
  const excepted = new Set(lower(options.except ?? []))
  return { ...listed, items: [...new Set(lower(listed.items))].filter(item => !excepted.has(item)) }

  async function byKind(listContext: Context): Promise<ReadList> {
    if (options.length !== undefined) return indexed(listContext)
    if (options.event !== undefined) return emitted(listContext)
    if (options.url !== undefined) return answered(listContext)
    return { items: options.array === undefined ? (options.fixed ?? []) : await returned(listContext) }
  }
}

/** Items of a list at most. */
const itemsMax = 20_000

/** Reads in one question about a chain. */
const readsMax = 10_000

const itemForm = { wants: 'address', names: { place: 0n } } as const satisfies CallForm

/** Items of a list that only grows which are read again each hour. */
const samplesMax = 1_000

/**
 * Items by their place. All are read each hour: a contract that removes one may put another in its place. The
 * memory says how many are worth asking for in the `eth_call` of the length. A list that only grows is believed to have
 * kept its items, and samples of them are read again.
 */
async function indexed(context: Context): Promise<ReadList> {
  const { options, hour } = context
  const [address, ...otherAddresses] = contractsOf(options)
  if (address === undefined) return { items: [] }
  if (otherAddresses.length === 0) {
    const items = await itemsOf(address, context)
    return { items, memory: { hour, items } }
  }
  const lists = [address, ...otherAddresses].map(each => itemsOf(each, { ...context, memory: undefined }))
  const items = (await Promise.all(lists)).flat()
  checkSize(items.length)
  return { items }
}

async function itemsOf(address: Address, context: Context): Promise<readonly Address[]> {
  const { options, chain, hour, memory } = context
  const { length = '', item = '', take, grows = false } = options
  const asOf = chain(options.chain)
  const size = viewCall({ call: length })
  const { abi, argsOf, addresses } = viewCall({ call: item, args: ['place'], take }, itemForm)
  const callOf = (place: number) => ({
    ...{ address, abi: [abi], functionName: abi.name, args: argsOf({ place: BigInt(place) }) },
  })
  const itemsAt = async (places: readonly number[]) => {
    const questions = chunks(places, readsMax).map(each => asOf.read(each.map(callOf)))
    return lower((await Promise.all(questions)).flat().flatMap(addresses))
  }

  const knownItems = memory?.items ?? []
  // An earlier hour may have fewer: old contracts burn all gas at a place that they do not have.
  const guess = memory && hour >= memory.hour ? placesAgain(knownItems.length, hour, grows) : []
  const [answer, guessedItems] = await Promise.all([
    asOf.read({ address, abi: [size.abi], functionName: size.abi.name }),
    guess.length > 0 ? itemsAt(guess).catch(() => undefined) : undefined,
  ])
  const count = Number(size.taken(answer))
  checkSize(count)
  if (grows) {
    const samples = guessedItems ? { places: guess, items: guessedItems } : undefined
    const kept = await keptOf(knownItems, count, samples, itemsAt, context)
    return [...kept, ...(await itemsAt(placesFrom(kept.length, count)))]
  }
  const again = guessedItems?.slice(0, count) ?? []
  return [...again, ...(await itemsAt(placesFrom(again.length, count)))]
}

/** Known places that are read again: all; of a list that only grows, the last, and samples, others each hour until all had their turn. */
function placesAgain(length: number, hour: Hour, grows: boolean): readonly number[] {
  const places = placesFrom(0, length)
  if (!grows) return places
  const turns = Math.ceil(length / samplesMax)
  return places.filter(place => place === length - 1 || place % turns === (hour / hourMs) % turns)
}

/**
 * The known items of a list that only grows, up to its length; none where it turns out to have lost or replaced one.
 *
 * @param samples read with the length
 */
async function keptOf(
  knownItems: readonly Address[],
  count: number,
  samples: { readonly places: readonly number[]; readonly items: readonly Address[] } | undefined,
  itemsAt: (places: readonly number[]) => Promise<readonly Address[]>,
  { hour, memory, log }: Context,
): Promise<readonly Address[]> {
  const isLater = memory !== undefined && hour >= memory.hour
  const sharedItems = knownItems.slice(0, count)
  const places = samples?.places ?? placesAgain(sharedItems.length, hour, true)
  const items = samples?.items ?? (await itemsAt(places))
  const changedPlace =
    isLater && count < knownItems.length ? count : places.find((place, index) => items[index] !== sharedItems[place])
  if (changedPlace === undefined) return sharedItems
  log.warn(
    `does not only grow: item ${changedPlace} is not what it was. It is read whole for this hour; remove grows, so that it is for each`,
  )
  return []
}

function placesFrom(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)
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

async function returned({ options, chain }: Context): Promise<readonly Address[]> {
  const { array = '', take } = options
  const { abi, args, addresses } = viewCall({ call: array, take }, { wants: 'addresses' })
  const calls = contractsOf(options).map(address => ({ address, abi: [abi], functionName: abi.name, args }))
  const items = (await chain(options.chain).read(calls)).flatMap(addresses)
  checkSize(items.length)
  return items
}

/** Hours of events that are read one by one, each with its pins. */
const openHoursMax = 24

/** Hours of events that one run reads at most. */
const hoursMax = 720

/**
 * The argument of all events up to the hour, on from those that are known. Final hours are read first, at most `hoursMax` in
 * a run, and are remembered; an item counts from the block of its event on, so earlier hours are in it, too.
 * Hours that are not final are read one by one, each with its pins.
 */
async function emitted(context: Context): Promise<ReadList> {
  const { options, hour, memory, finalHour, ...means } = context
  const { since = hour } = options
  if (hour < since)
    throw new Error(`it is read from ${hourText(since)} on: for ${hourText(hour)} write an earlier since`)
  if (memory && hour <= memory.hour) {
    const { number } = await means.chain(options.chain).block()
    return { items: memory.items.filter((_, place) => BigInt(memory.blocks?.[place] ?? 0) <= number) }
  }
  const from = memory?.hour ?? ((since - hourMs) as Hour)
  const step = Math.min(from + hoursMax * hourMs, finalHour) as Hour
  if (step > from && step !== hour) return { items: [], first: step }
  const firstBlockMs = memory ? undefined : await beforeSince(context)
  const startHour = (Math.floor((firstBlockMs ?? from) / hourMs) * hourMs) as Hour
  if (firstBlockMs !== undefined && startHour >= hour)
    return { items: [], memory: { hour: startHour, items: [], blocks: [] }, first: startHour }

  // No hour before the first block can be read.
  const logs = await logsAfter(Math.max(from, startHour) as Hour, context)
  const key = argumentKey(logs.event, options.take ?? '')
  const blocks = new Map<Address, number>(memory?.items.map((item, place) => [item, memory.blocks?.[place] ?? 0]))
  for (const { args, blockNumber } of logs.found) {
    const [item] = lower([part(args, key) as Address])
    if (item !== undefined && !blocks.has(item)) blocks.set(item, Number(blockNumber))
  }
  checkSize(blocks.size)
  const items = [...blocks.keys()]
  // So is that of a mistyped event, and what is over it would be 0 for ever.
  if (items.length === 0 && !memory)
    means.log.warn(
      `is empty: no such event from ${hourText(since)} to ${hourText(hour)}; check its address, its since, and which arguments are indexed`,
    )
  return { items, memory: { hour, items, blocks: [...blocks.values()] } }
}

/** The logs of the hours after one, up to the run's. */
async function logsAfter(from: Hour, { options, hour, finalHour, ...means }: Context) {
  const event = eventFilter({ event: options.event ?? '' }).abi
  const [address = '0x', ...others] = contractsOf(options)
  const filter = { address: others.length > 0 ? [address, ...others] : address, event }
  const count = (hour - from) / hourMs
  if (hour <= finalHour) return { event, found: await means.logsOver(options.chain, count).logs(filter) }
  const openCount = Math.min(count, openHoursMax)
  const hours = Array.from({ length: openCount }, (_, index) =>
    means.chain(options.chain, { hoursBefore: openCount - 1 - index }).logs(filter),
  )
  // Nothing is known to be final yet: what is older is read, too, and is not remembered.
  const older = count > openCount ? [means.logsOver(options.chain, count).logs(filter)] : []
  return { event, found: (await Promise.all([...older, ...hours])).flat() }
}

/**
 * Warns of a contract that was there before the events that count: the hour before has no logs of a contract that did not
 * exist.
 *
 * @returns when the chain's first block was made, where it had none an hour before `since`
 */
async function beforeSince({ options, hour, log, chain }: Context): Promise<number | undefined> {
  const { since = hour } = options
  const event = eventFilter({ event: options.event ?? '' }).abi
  const hoursBefore = (hour - since) / hourMs + 1
  for (const address of contractsOf(options)) {
    try {
      await chain(options.chain, { hoursBefore }).logs({ address, event })
      log.warn(
        `its contract ${address} existed before ${hourText(since)}: items that it announced earlier are left out; write an earlier since`,
      )
    } catch (error) {
      const { firstBlockAt } = Object(Object(error).facts)
      if (typeof firstBlockAt === 'string') return Date.parse(firstBlockAt)
      // A node that cannot tell is asked for the events themselves next.
    }
  }
  return undefined
}

async function answered({ options, chain, http, hour, nowMs, log }: Context): Promise<ReadList> {
  const { url = '', body, pointer = '' } = options
  const source = { url, body, headers: options.headers }
  const block = asksBlock(source) ? (await chain(options.chain).block()).number : undefined
  const moment = { hour, ...(block !== undefined && { block }) }
  const request = { headers: options.headers, body: inBody(body, moment), isRead: true, numbers: 'text' } as const
  const answer = answerOf(source, { hour, nowMs })
  const readPage = async (address: string) => (await http.json(address, answer, request)).json
  const warn = (sentence: string) => log.warn(`of ${new URL(url).host} ${sentence}`)
  const first = inPlaces(url, moment)
  const listsOf = (page: unknown) => [pageItems(page, pagedList(pointer, {}))]
  const pages = options.pages
    ? await readPages(first, options.pages, { read: readPage, listsOf, warn })
    : [await readPage(first)]
  const cutReason = options.pages ? undefined : limitIn(url, request.body)
  if (isOfItems(pointer, {})) for (const page of pages) itemsAt(page, pointer, { cutReason, warn })
  const items = options.where
    ? itemsMeant(pages, pointer, options.where, log)
    : pages.flatMap(page => valuesAt(page, pointer, ''))
  checkSize(items.length)
  return { items }
}

/** The addresses of the items that are meant. @throws Error where one of these has none */
function itemsMeant(
  pages: readonly unknown[],
  pointer: string,
  itemConditions: z.output<typeof conditions>,
  log: Context['log'],
): Address[] {
  const [list, inItem] = partsAtStar(pointer)
  const all = pages.flatMap(page => itemsAt(page, pointer, {}))
  const meant = all.filter(item => unmet(item, itemConditions).length === 0)
  if (all.length > 0 && meant.length === 0) log.warn(`none of ${all.length} items of the answer meets where`)
  return meant.flatMap(item => valuesAt(item, inItem, list))
}

/** The addresses at a pointer, in which * is every item of a list or a map. @throws Error where there is none */
function valuesAt(json: unknown, pointer: string, parentPath: string): Address[] {
  const star = /\/\*(?=\/|$)/.exec(pointer)
  const path = star ? pointer.slice(0, star.index) : pointer
  const container = valueAt(json, path)
  const shownPath = `${parentPath}${path}` || 'the root'
  if (star) {
    if (typeof container !== 'object' || container === null)
      throw new Error(`there is no list at ${shownPath} of the answer`)
    const rest = pointer.slice(star.index + star[0].length)
    return Object.entries(container).flatMap(([name, item]) => valuesAt(item, rest, `${parentPath}${path}/${name}`))
  }
  return [container].flat().map(item => {
    if (typeof item === 'string' && /^0x[0-9a-fA-F]{40}$/.test(item)) return item as Address
    throw new Error(
      `there is no address at ${shownPath} of the answer: correct the pointer, or leave out by where what is no address`,
    )
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
