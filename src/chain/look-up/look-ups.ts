import { setImmediate } from 'node:timers/promises'
import { BatchScheduler } from '../../edge/batch-scheduler.ts'
import type { Time } from '../../edge/time.ts'
import { unlessAborted } from '../../edge/unless-aborted.ts'
import type { FinalBlocks, Hex } from '../../model/block.ts'
import { Fault } from '../../model/fault.ts'
import { type Hour, hourAfter } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import type { EndpointPool, Served } from '../endpoint/endpoint-pool.ts'
import { beforeFirstBlock, EndpointFailure, secondsText } from '../endpoint/failures.ts'
import { headCall, type RpcAnswer } from '../endpoint/rpc.ts'
import { type BlockHeader, hexOf, parseHeader, secondsMax } from '../shapes.ts'
import { type AsOfAnswer, KnownHeaders, nearPresentSeconds, nextStep, plain, type Question } from './as-of.ts'

/** Work that several callers wait for, each with its own signal. It is aborted when no caller waits any more. */
export class SharedWork<T> {
  readonly #abort = new AbortController()
  readonly #promise: Promise<T>
  #waiting = 0
  #failed = false

  /** Starts the work. */
  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#promise = work(this.#abort.signal)
    this.#promise.catch(() => {
      this.#failed = true
    })
  }

  /** Whether callers can join: it neither failed nor was aborted. */
  get isUsable(): boolean {
    return !this.#failed && !this.#abort.signal.aborted
  }

  /** Waits for the result; rejects with the signal's reason if that comes first. */
  async join(signal: AbortSignal): Promise<T> {
    this.#waiting += 1
    let isSettled = false
    try {
      const outcome = await unlessAborted(this.#promise, signal)
      isSettled = true
      return outcome
    } finally {
      this.#waiting--
      if (this.#waiting === 0 && !isSettled) this.#abort.abort()
    }
  }
}

/** Hours of one chain whose as-of block is cached. */
export const hoursRememberedMax = 500

/** Input of a search, with hints that shorten it without changing its result. */
interface Search {
  /** Ascending, each once. */
  readonly hours: readonly Hour[]
  /** Headers from earlier searches. When they contradict the chain they are discarded, and the search starts again. */
  readonly seeds: readonly BlockHeader[]
  /** Earlier as-of blocks of hours, asked for first. */
  readonly hints?: ReadonlyMap<Hour, bigint>
  /** Seconds since 1970. */
  readonly nowSeconds: number
  /**
   * Called in the tick in which a candidate is asked for: it is the hour's as-of block unless its timestamp is too
   * late.
   */
  readonly onCandidate?: (hour: Hour, block: CandidateBlock) => void
}

/** A block of which only the timestamp is still unknown. */
export interface CandidateBlock {
  readonly number: bigint
  readonly hash: Hex
}

/** Result of a search, for each of its hours. */
interface AsOfSearchResult {
  readonly answers: ReadonlyMap<Hour, AsOfAnswer>
  readonly known: KnownHeaders
  /** Why the endpoint did not return a block, by its number. */
  readonly absentBlocks: ReadonlyMap<bigint, EndpointFailure>
}

/** More than any search takes: the range halves with each round. */
const roundsMax = 100

/** Searches begun again because headers contradicted each other: after a reorg the next one fits. */
const contradictionsMax = 4

/** Rounds in a row without any block for an hour: the node has none around it. Chains with holes have short ones. */
const emptyRoundsMax = 5

/**
 * Searches for all hours in lockstep on one endpoint: their requests of one round are sent together, and each header
 * helps every hour.
 *
 * @throws EndpointFailure
 */
async function findAsOf(endpoint: Endpoint, search: Search, signal: AbortSignal): Promise<AsOfSearchResult> {
  let session = new AsOfSearch(search, search.seeds)
  for (let [round, contradictions] = [0, 0]; round < roundsMax; round += 1) {
    const question = session.question()
    if (!question) return session
    if (session.learn(await readHeaders(endpoint, question, signal))) continue
    contradictions += 1
    const text = `answered headers that are not of one chain: ${session.known.mismatch}`
    if (contradictions > contradictionsMax) throw headerFailure(endpoint, text)
    session = new AsOfSearch(search, [])
  }
  throw headerFailure(endpoint, 'answered headers among which no block is found')
}

function headerFailure({ host }: Endpoint, reason: string): EndpointFailure {
  const fix =
    'compare its blocks with those of another node: this one is damaged, or several of different chains answer'
  return new EndpointFailure(host, reason, 'unreachable', undefined, fix)
}

/** Number of hours looked up together up to which fewer rounds are preferred to fewer calls. */
const singleHoursMax = 4

/** State of one search. Pure but for `onCandidate`. */
export class AsOfSearch implements AsOfSearchResult {
  readonly answers = new Map<Hour, AsOfAnswer>()
  readonly known = new KnownHeaders()
  readonly absentBlocks = new Map<bigint, EndpointFailure>()
  readonly #search: Search
  #pending: readonly Hour[]
  #rounds = 0
  /** For each hour: the numbers last asked for, and the rounds in a row that returned no block. */
  readonly #asked = new Map<Hour, { readonly numbers: readonly bigint[]; readonly emptyRounds: number }>()

  constructor(search: Search, seeds: readonly BlockHeader[]) {
    this.#search = search
    this.#pending = search.hours
    if (seeds.every(seed => this.known.add(seed))) return
    this.known = new KnownHeaders()
  }

  /** The next blocks to ask for, of all hours; `undefined` when every hour has its answer. */
  question(): Question | undefined {
    const asked = this.#pending.map(hour => [hour, this.#step(hour)] as const)
    const openSteps = asked.flatMap(([hour, step]) => (step.kind === 'ask' ? [[hour, step] as const] : []))
    for (const [hour, step] of asked) if (step.kind !== 'ask') this.answers.set(hour, step)
    this.#pending = openSteps.map(([hour]) => hour)
    if (openSteps.length === 0) return undefined
    for (const [hour, step] of openSteps) this.#reportCandidate(hour, step)
    this.#rounds += 1
    const numbers = new Set(openSteps.flatMap(([, step]) => step.numbers))
    return { kind: 'ask', latest: openSteps.some(([, step]) => step.latest), numbers: [...numbers] }
  }

  /** Adds headers. @returns whether they are of one chain with the known ones */
  learn({ latest, headers, absentBlocks }: Headers): boolean {
    if (latest) this.known.head = latest
    for (const [number, failure] of absentBlocks) {
      this.absentBlocks.set(number, failure)
      this.known.addAbsent(number)
    }
    return [...headers, ...(latest ? [latest] : [])].every(header => this.known.add(header))
  }

  #step(hour: Hour): AsOfAnswer | Question {
    const { hours, hints, nowSeconds } = this.#search
    const minimise = hours.length <= singleHoursMax ? 'rounds' : 'calls'
    const emptyRounds = this.#emptyRoundsOf(hour)
    const step = nextStep(this.known, hour / 1000, { rounds: this.#rounds, emptyRounds, minimise, nowSeconds })
    if (step.kind !== 'ask') return step
    const hint = this.#rounds === 0 ? hints?.get(hour) : undefined
    return this.#unlessInVain(
      hour,
      hint === undefined ? step : { kind: 'ask', latest: true, numbers: [hint, hint + 1n] },
    )
  }

  /** Ends the search for an hour after some rounds in which the node returned none of the blocks around it. */
  #unlessInVain(hour: Hour, question: Question): AsOfAnswer | Question {
    const emptyRounds = this.#emptyRoundsOf(hour)
    const [number] = this.#asked.get(hour)?.numbers ?? []
    if (number !== undefined && emptyRounds >= emptyRoundsMax) return { kind: 'missing', number, isHole: false }
    this.#asked.set(hour, { numbers: question.numbers, emptyRounds })
    return question
  }

  #emptyRoundsOf(hour: Hour): number {
    const { numbers, emptyRounds } = this.#asked.get(hour) ?? { numbers: [], emptyRounds: 0 }
    return numbers.length > 0 && numbers.every(number => this.known.isAbsent(number)) ? emptyRounds + 1 : 0
  }

  /**
   * Reports the parent of a block past the hour, when it is the only number asked for: near the present that is nearly
   * certain.
   */
  #reportCandidate(hour: Hour, { numbers }: Question): void {
    const { high } = this.known.around(hour / 1000)
    const [number] = numbers
    if (this.#search.nowSeconds - hour / 1000 > nearPresentSeconds) return
    if (numbers.length !== 1 || number === undefined || number + 1n !== high?.number || !high.parentHash) return
    this.#search.onCandidate?.(hour, { number, hash: high.parentHash })
  }
}

