import type { Time } from '../../edge/time.ts'
import { type AsOfBlock, type FinalBlocks, type Hex, isFinal, type LogFilter, settleMsOf } from '../../model/block.ts'
import type { EarliestMs } from '../../model/clock.ts'
import { Fault } from '../../model/fault.ts'
import { type Hour, hourAfter } from '../../model/hour.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import {
  EndpointPool,
  type EndpointReport,
  type EndpointSource,
  type PoolDeps,
  type Served,
} from '../endpoint/endpoint-pool.ts'
import { allFailed, chainBehind, EndpointFailure, stoppedWhile, unexpected } from '../endpoint/failures.ts'
import { filterKey } from '../endpoint/learnt.ts'
import { headCall, resultOf } from '../endpoint/rpc.ts'
import type { LogList } from '../log-list.ts'
import { plain } from '../look-up/as-of.ts'
import {
  type HourLookUp,
  Hours,
  type HourToLookUp,
  headerCall,
  hoursRememberedMax,
  LookUps,
  NoFinalBlocks,
  Pace,
  SharedWork,
} from '../look-up/look-ups.ts'
import type { ChainReader, ReadAnswer, ReadAt, ReadRequest } from '../reads.ts'
import { type BlockHeader, parseHeader } from '../shapes.ts'
import { HourAnswers, HourReads, readOnAny } from './hour-reads.ts'
import { LogMemory } from './log-evidence.ts'
import { readLogsOnAny } from './logs.ts'
import { readAt } from './read.ts'
import { ReadMemory } from './read-memory.ts'
import { isAnswer, type ReadOutcome } from './single-reads.ts'

/** Dependencies of `createChainReader`. */
export interface ChainReaderDeps extends PoolDeps {
  /** URLs (http, https, ws, wss) or IPC paths, the first preferred. Secrets: they appear in no Fault. */
  readonly endpoints: readonly EndpointSource[]
  /**
   * Delay after an hour until its as-of block counts as final, in milliseconds. Default: a safe time for the chain id.
   */
  readonly settleMs?: number
  /** The earliest that the present can be, as in `isFinal`. Default: not known. */
  readonly earliestMs?: (() => EarliestMs | undefined) | undefined
  /** Address of Multicall3. Default: the usual one. */
  readonly multicall?: Hex | undefined
  /** Cache of final as-of blocks. Default: a cache of this process only. */
  readonly finalBlocks?: FinalBlocks
  /** Called with words for how calls see their block, when that turns out to differ from its header. Default: no one. */
  readonly contextFound?: ((words: string) => void) | undefined
  /** Longest wait for the chain's next block within a look-up; after it the caller has to retry. Default: 30 s. */
  readonly patienceMs?: number
}

/** A reader with its connections; call `close` to end them. */
export type OpenChainReader = ChainReader &
  Required<Pick<ChainReader, 'hasBlock' | 'forget'>> &
  Pick<EndpointPool, 'askHead' | 'health' | 'renew' | 'close'> & {
    /** Host of the endpoint that served an hour; `undefined` while none has. */
    servedBy(hour: Hour): string | undefined
    /** Puts the endpoints of a host into quarantine: they are asked last for an hour, and not for this one again. */
    quarantine(host: string, hour: Hour, reason: string): void
    /** A reader of the same endpoints, with no result of this one, but for those of some hosts; `undefined` when none is left. */
    without(hosts: ReadonlySet<string>): OpenChainReader | undefined
  }

/** Creates the reader of one chain. @throws Fault `config` for an endpoint that is neither a URL nor a path */
export function createChainReader(deps: ChainReaderDeps): OpenChainReader {
  return new HourlyReader(deps, new EndpointPool(deps, deps.endpoints))
}

/** Learnt facts of a chain, whichever endpoint answered. */
interface LearntOfChain {
  readonly reads: ReadMemory
  readonly logs: LogMemory
  /** Of the endpoints, when nothing was learnt yet. */
  readonly contradictions: number
}

/** Longest wait for the next block within one look-up. */
const nextBlockWaitMsMax = 30_000

/** Number of waits for the next block within one look-up. */
const nextBlockWaitsMax = 2

/** A block that was seen in the chain longer ago than this is asked for again where no other answer would show its loss. */
const seenMsMax = 600_000

/** Hours whose answers are kept, for questions that follow from them. */
const hoursAnsweredMax = 24

