import { HttpExchange } from '../../edge/http-exchange.ts'
import { networkFix, networkWords, triedAddresses } from '../../edge/network-reason.ts'
import type { Time } from '../../edge/time.ts'
import type { Unpackable } from '../../edge/unpacked-body.ts'
import { answerTimes } from '../../model/answer-times.ts'
import { Fault } from '../../model/fault.ts'
import { basicAuthorization, hostOf, secretPartsOf } from '../../model/host.ts'
import { exceededBound, isRecord, type JsonBounds, parsedJson } from '../../model/json.ts'
import { peerText } from '../../model/text.ts'
import { accountAdvice, BatchRefused, EndpointFailure, keyAdvice, planAdvice, redacted, TimedOut } from './failures.ts'
import {
  answerBoundsOf,
  backoffSecondsOf,
  isRateError,
  parseAnswer,
  type RpcAnswer,
  type RpcError,
  requestText,
  type Wire,
  type WrittenCall,
} from './rpc.ts'

/** Concurrent requests to one endpoint. */
export const requestsAtOnceMax = 8

/** Returns configured headers of an endpoint by name; secrets. May throw a Fault. */
export type OwnHeaders = () => Readonly<Record<string, string>>

/** The headers, read now. @throws EndpointFailure when a secret among them cannot be read */
export function ownHeaders(host: string, own: OwnHeaders): Readonly<Record<string, string>> {
  try {
    return own()
  } catch (error) {
    if (error instanceof Fault) throw new EndpointFailure(host, `cannot be asked: ${error.message}`)
    throw error
  }
}

/** A node's text without the values of headers, which it may repeat when it refuses. */
export function withoutValues(text: string, headers: Readonly<Record<string, string>>): string {
  return Object.values(headers)
    .flatMap(value => secretPartsOf(value))
    .reduce((rest, value) => rest.replaceAll(value, '(redacted)'), text)
}

/** An HTTP server's answer to a JSON-RPC request. */
interface HttpAnswer {
  /** HTTP status. */
  readonly status: number
  /** From `Retry-After`, in milliseconds since 1970. */
  readonly retryAtMs?: number | undefined
  /** Body; undefined when it is longer than the limit. */
  readonly text: string | undefined
}

