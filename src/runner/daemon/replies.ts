import { LogList } from '../../chain/log-list.ts'
import type { Chains } from '../../chain/reads.ts'
import type { CollectorConfig } from '../../config/config.ts'
import { meant, quoted } from '../../config/mistakes.ts'
import { type BatchJob, BatchScheduler } from '../../edge/batch-scheduler.ts'
import type { Time } from '../../edge/time.ts'
import { unlessAborted } from '../../edge/unless-aborted.ts'
import type { AsOfBlock, Hex, PinnedBlock, PinnedLogs } from '../../model/block.ts'
import { Fault, faultRecord } from '../../model/fault.ts'
import { type Hour, hourAfter } from '../../model/hour.ts'
import { valueAt } from '../../model/json.ts'
import {
  type Ask,
  type ChainAsk,
  type ChainQuestion,
  type ChainReply,
  type HttpReply,
  type Priced,
  type PriceFound,
  type PriceReply,
  type Reply,
  type RunQuestion,
  type TaskEnd,
  unknownChain,
} from '../messages.ts'
import type { ReadInterceptor, ReadingRun } from './read-interceptor.ts'

/** Time for which the first question of a run waits for those of other processes. */
const meetMsMax = 1_000

interface Round {
  /** Runs that have neither asked nor ended yet. */
  readonly silent: Set<string>
  readonly met: Promise<void>
  readonly open: () => void
  /** Whether a question waits, so that the time limit runs. */
  isWaiting: boolean
}

/**
 * Lets the first questions of an hour's runs meet, from all processes: questions of one turn are one request to the
 * node. A question waits until all runs of its hour have asked or ended, but only up to a limit, since a process may be
 * slow to start.
 */
export class Meeting {
  readonly #time: Time
  readonly #rounds = new Map<Hour, Round>()

  constructor(time: Time) {
    this.#time = time
  }

  /** Adds a run given to a process. */
  join(hour: Hour, run: string): void {
    const round = this.#rounds.get(hour) ?? this.#newRound(hour)
    round.silent.add(run)
  }

  /** Puts a run in the place that was kept for it. */
  takePlace(hour: Hour, place: string, run: string): void {
    this.join(hour, run)
    this.leave(hour, place)
  }

  /** Removes a run that has ended, or will not ask. */
  leave(hour: Hour, run: string): void {
    const round = this.#rounds.get(hour)
    round?.silent.delete(run)
    if (round?.silent.size === 0) this.#end(hour, round)
  }

  /** Waits for the others. Resolves in one turn for all that wait. */
  async ask(hour: Hour, run: string): Promise<void> {
    const round = this.#rounds.get(hour)
    // Further questions of a run wait with its first.
    if (!round?.silent.has(run)) return round?.isWaiting ? round.met : undefined
    if (!round.isWaiting) {
      round.isWaiting = true
      const bound = new AbortController()
      void round.met.then(() => bound.abort())
      void this.#time.sleep(meetMsMax, bound.signal).then(
        () => this.#end(hour, round),
        () => {},
      )
    }
    this.leave(hour, run)
    return round.met
  }

  #newRound(hour: Hour): Round {
    const { promise, resolve } = Promise.withResolvers<void>()
    const round: Round = { silent: new Set(), met: promise, open: resolve, isWaiting: false }
    this.#rounds.set(hour, round)
    return round
  }

  #end(hour: Hour, round: Round): void {
    if (this.#rounds.get(hour) === round) this.#rounds.delete(hour)
    round.open()
  }
}

interface Met {
  readonly block: AsOfBlock
  readonly logs: PinnedLogs[]
}

/** The block one run has read of each chain, the same for all of its reads, and the logs it read there. */
export class RunBlocks {
  readonly #chains: Chains
  readonly #byChain = new Map<number, Met>()
  /** Hashes of the blocks of earlier hours, by chain and hours before. */
  readonly #earlier = new Map<string, Hex>()

  constructor(chains: Chains) {
    this.#chains = chains
  }

  /** Checks a reply. @returns it, or a fault when its block differs from an earlier one because of a reorg */
  checked(name: string, question: ChainQuestion, reply: ChainReply): ChainReply {
    const chainId = this.#chains[name]?.id
    if (reply.kind === 'faulted' || chainId === undefined) return reply
    const met = this.#byChain.get(chainId) ?? { block: reply.at, logs: [] }
    if (met.block.hash !== reply.at.hash) return { kind: 'faulted', fault: faultRecord(reorganized(name)) }
    this.#byChain.set(chainId, met)
    if (question.kind === 'logs' && reply.kind === 'logs') {
      met.logs.push({ filter: question.filter, digest: new LogList(reply.value).digest })
    }
    return reply
  }

