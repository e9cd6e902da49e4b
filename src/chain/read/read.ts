import type { Hex } from '../../model/block.ts'
import { answerMsMax } from '../endpoint/call-sender.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure, ReadFailure } from '../endpoint/failures.ts'
import { meaningOf, type RpcAnswer, type RpcCall, type RpcOutcome, resultOf, type SeenBlock } from '../endpoint/rpc.ts'
import type { JoinableRead, ReadAnswer, ReadRequest } from '../reads.ts'
import { hexOf, isBytes } from '../shapes.ts'
import {
  type BlockReference,
  callWithHeader,
  type NamedBlock,
  pinOf,
  pinParam,
  type ReadTarget,
  requireKept,
  requireState,
  takesHashes,
} from './certificate.ts'
import { multicall3Address, type ReadMemory, type ReadScope } from './read-memory.ts'
import { callAt, isAnswer, isUnsure, type ReadOutcome, readOneByOne, seenByCode } from './single-reads.ts'

/** Number of reads before the requested ones: number, timestamp and parent hash of the block they run in. */
export const certifyingReads = 3

/** First four bytes of the Keccak hash of each signature in Multicall3's ABI. */
const selectors = {
  /** `aggregate3((address target, bool allowFailure, bytes callData)[])` */
  aggregate3: '82ad56cb',
  /** `getBlockNumber()` */
  blockNumber: '42cbb15c',
  /** `getCurrentBlockTimestamp()` */
  timestamp: '0f28c97d',
  /** `getLastBlockHash()` */
  parentHash: '27e86d6e',
  /** `getEthBalance(address)` */
  balance: '4d2301cc',
}

/**
 * Call data of one `aggregate3`. It first reads the number, the timestamp and the parent hash of its block, so that the
 * answer names the block it was read from, and lets each read fail alone. Written by hand, as its layout is fixed
 * (https://docs.soliditylang.org/en/latest/abi-spec.html): viem's encoder would take 27 MB and 135 ms of a daemon that
 * needs it for nothing else.
 *
 * @param requests valid ones: whole addresses, whole bytes
 * @param multicall address of Multicall3
 */
export function aggregateInput(requests: readonly JoinableRead[], multicall: Hex = multicall3Address): Hex {
  const calls = [selectors.blockNumber, selectors.timestamp, selectors.parentHash].map(input =>
    callOf(multicall, input),
  )
  for (const request of requests) {
    if (request.kind === 'call') calls.push(callOf(request.to, request.input.slice(2)))
    else calls.push(callOf(multicall, `${selectors.balance}${addressWord(request.address)}`))
  }
  // Each call's offset counts from the end of the list's length.
  let distance = calls.length * 32
  const distances = calls.map(call => {
    const own = distance
    distance += call.length / 2
    return numberWord(own)
  })
  return `0x${selectors.aggregate3}${numberWord(32)}${numberWord(calls.length)}${distances.join('')}${calls.join('')}`
}

/** One `Call3`: target, allowFailure, data offset, data length, data. */
function callOf(to: Hex, input: string): string {
  const missing = (64 - (input.length % 64)) % 64
  return `${addressWord(to)}${mayFailAndStart}${numberWord(input.length / 2)}${input}${zeros.slice(0, missing)}`
}

const zeros = '0'.repeat(64)
const mayFailAndStart = `${numberWord(1)}${numberWord(96)}`

function addressWord(address: Hex): string {
  return `${zeros.slice(0, 24)}${address.slice(2).toLowerCase()}`
}

function numberWord(number: number): string {
  return number.toString(16).padStart(64, '0')
}

/** Parsed answer of one `aggregate3`. */
interface Aggregated {
  /** The block the reads were made in, as the contract sees it. */
  readonly seen: SeenBlock
  readonly answers: readonly ReadAnswer[]
}

/**
 * Parses an answer to `aggregateInput` of `count` requests. Multicall3 has the same code everywhere and encodes its
 * answer in one way; any other encoding is rejected.
 *
 * @returns undefined unless the answer is complete
 */
