import type { SeenBlock } from '../endpoint/certified-code.ts'
import { type CertifiedAnswer, certifiedAnswer, certifiedCode } from '../endpoint/certified-code.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure, type FailureKind, ReadFailure } from '../endpoint/endpoint-failure.ts'
import { nowhere } from '../endpoint/harmless-calls.ts'
import { failureKindOf, meaningOf } from '../endpoint/rpc-errors.ts'
import type { RpcAnswer, RpcCall, RpcOutcome } from '../endpoint/wire.ts'
import type { ReadAnswer, ReadRequest } from '../reads.ts'
import type { BlockHeader } from '../shapes.ts'
import {
  type BlockReference,
  callWithHeader,
  type NamedBlock,
  pinOf,
  pinParam,
  requireKept,
  takesHashes,
} from './block-pin.ts'
import { batchReadsMax } from './limits.ts'
import type { CodeWay, CodeWays, ReadScope } from './read-memory.ts'

/** A read that no contract can fail. */
export const harmless: ReadRequest = { kind: 'call', to: nowhere, input: '0x' }

/** Which code an endpoint runs that certifies reads; asked once, at the block. @throws EndpointFailure */
export async function codeWaysOf(reading: ReadScope): Promise<CodeWays> {
  const { endpoint, block, memory, signal } = reading
  const known = memory.codeWays.get(endpoint)
  if (known) return known
  const pin = pinOf(endpoint)
  const calls = (['override', 'create'] as const).map(way => codeCall(reading, way, harmless, pin))
  const { header, outcomes } = await sent(reading, pin, calls)
  const [override, create] = outcomes.map(certifiedOf)
  const found = override ?? create
  if (!found) for (const outcome of outcomes) throwUnlessRefused(endpoint, outcome)
  const isKnown =
    found && (await certified(reading, pin, header, found.seen).catch(failure => unlessByHash(endpoint, pin, failure)))
  const ways = { override: override !== undefined, create: create !== undefined }
  // Code that answers nothing shows that it is not run, or that there is no state to run it on.
  const isOpen = !found && outcomes.every(isEmpty)
  if (isOpen) await requireKept(endpoint, block, signal)
  if (!isKnown && pin === 'hash' && !(await takesHashes(endpoint, block, signal))) return codeWaysOf(reading)
  if (!isOpen) memory.codeWays.set(endpoint, ways)
  return ways
}

/** Whether an outcome is a result or a revert without data, which code that certifies a read never gives. */
function isEmpty(outcome: RpcOutcome): boolean {
  if (outcome instanceof EndpointFailure) return false
  return outcome.kind === 'result' ? outcome.result === '0x' : meaningOf(outcome.error).kind === 'reverted'
}

/** Undefined where the endpoint was found not to take hashes, so that it is asked by number. */
function unlessByHash({ takesHashes: isTaken }: Endpoint, pin: BlockReference, failure: unknown): undefined {
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
export function codeCall(
  { block, memory }: ReadScope,
  way: CodeWay,
  request: ReadRequest,
  pin: BlockReference,
): RpcCall {
  const [code, at] = [certifiedCode(request), pinParam(block, pin)]
  if (way === 'create') return { method: 'eth_call', params: [{ from: memory.multicall, data: code }, at] }
  const reader =
    request.kind === 'storage' ? request.address : request.kind === 'call-from' ? request.from : memory.multicall
  const sender = request.kind === 'call-from' && { from: request.from }
  return { method: 'eth_call', params: [{ ...sender, to: reader, data: '0x' }, at, { [reader]: { code } }] }
}

/**
 * Executes reads by code that certifies each of them. A read that the code ended without data is a revert without data,
 * and not certain: the gas may have ended it.
 *
 * @throws EndpointFailure when the endpoint is dead, or answers from another block
 */
export async function readInCode(
  reading: ReadScope,
  way: CodeWay,
  requests: readonly ReadRequest[],
  answerMsMax: number | undefined,
): Promise<readonly (ReadAnswer | ReadFailure)[]> {
  const { endpoint } = reading
  const pin = pinOf(endpoint)
  const calls = requests.map(request => codeCall(reading, way, request, pin))
  const { header, outcomes } = await sent(reading, pin, calls, answerMsMax)
  requireAlive(outcomes)
  return Promise.all(
    outcomes.map(async outcome => {
      const found = certifiedOf(outcome)
      if (!found) return failureOfCode(endpoint, outcome)
      await certified(reading, pin, header, found.seen)
      return found.answer
    }),
  )
}

/** The answer of certifying code; undefined for any other. */
export function certifiedOf(outcome: RpcOutcome | undefined): CertifiedAnswer | undefined {
  if (!outcome || outcome instanceof EndpointFailure || outcome.kind === 'error') return undefined
  return certifiedAnswer(outcome.result)
}

function failureOfCode(endpoint: Endpoint, outcome: RpcOutcome): ReadAnswer | ReadFailure {
  if (outcome instanceof EndpointFailure || outcome.kind === 'error') {
    const isOfCode = 'error' in outcome && meaningOf(outcome.error).kind !== 'node'
    return isOfCode ? { kind: 'reverted', output: '0x' } : failureOf(endpoint, outcome, 'node')
  }
  return new ReadFailure(endpoint.host, 'answered a read without the block it is of', 'wrong-block')
}

/** @returns true @throws EndpointFailure when the answer is of another block */
export async function certified(
  reading: ReadScope,
  pin: BlockReference,
  header: BlockHeader | undefined,
  seen: SeenBlock,
): Promise<true> {
  const { endpoint, memory, signal } = reading
  const block = header ? { ...reading.block, parentHash: header.parentHash } : reading.block
  const askAt = (at: NamedBlock) => seenByCode(reading, at)
  await memory.singles.certify({ endpoint, block, pin, signal, askAt, askEvm: askAt }, seen)
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

/**
 * Sends calls in batches of one turn, or each alone, with a witness in each. By number the block's header is read
 * with them.
 */
export async function sent(
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
  const own = witness ? 1 : 0
  return {
    ...(header && { header }),
    outcomes: parts.flatMap(({ outcomes }) => outcomes.slice(own)),
    witnesses: parts.flatMap(({ outcomes }) => outcomes.slice(0, own)),
  }
}

/** Failures that are not of one call: the endpoint cannot answer any read now. */
const ofEndpoint: ReadonlySet<FailureKind> = new Set(['unreachable', 'wrong-id', 'rate'])

/** @throws EndpointFailure when the endpoint answered nothing */
export function requireAlive(outcomes: readonly RpcOutcome[]): void {
  const dead = outcomes.find(outcome => outcome instanceof EndpointFailure && ofEndpoint.has(outcome.kind))
  const isSomeAnswered = outcomes.some(outcome => !(outcome instanceof EndpointFailure))
  if (dead instanceof EndpointFailure && !isSomeAnswered) throw dead
}

/** The failure of one read, while others may be answered. */
export function failureOf(
  endpoint: Endpoint,
  outcome: EndpointFailure | Extract<RpcAnswer, { kind: 'error' }>,
  meaning: 'limit' | 'node',
): ReadFailure {
  const { host } = endpoint
  if (outcome instanceof EndpointFailure) return new ReadFailure(host, outcome.reason, outcome.kind, outcome.retryAtMs)
  const { reason } = endpoint.failure(outcome.error)
  return new ReadFailure(host, reason, meaning === 'limit' ? 'too-much' : failureKindOf(outcome.error))
}