  /**
   * Checks a reply as of an earlier hour. Its block is not kept: it is an ancestor of the hour's own, which must have been
   * read before, so a reorg that replaces it replaces that one.
   *
   * @returns it, or a fault when its block differs from an earlier reply of that hour because of a reorg
   */
  checkedEarlier(name: string, question: ChainQuestion, reply: ChainReply, hoursBefore: number): ChainReply {
    const chainId = this.#chains[name]?.id
    if (reply.kind === 'faulted' || chainId === undefined) return reply
    const key = `${chainId} ${hoursBefore}`
    const hash = this.#earlier.get(key) ?? reply.at.hash
    if (hash !== reply.at.hash) return { kind: 'faulted', fault: faultRecord(reorganized(name)) }
    this.#earlier.set(key, hash)
    if (question.kind === 'logs' && reply.kind === 'logs') {
      const { digest } = new LogList(reply.value)
      this.#byChain.get(chainId)?.logs.push({ filter: question.filter, digest, hoursBefore })
    }
    return reply
  }

  /**
   * Adds the blocks of a price that the run was given.
   *
   * @throws Fault `chain-reorganized` when one differs from a block that the run has read
   */
  add(pins: readonly PinnedBlock[]): void {
    for (const { chainId, block } of pins) {
      const met = this.#byChain.get(chainId) ?? { block, logs: [] }
      if (met.block.hash !== block.hash) throw reorganized(this.#nameOf(chainId))
      this.#byChain.set(chainId, met)
    }
  }

  #nameOf(chainId: number): string {
    return Object.entries(this.#chains).find(([, { id }]) => id === chainId)?.[0] ?? String(chainId)
  }

  /** The end of the run, with the blocks it has read. */
  addedTo(end: TaskEnd): TaskEnd {
    if (end.kind === 'priced') return { ...end, pins: this.all }
    return end.kind === 'collected' ? { ...end, outcome: { ...end.outcome, pins: this.all } } : end
  }

  get all(): readonly PinnedBlock[] {
    return [...this.#byChain].map(([chainId, { block, logs }]) => ({
      chainId,
      block,
      ...(logs.length > 0 && { logs }),
    }))
  }
}

function reorganized(chain: string): Fault {
  return new Fault('chain-reorganized', `${chain} was reorganized while it was read: the hour is read again`, {
    facts: { chain },
  })
}

/** Answers a child's question from the daemon's chains. Never rejects: a failure is a reply, too. */
async function replyFromChain(
  chains: Chains,
  name: string,
  hour: Hour,
  question: ChainQuestion,
  signal: AbortSignal,
): Promise<ChainReply> {
  try {
    const chain = Object.hasOwn(chains, name) ? chains[name] : undefined
    if (!chain) throw unknownChain(name, Object.keys(chains))
    switch (question.kind) {
      case 'block':
        return { kind: 'block', at: await chain.block(hour, signal) }
      case 'read':
        return { kind: 'read', ...(await chain.read(hour, question.requests, signal)) }
      case 'logs': {
        const { at, value } = await chain.logs(hour, question.filter, signal)
        return { kind: 'logs', at, value: value.pieces }
      }
    }
  } catch (error) {
    return { kind: 'faulted', fault: faultRecord(chainFault(error, name)) }
  }
}

/**
 * The Fault of an error. Other errors are named only by their class: an RPC library's message may hold the endpoint's
 * URL.
 */
function chainFault(error: unknown, chain: string): Fault {
  if (error instanceof Fault) return error
  const kind = error instanceof Error ? error.name : typeof error
  return new Fault('chain-unreachable', `reading ${chain} failed`, { facts: { error: kind } })
}

/** A run that asks. */
interface AskingRun extends ReadingRun {
  readonly pins: RunBlocks
  /** Whether it reads a price, which is not intercepted. */
  readonly isOfPrice: boolean
  /** Aborted when the run is over. */
  readonly signal: AbortSignal
}

/** Dependencies of replies on the daemon. */
interface ReplyDeps {
  readonly chains: Chains
  readonly prices: Prices
  readonly meeting: Meeting
  /** Records or answers what collectors read. Default: nothing does. */
  readonly interceptor?: ReadInterceptor | undefined
}

/** Questions of one message: for prices first, whose runs join the hour's meeting before a question of a chain ends it. */
export function inOrderOfMeeting(asks: readonly Ask[]): readonly Ask[] {
  const isOfPrice = (ask: Ask) => 'price' in ask
  return [...asks.filter(isOfPrice), ...asks.filter(ask => !isOfPrice(ask))]
}

