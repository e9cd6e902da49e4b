import { isRecord, type JsonBounds } from '../../model/json.ts'
import type { EndpointFailure } from './endpoint-failure.ts'
import { chainAnswerBytesMax } from './limits.ts'

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
  readonly message: string
  /** Revert data or details of the node; absent without any. */
  readonly data?: unknown
}

/** Outcome of one call: an answer, or why there is none. */
export type RpcOutcome = RpcAnswer | EndpointFailure

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
  return { code: Number(code), message: typeof message === 'string' ? message : 'no reason given', data }
}