/** Headers returned by a node. */
interface Headers {
  readonly latest: BlockHeader | undefined
  readonly headers: readonly BlockHeader[]
  /** Blocks it did not return although they are not past its head, each with the reason. */
  readonly absentBlocks: ReadonlyMap<bigint, EndpointFailure>
}

/**
 * Reads the headers in one round trip.
 * @throws EndpointFailure when the last block is missing or an answer cannot be understood
 */
async function readHeaders(endpoint: Endpoint, { latest, numbers }: Question, signal: AbortSignal): Promise<Headers> {
  const asked = [...(latest ? (['latest'] as const) : []), ...numbers]
  const answers = await endpoint.call(asked.map(headerCall), signal)
  const headersRead = asked.map((number, place) => headerOf(endpoint, number, answers[place]))
  const head = latest ? headersRead[0] : undefined
  if (head instanceof EndpointFailure) throw head
  const absentBlocks = new Map<bigint, EndpointFailure>()
  const headers = headersRead.slice(latest ? 1 : 0).flatMap((header, place) => {
    if (!(header instanceof EndpointFailure)) return [header]
    const number = numbers[place] ?? 0n
    // Past the last block there is no block, whatever words a node uses: that is an answer.
    if (!head || number <= head.number) absentBlocks.set(number, header)
    return []
  })
  return { latest: head, headers, absentBlocks }
}