export function aggregated(output: Hex, count: number): Aggregated | undefined {
  const results = isBytes(output) ? resultsOf(output, count + certifyingReads) : undefined
  const [number, timestamp, parent] = results ?? []
  if (!results || !isWord(number) || !isWord(timestamp)) return undefined
  const seenBlock = { number: BigInt(number.output), timestampSeconds: BigInt(timestamp.output) }
  return {
    // A contract that stands in for Multicall3 may not know the hash.
    seen: { ...seenBlock, ...(isWord(parent) && { parentHash: parent.output }) },
    answers: results.slice(certifyingReads),
  }
}

function isWord(answer: ReadAnswer | undefined): answer is ReadAnswer {
  return answer?.kind === 'returned' && answer.output.length === 2 + 64
}

/** Parses a list of (success, bytes): offset of the list, its length, offset of each result, the results. */
function resultsOf(output: Hex, count: number): ReadAnswer[] | undefined {
  const wordAt = (place: number) => numberOf(output.slice(2 + 64 * place, 2 + 64 * (place + 1)))
  if (wordAt(0) !== 32 || wordAt(1) !== count) return undefined
  const results: ReadAnswer[] = []
  let wordIndex = 2 + count
  for (let index = 0; index < count; index += 1) {
    if (wordAt(2 + index) !== 32 * (wordIndex - 2)) return undefined
    const [success, offset, length] = [wordAt(wordIndex), wordAt(wordIndex + 1), wordAt(wordIndex + 2)]
    const start = 2 + 64 * (wordIndex + 3)
    const [end, next] = [start + 2 * length, start + 64 * Math.ceil(length / 32)]
    if (success > 1 || offset !== 64 || next > output.length || !/^0*$/.test(output.slice(end, next))) return undefined
    results.push({ kind: success === 1 ? 'returned' : 'reverted', output: `0x${output.slice(start, end)}` })
    wordIndex += 3 + Math.ceil(length / 32)
  }
  return 2 + 64 * wordIndex === output.length ? results : undefined
}

/** A word as a length or an offset; infinite for one that is cut, or too large. */
function numberOf(digits: string): number {
  return /^0{52}[0-9a-f]{12}$/i.test(digits) ? Number(`0x${digits}`) : Number.POSITIVE_INFINITY
}

/** Outcome of sending reads to a node as one call. */
type Aggregate =
  | { readonly kind: 'answers'; readonly answers: readonly ReadAnswer[] }
  /** The node says that there is no Multicall3 at that block. */
  | { readonly kind: 'absent' }
  /** Too much gas or size for this node. */
  | { readonly kind: 'too-much'; readonly isRevert?: boolean }
  /** Too slow for this node, which is not dead. */
  | { readonly kind: 'slow' }
  /** The node answered something else, for an unknown reason: one of the reads, or any. */
  | {
      readonly kind: 'failed'
      readonly failure: EndpointFailure
      readonly isError: boolean
      readonly isNothing?: boolean
    }

/**
 * Executes reads through Multicall3 in one `eth_call`, at the block and no other: pinned by hash if the endpoint takes
 * it (EIP-1898), else by number together with the block's header. The answer certifies itself by number, timestamp and
 * parent hash of the block it was read from.
 *
 * @param answerMsMax time limit of the request; given when the call has a request of its own
 * @throws EndpointFailure when the endpoint is dead, limits its rate, or answers from another block
 */
async function callTogether(
  reading: ReadScope,
  requests: readonly JoinableRead[],
  answerMsMax?: number,
): Promise<Aggregate> {
  const { endpoint, block, signal } = reading
  const aggregateRead: AggregateSent = { ...reading, requests, answerMsMax }
  const pin = pinOf(endpoint)
  const aggregate = await callPinned(aggregateRead, pin).catch((error: unknown) => {
    if (error instanceof EndpointFailure && error.kind === 'wrong-block') return error
    throw error
  })
  const failure = aggregate instanceof EndpointFailure ? aggregate : aggregate.kind === 'failed' && aggregate.failure
  const isDoubtful = failure && (failure.kind === 'wrong-block' || failure.kind === 'refused')
  if (pin === 'hash' && isDoubtful && !(await takesHashes(endpoint, block, signal)))
    return callPinned(aggregateRead, 'number')
  if (aggregate instanceof EndpointFailure) throw aggregate
  return aggregate
}