/** The endpoint and the time of an answer, for messages of failures. */
interface Answering {
  readonly host: string
  /** URL of the endpoint; a secret, removed from every text. */
  readonly url: string
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

/**
 * Answers to calls with the ids 1, 2, …, in this order. Pure.
 *
 * @param count of the calls; a single one was not sent as a batch
 * @param bounds of the answer, as what was asked needs them
 * @throws EndpointFailure; a BatchRefused when fewer calls at a time may pass
 */
export function answersIn(answer: HttpAnswer, count: number, endpoint: Answering, bounds?: JsonBounds): RpcAnswer[] {
  const { status, text, retryAtMs } = answer
  const { host } = endpoint
  const says = `answered HTTP ${status}`
  if (status === 429 || (status === 503 && retryAtMs !== undefined)) {
    const fix = accountAdvice(peerText(text ?? ''))
    throw new EndpointFailure(host, `${says}: it limits how often it is asked`, 'rate', retryAtMs, fix)
  }
  if (status >= 300 && status < 400) throw failed(endpoint, `${says}: redirects are not followed`, redirectAdvice)
  if (status === 413) throw new BatchRefused(host, says, 'chars')
  // A gateway whose node did not answer in time: 522 and 524 are Cloudflare's.
  if ([408, 504, 522, 524].includes(status) && !isJsonRpc(parsedJson(text ?? ''))) throw new TimedOut(host, says)
  if (status === 401 || status === 403) throw failed(endpoint, says, accountAdvice(peerText(text ?? '')) ?? keyAdvice)
  if (status === 402) throw failed(endpoint, says, planAdvice)
  const isFine = status >= 200 && status < 300
  if (text === undefined)
    throw isFine ? new BatchRefused(host, 'answered too much', 'answer') : failed(endpoint, says, statusAdvice(status))
  // Some servers begin their answers with a byte order mark.
  const body = parsedJson(text.replace(/^\uFEFF/, ''), bounds)
  // Some servers send a JSON-RPC error with an HTTP status of its own.
  if (body === undefined && isFine) throw unusable(text, endpoint, bounds)
  if (isFine || isJsonRpc(body)) return answersOf(body, count, endpoint)
  if (count > 1 && (status === 400 || status === 422)) throw new BatchRefused(host, says, 'calls')
  throw failed(endpoint, says, statusAdvice(status))
}

const redirectAdvice = 'put the address that it redirects to under rpc:'
const statusAdvice = (status: number) =>
  status < 500
    ? 'check the path of this address under rpc:'
    : 'the node, or the gateway before it, fails: look into its log; a second endpoint under rpc: takes over'
const answerAdvice =
  'check that this address under rpc: is of a JSON-RPC endpoint, and that no proxy before it changes the answers'

/** The failure of an endpoint whose answers cannot be used. */
function failed({ host }: Pick<Answering, 'host'>, reason: string, fix = answerAdvice): EndpointFailure {
  return new EndpointFailure(host, reason, 'unreachable', undefined, fix)
}

/** The failure of a text without a value: it is not JSON, or beyond the bounds. */
function unusable(text: string, endpoint: Answering, bounds: JsonBounds | undefined): EndpointFailure {
  const bound = bounds && exceededBound(text, bounds)
  if (bound === 'depthMax') return failed(endpoint, 'answered with JSON that nests deeper than any answer')
  if (bound) return new BatchRefused(endpoint.host, 'answered too much', 'answer')
  // Cloudflare's words, whatever the status is.
  if (/^\s*error code: 1015\b/i.test(peerText(text))) {
    return new EndpointFailure(endpoint.host, 'limits how often it is asked (Cloudflare’s error 1015)', 'rate')
  }
  return failed(endpoint, `answered with something that is not JSON${kindOf(text)}`)
}

/** Words for a text that is not JSON. */
function kindOf(text: string): string {
  if (text.trim() === '') return ': it is empty'
  if (/^\s*</.test(text)) return ': it looks like a web page'
  return text.startsWith('\u001f') ? ': it looks compressed, and has no content-encoding' : ''
}

function isJsonRpc(body: unknown): boolean {
  return Array.isArray(body) ? body.length > 0 && body.every(parseAnswer) : parseAnswer(body) !== undefined
}

function answersOf(body: unknown, count: number, endpoint: Answering): RpcAnswer[] {
  return Array.isArray(body) ? batchAnswers(body, count, endpoint) : [soleAnswer(body, count, endpoint)]
}

function soleAnswer(body: unknown, count: number, endpoint: Answering): RpcAnswer {
  const reply = parseAnswer(body)
  if (reply?.answer.kind === 'error') {
    const { error } = reply.answer
    if (count === 1) return reply.answer
    if (isRateError(error)) throw rateFailure(error, endpoint)
    const [reason, fix] = [errorText(error, endpoint.url), accountAdvice(error.message)]
    // Fewer calls do not help, unless it is their number that a plan limits.
    if (fix && !/batch/i.test(error.message))
      throw new EndpointFailure(endpoint.host, reason, 'refused', undefined, fix)
    throw new BatchRefused(endpoint.host, reason, 'calls')
  }
  if (!reply || count > 1) throw failed(endpoint, 'answered with something that is not JSON-RPC')
  if (String(reply.id) !== '1') throw failed(endpoint, 'answered a call that was not asked')
  return reply.answer
}

function batchAnswers(messages: readonly unknown[], count: number, endpoint: Answering): RpcAnswer[] {
  const replies = messages.flatMap(message => parseAnswer(message) ?? [])
  const named = replies.filter(({ id }) => id !== undefined && id !== null)
  const byId = new Map(named.map(({ id, answer }) => [String(id), answer]))
  if (byId.size < named.length) throw failed(endpoint, 'answered one call twice')
  const answers = Array.from({ length: count }, (_, index) => byId.get(String(index + 1)))
  if (answers.every(answer => answer !== undefined)) return answers
  const refusal = replies
    .map(({ answer }) => answer)
    .find(answer => answer.kind === 'error' && isRateError(answer.error))
  if (refusal?.kind === 'error') throw rateFailure(refusal.error, endpoint)
  if (count === 1) throw failed(endpoint, 'left a call without an answer')
  throw new BatchRefused(endpoint.host, 'left calls of a batch without an answer', 'calls')
}

/** The failure that an error about the rate means. */
export function rateFailure(error: RpcError, { host, url, nowMs }: Answering): EndpointFailure {
  const seconds = backoffSecondsOf(error)
  const retryAtMs = seconds === undefined ? undefined : nowMs + seconds * 1000
  return new EndpointFailure(host, errorText(error, url), 'rate', retryAtMs, accountAdvice(error.message))
}

/** A node's error as a text that is safe to show. @param url of the node */
export function errorText({ message, code }: RpcError, url: string): string {
  return `answered an error: ${redacted(message, url)}${Number.isNaN(code) ? '' : ` (${code})`}`
}

/** Bytes of an answer from which on an endpoint sends one at a time: those of all requests would not fit into memory. */
const largeAnswerBytes = 1_048_576

/**
 * JSON-RPC over HTTP: several calls are one batch in one request. Connections are kept alive. Redirects are not
 * followed, as they may lead anywhere. Only the caller's signal limits the time, the body included.
 *
 * viem's client is not used: its errors hold the whole URL.
 */
export function httpWire(url: string, time: Time, configuredHeaders: OwnHeaders = () => ({})): Wire {
  const host = hostOf(url)
  const address = new URL(url)
  // Credentials are sent in a header, not in the address.
  const authorization = basicAuthorization(address)
  const requiredHeaders = {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'content-type': 'application/json',
    ...(authorization && { authorization }),
  }
  const exchange = new HttpExchange({
    url: address.origin,
    connections: requestsAtOnceMax,
    oneAtATimeBytes: largeAnswerBytes,
    time,
  })

  return {
    hasBatches: true,
    async send(calls, stop) {
      const mine = ownHeaders(host, configuredHeaders)
      const bounds = answerBoundsOf(calls.map(({ call }) => call))
      const request = {
        method: 'POST',
        path: `${address.pathname}${address.search}`,
        headers: { ...requiredHeaders, ...mine },
        body: bodyOf(calls),
        bytesMax: bounds.bytesMax,
        stop,
      } as const
      const sentMs = time.nowMs()
      const answer = await exchange.ask(request).catch(error => {
        throw unanswered(error, url)
      })
      const { status, headers, text } = answer
      const nowMs = time.nowMs()
      if (answer.unread) requireReadable(host, answer.unread, String(headers['content-encoding']))
      const { notBeforeMs: retryAtMs } = answerTimes(headers, { sentMs, receivedMs: nowMs })
      const shown = text === undefined ? undefined : withoutValues(text, mine)
      return answersIn({ status, text: shown, retryAtMs }, calls.length, { host, url, nowMs }, bounds)
    },
    close() {
      void exchange.close().catch(() => {})
    },
  }
}

/** A single call is not sent as a batch. */
function bodyOf(calls: readonly WrittenCall[]): string {
  const requests = calls.map((call, index) => requestText(call, index + 1))
  return requests.length === 1 ? requests.join() : `[${requests.join()}]`
}

/** @throws EndpointFailure for a compressed body that cannot be unpacked */
function requireReadable(host: string, unreadReason: Unpackable | 'broken-off', encoding: string): void {
  const encodingText = encoding.slice(0, 20).replace(/[^\w, -]/g, '?')
  if (unreadReason === 'damaged')
    throw failed({ host }, `answered with a body that is not ${encodingText}, as its content-encoding says`)
  if (unreadReason === 'unknown-encoding')
    throw failed({ host }, `answered with the content-encoding ${encodingText}, though it was asked for none`)
}

/** The short reason of an error. Nothing else of it is kept: text, stack and cause may hold the whole URL. */
function unanswered(error: unknown, url: string): EndpointFailure {
  if (error instanceof Fault) {
    const { message, fix } = error
    return new EndpointFailure(
      hostOf(url),
      `does not answer: ${redacted(peerText(message), url)}`,
      'unreachable',
      undefined,
      fix,
    )
  }
  const reasons = causes(error)
  const codeOf = (cause: unknown) => (isRecord(cause) && typeof cause['code'] === 'string' ? cause['code'] : '')
  const causeWithCode = reasons.find(cause => !/^(UND_ERR_ABORTED|$)/.test(codeOf(cause)))
  const code = codeOf(causeWithCode)
  const innermost = reasons.at(-1)
  const message = innermost instanceof Error ? innermost.message : 'no reason given'
  const text = code !== '' ? `${networkWords(code)}${triedAddresses(error)}` : message
  const fix = networkFix(causeWithCode ?? error)
  const advice = fix && `${fix}; a second endpoint under rpc: takes over`
  return new EndpointFailure(
    hostOf(url),
    `does not answer: ${redacted(peerText(text), url)}`,
    'unreachable',
    undefined,
    advice,
  )
}

function causes(error: unknown): unknown[] {
  const chainOfCauses: unknown[] = []
  for (let at = error; at !== undefined && chainOfCauses.length < 10; at = at instanceof Error ? at.cause : undefined) {
    chainOfCauses.push(at, ...(at instanceof AggregateError ? at.errors : []))
  }
  return chainOfCauses
}
