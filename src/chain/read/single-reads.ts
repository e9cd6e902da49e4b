import type { Hex } from '../../model/block.ts'
import type { Fault } from '../../model/fault.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure, type FailureKind, ReadFailure } from '../endpoint/failures.ts'
import {
  type CertifiedAnswer,
  type CodeSizes,
  certifiedAnswer,
  certifiedCode,
  failureKindOf,
  isServed,
  meaningOf,
  nowhere,
  type RpcAnswer,
  type RpcCall,
  type RpcOutcome,
  resultOf,
  type SeenBlock,
  stateCall,
} from '../endpoint/rpc.ts'
import { type ReadAnswer, type SingleRead, targetOf } from '../reads.ts'
import { type BlockHeader, parseBytes, parseWord } from '../shapes.ts'
import {
  type BlockReference,
  callWithHeader,
  type NamedBlock,
  noBlock,
  pinOf,
  pinParam,
  requireKept,
  takesHashes,
} from './certificate.ts'
import type { CodeWay, CodeWays, ReadScope } from './read-memory.ts'

/** Whether an answer within an aggregate may differ from the answer alone. */
export function isUnsure(answer: ReadAnswer | undefined): boolean {
  return answer?.kind === 'reverted' && answer.output === '0x'
}

/** A read that no contract can fail. */
const harmless: SingleRead = { kind: 'call', to: nowhere, input: '0x' }

/** Which code an endpoint runs that certifies reads; asked once, at the block. @throws EndpointFailure */
async function codeWaysOf(reading: ReadScope): Promise<CodeWays> {
  const { endpoint, block, memory, signal } = reading
  const known = memory.codeWays.get(endpoint.node)
  if (known) return known
  const pin = pinOf(endpoint)
  const calls = (['override', 'create'] as const).map(way => codeCall(reading, way, harmless, pin))
  const { header, outcomes } = await sent(reading, pin, calls)
  const [override, create] = outcomes.map(certifiedOf)
  const certifiedRead = override ?? create
  if (!certifiedRead) for (const outcome of outcomes) throwUnlessRefused(endpoint, outcome)
  const isKnown =
    certifiedRead &&
    (await certified(reading, pin, header, certifiedRead.seen).catch(failure => unlessByHash(endpoint, pin, failure)))
  const ways = { override: override !== undefined, create: create !== undefined }
  // Code that answers nothing shows that it is not run, or that there is no state to run it on.
  const isOpen = !certifiedRead && outcomes.every(isEmpty)
  if (isOpen) await requireKept(endpoint, block, signal)
  if (!isKnown && pin === 'hash' && !(await takesHashes(endpoint, block, signal))) return codeWaysOf(reading)
  if (!isOpen) memory.codeWays.set(endpoint.node, ways)
  return ways
}

/** Whether an outcome is a result or a revert without data, which code that certifies a read never gives. */
function isEmpty(outcome: RpcOutcome): boolean {
  if (outcome instanceof EndpointFailure) return false
  return outcome.kind === 'result' ? outcome.result === '0x' : meaningOf(outcome.error).kind === 'reverted'
}

/** Undefined where the endpoint was found not to take hashes, so that it is asked by number. */
function unlessByHash({ node: { takesHashes: isTaken } }: Endpoint, pin: BlockReference, failure: unknown): undefined {
  if (pin === 'hash' && isTaken === false && failure instanceof EndpointFailure && failure.kind === 'wrong-block')
    return
  throw failure
}

/** A failure that does not tell whether the code is understood. */
function throwUnlessRefused(endpoint: Endpoint, outcome: RpcOutcome): void {
  const failure = outcome instanceof EndpointFailure ? outcome : undefined
  if (failure && failure.kind !== 'refused') throw failure
  if (outcome instanceof EndpointFailure || outcome.kind === 'result') return
  if (failureKindOf(outcome.error) !== 'refused') throw endpoint.failure(outcome.error)
}

