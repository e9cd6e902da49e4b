import type { Hex } from '../../model/block.ts'
import { isRecord, type JsonBounds } from '../../model/json.ts'
import { type PeerText, peerText } from '../../model/text.ts'
import type { ReadAnswer, SingleRead } from '../reads.ts'
import { isBytes } from '../shapes.ts'
import { accountAdvice, EndpointFailure, type FailureKind } from './failures.ts'

/** Sends calls; resolves to their outcomes, in their order. */
export type SendCalls = (calls: readonly RpcCall[], signal: AbortSignal) => Promise<readonly RpcOutcome[]>

/** Longest answer to one request, in bytes. */
export const chainAnswerBytesMax = 32 * 1_048_576

/** One JSON-RPC call. */
export interface RpcCall {
  /** Like `eth_call`. */
  readonly method: string
  /** As JSON-RPC takes them. */
  readonly params: readonly unknown[]
  /**
   * Limit for the whole answer that contains this one, in bytes; a longer one is too much. Default: by its method.
   */
  readonly answerBytesMax?: number
}

/** A node's answer to one call. An error is an answer, too: its meaning depends on the call. */
export type RpcAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly error: RpcError }

/** A JSON-RPC error object. */
export interface RpcError {
  /** NaN when the node gave none. */
  readonly code: number
  /** In the node's own words; it may hold a secret. */
  readonly message: PeerText
  /** Revert data or details of the node; absent without any. */
  readonly data?: unknown
}

/** Outcome of one call: an answer, or why there is none. */
export type RpcOutcome = RpcAnswer | EndpointFailure

/** The result of a call; undefined for an error, a failure or none. */
export function resultOf(outcome: RpcOutcome | undefined): unknown {
  return outcome && 'result' in outcome ? outcome.result : undefined
}

/** A call with its JSON text, which is written once however often it is sent. */
export interface WrittenCall {
  readonly call: RpcCall
  /** A JSON object without `jsonrpc` and `id`. */
  readonly text: string
}

/** Writes the text of a call. */
export function writtenCall(call: RpcCall): WrittenCall {
  const { method, params } = call
  return { call, text: JSON.stringify({ method, params }) }
}

/** The JSON-RPC request of a call. */
export function requestText({ text }: WrittenCall, id: number): string {
  return `{"jsonrpc":"2.0","id":${id},${text.slice(1)}`
}

/** Sends calls to one endpoint in one round trip; the answers are in their order. */
export interface Wire {
  /** Whether calls that are sent together are one batch, which a node may refuse. */
  readonly hasBatches: boolean
  /**
   * Rejects with an EndpointFailure (a `BatchRefused` when fewer calls at a time may pass), or with any error when the
   * signal is aborted. Never retries.
   */
  send(calls: readonly WrittenCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]>
  /** Closes the connections. Calls under way are rejected. */
  close(): void
}

const mebibyte = 1_048_576

/**
 * Bytes and parts of an answer to one call. Logs of one block cannot be asked for in halves: 30,000 of them have as many
 * parts, and to parse parts of as many names holds the daemon for 0.4 s.
 */
const logBounds = { bytes: 32 * mebibyte, parts: 400_000 }
const boundsOfMethod: Readonly<Record<string, { readonly bytes: number; readonly parts: number }>> = {
  eth_getBlockByNumber: { bytes: 8 * mebibyte, parts: 100_000 },
  eth_getBlockByHash: { bytes: 8 * mebibyte, parts: 100_000 },
  eth_getLogs: logBounds,
  eth_getBlockReceipts: logBounds,
  eth_getTransactionReceipt: logBounds,
}

/** One text, or an error with some details. */
const textBounds = { bytes: 16 * mebibyte, parts: 100 }

/** Bounds of any answer. */
export const answerBoundsMax: JsonBounds = {
  bytesMax: chainAnswerBytesMax,
  depthMax: 32,
  partsMax: logBounds.parts,
}