class HourlyReader implements OpenChainReader {
  readonly id: number
  readonly settleMs: number
  readonly #deps: ChainReaderDeps
  readonly #name: string
  readonly #time: Time
  readonly #patienceMs: number
  readonly #finalBlocks: FinalBlocks
  readonly #pool: EndpointPool
  readonly #lookUps: LookUps
  #learnt: LearntOfChain
  /** Reads of an hour that are sent together with its look-up, or after it. */
  readonly #hourReads = new WeakMap<HourLookUp, HourReads>()
  /** Answers of the hours that were read last. */
  readonly #answers = new Map<HourLookUp, HourAnswers>()
  /** Logs that are being read: those of one hour and filter are one read. */
  readonly #logReads = new Map<string, SharedWork<ReadAt<LogList>>>()
  readonly askHead = (signal: AbortSignal) => this.#pool.askHead(signal)
  readonly #hours = new Hours()
  readonly #pace = new Pace()
  #forgetting: Promise<void> = Promise.resolve()

  constructor(deps: ChainReaderDeps, pool: EndpointPool) {
    const { name, id, time, settleMs = settleMsOf(id) } = deps
    this.#deps = deps
    this.id = id
    this.settleMs = settleMs
    this.#name = name
    this.#time = time
    this.#patienceMs = deps.patienceMs ?? nextBlockWaitMsMax
    this.#finalBlocks = deps.finalBlocks ?? new NoFinalBlocks()
    this.#pool = pool
    this.#learnt = this.#nothingLearnt()
    this.#lookUps = new LookUps({
      name,
      isFinal: hour => this.#isFinal(hour),
      time,
      pool,
      hours: this.#hours,
      finalBlocks: this.#finalBlocks,
      pace: this.#pace,
      onCandidate: (state, block, endpoint) =>
        this.#hourReads
          .get(state)
          ?.tryAt(block, (at, requests, signal) => readAt(endpoint, at, requests, signal, this.#memory.reads)),
    })
  }

  health(): readonly EndpointReport[] {
    return this.#pool.health()
  }

  hosts(): readonly string[] {
    return this.#pool.health().map(({ host }) => host)
  }

  servedBy(hour: Hour): string | undefined {
    return this.#hours.of(hour).endpoint?.host
  }

  quarantine(host: string, hour: Hour, reason: string): void {
    this.#pool.quarantine(host, reason)
    this.forget(hour)
  }

  forget(hour: Hour): void {
    // Its block may be kept as final: the hour would be read at it again.
    this.#forgetFinal(hour)
    this.#hours.forget(hour)
  }