/** A read by certifying code. Its sender is the one it has within an aggregate: a view may depend on it. */
function codeCall(
  { block, memory }: ReadScope,
  way: CodeWay,
  request: SingleRead | CodeSizes,
  pin: BlockReference,
): RpcCall {
  const [code, blockParam] = [certifiedCode(request), pinParam(block, pin)]
  if (way === 'create') return { method: 'eth_call', params: [{ from: memory.multicall, data: code }, blockParam] }
  const reader =
    request.kind === 'storage' ? request.address : request.kind === 'call-from' ? request.from : memory.multicall
  const sender = request.kind === 'call-from' && { from: request.from }
  return { method: 'eth_call', params: [{ ...sender, to: reader, data: '0x' }, blockParam, { [reader]: { code } }] }
}

/**
 * Executes reads by code that certifies each of them. A read that the code ended without data is a revert without data,
 * and not certain: the gas may have ended it.
 *
 * @throws EndpointFailure when the endpoint is dead, or answers from another block
 */
async function readInCode(
  reading: ReadScope,
  way: CodeWay,
  requests: readonly SingleRead[],
  answerMsMax: number | undefined,
): Promise<readonly (ReadAnswer | ReadFailure)[]> {
  const { endpoint } = reading
  const pin = pinOf(endpoint)
  const groups = groupsOf(requests)
  const calls = groups.map(({ read }) => codeCall(reading, way, read, pin))
  const { header, outcomes } = await sent(reading, pin, calls, answerMsMax)
  requireAlive(outcomes)
  const answers = await Promise.all(
    outcomes.map(async outcome => {
      const certifiedRead = certifiedOf(outcome)
      if (!certifiedRead) return failureOfCode(endpoint, outcome)
      await certified(reading, pin, header, certifiedRead.seen)
      return certifiedRead.answer
    }),
  )
  const ofRequests = new Map(
    groups.flatMap(({ requests }, place) =>
      requests.map((request, index) => [request, ofGroup(answers[place], requests.length, index)] as const),
    ),
  )
  return requests.map(request => ofRequests.get(request) ?? noValue(endpoint))
}

/** Contracts whose code is measured in one call: 100 take 300,000 gas, and their code is shorter than any limit. */
const codeSizesMax = 100

/** A read by code, and the requests that it answers. */
interface CodeGroup {
  readonly read: SingleRead | CodeSizes
  readonly requests: readonly SingleRead[]
}

/** Sizes of code are read together; any other read alone. */
function groupsOf(requests: readonly SingleRead[]): readonly CodeGroup[] {
  const sizes = requests.filter(request => request.kind === 'code-size')
  const plainReads = requests.filter(request => request.kind !== 'code-size')
  const parts = Array.from({ length: Math.ceil(sizes.length / codeSizesMax) }, (_, index) =>
    sizes.slice(index * codeSizesMax, (index + 1) * codeSizesMax),
  )
  return [
    ...plainReads.map(request => ({ read: request, requests: [request] })),
    ...parts.map(part => ({
      read: { kind: 'code-sizes', addresses: part.map(({ address }) => address) } as const,
      requests: part,
    })),
  ]
}

/** The answer of one request of a group: a failure is that of each, and so is a revert, which is repeated alone. */
function ofGroup(
  answer: ReadAnswer | ReadFailure | undefined,
  count: number,
  index: number,
): ReadAnswer | ReadFailure | undefined {
  if (count === 1 || answer === undefined || answer instanceof ReadFailure || answer.kind === 'reverted') return answer
  if (answer.output.length !== 2 + 64 * count) return undefined
  return { ...answer, output: `0x${answer.output.slice(2 + 64 * index, 2 + 64 * (index + 1))}` }
}

function noValue({ host }: Endpoint): ReadFailure {
  return new ReadFailure(host, 'answered a read with something that is not a value', 'refused')
}

/** The answer of certifying code; undefined for any other. */
function certifiedOf(outcome: RpcOutcome | undefined): CertifiedAnswer | undefined {
  return certifiedAnswer(resultOf(outcome))
}