/** Answers a run's question. Never rejects: a failure is a reply, too. */
export async function replyTo(
  question: Exclude<RunQuestion, { readonly host: string }>,
  run: AskingRun,
  deps: ReplyDeps,
): Promise<Reply['reply']> {
  const interceptor = run.isOfPrice ? undefined : deps.interceptor
  if ('http' in question) return interceptor ? interceptor.http(run, question.http) : unshown
  if (!('price' in question)) return chainReply(question, run, { ...deps, interceptor })
  const ask = () => priceReply(question.price, run, deps)
  return interceptor ? interceptor.price(run, question.price, ask) : ask()
}

const unshown: HttpReply = {
  kind: 'faulted',
  fault: faultRecord(new Fault('http-refused', 'requests are not shown to the daemon')),
}

async function chainReply(
  { chain, question, hoursBefore = 0 }: ChainAsk,
  run: AskingRun,
  { chains, meeting, interceptor }: ReplyDeps,
): Promise<ChainReply> {
  const { token, hour, pins, signal } = run
  await meeting.ask(hour, token)
  const ask = (at: Hour, question: ChainQuestion) => {
    const live = () => replyFromChain(chains, chain, at, question, signal)
    return interceptor ? interceptor.chain(run, { chain, hour: at, question }, live) : live()
  }
  if (hoursBefore === 0) return pins.checked(chain, question, await ask(hour, question))
  const block: ChainQuestion = { kind: 'block' }
  const [own, earlier] = await Promise.all([ask(hour, block), ask(hourAfter(hour, -hoursBefore), question)])
  const checked = pins.checked(chain, block, own)
  return checked.kind === 'faulted' ? checked : pins.checkedEarlier(chain, question, earlier, hoursBefore)
}

async function priceReply(
  name: string,
  { token, hour, pins, signal }: AskingRun,
  { prices, meeting }: ReplyDeps,
): Promise<PriceReply> {
  try {
    const waited = prices.price(name, hour, signal)
    void meeting.ask(hour, token)
    const price = await waited
    pins.add(price.pins)
    return { kind: 'price', price }
  } catch (error) {
    if (error instanceof Fault && error.code === 'chain-reorganized') prices.forget(name, hour)
    return { kind: 'faulted', fault: faultRecord(faultOf(error, name)) }
  }
}

function faultOf(error: unknown, name: string): Fault {
  return error instanceof Fault ? error : new Fault('price-missing', `the price ${name} cannot be read`)
}

/** Prices kept, of all names and hours. */
const pricesKeptMax = 10_000

/** The same of one that depends on a block, which a reorg may replace. */
export const pricePinnedKeptMs = 60_000

/** Time for which a price is given again without reading it again: runs of one hour may be an hour apart. */
export const priceKeptMs = 2 * 3_600_000

/** A price reader's answer. */
type PricesRead = Pick<Extract<TaskEnd, { readonly kind: 'priced' }>, 'prices' | 'pins'>

/** Dependencies of `Prices`. */
export interface PricesDeps {
  /** The configured prices by name, and the readers of tokens by the chain's name and a slash. */
  readonly prices: Readonly<Record<string, CollectorConfig>>
  /** Reads a price, or those of tokens, as a run of its own. Rejects with a Fault. */
  readonly read: (price: CollectorConfig, hour: Hour, tokens: readonly string[]) => Promise<PricesRead>
  readonly meeting: Meeting
  readonly time: Time
}

interface KeptPrice {
  readonly price: Promise<Priced>
  /** Until when it is given without reading it again, in milliseconds since 1970; set once it is there. */
  untilMs: number
}

type FoundAt = PriceFound & Pick<Priced, 'pins'>

/** A question for the price of a token. */
interface TokenAsk {
  readonly reader: CollectorConfig
  readonly hour: Hour
  readonly token: string
}

/**
 * The prices of the configuration as of hours. Each is read once an hour, however many runs need it; one that fails is
 * read again when it is next needed. Tokens that are asked for in one turn are read together.
 */
export class Prices {
  readonly #deps: PricesDeps
  readonly #kept = new Map<string, KeptPrice>()
  readonly #tokens = new BatchScheduler<TokenAsk, Priced>(asks => this.#readTokens(asks))

  constructor(deps: PricesDeps) {
    this.#deps = deps
  }

  /**
   * A price of an hour. Its run joins the meeting of the hour's first questions before this returns, so that its reads
   * travel with theirs.
   *
   * @param name `tokenPriceName` for a token
   * @throws Fault `price-unknown`, `price-missing`; the signal's reason
   */
  async price(name: string, hour: Hour, signal: AbortSignal): Promise<Priced> {
    const before = this.#kept.get(keyOf(name, hour))
    const kept = before && this.#deps.time.nowMs() < before.untilMs ? before : this.#keep(name, hour)
    return unlessAborted(kept.price, signal)
  }