/** One block's header, or why the node did not return it. @throws EndpointFailure when it is of another block */
function headerOf(
  endpoint: Endpoint,
  number: bigint | 'latest',
  answer: RpcAnswer | undefined,
): BlockHeader | EndpointFailure {
  if (answer?.kind === 'error') return endpoint.failure(answer.error)
  if (answer?.result === null) return blockMissing(endpoint, number)
  const header = parseHeader(answer?.result)
  if (header && header.timestampSeconds > secondsMax) {
    const text = `answered timestamps that are not in seconds: block ${header.number} is of ${header.timestampSeconds}`
    throw headerFailure(endpoint, text)
  }
  if (header && (number === 'latest' || header.number === number)) return header
  // Some nodes return the block before a null round in its place.
  if (header && number !== 'latest' && header.number < number) {
    return blockMissing(endpoint, number)
  }
  if (header) throw headerFailure(endpoint, `answered block ${header.number} when asked for block ${number}`)
  throw headerFailure(endpoint, `answered something else than the header of block ${number}`)
}

/** The failure of a node that answers nothing for a block that is not past its head. */
export function blockMissing({ host }: Endpoint, number: bigint | 'latest'): EndpointFailure {
  return new EndpointFailure(
    host,
    `does not have block ${number}`,
    number === 'latest' ? 'unreachable' : 'unknown-block',
  )
}

/** The call that reads a block's header. */
export function headerCall(number: bigint | 'latest') {
  return { method: 'eth_getBlockByNumber', params: [number === 'latest' ? number : hexOf(number), false] }
}

/** An as-of block, with its child if that was read in this process: the child proves it. */
interface Proven {
  readonly block: BlockHeader
  /** The child; absent when the block comes from the cache. */
  readonly after?: BlockHeader
  /** Whether it was final when looked up; otherwise it is looked up again once it should be final. */
  readonly isFinal: boolean
}