function failureOfCode(endpoint: Endpoint, outcome: RpcOutcome): ReadAnswer | ReadFailure {
  if (outcome instanceof EndpointFailure || outcome.kind === 'error') {
    const isOfCode = 'error' in outcome && meaningOf(outcome.error).kind !== 'node'
    return isOfCode ? { kind: 'reverted', output: '0x' } : failureOf(endpoint, outcome, 'node')
  }
  return new ReadFailure(endpoint.host, 'answered a read without the block it is of', 'wrong-block')
}

/** @returns true @throws EndpointFailure when the answer is of another block */
async function certified(
  reading: ReadScope,
  pin: BlockReference,
  header: BlockHeader | undefined,
  seenBlock: SeenBlock,
): Promise<true> {
  const { endpoint, memory, signal } = reading
  const block = header ? { ...reading.block, parentHash: header.parentHash } : reading.block
  const askAt = (at: NamedBlock) => seenByCode(reading, at)
  await memory.singles.certify({ endpoint, block, pin, signal, askAt, askEvm: askAt }, seenBlock)
  return true
}

/** The block that certifying code sees at a block, named by its hash. */
export async function seenByCode(reading: ReadScope, at: NamedBlock): Promise<SeenBlock | undefined> {
  const there = { ...reading, block: { ...at, timestampSeconds: 0 } }
  const calls = (['override', 'create'] as const).map(way => codeCall(there, way, harmless, 'hash'))
  const { outcomes } = await sent(there, 'hash', calls)
  return outcomes.map(certifiedOf).find(found => found !== undefined)?.seen
}

interface Sent {
  /** Of the block, where it was named by number. */
  readonly header?: BlockHeader
  readonly outcomes: readonly RpcOutcome[]
  /** Outcomes of the witness, one a request. */
  readonly witnesses: readonly RpcOutcome[]
}

/** Reads in one JSON-RPC batch where Multicall3 is not deployed; public nodes refuse larger batches. */
const batchReadsMax = 50

/**
 * Sends calls in batches of one tick, or each alone, with a witness in each. By number the block's header is read
 * with them.
 */
async function sent(
  { endpoint, block, signal }: ReadScope,
  pin: BlockReference,
  calls: readonly RpcCall[],
  answerMsMax?: number,
  witness?: RpcCall,
): Promise<Sent> {
  const size = answerMsMax === undefined ? batchReadsMax : 1
  const starts = Array.from({ length: Math.ceil(calls.length / size) }, (_, index) => index * size)
  const parts = await Promise.all(
    starts.map(async start => {
      const part = [...(witness ? [witness] : []), ...calls.slice(start, start + size)]
      if (pin === 'number') return callWithHeader(endpoint, block, part, signal, answerMsMax)
      return { header: undefined, outcomes: await endpoint.tryCall(part, signal, answerMsMax) }
    }),
  )
  const header = parts[0]?.header
  const witnessCount = witness ? 1 : 0
  return {
    ...(header && { header }),
    outcomes: parts.flatMap(({ outcomes }) => outcomes.slice(witnessCount)),
    witnesses: parts.flatMap(({ outcomes }) => outcomes.slice(0, witnessCount)),
  }
}

/** Failures that are not of one call: the endpoint cannot answer any read now. */
const ofEndpoint: ReadonlySet<FailureKind> = new Set(['unreachable', 'wrong-id', 'rate'])

/** @throws EndpointFailure when the endpoint answered nothing */
function requireAlive(outcomes: readonly RpcOutcome[]): void {
  const dead = outcomes.find(outcome => outcome instanceof EndpointFailure && ofEndpoint.has(outcome.kind))
  const isSomeAnswered = outcomes.some(outcome => !(outcome instanceof EndpointFailure))
  if (dead instanceof EndpointFailure && !isSomeAnswered) throw dead
}

/** The failure of one read, while others may be answered. */
function failureOf(
  endpoint: Endpoint,
  outcome: EndpointFailure | Extract<RpcAnswer, { kind: 'error' }>,
  meaning: 'limit' | 'node',
): ReadFailure {
  const { host } = endpoint
  if (outcome instanceof EndpointFailure) return new ReadFailure(host, outcome.reason, outcome.kind, outcome.retryAtMs)
  const { reason } = endpoint.failure(outcome.error)
  return new ReadFailure(host, reason, meaning === 'limit' ? 'too-much' : failureKindOf(outcome.error))
}

