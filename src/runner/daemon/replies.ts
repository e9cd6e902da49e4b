import { LogList } from '../../chain/log-list.ts'
import type { Chains } from '../../chain/reads.ts'
import type { CollectorConfig } from '../../config/config.ts'
import { didYouMean, quoted } from '../../config/mistakes.ts'
import type { Time } from '../../edge/time.ts'
import { unlessAborted } from '../../edge/unless-aborted.ts'
import type { AsOfBlock, Hex, PinnedBlock, PinnedLogs } from '../../model/block.ts'
import { Fault, faultRecord, isPermanent } from '../../model/fault.ts'
import { type Hour, hourAfter } from '../../model/hour.ts'
import {
  type Ask,
  type ChainAsk,
  type ChainQuestion,
  type ChainReply,
  type HttpReply,
  type Listed,
  type ListReply,
  type Priced,
  type PriceReply,
  type Reply,
  type RunQuestion,
  reorganized,
  type TaskEnd,
  tokenIn,
  unknownChain,
} from '../messages.ts'
import type { LogHistories } from './logs-since.ts'
import type { ReadInterceptor, ReadingRun } from './read-interceptor.ts'

/** Time for which the first question of a run waits for those of other processes. */
const barrierMsMax = 1_000

interface Round {
  /** Runs that have neither asked nor ended yet. */
  readonly silent: Set<string>
  /** Resolves when no question waits any more. */
  readonly passed: Promise<void>
  readonly open: () => void
  /** Whether a question waits, so that the time limit runs. */
  isWaiting: boolean
}

/**
 * A barrier for the first questions of an hour's runs, from all processes: questions of one tick are one request to the
 * node. A question waits until all runs of its hour have asked or ended, but only up to a limit, since a process may be
 * slow to start.
 */
export class QuestionBarrier {
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

  /** Waits for the others. Resolves in one tick for all that wait. */
  async wait(hour: Hour, run: string): Promise<void> {
    const round = this.#rounds.get(hour)
    // Further questions of a run wait with its first.
    if (!round?.silent.has(run)) return round?.isWaiting ? round.passed : undefined
    if (!round.isWaiting) {
      round.isWaiting = true
      const bound = new AbortController()
      void round.passed.then(() => bound.abort())
      void this.#time.sleep(barrierMsMax, bound.signal).then(
        () => this.#end(hour, round),
        () => {},
      )
    }
    this.leave(hour, run)
    return round.passed
  }

  #newRound(hour: Hour): Round {
    const { promise, resolve } = Promise.withResolvers<void>()
    const round: Round = { silent: new Set(), passed: promise, open: resolve, isWaiting: false }
    this.#rounds.set(hour, round)
    return round
  }

  #end(hour: Hour, round: Round): void {
    if (this.#rounds.get(hour) === round) this.#rounds.delete(hour)
    round.open()
  }
}

interface BlockRead {
  readonly block: AsOfBlock
  readonly logs: PinnedLogs[]
}

/** The block one run has read of each chain, the same for all of its reads, and the logs it read there. */
export class RunBlocks {
  readonly #chains: Chains
  readonly #byChain = new Map<number, BlockRead>()
  /** Hashes of the blocks of earlier hours, by chain and hours before. */
  readonly #earlier = new Map<string, Hex>()

  constructor(chains: Chains) {
    this.#chains = chains
  }

