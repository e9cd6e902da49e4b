/// <reference path="../../edge/undici-parts.d.ts" />
import type { Agent, Dispatcher } from 'undici'
import { AnswerReader, type HttpBytes } from '../../edge/answer-reader.ts'
import { answerText } from '../../edge/answer-text.ts'
import { networkWords, triedAddresses } from '../../edge/network-reason.ts'
import { Semaphore } from '../../edge/semaphore.ts'
import type { Time } from '../../edge/time.ts'
import { unpackedBody } from '../../edge/unpacked-body.ts'
import { answerTimes } from '../../model/answer-times.ts'
import { basicAuthorization } from '../../model/host.ts'
import { isRecord } from '../../model/json.ts'
import { EndpointFailure, hostOf, redacted } from './endpoint-failure.ts'
import { answersIn, failed } from './http-answer.ts'
import { connectMsMax, largeAnswerBytes, refusalBytesMax, requestsAtOnceMax } from './limits.ts'
import { type OwnHeaders, ownHeaders, withoutValues } from './own-headers.ts'
import { answerBoundsOf, requestText, type Wire, type WrittenCall } from './wire.ts'

/**
 * JSON-RPC over HTTP: several calls are one batch in one request. Connections are kept alive. Redirects are not
 * followed, as they may lead anywhere. Only the caller's signal limits the time, the body included.
 *
 * viem's client is not used: its errors hold the whole URL, and it would encode call data again that was prewritten.
 */
export function httpWire(url: string, time: Time, own: OwnHeaders = () => ({})): Wire {
  const host = hostOf(url)
  const { origin, path, headers } = requestTo(url)
  /** Turns of large answers: those of all requests together would not fit into memory. */
  const large = new Semaphore(1)
  let agent: Agent | undefined
  let isClosed = false

  /** Loads undici for the first request: a daemon starts, and a command may end, before a node is asked. */
  async function opened(): Promise<Agent> {
    const { default: Agent } = await import('undici/lib/dispatcher/agent.js')
    if (isClosed) throw new EndpointFailure(host, 'is closed')
    agent ??= new Agent({
      connections: requestsAtOnceMax,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: connectMsMax },
    })
    return agent
  }

  return {
    async send(calls, signal) {
      const done = Promise.withResolvers<void>()
      try {
        const dispatcher = (isClosed ? undefined : agent) ?? (await opened())
        const sentMs = time.nowMs()
        const mine = ownHeaders(host, own)
        const body = bodyOf(calls)
        const request = { origin, path, method: 'POST', headers: { ...headers, ...mine }, body } as const
        const bounds = answerBoundsOf(calls.map(({ call }) => call))
        const bytesMaxOf = (status: number) => (status < 300 ? bounds.bytesMax : refusalBytesMax)
        const reader = new AnswerReader(bytesMaxOf, {
          bytes: largeAnswerBytes,
          turn: () => turnIn(large, signal, done),
        })
        const { status, pieces, headers: received } = await exchanged(dispatcher, request, reader, signal)
        const receivedMs = time.nowMs()
        const encoding = first(received['content-encoding'])
        const whole =
          pieces && (encoding ? await unpacked(host, pieces, encoding, bytesMaxOf(status)) : answerText(pieces))
        const text = whole && withoutValues(whole, mine)
        const { notBeforeMs: retryAtMs } = answerTimes(received, { sentMs, receivedMs })
        return answersIn({ status, text, retryAtMs }, calls.length, { host, url, nowMs: receivedMs }, bounds)
      } catch (error) {
        throw error instanceof EndpointFailure ? error : unanswered(error, url)
      } finally {
        done.resolve()
      }
    },
    close() {
      isClosed = true
      void agent?.destroy().catch(() => {})
    },
  }
}

/** Sends a request and reads its answer. Rejects with the signal's reason when it is aborted first. */
async function exchanged(
  agent: Agent,
  request: Dispatcher.DispatchOptions,
  reader: AnswerReader,
  signal: AbortSignal,
): Promise<HttpBytes> {
  signal.throwIfAborted()
  const end = () => reader.end(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  try {
    agent.dispatch(request, reader)
    return await reader.answer
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** Resolves when the turn begins, which lasts until `done`. */
function turnIn(turns: Semaphore, signal: AbortSignal, done: PromiseWithResolvers<void>): Promise<void> {
  return new Promise((begin, refuse) => {
    const lasting = turns.with(signal, () => {
      begin()
      return done.promise
    })
    lasting.catch(refuse)
  })
}

/** A single call is not sent as a batch. */
function bodyOf(calls: readonly WrittenCall[]): string {
  const requests = calls.map((call, index) => requestText(call, index + 1))
  return requests.length === 1 ? requests.join() : `[${requests.join()}]`
}

interface RequestTo {
  readonly origin: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** Splits a URL: its credentials are sent in a header, not in the address. */
function requestTo(url: string): RequestTo {
  const address = new URL(url)
  const { origin, pathname, search } = address
  const authorization = basicAuthorization(address)
  const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'content-type': 'application/json' }
  return { origin, path: `${pathname}${search}`, headers: { ...headers, ...(authorization && { authorization }) } }
}

/** Text of a compressed body; undefined when it is longer than the limit. @throws EndpointFailure */
async function unpacked(
  host: string,
  pieces: readonly Buffer[],
  encoding: string,
  bytesMax: number,
): Promise<string | undefined> {
  const bytes = await unpackedBody(Buffer.concat(pieces), encoding, bytesMax)
  if (bytes === 'too-long') return undefined
  if (typeof bytes !== 'string') return bytes.toString('utf8')
  const shown = encoding.slice(0, 20).replace(/[^\w, -]/g, '?')
  if (bytes === 'damaged')
    throw failed({ host }, `answered with a body that is not ${shown}, as its content-encoding says`)
  throw failed({ host }, `answered with the content-encoding ${shown}, though it was asked for none`)
}

const first = (header: string | readonly string[] | undefined) => (typeof header === 'string' ? header : header?.[0])

/** The short reason of an error. Nothing else of it is kept: text, stack and cause may hold the whole URL. */
function unanswered(error: unknown, url: string): EndpointFailure {
  const reasons = causes(error)
  const codes = reasons.map(cause => (isRecord(cause) ? cause['code'] : undefined))
  const code = codes.find(one => typeof one === 'string' && !one.startsWith('UND_ERR_ABORTED'))
  const innermost = reasons.at(-1)
  const message = innermost instanceof Error ? innermost.message : 'no reason given'
  const text = typeof code === 'string' ? `${networkWords(code)}${triedAddresses(error)}` : message
  return new EndpointFailure(hostOf(url), `does not answer: ${redacted(text, url)}`)
}

function causes(error: unknown): unknown[] {
  const found: unknown[] = []
  for (let at = error; at !== undefined && found.length < 10; at = at instanceof Error ? at.cause : undefined) {
    found.push(at, ...(at instanceof AggregateError ? at.errors : []))
  }
  return found
}