/** The state of one hour of a chain: pending or known. */
export interface HourLookUp {
  readonly hour: Hour
  /** The endpoint that serves the hour; absent until one has. */
  endpoint?: Endpoint
  /** Number of the as-of block, once known. */
  blockNumber?: bigint
  /** The pending look-up; absent when there is none. */
  search?: SharedWork<BlockHeader>
  /** The result; absent until there is one. */
  proven?: Proven
  /** When the result was last seen in the chain, by the monotonic clock; absent when it comes from the cache. */
  seenMs?: number
  /** Whether the chain still has the result, while that is asked. */
  check?: SharedWork<boolean | undefined>
  /** The chain's last block, when it was not past the hour yet. */
  head?: BlockHeader
}

/** Cache of the hours of one chain; the least recently used are deleted. */
export class Hours {
  readonly #states = new Map<Hour, HourLookUp>()

  of(hour: Hour): HourLookUp {
    const state = this.#states.get(hour) ?? { hour }
    this.#states.delete(hour)
    this.#states.set(hour, state)
    const [oldest] = this.#states.keys()
    if (this.#states.size > hoursRememberedMax && oldest !== undefined) this.#states.delete(oldest)
    return state
  }

  /** The proven headers nearest to an hour, where a search starts. */
  around(hour: Hour): BlockHeader[] {
    let [lookUpBefore, lookUpAfter]: [HourLookUp | undefined, HourLookUp | undefined] = [undefined, undefined]
    for (const state of this.#states.values()) {
      if (!state.proven) continue
      if (state.hour <= hour && (!lookUpBefore || state.hour > lookUpBefore.hour)) lookUpBefore = state
      if (state.hour > hour && (!lookUpAfter || state.hour < lookUpAfter.hour)) lookUpAfter = state
    }
    return [lookUpBefore, lookUpAfter].flatMap(state => (state?.proven ? headersOf(state.proven) : []))
  }

  /** Discards an hour's proven block: after a reorg, or when an endpoint is on another chain. Default: those of all hours. */
  forget(hour?: Hour): void {
    if (hour === undefined) this.#states.clear()
    else this.#states.delete(hour)
  }
}

/** Headers to start a search with. A pair does not prove itself again: the parent hash of the second is asked for again. */
function headersOf({ block, after }: Proven): BlockHeader[] {
  return after ? [block, plain(after)] : [block]
}

/** A chain is waited for while its last block is at most this many ticks before the hour; later it counts as halted. */
const ticksBehindMax = 3

/** Delay after its timestamp within which a block should have reached the nodes. */
const blockArrivalMs = 2_000

/** Longest tick of a chain whose next block is waited for within a look-up. */
const paceTickSecondsMax = 15

/** Headers that must have been seen before a chain is assumed to follow the clock. */
const paceHeadersMin = 4

/** Predicts when a chain that follows the clock makes its next block, from what look-ups observed. */
export class Pace {
  #tick: { readonly seconds: number; readonly at: number } | undefined

  /** Whether the chain was seen to follow the clock. */
  get isKnown(): boolean {
    return this.#tick !== undefined
  }

  /** Learns from the headers around an hour. */
  learn(knownHeaders: KnownHeaders, hour: Hour): void {
    const { low } = knownHeaders.around(hour / 1000)
    const seconds = knownHeaders.tickSeconds(hour / 1000)
    if (!low || knownHeaders.count < paceHeadersMin) return
    const isKept = seconds >= 2 && seconds <= paceTickSecondsMax
    this.#tick = isKept ? { seconds, at: low.timestampSeconds } : undefined
  }