/** Answer to one read, or why it failed although others succeed: a failure of one endpoint, or a Fault of all. */
export type ReadOutcome = ReadAnswer | EndpointFailure | Fault

/** Whether a read was answered, a revert included. */
export function isAnswer(outcome: ReadOutcome | undefined): outcome is ReadAnswer {
  return outcome !== undefined && !(outcome instanceof Error)
}

/**
 * Executes reads one by one, each as its own call of a JSON-RPC batch, all batches in one tick: where Multicall3 is not
 * deployed, and where an aggregate's answer is not certain. A failed read does not affect the others. Every answer
 * carries the certificate of its block, or is pinned by a hash that the endpoint was shown to honour.
 *
 * @param answerMsMax time limit of each read, which is then a request of its own, so that a slow one delays no other
 * @throws EndpointFailure when the endpoint is dead, has another block, or cannot show which block it reads
 */
export async function readOneByOne(
  reading: ReadScope,
  requests: readonly SingleRead[],
  answerMsMax?: number,
): Promise<readonly ReadOutcome[]> {
  const ways = await codeWaysOf(reading)
  const way = await certifyingWay(reading, ways)
  const isInCode = requests.map(request => way !== undefined && canBeInCode(reading, way, request))
  const [inCode, direct] = [
    requests.filter((_, place) => isInCode[place]),
    requests.filter((_, place) => !isInCode[place]),
  ]
  const [ofCode, ofDirect] = await Promise.all([
    way && inCode.length > 0 ? readInCode(reading, way, inCode, answerMsMax) : [],
    direct.length > 0 ? readDirectly(reading, { ways, answerMsMax }, direct) : [],
  ])
  const [certified, pinned] = [ofCode.values(), ofDirect.values()]
  const outcomes = isInCode.flatMap(inside => (inside ? certified : pinned).next().value ?? [])
  const isUnsureAt = requests.map((request, place) => {
    const outcome = outcomes[place]
    if (isInCode[place] !== true || !isAnswer(outcome) || !isUnsure(outcome)) return false
    return request.kind === 'code-size' || !reading.memory.isKnownRevert(request)
  })
  const unsure = requests.filter((_, place) => isUnsureAt[place])
  // Alone and without code around it, the node says whether the contract or the gas ended it.
  const alone = unsure.length > 0 ? await readDirectly(reading, { ways, answerMsMax, isRevert: true }, unsure) : []
  const again = alone.values()
  return outcomes.map((outcome, place) => (isUnsureAt[place] ? (again.next().value ?? outcome) : outcome))
}

/** The code that certifies reads; undefined where reads are pinned by hash alone. @throws EndpointFailure if neither */
async function certifyingWay({ endpoint, block, signal }: ReadScope, ways: CodeWays): Promise<CodeWay | undefined> {
  if (ways.override) return 'override'
  if (ways.create) return 'create'
  if (await takesHashes(endpoint, block, signal)) return undefined
  const reason = 'cannot show which block it reads: it takes neither the hash of a block nor code that certifies it'
  throw new EndpointFailure(endpoint.host, reason, 'wrong-block')
}

/**
 * Whether code can make a read as it is. Code in the place of a sender hides the sender's own: where the sender matters
 * and hashes are taken, the read is pinned by hash.
 */
function canBeInCode({ endpoint, memory }: ReadScope, way: CodeWay, request: SingleRead): boolean {
  // Code in its place would be that of the certificate.
  if (request.kind === 'call' || request.kind === 'code-size')
    return targetOf(request).toLowerCase() !== memory.multicall.toLowerCase()
  if (request.kind === 'balance') return !memory.balancesApart
  return way === 'override' && (request.kind === 'storage' || endpoint.node.takesHashes === false)
}

interface DirectReads {
  readonly ways: CodeWays
  /** Time limit of each read in a request of its own; absent when they share requests. */
  readonly answerMsMax: number | undefined
  /** Whether a certificate says already that they revert, so that no other is needed for that. */
  readonly isRevert?: boolean
}