  /** Checks a reply. @returns it, or a fault when its block differs from an earlier one because of a reorg */
  checked(name: string, question: ChainQuestion, reply: ChainReply): ChainReply {
    const chainId = this.#chains[name]?.id
    if (reply.kind === 'faulted' || chainId === undefined) return reply
    const blockRead = this.#byChain.get(chainId) ?? { block: reply.at, logs: [] }
    if (blockRead.block.hash !== reply.at.hash) return { kind: 'faulted', fault: faultRecord(reorganized(name)) }
    this.#byChain.set(chainId, blockRead)
    if (question.kind === 'logs' && reply.kind === 'logs' && question.hours === undefined) {
      blockRead.logs.push({ filter: question.filter, digest: new LogList(reply.value).digest })
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
   * Adds the blocks of a price or a list that the run was given, and the logs that were read there.
   *
   * @throws Fault `chain-reorganized` when one differs from a block that the run has read
   */
  add(pins: readonly PinnedBlock[]): void {
    for (const { chainId, block, logs = [] } of pins) {
      const blockRead = this.#byChain.get(chainId) ?? { block, logs: [] }
      if (blockRead.block.hash !== block.hash) throw reorganized(this.#nameOf(chainId))
      blockRead.logs.push(...logs)
      this.#byChain.set(chainId, blockRead)
    }
  }

  #nameOf(chainId: number): string {
    return Object.entries(this.#chains).find(([, { id }]) => id === chainId)?.[0] ?? String(chainId)
  }

  /** The end of the run, with the blocks it has read. */
  addedTo(end: TaskEnd): TaskEnd {
    if (end.kind === 'priced') return { ...end, pins: this.all }
    if (end.kind === 'listed') return { ...end, list: { ...end.list, pins: this.all } }
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

/** A question that one look at a chain answers. */
type MomentQuestion = Exclude<ChainQuestion, { readonly kind: 'logs-since' }>

/** Answers a child's question from the daemon's chains. Never rejects: a failure is a reply, too. */
async function replyFromChain(
  chains: Chains,
  name: string,
  hour: Hour,
  question: MomentQuestion,
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
        const { at, value } = await chain.logs(hour, question.filter, signal, question.hours)
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
  readonly collectorId: string
  readonly pins: RunBlocks
  /** Whether it reads a price or a list, which is not intercepted. */
  readonly isShared: boolean
  /** Aborted when the run is over. */
  readonly signal: AbortSignal
}

/** Dependencies of replies on the daemon. */
export interface ReplyDeps {
  readonly chains: Chains
  readonly prices: NamedAnswers<Priced>
  readonly lists: NamedAnswers<Listed>
  /** The items of a list when it was last read, of whichever hour. */
  readonly recentItems: (name: string) => Promise<readonly Hex[]>
  readonly logHistories: Pick<LogHistories, 'read'>
  readonly barrier: QuestionBarrier
  /** Records or answers what collectors read. Default: nothing does. */
  readonly interceptor?: ReadInterceptor | undefined
}

/** Questions of one message: for prices and lists first, whose runs join the hour's barrier before a question of a chain passes it. */
export function sharedQuestionsFirst(asks: readonly Ask[]): readonly Ask[] {
  const isOfRun = (ask: Ask) => 'price' in ask || 'list' in ask
  return [...asks.filter(isOfRun), ...asks.filter(ask => !isOfRun(ask))]
}

/** Answers a run's question. Never rejects: a failure is a reply, too. */
export async function replyTo(
  question: Exclude<RunQuestion, { readonly host: string }>,
  run: AskingRun,
  deps: ReplyDeps,
): Promise<Reply['reply']> {
  const interceptor = run.isShared ? undefined : deps.interceptor
  if ('http' in question) return interceptor ? interceptor.http(run, question.http) : unshown
  if ('price' in question) {
    const ask = () => priceReply(question.price, run, deps)
    return interceptor ? interceptor.price(run, question.price, ask) : ask()
  }
  if (!('list' in question)) return chainReply(question, run, { ...deps, interceptor })
  // A recording has no reads of items that turn out not to be on the list.
  if (question.recent) return { kind: 'list', items: interceptor ? [] : await deps.recentItems(question.list) }
  const ask = () => listReply(question.list, run, deps)
  return interceptor ? interceptor.list(run, question.list, ask) : ask()
}

const unshown: HttpReply = {
  kind: 'faulted',
  fault: faultRecord(new Fault('http-refused', 'requests are not shown to the daemon')),
}

async function chainReply(
  { chain, question, hoursBefore = 0 }: ChainAsk,
  run: AskingRun,
  { chains, barrier, interceptor, logHistories }: ReplyDeps,
): Promise<ChainReply> {
  const { token, hour, pins, signal } = run
  await barrier.wait(hour, token)
  if (question.kind === 'logs-since') {
    if (hoursBefore > 0) return { kind: 'faulted', fault: faultRecord(notOfEarlier) }
    const live = () => historyReply(chain, question, run, logHistories)
    return interceptor ? interceptor.chain(run, { chain, hour, question }, live) : live()
  }
  const ask = (at: Hour, question: MomentQuestion) => {
    const live = () => replyFromChain(chains, chain, at, question, signal)
    return interceptor ? interceptor.chain(run, { chain, hour: at, question }, live) : live()
  }
  if (hoursBefore === 0) return pins.checked(chain, question, await ask(hour, question))
  const block: MomentQuestion = { kind: 'block' }
  const [own, earlier] = await Promise.all([ask(hour, block), ask(hourAfter(hour, -hoursBefore), question)])
  const checked = pins.checked(chain, block, own)
  return checked.kind === 'faulted' ? checked : pins.checkedEarlier(chain, question, earlier, hoursBefore)
}

const notOfEarlier = new Fault('collector-threw', 'logsSince is of the hour of the run alone', {
  fix: 'leave hoursBefore out, and compare the blockNumber of each log with block() of the earlier hour',
})

/** The logs of the past, and the hour's block, on which the run depends from then on. */
async function historyReply(
  chain: string,
  { filter, since }: Extract<ChainQuestion, { kind: 'logs-since' }>,
  { collectorId, hour, pins, signal }: AskingRun,
  histories: ReplyDeps['logHistories'],
): Promise<ChainReply> {
  try {
    const {
      at: asOfBlock,
      logs,
      pins: read,
    } = await unlessAborted(histories.read({ collectorId, chain, filter, since }, hour), signal)
    pins.add(read)
    return { kind: 'logs', at: asOfBlock, value: logs.pieces }
  } catch (error) {
    return { kind: 'faulted', fault: faultRecord(chainFault(error, chain)) }
  }
}

async function priceReply(name: string, run: AskingRun, { prices, barrier }: ReplyDeps): Promise<PriceReply> {
  const answer = await answerFor(name, run, prices, barrier)
  return answer instanceof Fault ? { kind: 'faulted', fault: faultRecord(answer) } : { kind: 'price', price: answer }
}

async function listReply(name: string, run: AskingRun, { lists, barrier }: ReplyDeps): Promise<ListReply> {
  const answer = await answerFor(name, run, lists, barrier)
  return answer instanceof Fault
    ? { kind: 'faulted', fault: faultRecord(answer) }
    : { kind: 'list', items: answer.items }
}

/** A named answer for a run, which depends on its blocks from then on; or why there is none. */
async function answerFor<A extends NamedAnswer>(
  name: string,
  { token, hour, pins, signal }: AskingRun,
  answers: NamedAnswers<A>,
  barrier: QuestionBarrier,
): Promise<A | Fault> {
  try {
    const waited = answers.of(name, hour, signal)
    void barrier.wait(hour, token)
    const answer = await waited
    pins.add(answer.pins)
    return answer
  } catch (error) {
    if (error instanceof Fault && error.code === 'chain-reorganized') answers.forget(name, hour)
    return error instanceof Fault ? error : new Fault(`${answers.kind}-missing`, `${name} cannot be read`)
  }
}

/** Answers kept, of all names and hours. */
const answersKeptMax = 10_000

/** Time for which an answer is kept that depends on a block, which a reorg may replace. */
export const pinnedAnswerKeptMs = 60_000

/** Time for which any other answer is given again without reading it again: runs of one hour may be an hour apart. */
export const answerKeptMs = 2 * 3_600_000

/** Answer of the configuration to a name, as of an hour. */
interface NamedAnswer {
  /** The blocks that it depends on. */
  readonly pins: readonly PinnedBlock[]
}

/** Dependencies of `NamedAnswers`. */
interface NamedAnswersDeps<A> {
  readonly kind: 'price' | 'list'
  /** Collectors that read them, by name; that of the tokens of a chain by the chain's name and a slash. */
  readonly readers: Readonly<Record<string, CollectorConfig>>
  /** Reads one in runs of its own. Rejects with a Fault. */
  readonly read: (reader: CollectorConfig, hour: Hour, name: string) => Promise<A>
  readonly barrier: QuestionBarrier
  readonly time: Time
}

interface KeptAnswer<A> {
  readonly answer: Promise<A>
  /** Until when it is given without reading it again, in milliseconds since 1970; set once it is there. */
  untilMs: number
}

/**
 * The prices or the lists of the configuration as of hours. Each is read once an hour, however many runs need it; one that
 * fails is read again when it is next needed.
 */
export class NamedAnswers<A extends NamedAnswer> {
  readonly #deps: NamedAnswersDeps<A>
  readonly #kept = new Map<string, KeptAnswer<A>>()

  constructor(deps: NamedAnswersDeps<A>) {
    this.#deps = deps
  }

  get kind(): AnswerKind {
    return this.#deps.kind
  }

  /**
   * The answer of an hour. Its run joins the barrier of the hour's first questions before this returns, so that its reads
   * travel with theirs.
   *
   * @param name `tokenPriceName` for the price of a token
   * @throws Fault `price-unknown`, `price-missing`, `price-unread`, `list-unknown`, `list-missing`; the signal's reason
   */
  async of(name: string, hour: Hour, signal: AbortSignal): Promise<A> {
    const before = this.#kept.get(keyOf(name, hour))
    const kept = before && this.#deps.time.nowMs() < before.untilMs ? before : this.#read(name, hour)
    return unlessAborted(kept.answer, signal)
  }

  /** Lets an answer be read again: a block that it depends on was replaced. */
  forget(name: string, hour: Hour): void {
    this.#kept.delete(keyOf(name, hour))
  }

  /** As `forget`, for all hours. */
  forgetAll(name: string): void {
    for (const key of this.#kept.keys()) if (key.slice(key.indexOf(' ') + 1) === name) this.#kept.delete(key)
  }

  /** @throws Fault of an unknown name, at once */
  #read(name: string, hour: Hour): KeptAnswer<A> {
    const { kind, readers, read, barrier, time } = this.#deps
    const chain = kind === 'price' ? tokenIn(name)?.chain : undefined
    const key = keyOf(name, hour)
    const readerName = chain === undefined ? name : `${chain}/`
    const reader = Object.hasOwn(readers, readerName) ? readers[readerName] : undefined
    if (!reader) throw chain === undefined ? unknown(kind, name, Object.keys(readers)) : unpricedTokens(chain)
    barrier.join(hour, reader.id)
    const answer = read(reader, hour, name).finally(() => barrier.leave(hour, reader.id))
    const entry: KeptAnswer<A> = {
      answer: answer.catch(error => Promise.reject(missing(kind, name, error))),
      untilMs: Number.POSITIVE_INFINITY,
    }
    this.#kept.set(key, entry)
    entry.answer.then(
      ({ pins }) => {
        entry.untilMs = time.nowMs() + (pins.length > 0 ? pinnedAnswerKeptMs : answerKeptMs)
        this.#drop()
      },
      () => {
        if (this.#kept.get(key) === entry) this.#kept.delete(key)
      },
    )
    return entry
  }

  #drop(): void {
    for (const [key, { untilMs }] of this.#kept) {
      if (this.#kept.size <= answersKeptMax) return
      if (untilMs < Number.POSITIVE_INFINITY) this.#kept.delete(key)
    }
  }
}

const keyOf = (name: string, hour: Hour) => `${hour} ${name}`

type AnswerKind = NamedAnswersDeps<unknown>['kind']

function missing(kind: AnswerKind, name: string, error: unknown): Fault {
  const { message, facts, fix } = error instanceof Fault ? error : new Fault(`${kind}-missing`, 'it cannot be read')
  const { token, chain } = tokenIn(name) ?? {}
  const price = token === undefined ? name : `the token ${token} of ${chain}`
  const what = kind === 'price' ? `there is no price of ${price}` : `the list ${name} cannot be read`
  const code = kind === 'price' && isUnread(error) ? 'price-unread' : (`${kind}-missing` as const)
  return new Fault(code, `${what}: ${message}`, { facts, ...(fix !== undefined && { fix }) })
}

/** Whether a price could not be asked for. Its reader throws where its sources say that there is none. */
function isUnread(error: unknown): boolean {
  return error instanceof Fault && !isPermanent(error) && !['collector-threw', 'price-missing'].includes(error.code)
}

function unpricedTokens(chain: string): Fault {
  return new Fault('price-unknown', `there are no prices of the tokens of ${chain} in the configuration`, {
    fix: `add them: tokenPrices: { ${chain}: […] }`,
  })
}

function unknown(kind: AnswerKind, name: string, all: readonly string[]): Fault {
  const names = all.filter(each => tokenIn(each) === undefined)
  const add = `add it under ${kind}s:`
  const others = names.length > 0 ? `configured are: ${names.join(', ')}; or ${add}` : add
  return new Fault(`${kind}-unknown`, `there is no ${kind} ${quoted(name)} in the configuration`, {
    fix: didYouMean(name, names, others, add),
  })
}