  /** Milliseconds until a block past the hour should have arrived; 0 when unknown or not soon. */
  waitMs(hour: Hour, nowMs: number): number {
    const waitMs = (this.#afterMs(hour) ?? nowMs) - nowMs
    return waitMs > 0 && waitMs <= paceTickSecondsMax * 1000 + blockArrivalMs ? waitMs : 0
  }

  /**
   * Milliseconds until asking again for a block past the hour makes sense.
   *
   * @param headSeconds timestamp of the chain's last block
   * @returns `undefined` when unknown
   */
  againMs(headSeconds: number, hour: Hour, nowMs: number): number | undefined {
    if (!this.#tick || headSeconds < hour / 1000 - ticksBehindMax * this.#tick.seconds) return undefined
    const atMs = this.#afterMs(Math.max(hour, nowMs - blockArrivalMs))
    return atMs === undefined ? undefined : Math.max(0, atMs - nowMs)
  }

  /** When the first block after an instant should have arrived. */
  #afterMs(instantMs: number): number | undefined {
    if (!this.#tick) return undefined
    const { seconds, at } = this.#tick
    const ticks = Math.floor((instantMs / 1000 - at) / seconds) + 1
    return (at + ticks * seconds) * 1000 + blockArrivalMs
  }
}

/** Null cache: for runs without an outbox, and for checks that must not trust earlier results. */
export class NoFinalBlocks implements FinalBlocks {
  async of(): Promise<undefined> {
    return undefined
  }

  async around(): Promise<readonly []> {
    return []
  }

  async keep(): Promise<void> {}

  async forget(): Promise<void> {}
}

/** Questions for the last block that are sent at once to an endpoint whose first answer ends before an hour. */
const headsAskedAtOnce = 3

/** Dependencies of `LookUps`. */
interface LookUpDeps {
  /** Name of the chain in the configuration. */
  readonly name: string
  readonly pool: EndpointPool
  readonly hours: Hours
  readonly finalBlocks: FinalBlocks
  readonly pace: Pace
  readonly isFinal: (hour: Hour) => boolean
  readonly time: Time
  /** Called with a candidate for the as-of block, in the tick in which it is asked for. */
  readonly onCandidate: (state: HourLookUp, block: CandidateBlock, endpoint: Endpoint) => void
}

/** An hour to look up. */
export interface HourToLookUp {
  readonly state: HourLookUp
  /** Number of its earlier as-of block, to ask for first; absent when unknown. */
  readonly hint?: bigint
}

/** Result for an hour: a Fault when it cannot be answered. */
type LookUpOutcome = Extract<AsOfAnswer, { kind: 'found' }> | Extract<AsOfAnswer, { kind: 'past-head' }> | Fault

/** A head older than this, by our clock, means that the node lags, not that the chain waits for its next block. */
const headAgeMsMax = 120_000

/** Looks up as-of blocks. Hours of one event-loop tick are searched together, in the same requests. */
export class LookUps {
  readonly #deps: LookUpDeps
  readonly #scheduler: BatchScheduler<HourToLookUp, LookUpOutcome>
  /** Endpoints whose last block was asked for several times at once. */
  readonly #headsAsked = new WeakSet<Endpoint>()
  #kept: Promise<unknown> = Promise.resolve()
  #nextSearch = Promise.withResolvers<void>()

  constructor(deps: LookUpDeps) {
    this.#deps = deps
    this.#scheduler = new BatchScheduler(
      async (jobs, { signal }) => {
        const outcomes = await this.#search(
          jobs.map(({ request }) => request),
          signal,
        )
        for (const { request, resolve } of jobs) resolve(outcomeOf(outcomes, request))
      },
      { untilComplete: () => this.#announceSearch() },
    )
  }

  /** Resolves once the final blocks that were found so far are kept. */
  get kept(): Promise<unknown> {
    return this.#kept
  }

  /** Resolves in the tick in which the next hours are looked up, so that other requests can be sent with them. */
  get nextSearch(): Promise<void> {
    return this.#nextSearch.promise
  }

  /**
   * The as-of block, or the chain's last block when it is not past the hour yet.
   *
   * @throws Fault when no endpoint can answer, or the chain began later
   */
  async find(wanted: HourToLookUp, signal: AbortSignal): Promise<Exclude<LookUpOutcome, Fault>> {
    const outcome = await this.#scheduler.schedule(wanted, signal)
    if (outcome instanceof Fault) throw outcome
    return outcome
  }

  /** One tick for those who wait for `nextSearch`. */
  async #announceSearch(): Promise<void> {
    await setImmediate()
    this.#nextSearch.resolve()
    this.#nextSearch = Promise.withResolvers<void>()
    await setImmediate()
  }