interface AggregateSent extends ReadScope {
  readonly requests: readonly JoinableRead[]
  readonly answerMsMax: number | undefined
}

async function callPinned(aggregateRead: AggregateSent, pin: BlockReference): Promise<Aggregate> {
  const { endpoint, block, requests, memory, signal } = aggregateRead
  const { output, parentHash = block.parentHash } = await outputOf(aggregateRead, pin)
  if (typeof output !== 'string') return output
  if (output === '0x') {
    if (!memory.isPresentAt(block.number)) return { kind: 'absent' }
    return { ...failed(endpoint, 'answered the reads with nothing'), isNothing: true }
  }
  const aggregate = aggregated(output, requests.length)
  if (!aggregate) return failed(endpoint, 'answered the reads with something else')
  const askAt = (at: NamedBlock) => seenAt(aggregateRead, at)
  const askEvm = (at: NamedBlock) => seenByCode(aggregateRead, at)
  const read = { endpoint, block: { ...block, parentHash }, pin, signal, askAt, askEvm }
  await memory.aggregates.certify(read, aggregate.seen)
  memory.sawPresent(block.number)
  return { kind: 'answers', answers: aggregate.answers }
}

/** The block that an empty aggregate sees at a block, named by its hash. */
async function seenAt({ endpoint, memory, signal }: ReadScope, at: NamedBlock): Promise<SeenBlock | undefined> {
  const params = [{ to: memory.multicall, data: aggregateInput([], memory.multicall) }, pinParam(at, 'hash')]
  const [outcome] = await endpoint.tryCall([{ method: 'eth_call', params }], signal)
  const output = resultOf(outcome)
  return isHexStart(output) ? aggregated(output, 0)?.seen : undefined
}

function failed({ host }: Endpoint, reason: string): Extract<Aggregate, { kind: 'failed' }> {
  return { kind: 'failed', failure: new EndpointFailure(host, reason, 'refused'), isError: false }
}

interface AggregateOutput {
  readonly output: Hex | Aggregate
  /** Of the header that was read with it. */
  readonly parentHash?: Hex | undefined
}

async function outputOf(sentAggregate: AggregateSent, pin: BlockReference): Promise<AggregateOutput> {
  const { endpoint } = sentAggregate
  try {
    const { answer, parentHash } = await answerOf(sentAggregate, pin)
    if (answer?.kind === 'error') {
      // An aggregate lets every read fail alone, so a revert of the whole is about gas or size, too.
      const meaning = meaningOf(answer.error).kind
      if (meaning !== 'node') return { output: { kind: 'too-much', isRevert: meaning === 'reverted' } }
      return { output: { kind: 'failed', failure: endpoint.failure(answer.error), isError: true } }
    }
    const output = answer?.result
    if (isHexStart(output)) return { output, parentHash }
    return { output: failed(endpoint, 'answered the reads with something that is not a value') }
  } catch (error) {
    if (!(error instanceof EndpointFailure)) throw error
    if (error.kind === 'too-much' || error.kind === 'slow') return { output: { kind: error.kind } }
    if (error.kind === 'refused') return { output: { kind: 'failed', failure: error, isError: true } }
    throw error
  }
}

/** Whether an output looks like hex; its digits are checked when they are parsed. */
function isHexStart(output: unknown): output is Hex {
  return typeof output === 'string' && output.startsWith('0x')
}

/** The answer, by number with the parent hash of the block's header, whose hash must be the block's. */
async function answerOf(
  { endpoint, block, requests, memory, signal, answerMsMax }: AggregateSent,
  pin: BlockReference,
): Promise<{ answer: RpcAnswer | undefined; parentHash?: Hex | undefined }> {
  const at = pinParam(block, pin)
  const params = [{ to: memory.multicall, data: aggregateInput(requests, memory.multicall) }, at]
  const calls: RpcCall[] = [{ method: 'eth_call', params }]
  if (pin === 'number') {
    const { header, outcomes } = await callWithHeader(endpoint, block, calls, signal, answerMsMax)
    return { answer: answered(outcomes[0]), parentHash: header.parentHash }
  }
  return { answer: answered((await endpoint.tryCall(calls, signal, answerMsMax))[0]) }
}