const readsNoBlock = 'answers for a hash that no block has: what it reads is not certain to be of the block asked for'

/**
 * Executes reads as calls of their own, pinned by hash. The certificate of a neighbour in each request must agree where
 * the endpoint gives one, else each request has a call at a hash that no block has, which must be refused. Where hashes
 * are not taken no answer is believed.
 */
async function readDirectly(
  reading: ReadScope,
  { ways, answerMsMax, isRevert = false }: DirectReads,
  requests: readonly SingleRead[],
): Promise<readonly ReadOutcome[]> {
  const { endpoint, block, memory, signal } = reading
  const isPinned = await takesHashes(endpoint, block, signal)
  const pin = isPinned ? 'hash' : 'number'
  const way = ways.override ? 'override' : ways.create ? 'create' : undefined
  const witness = way ? codeCall(reading, way, harmless, pin) : stateCall(pinParam(noBlock, 'hash'))
  const calls = requests.map(request => directCall(request, block, pin, memory.multicall))
  const { outcomes, witnesses } = await sent(reading, pin, calls, answerMsMax, isPinned ? witness : undefined)
  for (const answer of witnesses) {
    const found = certifiedOf(answer)
    if (found) await certified(reading, pin, undefined, found.seen)
    // Another node at the same address may not take hashes.
    if (!way && isServed(answer)) throw new EndpointFailure(endpoint.host, readsNoBlock, 'wrong-block')
  }
  requireAlive(outcomes)
  return requests.map((request, place) => {
    const outcome = outcomeOf(endpoint, request, outcomes[place])
    if (isPinned || !isAnswer(outcome) || (isRevert && outcome.kind === 'reverted')) return outcome
    return new ReadFailure(endpoint.host, 'does not take the hash of a block: this read is not certain', 'wrong-block')
  })
}

/** The call of a read. Unless it has a sender of its own, it is the same as within an aggregate: a view may depend on it. */
function directCall(request: SingleRead, block: NamedBlock, pin: BlockReference, multicall: Hex): RpcCall {
  const blockParam = pinParam(block, pin)
  switch (request.kind) {
    case 'balance':
      return { method: 'eth_getBalance', params: [request.address, blockParam] }
    case 'storage':
      return { method: 'eth_getStorageAt', params: [request.address, request.slot, blockParam] }
    case 'code-size':
      return { method: 'eth_getCode', params: [request.address, blockParam] }
    case 'call':
    case 'call-from': {
      const from = request.kind === 'call' ? multicall : request.from
      return { method: 'eth_call', params: [{ from, to: request.to, data: request.input }, blockParam] }
    }
  }
}

/** Sends calls in one batch with the block's header, whose hash must match. @throws EndpointFailure */
export async function callAt(
  endpoint: Endpoint,
  block: NamedBlock,
  calls: readonly RpcCall[],
  signal: AbortSignal,
): Promise<readonly RpcAnswer[]> {
  const { outcomes } = await callWithHeader(endpoint, block, calls, signal)
  return outcomes.map(outcome => {
    if (outcome instanceof EndpointFailure) throw outcome
    return outcome
  })
}

function outcomeOf(endpoint: Endpoint, { kind }: SingleRead, outcome: RpcOutcome | undefined): ReadOutcome {
  const isCall = kind === 'call' || kind === 'call-from'
  if (outcome instanceof EndpointFailure) return failureOf(endpoint, outcome, 'node')
  if (outcome?.kind === 'error') {
    const meaning = isCall ? meaningOf(outcome.error) : { kind: 'node' as const }
    return meaning.kind === 'reverted' ? meaning : failureOf(endpoint, outcome, meaning.kind)
  }
  const output = isCall
    ? parseBytes(outcome?.result)
    : kind === 'code-size'
      ? sizeOf(parseBytes(outcome?.result))
      : parseWord(outcome?.result)
  return output ? { kind: 'returned', output } : noValue(endpoint)
}

/** The number of bytes as a word. */
function sizeOf(bytes: Hex | undefined): Hex | undefined {
  return bytes && `0x${((bytes.length - 2) / 2).toString(16).padStart(64, '0')}`
}
