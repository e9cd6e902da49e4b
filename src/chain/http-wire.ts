import { getHttpRpcClient } from 'viem/utils'
import { EndpointFailure, hostOf, redacted } from './endpoint-failure.ts'
import { chainAnswerBytesMax } from './limits.ts'
import { isRecord, parseAnswer, type RpcAnswer, type RpcCall, type Wire } from './wire.ts'

/**
 * JSON-RPC over HTTP: several calls are one batch, one request. A node that refuses batches is asked one by one from
 * then on.
 *
 * viem's own time-out is off: it ends with the headers, while the signal covers the body too.
 */
export function httpWire(url: string): Wire {
  const host = hostOf(url)
  // A redirect may lead anywhere, and turns a POST into a GET.
  const fetchOptions = { redirect: 'error' } as const
  const client = getHttpRpcClient(url, { timeout: 0, maxResponseBodySize: chainAnswerBytesMax })
  let batches = true

  async function post(body: unknown, signal: AbortSignal): Promise<unknown> {
    try {
      return await client.request({ body: body as RpcBody, fetchOptions: { ...fetchOptions, signal } })
    } catch (error) {
      throw failure(error, url)
    }
  }

  async function one(call: RpcCall, signal: AbortSignal): Promise<RpcAnswer> {
    const parsed = parseAnswer(await post({ id: 1, ...call }, signal))
    if (!parsed) throw new EndpointFailure(host, 'answered with something that is not JSON-RPC')
    return parsed.answer
  }

  async function send(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]> {
    if (calls.length === 1 || !batches) return Promise.all(calls.map(call => one(call, signal)))
    const answer = await post(
      calls.map((call, index) => ({ id: index + 1, ...call })),
      signal,
    )
    if (Array.isArray(answer)) return inOrder(answer, calls.length, host)
    const parsed = parseAnswer(answer)
    if (parsed?.answer.kind !== 'error') {
      throw new EndpointFailure(host, 'answered with something that is not JSON-RPC')
    }
    const { code, message, data } = parsed.answer.error
    if (code !== -32600 && !/batch/i.test(message)) {
      return calls.map(() => ({ kind: 'error', error: { code, message, data } }))
    }
    batches = false
    return send(calls, signal)
  }

  return { send, close: () => {} }
}

type RpcBody = { method: string; params?: unknown; id?: number }

function inOrder(messages: readonly unknown[], count: number, host: string): RpcAnswer[] {
  const byId = new Map(messages.map(parseAnswer).map(parsed => [parsed?.id, parsed?.answer]))
  return Array.from({ length: count }, (_, index) => {
    const answer = byId.get(index + 1)
    if (!answer) throw new EndpointFailure(host, 'left calls of a batch without an answer')
    return answer
  })
}

/** viem/utils does not export its error classes; they are told by their names. */
type ViemError = Error & { readonly status?: number }

/** The short reason out of viem's error, and nothing else of it: its text, stack and cause hold the whole URL. */
function failure(error: unknown, url: string): EndpointFailure {
  const host = hostOf(url)
  const { name, status } = error instanceof Error ? (error as ViemError) : {}
  if (name === 'ResponseBodyTooLargeError') return new EndpointFailure(host, 'answered too much', 'too-much')
  if (name === 'HttpRequestError' && status !== undefined) {
    return new EndpointFailure(host, `answered HTTP ${status}`, status === 413 ? 'too-much' : 'unreachable')
  }
  const reasons = causes(error)
  if (reasons.some(cause => cause instanceof SyntaxError)) {
    return new EndpointFailure(host, 'answered with something that is not JSON')
  }
  const code = reasons
    .map(cause => (isRecord(cause) ? cause['code'] : undefined))
    .find(code => typeof code === 'string')
  if (code) return new EndpointFailure(host, `does not answer: ${redacted(String(code), url)}`)
  const innermost = reasons.at(-1)
  const text = innermost instanceof Error ? redacted(innermost.message, url) : 'no reason given'
  return new EndpointFailure(host, `does not answer: ${text}`)
}

function causes(error: unknown): unknown[] {
  const found: unknown[] = []
  for (let at = error; at !== undefined && found.length < 10; at = at instanceof Error ? at.cause : undefined) {
    found.push(at, ...(at instanceof AggregateError ? at.errors : []))
  }
  return found
}