function answered(outcome: RpcOutcome | undefined): RpcAnswer | undefined {
  if (outcome instanceof EndpointFailure) throw outcome
  return outcome
}

/** Splits a list into that many parts of nearly equal size, in order. */
function partsOf<T>(all: readonly T[], count: number): T[][] {
  const size = Math.ceil(all.length / count)
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size))
}

/**
 * Reads in one `aggregate3`, and the hexadecimal digits of their call data. Nodes give an `eth_call` 50 million gas and 5 s by
 * default (geth), and a read takes 5,000 to 50,000: of more, the last would run out of gas, and be repeated one by one.
 */
const aggregateReadsMax = 1_000
const aggregateDigitsMax = 4_000_000

/** Splits requests into parts small enough for one call each. */
function chunks(requests: readonly JoinableRead[]): (readonly JoinableRead[])[] {
  const parts: JoinableRead[][] = []
  let digits = Number.POSITIVE_INFINITY
  for (const request of requests) {
    const requestDigits = digitsOf(request)
    const last = parts.at(-1)
    if (last && last.length < aggregateReadsMax && digits + requestDigits <= aggregateDigitsMax) {
      last.push(request)
      digits += requestDigits
    } else {
      parts.push([request])
      digits = requestDigits
    }
  }
  return parts
}

function digitsOf(request: JoinableRead): number {
  return request.kind === 'call' ? request.input.length : 0
}

/** Outcome of an empty aggregate; `odd`: the node answers, but something else. */
type Together = 'answered' | 'failed' | 'odd'

/**
 * The endpoint and block of reads, with what is known of the chain. Tells a node that fails at one read from one that
 * fails at all, by a read that cannot fail, made at most once.
 */
class ReadPlace implements ReadScope {
  readonly endpoint: Endpoint
  readonly block: ReadTarget
  readonly memory: ReadMemory
  readonly signal: AbortSignal
  #state: Promise<EndpointFailure | undefined> | undefined
  #together: Promise<Together> | undefined
  #kept: Promise<void> | undefined

  constructor(endpoint: Endpoint, block: ReadTarget, memory: ReadMemory, signal: AbortSignal) {
    this.endpoint = endpoint
    this.block = block
    this.memory = memory
    this.signal = signal
  }

  /**
   * Whether an empty aggregate is answered. If it is an error, an empty read must be answered.
   *
   * @throws EndpointFailure the node's failure when neither is, or when the aggregate's answer is wrong: a node that
   * answers one call wrongly is not trusted with another
   */
  async servesTogether(failure: EndpointFailure): Promise<boolean> {
    this.#together ??= this.#asksTogether()
    this.#state ??= this.#askState()
    const [aggregateOutcome, missing] = await Promise.all([this.#together, this.#state])
    if (aggregateOutcome === 'answered') return true
    if (missing) throw failure.kind === 'refused' ? missing : failure
    if (aggregateOutcome === 'odd') throw failure
    return false
  }

  /** Checks that the block's state is served. @throws EndpointFailure when an empty read is not answered either */
  async requireState(): Promise<void> {
    this.#state ??= this.#askState()
    const missing = await this.#state
    if (missing) throw missing
  }

  /** As the function of that name, asked at most once. @throws StateMissing */
  requireKept(): Promise<void> {
    this.#kept ??= requireKept(this.endpoint, this.block, this.signal)
    return this.#kept
  }

  async #asksTogether(): Promise<Together> {
    const aggregate = await callTogether(this, []).catch(passed)
    if (aggregate instanceof EndpointFailure) return 'failed'
    if (aggregate.kind === 'answers') return 'answered'
    return aggregate.kind === 'absent' || (aggregate.kind === 'failed' && !aggregate.isError) ? 'odd' : 'failed'
  }

  async #askState(): Promise<EndpointFailure | undefined> {
    return await requireState(this.endpoint, this.block, this.signal).then(() => undefined, passed)
  }

