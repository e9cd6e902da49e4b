import { createHash } from 'node:crypto'
import { Semaphore } from '../../edge/semaphore.ts'
import type { Time } from '../../edge/time.ts'
import type { LogFilter } from '../../model/block.ts'
import { isRecord } from '../../model/json.ts'
import { hourMs } from '../../model/limits.ts'
import { secondsMax } from '../shapes.ts'
import { EndpointFailure } from './failures.ts'
import { type BlockPart, failureKindOf, type RpcCall, type RpcError, type RpcOutcome, type WrittenCall } from './rpc.ts'

/** Concurrent requests for logs to one endpoint. */
export const logRequestsAtOnceMax = 6

/** A healthy node keeps the state of at least this many blocks before its head. */
export const stateBlocksMin = 128

/** Full requests answered before a discovered batch limit is doubled. */
export const batchRisesAfter = 32

interface BatchBounds {
  readonly calls: number
  readonly chars: number
}

/** Characters of one request, until a node refuses that many. */
const batchCharsMax = 4_000_000

/**
 * Limit of a node's batches, discovered by halving what it refuses. A new limit is kept once a smaller request was
 * answered, so that a node that refuses everything for a while is not asked one call at a time for ever. After some
 * full requests were answered the limit doubles, up to its start value: the refusal may have been an outage.
 */
export class BatchLimit {
  readonly #first: BatchBounds
  #known: BatchBounds
  #tried: BatchBounds
  /** Full requests answered since the limit was last changed. */
  #answered = 0
  /** Whether the limit rose and no request of that size was answered yet. */
  #isTrial = false
  #isProven = false

  /** @param callsMax the first and the highest limit */
  constructor(callsMax: number) {
    this.#first = { calls: callsMax, chars: batchCharsMax }
    this.#known = this.#first
    this.#tried = this.#known
  }

  /** Calls in one request, at most. */
  get callsMax(): number {
    return this.#tried.calls
  }

  /** Whether several calls in one request were ever answered. */
  get isProven(): boolean {
    return this.#isProven
  }

  /** Number of calls, from the first on, that fit into one request: at least one. */
  fitting(calls: readonly WrittenCall[]): number {
    let chars = 0
    const end = calls.findIndex(({ text }, index) => {
      chars += text.length
      return index > 0 && (index >= this.#tried.calls || chars > this.#tried.chars)
    })
    return end === -1 ? calls.length : end
  }

  /** Records that the node refused these calls (at least two) in one request: half of them are tried next. */
  refused(calls: readonly WrittenCall[], because: 'calls' | 'chars'): void {
    const { calls: callsMax, chars: charsMax } = this.#tried
    if (because === 'chars') {
      this.#tried = { calls: callsMax, chars: Math.min(charsMax, Math.ceil(charsOf(calls) / 2)) }
    } else this.#tried = { calls: Math.min(callsMax, Math.ceil(calls.length / 2)), chars: charsMax }
    this.#answered = 0
    this.#isTrial = false
  }

  /** Records that the node answered a request with results, not only errors: the tried limit is kept. */
  answered(calls: readonly WrittenCall[]): void {
    if (calls.length > 1) this.#isProven = true
    this.#known = this.#tried
    if (this.#isAtMost || !this.#isFull(calls)) return
    this.#answered += 1
    // A rise that was answered is followed by the next at once.
    if (!this.#isTrial && this.#answered < batchRisesAfter) return
    this.#answered = 0
    this.#isTrial = true
    const { calls: callsMax, chars: charsMax } = this.#known
    this.#known = { calls: Math.min(callsMax * 2, this.#first.calls), chars: Math.min(charsMax * 2, this.#first.chars) }
    this.#tried = this.#known
  }

  get #isAtMost(): boolean {
    return this.#known.calls === this.#first.calls && this.#known.chars === this.#first.chars
  }

  /** Whether the request was as large as the limit allows: a smaller one says nothing about a higher limit. */
  #isFull(calls: readonly WrittenCall[]): boolean {
    return calls.length >= this.#known.calls || charsOf(calls) * 2 > this.#known.chars
  }

  /** Discards a limit that was tried and never answered. */
  forgetTried(): void {
    this.#tried = this.#known
  }
}

function charsOf(calls: readonly WrittenCall[]): number {
  return calls.reduce((sum, { text }) => sum + text.length, 0)
}

/** Details of a refused range of blocks. */
export interface LogRefusal {
  /** Blocks of a range that would pass, by the node's own words; absent when it names none. */
  readonly blocksSuggested?: number | undefined
  /** The node took too long: a range of the same size would take as long again. */
  readonly isSlow?: boolean
}

/** Readings, one an hour, after which a larger span is tried. */
const logRisesAfter = 24

/**
 * Limit of the blocks that one `eth_getLogs` of a filter may span on one endpoint, learnt from refusals of any wording.
 * Once a day a larger span is tried.
 */
export class LogSpan {
  readonly #most: number
  #blocksMax: number
  #proven = 0
  #readings = 0

