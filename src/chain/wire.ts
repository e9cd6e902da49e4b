/** One JSON-RPC call. */
export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/** A node's answer to one call. An error is an answer too: what it means is decided where the call is known. */
export type RpcAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly error: RpcError }

/** A JSON-RPC error object. */
export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Carries calls to one endpoint: all of them in one round trip, answers in their order. */
export interface Wire {
  /** Rejects with an EndpointFailure, or with whatever when the signal is aborted. Never retries. */
  send(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]>
  close(): void
}

/** A message as JSON-RPC 2.0 describes an answer; undefined for anything else. */
export function parseAnswer(message: unknown): { readonly id: unknown; readonly answer: RpcAnswer } | undefined {
  if (!isRecord(message)) return undefined
  const { id, error, result } = message
  if (isRecord(error)) return { id, answer: { kind: 'error', error: parseError(error) } }
  return 'result' in message ? { id, answer: { kind: 'result', result } } : undefined
}

function parseError({ code, message, data }: Record<string, unknown>): RpcError {
  return { code: Number(code), message: typeof message === 'string' ? message : 'no reason given', data }
}

/** Whether a parsed value is an object with names. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