  /**
   * Whether Multicall3 is absent, by its code: an empty answer is not enough, as it is remembered for all earlier blocks.
   *
   * @returns `there` when there is code, which should have answered; `unknown` when the node does not say
   */
  async codeOfMulticall(): Promise<'absent' | 'there' | 'unknown'> {
    const { endpoint, block, memory, signal } = this
    const call = { method: 'eth_getCode', params: [memory.multicall, hexOf(block.number)] }
    const [code] = await callAt(endpoint, block, [call], signal)
    if (code?.kind !== 'result') return 'unknown'
    return code.result === '0x' ? 'absent' : 'there'
  }
}

/** Returns a failure of the endpoint; throws any other error. */
function passed(error: unknown): EndpointFailure {
  if (error instanceof EndpointFailure) return error
  throw error
}

/**
 * Executes reads at one block in as few `eth_call`s as fit: one through Multicall3, split while the node finds it too
 * much or fails at it, one by one where Multicall3 is not deployed. Calls that do not depend on each other are sent in
 * one tick. A read the node fails at does not affect the others; a read it is too slow for is a failure of kind `slow`,
 * which `readLate` may still answer.
 *
 * @param memory of the chain, the same for all of its hours and endpoints
 * @returns outcomes in the order of the requests
 * @throws EndpointFailure when the endpoint fails at all reads of the block
 */
export async function readAt(
  endpoint: Endpoint,
  block: ReadTarget,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
  memory: ReadMemory,
): Promise<readonly ReadOutcome[]> {
  const place = new ReadPlace(endpoint, block, memory, signal)
  const joinedReads = requests.filter(request => memory.isJoined(request))
  const singleReads = requests.filter(request => !memory.isJoined(request))
  const [ofTogether, ofSingly] = await Promise.all([
    joinedReads.length > 0 ? readTogether(place, joinedReads) : [],
    singleReads.length > 0 ? readSingly(place, singleReads, joinedReads.length > 0) : [],
  ])
  const [joined, single] = [ofTogether.values(), ofSingly.values()]
  return requests.flatMap(request => (memory.isJoined(request) ? joined : single).next().value ?? [])
}

/** Longest wait for each part of reads that were not answered in time together, so that the slow ones are found. */
const partMsMax = 5_000

/** Executes reads the endpoint was too slow for: each alone, with the full time limit. @throws EndpointFailure */
export function readLate(
  endpoint: Endpoint,
  block: ReadTarget,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
  memory: ReadMemory,
): Promise<readonly ReadOutcome[]> {
  return readOneByOne(new ReadPlace(endpoint, block, memory, signal), requests, answerMsMax)
}

function isSlow(outcome: ReadOutcome | undefined): boolean {
  return outcome instanceof EndpointFailure && outcome.kind === 'slow'
}

const tooSlow = ({ endpoint }: ReadPlace) => new ReadFailure(endpoint.host, 'takes this read too long', 'slow')

async function readTogether(place: ReadPlace, requests: readonly JoinableRead[]): Promise<readonly ReadOutcome[]> {
  if (place.memory.isAbsentAt(place.block.number)) return readSingly(place, requests)
  const parts = chunks(requests)
  const [only] = parts
  if (only && parts.length === 1) return readPart(place, only)
  return (await Promise.all(parts.map(part => readPart(place, part)))).flat()
}

/** @param partMs time limit of the request; given when the part has a request of its own */
async function readPart(
  place: ReadPlace,
  requests: readonly JoinableRead[],
  partMs?: number,
): Promise<readonly ReadOutcome[]> {
  const { endpoint, memory } = place
  const aggregate = await callTogether(place, requests, partMs)
  switch (aggregate.kind) {
    case 'answers':
      return withCertainReverts(place, requests, aggregate.answers)
    case 'absent': {
      const [outcomes, code] = await Promise.all([readSingly(place, requests), place.codeOfMulticall()])
      if (code === 'absent') memory.sawAbsent(place.block.number)
      if (code !== 'there') return outcomes
      return readFailed(
        place,
        requests,
        new EndpointFailure(endpoint.host, 'answered the reads with nothing', 'refused'),
      )
    }
    case 'too-much':
      // An aggregate reverts only where the gas ends: or a node says so that has no state.
      if (aggregate.isRevert) await place.requireKept()
      return readHalves(place, requests)
    case 'slow':
      return partMs === undefined || requests.length === 1
        ? readSlow(place, requests)
        : readOneByOne(place, requests, partMsMax)
    case 'failed':
      if (aggregate.isNothing) await place.requireKept()
      return readFailed(place, requests, aggregate.failure)
  }
}