/** Bounds of the answer to a request with these calls. */
export function answerBoundsOf(calls: readonly Pick<RpcCall, 'method' | 'answerBytesMax'>[]): JsonBounds {
  const each = calls.map(({ method }) => boundsOfMethod[method] ?? textBounds)
  const sum = (of: 'bytes' | 'parts') => each.reduce((total, { [of]: one }) => total + one, 0)
  const own = calls.map(({ answerBytesMax = chainAnswerBytesMax }) => answerBytesMax)
  return {
    bytesMax: Math.min(chainAnswerBytesMax, sum('bytes'), ...own),
    depthMax: answerBoundsMax.depthMax,
    partsMax: Math.min(answerBoundsMax.partsMax, sum('parts')),
  }
}

/** Parses a JSON-RPC 2.0 answer; undefined for anything else. */
export function parseAnswer(message: unknown): { readonly id: unknown; readonly answer: RpcAnswer } | undefined {
  if (!isRecord(message)) return undefined
  const { id, error, result } = message
  if (error !== undefined && error !== null) return { id, answer: { kind: 'error', error: parseError(error) } }
  if ('result' in message) return { id, answer: { kind: 'result', result } }
  // Some nodes omit a result that is null: still an answer to this call, though not a value.
  const isNamed = 'jsonrpc' in message && id !== undefined && id !== null
  return isNamed ? { id, answer: { kind: 'result', result: undefined } } : undefined
}

function parseError(error: unknown): RpcError {
  const { code, message, data } = isRecord(error) ? error : { message: error }
  return { code: Number(code), message: peerText(typeof message === 'string' ? message : 'no reason given'), data }
}

/**
 * `reverted`: the chain's answer. `limit`: a bound of the node on one call, less at once may pass. `node`: a failure of
 * the node.
 */
type ErrorMeaning =
  | { readonly kind: 'reverted'; readonly output: Hex }
  | { readonly kind: 'limit' }
  | { readonly kind: 'node' }

const rates: readonly RegExp[] = [
  /\brate\b.{0,20}(limit|exceed)|(limit|exceed|request).{0,20}\brate\b|ratelimit|throttl|\b429\b|quota|credits/i,
  /too many (\w{1,20} )?(requests?|connections)\b|requests? (count|limit) (exceed|reached)/i,
  /capacity.{0,20}(limit|exceed|reached)|(limit|exceed|reached).{0,40}capacity/i,
  /(per|\/) ?(second|minute|hour|day|month)/i,
]
/** Whether a text has words about calls per time. */
const isOfRate = (text: PeerText) => rates.some(words => words.test(text))
const pruned =
  /trie ?node|prun(ed|ing)|historical|archive|\bstate\b.{0,60}(unavailable|not (available|found)|discarded|missing)|no state/i
const unknownBlock = /(header|block).{0,30}not found|unknown block|could not find block|no such block/i
const limit =
  /out ?of ?gas|gas.{0,20}(limit|cap|allowance|required|too low|exceed)|exceeds?.{0,20}gas|too (large|big|long|many|wide)|(size|length|results|range).{0,30}(exceed|limit|max)|(exceed|larger|more than|limited to|maximum).{0,40}(size|length|bytes|results|blocks|range)|tim(e|ed)[ -]?out/i
const halted =
  /invalid ?(fe)? ?(opcode|code)|opcode.{0,40}not ?(defined|found)|(bad|invalid) ?instruction|(invalid|bad) ?jump|stack ?(under|over)flow|stack limit reached|VM (execution error|Exception)|static ?(call|state)|InsideStatic|write protection|out ?of ?(offset|bounds)|gas uint64 overflow|InvalidOperand|NotActivated|precompile ?(error|failure)|access ?violation|(call|create) ?(too ?deep|collision)|CreateContract|CreateInitCode|max(imum)? (code|initcode) size/i