  /** Lets a price be read again: a block that it depends on was replaced. */
  forget(name: string, hour: Hour): void {
    this.#kept.delete(keyOf(name, hour))
  }

  #keep(name: string, hour: Hour): KeptPrice {
    const key = keyOf(name, hour)
    const kept: KeptPrice = {
      price: this.#read(name, hour).catch(error => Promise.reject(missing(name, error))),
      untilMs: Number.POSITIVE_INFINITY,
    }
    this.#kept.set(key, kept)
    kept.price.then(
      ({ pins }) => {
        kept.untilMs = this.#deps.time.nowMs() + (pins.length > 0 ? pricePinnedKeptMs : priceKeptMs)
        this.#drop()
      },
      () => {
        if (this.#kept.get(key) === kept) this.#kept.delete(key)
      },
    )
    return kept
  }

  /** @throws Fault `price-unknown`, at once */
  #read(name: string, hour: Hour): Promise<Priced> {
    const { prices } = this.#deps
    const [, readerName = name, token] = /^(.*\/)(.*)$/.exec(name) ?? []
    const reader = Object.hasOwn(prices, readerName) ? prices[readerName] : undefined
    if (!reader)
      throw token === undefined ? unknownPrice(name, Object.keys(prices)) : unpricedTokens(readerName.slice(0, -1))
    this.#deps.meeting.join(hour, reader.id)
    if (token !== undefined) return this.#tokens.schedule({ reader, hour, token })
    return this.#run(reader, hour, []).then(([only]) => pricedIn(only))
  }

  /** Those that have names among them are read apart: they alone may depend on blocks. */
  #readTokens(asks: readonly BatchJob<TokenAsk, Priced>[]): void {
    const groups = Map.groupBy(asks, ({ request: { reader, hour, token } }) =>
      [hour, reader.id, isNamed(token, reader.options)].join(' '),
    )
    for (const group of groups.values()) this.#readGroup(group)
  }

  #readGroup(asks: readonly BatchJob<TokenAsk, Priced>[]): void {
    const [first] = asks
    if (!first) return
    const { reader, hour } = first.request
    const tokens = asks.map(({ request }) => request.token)
    const reading = this.#run(reader, hour, tokens)
    for (const [place, { resolve, reject }] of asks.entries()) {
      reading.then(found => pricedIn(found[place])).then(resolve, reject)
    }
  }

  async #run(reader: CollectorConfig, hour: Hour, tokens: readonly string[]): Promise<readonly FoundAt[]> {
    const { read, meeting } = this.#deps
    const { prices, pins } = await read(reader, hour, tokens).finally(() => meeting.leave(hour, reader.id))
    return prices.map(found => ({ ...found, pins }))
  }

  #drop(): void {
    for (const [key, { untilMs }] of this.#kept) {
      if (this.#kept.size <= pricesKeptMax) return
      if (untilMs < Number.POSITIVE_INFINITY) this.#kept.delete(key)
    }
  }
}

const keyOf = (name: string, hour: Hour) => `${hour} ${name}`

/** Whether a token has the name of a price in a chain's sources, which are written by its address. */
function isNamed(token: string, options: unknown): boolean {
  const sources = valueAt(options, ['sources'])
  const keys = Array.isArray(sources) ? sources.flatMap(source => Object.keys(source)) : []
  return keys.some(key => key.toLowerCase() === token)
}

/** @throws Fault when none was found */
function pricedIn(found: FoundAt | undefined): Priced {
  if (!found) throw new Fault('price-missing', 'its reader left it out')
  if ('failure' in found) throw new Fault('price-missing', found.failure)
  return found
}

function missing(name: string, error: unknown): Fault {
  const { message, facts, fix } = error instanceof Fault ? error : new Fault('price-missing', 'it cannot be read')
  const [, chain, token] = /^(.*)\/(.*)$/.exec(name) ?? []
  const of = token === undefined ? name : `the token ${token} of ${chain}`
  return new Fault('price-missing', `there is no price of ${of}: ${message}`, {
    facts,
    ...(fix !== undefined && { fix }),
  })
}

function unpricedTokens(chain: string): Fault {
  return new Fault('price-unknown', `there are no prices of the tokens of ${chain} in the configuration`, {
    fix: `add them: tokenPrices: { ${chain}: […] }`,
  })
}

function unknownPrice(name: string, all: readonly string[]): Fault {
  const known = all.filter(each => !each.endsWith('/'))
  const near = meant(name, known)
  const others = known.length > 0 ? `configured are: ${known.join(', ')}` : 'add it under prices:'
  return new Fault('price-unknown', `there is no price ${quoted(name)} in the configuration`, {
    fix: near === undefined ? others : `did you mean ${near}?`,
  })
}