/** Executes the two halves of a list; a single read that is too much for an aggregate may pass alone. */
async function readHalves(place: ReadPlace, requests: readonly JoinableRead[]): Promise<readonly ReadOutcome[]> {
  if (requests.length === 1) return readSingly(place, requests)
  const halves = partsOf(requests, 2)
  return (await Promise.all(halves.map(part => readPart(place, part)))).flat()
}

/** Handles an aggregate the node failed at: because of one of its reads, or because it fails at any. */
async function readFailed(
  place: ReadPlace,
  requests: readonly JoinableRead[],
  failure: EndpointFailure,
): Promise<readonly ReadOutcome[]> {
  if (requests.length === 1) return readSingly(place, requests)
  return (await place.servesTogether(failure)) ? readHalves(place, requests) : readSingly(place, requests)
}

/**
 * Executes reads that were not answered in time together: in parts, each in its own request, then each read of a slow
 * part alone. The wait is short, so that callers get the fast ones within their deadline.
 */
async function readSlow(place: ReadPlace, requests: readonly JoinableRead[]): Promise<readonly ReadOutcome[]> {
  if (requests.length === 1) return [tooSlow(place)]
  const parts = partsOf(requests, Math.ceil(Math.sqrt(requests.length)))
  return (await Promise.all(parts.map(part => readPart(place, part, partMsMax)))).flat()
}

/**
 * Executes reads one by one; those not answered in time in one batch are sent each alone.
 *
 * @param isServed whether other reads are answered at that block
 * @throws EndpointFailure when the endpoint fails at all reads of the block
 */
async function readSingly(
  place: ReadPlace,
  requests: readonly ReadRequest[],
  isServed = false,
): Promise<readonly ReadOutcome[]> {
  const batchOutcomes = await readOneByOne(place, requests)
  const slow = requests.filter((_, index) => isSlow(batchOutcomes[index]))
  const alone = (slow.length > 0 ? await readOneByOne(place, slow, partMsMax) : []).values()
  const outcomes = batchOutcomes.map(outcome => (isSlow(outcome) ? (alone.next().value ?? outcome) : outcome))
  if (!isServed && !outcomes.some(isAnswer)) await place.requireState()
  if (!isServed && !outcomes.some(isValue)) await place.requireKept()
  remember(place, requests, outcomes)
  return outcomes
}

/** Whether an outcome is a value that a node without state would not answer. */
function isValue(outcome: ReadOutcome): boolean {
  return isAnswer(outcome) && outcome.output !== '0x'
}

/** Remembers what the contracts themselves answered to reads that were sent alone. */
function remember({ memory }: ReadPlace, requests: readonly ReadRequest[], outcomes: readonly ReadOutcome[]): void {
  requests.forEach((request, place) => {
    const outcome = outcomes[place]
    if (isAnswer(outcome)) memory.sawAnswer(request, outcome)
  })
}

/**
 * Repeats reads that reverted without data, each alone: the contract may have reverted, or other reads of the aggregate
 * used up the gas. Reads that reverted alone in an earlier hour are believed.
 */
async function withCertainReverts(
  place: ReadPlace,
  requests: readonly ReadRequest[],
  answers: readonly ReadAnswer[],
): Promise<readonly ReadOutcome[]> {
  const unsureRequests = requests.filter((request, index) => {
    const answer = answers[index]
    if (answer?.kind === 'returned') place.memory.sawAnswer(request, answer)
    return isUnsure(answer)
  })
  if (unsureRequests.every(request => place.memory.isKnownRevert(request))) return answers
  const singleOutcomes = await readSingly(place, unsureRequests, true).catch(error => {
    if (!(error instanceof EndpointFailure)) throw error
    return unsureRequests.map(() => new ReadFailure(error.host, error.reason, error.kind, error.retryAtMs))
  })
  const inOrder = singleOutcomes.values()
  return answers.map(answer => (isUnsure(answer) ? (inOrder.next().value ?? answer) : answer))
}