/**
 * Meaning of an error answer to `eth_call`. Nodes agree on code 3 with the revert data (geth, reth, erigon, anvil);
 * older ones use words, Nethermind and Parity `Reverted 0x…`. The words after `revert` are the contract's, whatever
 * they say.
 */
export function meaningOf({ code, message, data }: RpcError): ErrorMeaning {
  if (isRevert({ code, message, data })) return { kind: 'reverted', output: revertData(data) }
  if (isRateError({ code, message })) return { kind: 'node' }
  if (limit.test(message) && !/out ?of ?bounds/i.test(message)) return { kind: 'limit' }
  return halted.test(message) ? { kind: 'reverted', output: revertData(data) } : { kind: 'node' }
}

/** Whether an error names a revert: the chain's answer to that call, and never a limit. Lotus names the lack of one. */
function isRevert({ code, message, data }: RpcError): boolean {
  return code === 3 || /revert(?! reason=\[none)/i.test(message) || revertPayload.test(revertData(data))
}

/** Data of `Error(string)` and `Panic(uint256)`, which a contract alone gives, whatever the words with it. */
const revertPayload = /^0x(08c379a0|4e487b71)/i

/**
 * Codes that gateways use only for the rate, and -32017 of Nethermind, which has no module free for a call. -32005 is also
 * used for a limit on results; its message tells which.
 */
const rateCodes: ReadonlySet<number> = new Set([429, -32017, -32029, -32097])

/** Whether the node was asked too often: the same call may pass later. */
export function isRateError({ code, message, data }: RpcError): boolean {
  if (isRevert({ code, message, data })) return false
  if (rateCodes.has(code)) return true
  return isOfRate(message) || (code === -32005 && !limit.test(message))
}

/** Words that can only mean a limit on calls per time. */
const plainlyRate = /\brate\b.{0,20}limit|ratelimit|too many requests?\b|requests? (per|rate)|per second|throttl/i
const ofRange = /block|range|result|response|\blogs?\b/i

/**
 * As `isRateError`, for an error to `eth_getLogs`. Words about a limit may mean the range there (-32005 is used for
 * both), and the range is then split. Only an error that is plainly about the rate slows other calls down.
 */
export function isLogRateError({ code, message }: RpcError): boolean {
  if (rateCodes.has(code) || plainlyRate.test(message)) return true
  return isOfRate(message) && !ofRange.test(message)
}

/** Whether an error is about the method, which the node does not serve: -32601, or words that name it. */
export function isMethodRefused({ code, message }: RpcError): boolean {
  return code === -32601 || /\bmethod\b|\beth_/i.test(message)
}

/** Wait that a refusal for the rate asks for in its data, in seconds (Infura and others). */
export function backoffSecondsOf({ data }: RpcError): number | undefined {
  const part = isRecord(data) && isRecord(data['rate']) ? data['rate'] : data
  const seconds = isRecord(part) ? part['backoff_seconds'] : undefined
  return typeof seconds === 'number' && seconds >= 0 ? seconds : undefined
}

/**
 * Likely kind of an error that is neither the chain's answer nor about the rate. It chooses the sentence; whether state
 * is missing is found by asking.
 */
export function failureKindOf({ message }: RpcError): 'pruned' | 'unknown-block' | 'refused' {
  if (pruned.test(message)) return 'pruned'
  return unknownBlock.test(message) ? 'unknown-block' : 'refused'
}

/** Whether an answer is an error whose words have no known meaning: the node may be busy. -32601 is of the method. */
export function isUnexplained(answer: RpcAnswer): boolean {
  if (answer.kind === 'result' || answer.error.code === -32601 || isRateError(answer.error)) return false
  const isOfNode = meaningOf(answer.error).kind === 'node' && failureKindOf(answer.error) === 'refused'
  return isOfNode && accountAdvice(answer.error.message) === undefined
}

function revertData(data: unknown): Hex {
  const text = isRecord(data) ? data['data'] : data
  const hex = typeof text === 'string' ? /^(?:Reverted )?(0x(?:[0-9a-fA-F]{2})*)$/.exec(text)?.[1] : undefined
  return hex === undefined ? '0x' : `0x${hex.slice(2)}`
}

/** The block that a call saw itself run in: the certificate of what it read. */
export interface SeenBlock {
  readonly number: bigint
  /** Seconds since 1970. */
  readonly timestampSeconds: bigint
  /** Zero where a node does not know it; absent where it was not asked for. */
  readonly parentHash?: Hex | undefined
}

/** Sizes of the code of several contracts, a word each: one read. */
export interface CodeSizes {
  readonly kind: 'code-sizes'
  readonly addresses: readonly Hex[]
}

/**
 * EVM code that makes one read and returns it with the number, the timestamp and the parent hash of the block it runs
 * in: value and certificate are of one execution, which no load balancer can divide. It runs as code of the reader
 * (a state override of `eth_call`) and as creation code alike, as all it needs is within it.
 */
export function certifiedCode(request: SingleRead | CodeSizes): Hex {
  switch (request.kind) {
    case 'code-sizes': {
      const words = request.addresses.map((address, place) => `73${digits(address)}3b${push4(0x80 + 0x20 * place)}52`)
      return `0x${words.join('')}6001${certificate}${push4(0x80 + 0x20 * words.length)}6000f3`
    }
    case 'balance':
      return `0x73${digits(request.address)}31${ofWord}`
    case 'code-size':
      return `0x73${digits(request.address)}3b${ofWord}`
    case 'storage':
      return `0x7f${digits(request.slot)}54${ofWord}`
    case 'call':
    case 'call-from': {
      const input = digits(request.input)
      const code = callCode(digits(request.to), input.length / 2, 0)
      return `0x${callCode(digits(request.to), input.length / 2, code.length / 2)}${input}`
    }
  }
}

const digits = (hex: Hex) => hex.slice(2).toLowerCase()
const push4 = (value: number) => `63${value.toString(16).padStart(8, '0')}`

/** MSTORE of success at 0x60, NUMBER at 0, TIMESTAMP at 0x20, BLOCKHASH(NUMBER - 1) at 0x40. */
const certificate = '606052' + '43600052' + '42602052' + '60014303' + '40604052'

/** The word on the stack is the answer, at 0x80: MSTORE, success, certificate, RETURN of five words. */
const ofWord = `608052${'6001'}${certificate}60a06000f3`

/** The input stands after the code: CODECOPY to 0, CALL, certificate, RETURNDATACOPY to 0x80, RETURN. */
function callCode(to: string, inputBytes: number, codeBytes: number): string {
  const copy = `${push4(inputBytes)}${push4(codeBytes)}600039`
  const call = `60006000${push4(inputBytes)}6000600073${to}5af1`
  return `${copy}${call}${certificate}3d600060803e3d6080016000f3`
}

/** An answer to certified code. */
export interface CertifiedAnswer {
  readonly seen: SeenBlock
  readonly answer: ReadAnswer
}

/** Parses the output of certified code; undefined for anything else. */
export function certifiedAnswer(output: unknown): CertifiedAnswer | undefined {
  if (!isBytes(output) || output.length < 2 + 4 * 64) return undefined
  const word = (index: number): Hex => `0x${output.slice(2 + index * 64, 2 + (index + 1) * 64)}`
  const success = BigInt(word(3))
  if (success > 1n) return undefined
  return {
    seen: { number: BigInt(word(0)), timestampSeconds: BigInt(word(1)), parentHash: word(2) },
    answer: { kind: success === 1n ? 'returned' : 'reverted', output: `0x${output.slice(2 + 4 * 64)}` },
  }
}

/** Calls that no contract can fail: they tell what a node has from what it fails at. */

/** Part of a block that a node may keep of some blocks and not of others. */
export type BlockPart = 'state' | 'logs' | 'header'

/** Address of Multicall3 on nearly all chains; the sender of the call, which hardly any node refuses. */
const sender: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11'
/** An address without code: it answers wherever there is state. */
export const nowhere: Hex = `0x${'0'.repeat(40)}`
const noTopic: Hex = `0x${'f'.repeat(64)}`

/** The call for the chain's last block. */
export const headCall: RpcCall = { method: 'eth_getBlockByNumber', params: ['latest', false] }

/** A call that needs the state of a block and nothing else. @param blockParam the block parameter */
export function stateCall(blockParam: unknown): RpcCall {
  return { method: 'eth_call', params: [{ from: sender, to: nowhere, data: '0x00000000' }, blockParam] }
}

/** Whether the state of a block answered: a revert is an answer of it, too. */
export function isServed(outcome: RpcOutcome | undefined): boolean {
  if (!outcome || outcome instanceof EndpointFailure) return false
  if (outcome.kind === 'error') return meaningOf(outcome.error).kind === 'reverted'
  return outcome.result !== null && outcome.result !== undefined
}

/** The call that needs a part of a block and nothing else. */
export function partCall(part: BlockPart, blockParam: Hex | 'latest'): RpcCall {
  if (part === 'state') return stateCall(blockParam)
  if (part === 'header') return { method: 'eth_getBlockByNumber', params: [blockParam, false] }
  const range = { fromBlock: blockParam, toBlock: blockParam }
  return { method: 'eth_getLogs', params: [{ address: nowhere, topics: [noTopic], ...range }] }
}

/** Failures that say nothing about the block. */
const passingKinds: ReadonlySet<FailureKind> = new Set(['unreachable', 'rate', 'slow', 'wrong-id'])

/**
 * Whether an endpoint lacks a part of a block that it has of its last block: one harmless call fails there and is
 * answered here, in one tick, twice. So neither a call that no node can answer, nor a node that fails at everything,
 * nor one of several behind a balancer is taken for missing state.
 */
export async function lacksPart(
  tryCall: SendCalls,
  part: BlockPart,
  number: bigint,
  signal: AbortSignal,
): Promise<boolean> {
  const calls = [headCall, partCall(part, `0x${number.toString(16)}`), partCall(part, 'latest')]
  for (let round = 0; round < 2; round += 1) {
    const [head, there, last] = await tryCall(calls, signal)
    if (!there || isPassing(there) || isServed(there) || !isServed(last) || !isRecord(resultOf(head))) return false
  }
  return true
}

/** Whether an outcome is a failure that says nothing about the block. */
export function isPassing(outcome: RpcOutcome): boolean {
  return outcome instanceof EndpointFailure && passingKinds.has(outcome.kind)
}

/** Code that never reverts and never answers nothing, where it is run: at an address, or as creation code. */
const code = certifiedCode({ kind: 'balance', address: nowhere })

function codeCalls(blockParam: Hex | 'latest'): readonly RpcCall[] {
  return [
    { method: 'eth_call', params: [{ to: nowhere, data: '0x' }, blockParam, { [nowhere]: { code } }] },
    { method: 'eth_call', params: [{ from: sender, data: code }, blockParam] },
  ]
}

/**
 * Whether an endpoint answers calls at a block without running them, with nothing or as reverts, though it runs those at
 * its last block: found as missing state is.
 */
export async function runsNothing(tryCall: SendCalls, number: bigint, signal: AbortSignal): Promise<boolean> {
  const calls = [...codeCalls(`0x${number.toString(16)}`), ...codeCalls('latest')]
  for (let round = 0; round < 2; round += 1) {
    const outcomes = await tryCall(calls, signal)
    const [there, last] = [outcomes.slice(0, 2), outcomes.slice(2)]
    if (outcomes.some(isPassing) || there.some(isRun) || !last.some(isRun)) return false
  }
  return true
}

function isRun(outcome: RpcOutcome): boolean {
  return certifiedAnswer(resultOf(outcome)) !== undefined
}