  async #search(hoursToFind: readonly HourToLookUp[], signal: AbortSignal): Promise<ReadonlyMap<Hour, LookUpOutcome>> {
    // Hours without an endpoint join the others.
    const own = hoursToFind.find(({ state }) => state.endpoint)?.state.endpoint
    const groups = Map.groupBy(hoursToFind, ({ state }) => state.endpoint ?? own)
    const outcomes = await Promise.all(
      [...groups].map(([endpoint, group]) => this.#searchGroup(endpoint, group, signal)),
    )
    return new Map(outcomes.flatMap(found => [...found]))
  }

  /** Searches hours on one endpoint. Hours past the head of a lagging endpoint are searched on another. */
  async #searchGroup(
    preferredEndpoint: Endpoint | undefined,
    group: readonly HourToLookUp[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<Hour, LookUpOutcome>> {
    const { pool, name } = this.#deps
    const servedPart: Served = { part: 'header', ...(preferredEndpoint && { endpoint: preferredEndpoint }) }
    const outcomes = new Map<Hour, LookUpOutcome>()
    try {
      await pool.serve(servedPart, signal, async endpoint => {
        const pastHead = group.filter(({ state }) => !outcomes.has(state.hour))
        for (const { state } of pastHead) state.endpoint = endpoint
        const { answers, absentBlocks } = await this.#searchPastHead(endpoint, pastHead, signal)
        for (const { state } of pastHead) {
          const answer = answers.get(state.hour)
          if (!answer || answer.kind === 'missing') continue
          if (answer.kind === 'past-head' && this.#isOld(answer.head)) continue
          outcomes.set(
            state.hour,
            answer.kind === 'before-first' ? beforeFirstBlock(name, state.hour, answer.first) : answer,
          )
        }
        const unanswered = pastHead.find(({ state }) => !outcomes.has(state.hour))
        if (!unanswered) return
        const answer = answers.get(unanswered.state.hour)
        if (answer?.kind === 'missing') servedPart.blockNumber = answer.number
        throw incomplete(endpoint, answer, absentBlocks)
      })
    } catch (error) {
      // Results of one endpoint stand, even if none can answer the rest.
      if (!(error instanceof Fault)) throw error
      for (const { state } of group) if (!outcomes.has(state.hour)) outcomes.set(state.hour, error)
    }
    return outcomes
  }

  /**
   * Searches; where the endpoint's first answers end before an hour, asks for its last block several times at once and
   * searches again. Behind a balancer the first answer may be that of a lagging node.
   */
  async #searchPastHead(
    endpoint: Endpoint,
    hoursToFind: readonly HourToLookUp[],
    signal: AbortSignal,
  ): Promise<AsOfSearchResult> {
    const isCold = !this.#deps.pace.isKnown && !this.#headsAsked.has(endpoint)
    const outcome = await this.#searchOn(endpoint, hoursToFind, signal)
    const past = [...outcome.answers.values()].find(answer => answer.kind === 'past-head')
    if (!past || !isCold) return outcome
    this.#headsAsked.add(endpoint)
    await Promise.all(Array.from({ length: headsAskedAtOnce }, () => endpoint.callApart([headCall], signal)))
    const last = endpoint.head?.number ?? past.head.number
    return last > past.head.number ? this.#searchOn(endpoint, hoursToFind, signal) : outcome
  }

  async #searchOn(
    endpoint: Endpoint,
    hoursToFind: readonly HourToLookUp[],
    signal: AbortSignal,
  ): Promise<AsOfSearchResult> {
    const { time, pace, onCandidate } = this.#deps
    const states = new Map(hoursToFind.map(({ state }) => [state.hour, state]))
    const hints = new Map(
      hoursToFind.flatMap(({ state, hint }) => (hint === undefined ? [] : [[state.hour, hint] as const])),
    )
    const hours = [...states.keys()].sort((a, b) => a - b)
    const tell = (hour: Hour, block: CandidateBlock) => {
      const state = states.get(hour)
      if (state) onCandidate(state, block, endpoint)
    }
    const seedHeaders = await this.#seeds(hours)
    // In one turn with the search's first request, so that they are sent together.
    for (const state of states.values()) if (state.head) onCandidate(state, state.head, endpoint)
    const heads = [...states.values()].flatMap(({ head }) => head ?? [])
    const seeds = [...seedHeaders, ...heads]
    const search = { hours, hints, seeds, nowSeconds: time.nowMs() / 1000, onCandidate: tell }
    const result = await findAsOf(endpoint, search, signal)
    const newest = hours.at(-1)
    if (newest !== undefined) pace.learn(result.known, newest)
    this.#keep(result.answers)
    return result
  }