  without(hosts: ReadonlySet<string>): OpenChainReader | undefined {
    const pool = this.#pool.without(hosts)
    return pool && new HourlyReader({ ...this.#deps, finalBlocks: new NoFinalBlocks() }, pool)
  }

  block(hour: Hour, signal: AbortSignal): Promise<AsOfBlock> {
    return this.#faulted(hour, signal, async state => plain(await this.#seen(state, signal)))
  }

  read(hour: Hour, requests: readonly ReadRequest[], signal: AbortSignal): Promise<ReadAt<readonly ReadAnswer[]>> {
    return this.#faulted(hour, signal, state => this.#read(state, requests, signal))
  }

  logs(hour: Hour, filter: LogFilter, signal: AbortSignal, hours?: number): Promise<ReadAt<LogList>> {
    return this.#faulted(hour, signal, async () => {
      const key = `${hour} ${hours} ${filterKey(filter)}`
      const reading = this.#logReads.get(key)
      if (reading?.isUsable) return reading.join(signal)
      const work = new SharedWork(shared => this.#logsOf(hour, filter, shared, hours))
      this.#logReads.set(key, work)
      try {
        return await work.join(signal)
      } finally {
        if (this.#logReads.get(key) === work) this.#logReads.delete(key)
      }
    })
  }

  async #logsOf(hour: Hour, filter: LogFilter, signal: AbortSignal, hours?: number): Promise<ReadAt<LogList>> {
    const state = this.#hours.of(hour)
    const before = this.#firstBlockAfter(hourAfter(hour, -(hours ?? 1)), signal)
    const [to, from] = await Promise.all([this.#asOf(state, signal), before])
    if (from > to.number + 1n) throw this.#outOfOrder(hour, hourAfter(hour, -(hours ?? 1)), from, to)
    const [chain, pool] = [this.#name, this.#pool]
    const { reads, logs: memory } = this.#memory
    const value = readLogsOnAny({ chain, pool, memory, reads, from, asOf: to, filter, hours, signal }, state)
    value.catch(failure => this.#distrust(state, failure))
    return { at: plain(to), value: await value }
  }

  async hasBlock({ number, hash }: Pick<AsOfBlock, 'number' | 'hash'>, signal: AbortSignal) {
    const ask = async (endpoint: Endpoint) => {
      const [head, outcome] = await endpoint.tryCall([headCall, headerCall(number)], signal)
      if (outcome instanceof EndpointFailure) throw outcome
      const header = parseHeader(resultOf(outcome))
      if (header) return header.hash === hash
      const last = parseHeader(resultOf(head))
      // The chain is shorter than the one that had the block.
      if (last && last.number < number) return false
      const failure = outcome?.kind === 'error' ? endpoint.failure(outcome.error) : undefined
      if (!failure || failure.kind === 'pruned' || failure.kind === 'unknown-block') return undefined
      throw failure
    }
    const served: Served = { blockNumber: number }
    const isThere = await this.#faultedOn(served, signal, () => this.#pool.serve(served, signal, ask))
    // A final block was replaced: so may be those of all hours.
    if (isThere === false) {
      this.#hours.forget()
      this.#forgetFinal()
    }
    return isThere
  }

  recheck(hour: Hour, signal: AbortSignal, before?: AsOfBlock): Promise<AsOfBlock> {
    this.#hours.forget(hour)
    return this.#faulted(hour, signal, async state => plain(await this.#asOf(state, signal, before?.number)))
  }

  get nextLookUp(): Promise<void> {
    return this.#lookUps.nextSearch
  }

  renew(): void {
    this.#pool.renew()
  }

  close(): void {
    this.#pool.close()
  }

  async #asOf(state: HourLookUp, signal: AbortSignal, hint?: bigint): Promise<BlockHeader> {
    if (!state.proven) {
      await this.#forgetting
      const block = await this.#finalBlocks.of(state.hour)
      if (block) state.proven ??= { block, isFinal: true }
    }
    // Values read once `settleMs` has passed are not checked again later: they need a block looked up after that.
    if (state.proven && (state.proven.isFinal || !this.#isFinal(state.hour))) {
      state.blockNumber = state.proven.block.number
      return state.proven.block
    }
    if (!state.search?.isUsable) {
      const expected = hint ?? state.proven?.block.number
      const wanted: HourToLookUp = { state, ...(expected !== undefined && { hint: expected }) }
      state.search = new SharedWork(shared => this.#lookUp(wanted, shared))
    }
    return state.search.join(signal)
  }

  /**
   * The as-of block where nothing that is read at it shows that a reorg replaced it, however final it was: its number
   * alone is used. A block that was not seen in the chain for minutes is asked for; if it is gone, all are looked up again.
   */
  async #seen(state: HourLookUp, signal: AbortSignal): Promise<BlockHeader> {
    const block = await this.#asOf(state, signal)
    const { seenMs } = state
    if (seenMs !== undefined && this.#time.steadyMs() - seenMs < seenMsMax) return block
    if (!state.check?.isUsable) state.check = new SharedWork(shared => this.hasBlock(block, shared))
    const isThere = await state.check.join(signal)
    if (isThere === false) return this.#asOf(this.#hours.of(state.hour), signal)
    delete state.check
    // A node that says nothing of it has not shown it: it is asked for again.
    if (isThere) state.seenMs = this.#time.steadyMs()
    return block
  }

  /** Learnt facts of the chain: none, once an answer does not fit what the chain was seen to be. */
  get #memory(): LearntOfChain {
    if (this.#learnt.contradictions !== this.#pool.contradictions) this.#learnt = this.#nothingLearnt()
    return this.#learnt
  }

  #nothingLearnt(): LearntOfChain {
    const { id, multicall, contextFound = () => {}, watch } = this.#deps
    const certifier = { endpoints: () => this.#pool.health(), contextFound }
    const reads = new ReadMemory(id, multicall, certifier)
    return { reads, logs: new LogMemory(watch), contradictions: this.#pool.contradictions }
  }

  /** The Fault for an hour that ends before an earlier one does: one of the two blocks is another chain's. */
  #outOfOrder(hour: Hour, earlierHour: Hour, from: bigint, { number }: AsOfBlock): Fault {
    for (const one of [hour, earlierHour]) {
      this.#forgetFinal(one)
      this.#hours.forget(one)
    }
    const message = `${this.#name} has block ${number} at the end of the hour, and block ${from - 1n} at the end of an earlier one`
    const fix =
      'a chain that began again has new hours alone: set since of its collectors to its start; else look at what answers under rpc:'
    return new Fault('chain-disagreement', message, { facts: { chain: this.#name }, fix })
  }

  #isFinal(hour: Hour): boolean {
    return isFinal(hour, this.settleMs, this.#deps.earliestMs?.())
  }

  /** Waits for a block past the hour if the chain is known to make one soon, to save requests. */
  async #lookUp(hourToFind: HourToLookUp, signal: AbortSignal): Promise<BlockHeader> {
    const { state } = hourToFind
    const waitMs = this.#pace.waitMs(state.hour, this.#time.nowMs())
    if (waitMs > 0 && waitMs <= this.#patienceMs) await this.#time.sleep(waitMs, signal)
    for (let waits = 0; ; waits += 1) {
      const isFinal = this.#isFinal(state.hour)
      const answer = await this.#lookUps.find(hourToFind, signal)
      if (answer.kind === 'found') {
        state.proven = { ...answer, isFinal }
        state.blockNumber = answer.block.number
        state.seenMs = this.#time.steadyMs()
        // All waiters have joined; the result is not kept for hundreds of hours.
        delete state.search
        return answer.block
      }
      state.head = answer.head
      const againMs = this.#pace.againMs(answer.head.timestampSeconds, state.hour, this.#time.nowMs())
      const isWaited = againMs !== undefined && againMs <= this.#patienceMs && waits < nextBlockWaitsMax
      if (!isWaited) throw chainBehind(this.#name, state.hour, answer.head)
      await this.#time.sleep(againMs, signal)
    }
  }

  async #read(
    state: HourLookUp,
    requests: readonly ReadRequest[],
    signal: AbortSignal,
  ): Promise<ReadAt<readonly ReadAnswer[]>> {
    if (requests.length === 0) return { at: plain(await this.#asOf(state, signal)), value: [] }
    const reads = this.#hourReadsOf(state)
    const places = reads.add(requests)
    const { at: asOfBlock, value } = await reads.work.join(signal)
    const outcomes = await reads.outcomesOf(places, value, signal)
    return {
      at: plain(asOfBlock),
      value: outcomes.every(isAnswer) ? outcomes : outcomes.map(outcome => this.#answer(outcome)),
    }
  }

  #answer(outcome: ReadOutcome | undefined): ReadAnswer {
    if (isAnswer(outcome)) return outcome
    throw outcome instanceof Fault ? outcome : allFailed(this.#name, outcome ? [outcome] : [])
  }

  #hourReadsOf(state: HourLookUp): HourReads {
    const open = this.#hourReads.get(state)
    if (open?.work.isUsable) return open
    const reads: HourReads = new HourReads({
      knownAnswers: this.#answersOf(state),
      asOf: signal => this.#asOf(state, signal),
      read: (block, requests, signal) => {
        const [name, pool, memory] = [this.#name, this.#pool, this.#memory.reads]
        return readOnAny({ name, pool, memory, hour: state, block }, requests, signal)
      },
      closed: failure => {
        if (this.#hourReads.get(state) === reads) this.#hourReads.delete(state)
        this.#distrust(state, failure)
      },
    })
    this.#hourReads.set(state, reads)
    return reads
  }

  /** Answers of an hour. One that is searched again has none. */
  #answersOf(state: HourLookUp): HourAnswers {
    const answers = this.#answers.get(state) ?? new HourAnswers()
    this.#answers.delete(state)
    this.#answers.set(state, answers)
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > hoursAnsweredMax && oldest !== undefined) this.#answers.delete(oldest)
    return answers
  }

  /**
   * Discards the block after a failure that a reorg may have caused, or a cached block of another chain: the next
   * attempt searches again.
   */
  #distrust({ hour, proven, head }: HourLookUp, failure: unknown): void {
    if (!(failure instanceof Fault)) return
    if (proven && failure.code === 'chain-unreachable') this.#forgetFinal(hour)
    this.#hours.forget(hour)
    if (head) this.#hours.of(hour).head = head
  }

  /** Forgets a block that is kept, or is being kept; without an hour, all. Later reads wait for that. */
  #forgetFinal(hour?: Hour): void {
    this.#forgetting = Promise.all([this.#forgetting, this.#lookUps.kept])
      .then(() => this.#finalBlocks.forget(hour))
      .catch(() => {})
  }

  async #firstBlockAfter(hour: Hour, signal: AbortSignal): Promise<bigint> {
    try {
      return (await this.#seen(this.#hours.of(hour), signal)).number + 1n
    } catch (error) {
      if (error instanceof Fault && error.code === 'chain-before-first-block') return 0n
      throw error
    }
  }

  /** Runs work whose every rejection is a Fault; an abort names the endpoint that was waited for. */
  #faulted<T>(hour: Hour, signal: AbortSignal, work: (state: HourLookUp) => Promise<T>): Promise<T> {
    return this.#faultedOn(this.#hours.of(hour), signal, work)
  }

  async #faultedOn<S extends Served, T>(target: S, signal: AbortSignal, work: (served: S) => Promise<T>): Promise<T> {
    try {
      return await work(target)
    } catch (error) {
      if (error instanceof Fault) throw error
      if (!signal.aborted) throw unexpected(this.#name, error)
      throw stoppedWhile(this.#name, target.endpoint?.host ?? this.#name, signal.reason)
    }
  }
}

/**
 * Reads a chain from an endpoint of another host than the ones that served the hour so far, for one more opinion.
 * Endpoints in quarantine are not asked.
 */
export class OtherHostReader implements ChainReader {
  readonly id: number
  readonly settleMs: number
  readonly #name: string
  readonly #own: OpenChainReader
  readonly #before: readonly Pick<ChainReader, 'servedBy'>[]
  /** By the hosts that are left out. */
  readonly #readers = new Map<string, OpenChainReader>()
  /** The reader that was asked last for an hour. */
  readonly #asked = new Map<Hour, OpenChainReader>()

  /** @param hostReader the chain's own reader @param excludedReaders the readers whose hosts are not asked, besides its own */
  constructor(name: string, hostReader: OpenChainReader, excludedReaders: readonly Pick<ChainReader, 'servedBy'>[]) {
    this.id = hostReader.id
    this.settleMs = hostReader.settleMs
    this.#name = name
    this.#own = hostReader
    this.#before = [hostReader, ...excludedReaders]
  }

  readonly block: ChainReader['block'] = (hour, ...rest) => this.#on(hour, reader => reader.block(hour, ...rest))
  readonly read: ChainReader['read'] = (hour, ...rest) => this.#on(hour, reader => reader.read(hour, ...rest))
  readonly logs: ChainReader['logs'] = (hour, ...rest) => this.#on(hour, reader => reader.logs(hour, ...rest))
  readonly hasBlock: OpenChainReader['hasBlock'] = (...asked) => this.#own.hasBlock(...asked)
  readonly recheck: ChainReader['recheck'] = (hour, ...rest) => this.#on(hour, reader => reader.recheck(hour, ...rest))

  get nextLookUp(): Promise<void> {
    return Promise.resolve()
  }

  /** Host of the endpoint that served an hour here; `undefined` while none has. */
  servedBy(hour: Hour): string | undefined {
    return this.#asked.get(hour)?.servedBy(hour)
  }

  forget(hour: Hour): void {
    for (const reader of this.#readers.values()) reader.forget(hour)
  }

  async #on<T>(hour: Hour, work: (reader: OpenChainReader) => Promise<T>): Promise<T> {
    const served = this.#before.flatMap(reader => reader.servedBy?.(hour) ?? [])
    const quarantined = this.#own.health().filter(({ state }) => state === 'quarantine')
    const hosts = new Set([...served, ...quarantined.map(({ host }) => host)])
    const reader = this.#readerWithout(hosts)
    if (!reader) {
      const text = `${this.#name} has no endpoint of another host than ${[...hosts].join(', ')}`
      throw new Fault('chain-unreachable', text, { facts: { chain: this.#name }, fix: 'add one under rpc' })
    }
    this.#remember(hour, reader)
    return work(reader)
  }

  #remember(hour: Hour, reader: OpenChainReader): void {
    this.#asked.delete(hour)
    this.#asked.set(hour, reader)
    const [oldest] = this.#asked.keys()
    if (this.#asked.size > hoursRememberedMax && oldest !== undefined) this.#asked.delete(oldest)
  }

  /** An endpoint whose address is known later is asked from then on. */
  #readerWithout(hosts: ReadonlySet<string>): OpenChainReader | undefined {
    const key = [...hosts].sort().join(' ')
    const reader = this.#readers.get(key) ?? this.#own.without(hosts)
    if (reader) this.#readers.set(key, reader)
    return reader
  }
}