  /** @param most blocks asked for at once, ever @param start span that passed for other filters */
  constructor(most: number, start = most) {
    this.#most = most
    this.#blocksMax = start
  }

  /** Blocks of the next range. */
  get blocksMax(): number {
    return this.#blocksMax
  }

  /** Blocks of the largest range answered since a smaller one was refused; 0 before. */
  get proven(): number {
    return this.#proven
  }

  /** Records that the logs of this many blocks are about to be read. */
  begin(blocks: number): void {
    if (this.#proven === 0 || this.#proven < this.#blocksMax || blocks <= this.#blocksMax) return
    if (this.#blocksMax >= this.#most) return
    this.#readings += 1
    if (this.#readings < logRisesAfter) return
    this.#blocksMax = Math.min(this.#most, blocksAbove(this.#blocksMax))
  }

  /** Records that a range of this many blocks was answered. */
  answered(blocks: number): void {
    if (blocks < this.#blocksMax || blocks <= this.#proven) return
    // After a rise that passed, the next reading rises again.
    this.#readings = this.#proven > 0 ? logRisesAfter : 0
    this.#proven = blocks
  }

  /** Records that a range of this many blocks, more than one, was refused. */
  refused(blocks: number, { blocksSuggested, isSlow = false }: LogRefusal): void {
    if (blocks > this.#blocksMax) return
    const isRise = this.#proven > 0 && this.#proven < blocks
    if (!isRise) this.#proven = 0
    this.#readings = 0
    this.#blocksMax = isRise ? this.#proven : nextBlocks(blocks, { blocksSuggested, isSlow })
  }

  /** Discards what was learnt: even single blocks failed, so the span was not the reason. */
  forget(): void {
    this.#blocksMax = this.#most
    this.#proven = 0
  }
}

/** Blocks to try after a refused range of more than one. Pure. */
export function nextBlocks(blocks: number, { blocksSuggested, isSlow = false }: LogRefusal): number {
  if (blocksSuggested !== undefined && blocksSuggested >= 1 && blocksSuggested < blocks) return blocksSuggested
  const below = blocksBelow(blocks)
  return isSlow ? blocksBelow(Math.max(2, blocksBelow(Math.max(2, below)))) : below
}

/** The next smaller of 1, 2, 5, 10, 20, 50, …: typical limits of providers. */
function blocksBelow(blocks: number): number {
  const unit = 10 ** Math.floor(Math.log10(Number.isFinite(blocks) ? blocks : Number.MAX_SAFE_INTEGER))
  return [5 * unit, 2 * unit, unit, unit / 2].find(one => one < blocks) ?? 1
}

/** The next larger of 1, 2, 5, 10, 20, 50, …. */
function blocksAbove(blocks: number): number {
  const unit = 10 ** Math.floor(Math.log10(blocks))
  return [2 * unit, 5 * unit, 10 * unit].find(one => one > blocks) ?? blocks + 1
}

/** Filters of an endpoint whose span is remembered. */
const logFiltersRememberedMax = 1_000

/** A short name of a filter, which may have a thousand addresses. */
export function filterKey(filter: LogFilter): string {
  return createHash('sha256').update(JSON.stringify(filter)).digest('base64')
}

/** Time after which a node without `eth_getLogs` is asked for those of its last block again. */
const logsRefusedMs = hourMs

/**
 * Learnt limits of `eth_getLogs` on one endpoint. Each filter has its own span, as a limit may be one of results: a
 * contract with many events does not shrink the ranges of others. A new filter starts with the largest span of the
 * others.
 */
export class LogSpans {
  /** Fewer than its concurrent requests, so that other reads have room. */
  readonly semaphore = new Semaphore(logRequestsAtOnceMax)
  readonly #most: number
  readonly #time: Time
  readonly #byFilter = new Map<string, LogSpan>()
  #refused: { readonly failure: EndpointFailure; readonly atMs: number } | undefined

  /** @param blocksMax as configured; default: no limit */
  constructor(time: Time, blocksMax = Number.POSITIVE_INFINITY) {
    this.#time = time
    this.#most = blocksMax
  }

  /** The failure of a node without `eth_getLogs`; undefined once it is to be asked again. */
  get refusal(): EndpointFailure | undefined {
    const { failure, atMs } = this.#refused ?? { atMs: 0 }
    return Math.abs(this.#time.nowMs() - atMs) < logsRefusedMs ? failure : undefined
  }

  /** Records that the node does not have the method. */
  refused(failure: EndpointFailure): void {
    this.#refused = { failure, atMs: this.#time.nowMs() }
  }

  of(filter: LogFilter): LogSpan {
    const key = filterKey(filter)
    const span = this.#byFilter.get(key) ?? new LogSpan(this.#most, this.blocksMax)
    // Moves the entry to the end: the least recently used is deleted first.
    this.#byFilter.delete(key)
    this.#byFilter.set(key, span)
    const [oldest] = this.#byFilter.keys()
    if (this.#byFilter.size > logFiltersRememberedMax && oldest !== undefined) this.#byFilter.delete(oldest)
    return span
  }

  /** Largest span of any filter, in blocks; infinite without a limit. */
  get blocksMax(): number {
    const spans = [...this.#byFilter.values()].map(({ blocksMax }) => blocksMax)
    return spans.length === 0 ? this.#most : Math.max(...spans)
  }
}

interface Missed {
  /** The highest block. */
  readonly number: bigint
  readonly atMs: number
}

/** Time for which an endpoint is known to lack the state of old blocks. */
const stateMissedMs = 60 * 60_000

/** Range of blocks whose state an endpoint has, as observed: a pruning node has only the latest. */
export class StateAvailability {
  readonly #time: Time
  #missed: Missed | undefined
  #lowestServed: bigint | undefined

  constructor(time: Time) {
    this.#time = time
  }

  /** Records an answer from the state of a block. */
  served(number: bigint): void {
    if (this.#lowestServed === undefined || number < this.#lowestServed) this.#lowestServed = number
    if (this.#missed && number <= this.#missed.number) this.#missed = undefined
  }

  /** Records that the state of a block, and of all before it, is missing. */
  missed(number: bigint): void {
    const before = this.#missed?.number
    const highest = before !== undefined && before > number ? before : number
    this.#missed = { number: highest, atMs: this.#time.nowMs() }
    if (this.#lowestServed !== undefined && this.#lowestServed <= highest) this.#lowestServed = undefined
  }

  /** Whether it is known to lack the state of a block. After a while it is asked again. */
  lacks(number: bigint): boolean {
    if (this.#missed === undefined || this.#time.nowMs() - this.#missed.atMs >= stateMissedMs) return false
    return number <= this.#missed.number
  }

  /** The lowest block whose state it is known to have, else the one after the highest that it lacks. */
  get servesFrom(): bigint | undefined {
    return this.#lowestServed ?? (this.#missed && this.#missed.number + 1n)
  }
}

/** The last block of a chain, as reported by a node. */
export interface ChainHead {
  /** Number of the last block. */
  readonly number: bigint
  /** Seconds since 1970. */
  readonly timestampSeconds: number
}

/** Learnt facts of a node. Each is absent until it is shown; what is larger is kept by this object as a key. */
export interface LearntOfNode {
  /** Whether its `eth_call` reads the block that a hash names, and no other. */
  takesHashes?: boolean
  /** Whether `eth_getLogs` passes in a batch; absent while nothing speaks against it. */
  takesLogBatches?: boolean
  /** Whether it answered `eth_getLogs` of any filter and block. */
  servesLogs?: boolean
}

/** Time for which a node that does not fail is taken to be the same software. */
const nodeLearntMsMax = 24 * hourMs

/**
 * Whether the node at an address is known to serve the chain. Another one may answer after a failure of a connection, and,
 * as idle connections are closed, in each hour of the clock.
 */
export class NodeIdentity {
  readonly #time: Time
  #node: LearntOfNode = {}
  #learntFromMs: number
  /** Start of the hour in which the chain id was answered; undefined while it must be asked. */
  #confirmedHour: number | undefined

  constructor(time: Time) {
    this.#time = time
    this.#learntFromMs = time.nowMs()
  }

  /** Facts of the node that answers now. */
  get node(): LearntOfNode {
    if (Math.abs(this.#time.nowMs() - this.#learntFromMs) >= nodeLearntMsMax) this.#forget()
    return this.#node
  }

  /** Whether no request has to ask for the chain id. */
  get isKnown(): boolean {
    return this.#confirmedHour === this.#hour
  }

  /** Records that the node serves the chain. */
  confirmed(): void {
    this.#confirmedHour = this.#hour
  }

  /** Records that another node may answer from now on: nothing that was learnt of this one is believed of it. */
  doubt(): void {
    this.#confirmedHour = undefined
    this.#forget()
  }

  #forget(): void {
    this.#node = {}
    this.#learntFromMs = this.#time.nowMs()
  }

  get #hour(): number {
    return Math.floor(this.#time.nowMs() / hourMs)
  }
}

/** A part of a block that an endpoint need not have. */
interface OldPart {
  readonly part: BlockPart
  readonly number: bigint
}

/** Blocks of an endpoint whose number is cached by their hash. */
const blocksRememberedMax = 4_096

/** Observes an endpoint's answers: its head, and the blocks whose state it serves. */
export class ObservedBlocks {
  readonly #depth: StateAvailability
  readonly #numbers = new Map<string, bigint>()
  readonly #hashes = new Map<bigint, string>()
  #head: ChainHead | undefined
  #contradictions = 0

  constructor(depth: StateAvailability) {
    this.#depth = depth
  }

  /** Answers so far that did not fit earlier ones: an earlier last block, another hash, a hash that is not known any more. */
  get contradictions(): number {
    return this.#contradictions
  }

  /** The last head observed; undefined before. */
  get head(): ChainHead | undefined {
    return this.#head
  }

  /** Number of the block that a call names; undefined when it names none or one that was not seen. */
  numberOf({ method, params }: RpcCall): bigint | undefined {
    if (method === 'eth_getBlockByNumber') return quantity(params[0])
    const at = stateMethods.has(method) ? params[method === 'eth_getStorageAt' ? 2 : 1] : undefined
    return isRecord(at) ? this.#numbers.get(String(at['blockHash'])) : quantity(at)
  }

  /** The part of an old block that a call needs; undefined for a block that every node should have, or an unknown one. */
  oldPartOf({ method, params }: RpcCall): OldPart | undefined {
    const part = stateMethods.has(method) ? 'state' : partsOfMethods[method]
    const [filter] = params
    const number =
      part === 'logs' && isRecord(filter) ? quantity(filter['fromBlock']) : this.numberOf({ method, params })
    const head = this.#head?.number
    if (part === undefined || number === undefined || head === undefined) return undefined
    return head - number < stateBlocksMin ? undefined : { part, number }
  }

  /**
   * Adds what calls and their outcomes show.
   *
   * @param isSure whether an earlier last block counts: it was asked again
   * @returns false when it does not fit what was observed before
   */
  add(calls: readonly RpcCall[], outcomes: readonly RpcOutcome[], isSure = true): boolean {
    const contradictionsBefore = this.#contradictions
    calls.forEach((call, index) => {
      const { method, params } = call
      const outcome = outcomes[index]
      if (!outcome || outcome instanceof EndpointFailure) return
      if (outcome.kind === 'error') {
        this.#addRefusal(call, outcome.error)
        return
      }
      if (method.startsWith('eth_getBlockBy')) this.#addHeader(params[0], outcome.result, isSure)
      const number = stateMethods.has(method) ? this.numberOf({ method, params }) : undefined
      if (number !== undefined) this.#depth.served(number)
    })
    return this.#contradictions === contradictionsBefore
  }

  /** A block whose hash the endpoint has shown is not known any more. */
  #addRefusal({ method, params }: RpcCall, error: RpcError): void {
    const at = stateMethods.has(method) ? params[method === 'eth_getStorageAt' ? 2 : 1] : undefined
    const hash = isRecord(at) ? String(at['blockHash']) : undefined
    if (hash === undefined || failureKindOf(error) !== 'unknown-block') return
    const number = this.#numbers.get(hash)
    if (number === undefined) return
    this.#contradictions += 1
    this.#numbers.delete(hash)
    this.#hashes.delete(number)
  }

  #addHeader(blockParam: unknown, block: unknown, isSure: boolean): void {
    if (!isRecord(block)) return
    const [number, timestamp] = [quantity(block['number']), quantity(block['timestamp'])]
    if (number === undefined || timestamp === undefined || timestamp > secondsMax) return
    const isLater = isSure || this.#head === undefined || number > this.#head.number
    const isBack = blockParam === 'latest' && this.#head !== undefined && number < this.#head.number
    const isOther = typeof block['hash'] === 'string' && (this.#hashes.get(number) ?? block['hash']) !== block['hash']
    if (isOther || (isBack && isSure)) this.#contradictions += 1
    if (blockParam === 'latest' && isLater) this.#head = { number, timestampSeconds: Number(timestamp) }
    if (typeof block['hash'] !== 'string') return
    keep(this.#numbers, block['hash'], number)
    keep(this.#hashes, number, block['hash'])
  }
}

/** Adds an entry; the oldest makes room for it. */
function keep<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > blocksRememberedMax && oldest !== undefined) map.delete(oldest)
}

const stateMethods: ReadonlySet<string> = new Set(['eth_call', 'eth_getBalance', 'eth_getStorageAt', 'eth_getCode'])

const partsOfMethods: Readonly<Record<string, BlockPart>> = { eth_getBlockByNumber: 'header', eth_getLogs: 'logs' }

/** A number of JSON-RPC; undefined for anything else. */
export function quantity(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value) ? BigInt(value) : undefined
}