  /** Known headers around the hours, and as far beyond as the hours are apart: enough to derive the chain's pace. */
  async #seeds(hours: readonly Hour[]): Promise<BlockHeader[]> {
    const { finalBlocks, hours: hourMemory } = this.#deps
    const [first, last] = [hours[0], hours.at(-1)]
    if (first === undefined || last === undefined) return []
    const count = Math.max(1, (last - first) / hourMs)
    const places = [...new Set([first, last, hourAfter(first, -count), hourAfter(last, count)])]
    const final = await Promise.all(places.map(hour => finalBlocks.around(hour)))
    const seeds = places.flatMap((hour, place): BlockHeader[] => [...(final[place] ?? []), ...hourMemory.around(hour)])
    return [...new Map(seeds.map(seed => [seed.number, seed])).values()]
  }

  #keep(answers: ReadonlyMap<Hour, AsOfAnswer>): void {
    const { finalBlocks, isFinal } = this.#deps
    const finalHours = [...answers].flatMap(([hour, answer]) =>
      answer.kind === 'found' && isFinal(hour) ? [{ hour, block: plain(answer.block) }] : [],
    )
    // A block that is not kept is looked up again: the search does not wait for it.
    if (finalHours.length > 0) this.#kept = Promise.all([this.#kept, finalBlocks.keep(finalHours)]).catch(() => {})
  }

  #isOld({ timestampSeconds }: BlockHeader): boolean {
    return this.#deps.time.nowMs() - timestampSeconds * 1000 > headAgeMsMax
  }
}

function outcomeOf(outcomes: ReadonlyMap<Hour, LookUpOutcome>, { state }: HourToLookUp): LookUpOutcome {
  const outcome = outcomes.get(state.hour)
  if (!outcome) throw new Error('an hour was looked up and has no answer')
  return outcome
}

/** The failure when an endpoint could not answer for an hour. */
function incomplete(
  endpoint: Endpoint,
  answer: AsOfAnswer | undefined,
  absentBlocks: ReadonlyMap<bigint, EndpointFailure>,
): EndpointFailure {
  if (answer?.kind === 'missing') {
    const failure = absentBlocks.get(answer.number) ?? blockMissing(endpoint, answer.number)
    // A node that has the blocks on either side is damaged, or one of several: it does not lack what is old.
    const isDamage = answer.isHole && failure.kind === 'unknown-block'
    return isDamage ? new EndpointFailure(failure.host, failure.reason) : failure
  }
  const head = answer?.kind === 'past-head' ? answer.head : undefined
  const words = head ? `its last block ${head.number} is of ${secondsText(head.timestampSeconds)}` : 'it says nothing'
  return new EndpointFailure(endpoint.host, `has no block past the hour: ${words}`, 'behind')
}
