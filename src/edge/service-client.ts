import { Agent, type Dispatcher, request } from 'undici'
import { z } from 'zod'
import { answerTimes } from '../model/answer-times.ts'
import { Fault } from '../model/fault.ts'
import { answerBytesMax } from '../model/limits.ts'
import type { Answer } from '../model/verdict.ts'
import { type ReadMetric, type Registration, readMetric } from '../model/wire.ts'
import { readBounded } from './bounded-body.ts'
import type { Time } from './time.ts'

/** Address and limits of a service client. */
export interface ServiceClientOptions {
  /** Address of the service, without a trailing slash. */
  readonly url: string
  /** Time limit of one request, whole answer included, in milliseconds. */
  readonly timeoutMs: number
  /** Concurrent connections, at most. */
  readonly connections: number
  readonly time: Time
  /**
   * Removes secrets from an answer, including earlier keys and those of other destinations. Default: only the request's
   * key.
   */
  readonly redact?: (text: string) => string
}

/**
 * The endpoints of the service that the daemon uses. A key is an argument of each call and is not stored; a key
 * repeated in an answer is removed.
 */
export interface ServiceClient {
  /** `host:port`, for messages. */
  readonly host: string
  /** Endpoint 2: pushes a batch. Never rejects: every outcome is an answer, also a stop. */
  push(body: string, key: string, stop: AbortSignal): Promise<Answer>
  /** Endpoint 1: registers a protocol. Never rejects. */
  register(registration: Registration, key: string, stop?: AbortSignal): Promise<Answer>
  /** Endpoint 6: checks a key. Never rejects. */
  validateKey(key: string, stop?: AbortSignal): Promise<Answer>
  /** Endpoint 4: the latest value of each metric. Rejects with a Fault. */
  widget(protocolId: string, key?: string): Promise<readonly ReadMetric[]>
  /** Closes the connections; resolves when they are closed. */
  close(): Promise<void>
}

/** A client that also asks what the service has, in whatever shape it answers. */
export interface ListingClient extends ServiceClient {
  /** Endpoint 3: what is stored for a key. Never rejects. */
  stored(key: string): Promise<Answer>
  /** Endpoint 4: the latest value of each metric. Never rejects. */
  latest(protocolId: string, key?: string): Promise<Answer>
}

const widgetBody = z.array(readMetric)

/** Creates a client of the service at an address. Redirects are never followed: the key must not be sent elsewhere. */
export function serviceClient({ url, timeoutMs, connections, time, redact }: ServiceClientOptions): ListingClient {
  const dispatcher = new Agent({ connections, pipelining: 1, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
  const host = new URL(url).host

  async function ask(
    method: Dispatcher.HttpMethod,
    path: string,
    key: string | undefined,
    body?: string,
    stop?: AbortSignal,
  ): Promise<Answer> {
    const headers = {
      accept: 'application/json',
      // Without this header any encoding would be acceptable.
      'accept-encoding': 'identity',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    try {
      const timeout = time.timeout(timeoutMs)
      const sentMs = time.nowMs()
      const signal = stop ? AbortSignal.any([timeout, stop]) : timeout
      const response = await request(`${url}${path}`, { method, headers, body: body ?? null, dispatcher, signal })
      const receivedMs = time.nowMs()
      const { statusCode: status } = response
      const text = await readBounded(response.body, answerBytesMax).catch(error => {
        // A refusing status is enough; of an accepted push the body is needed.
        if (status < 300) throw error
        return undefined
      })
      return {
        kind: 'answered',
        status,
        body: withoutKey(parseJson(redact && text ? redact(text) : text), key),
        ...answerTimes(response.headers, { sentMs, receivedMs }),
      }
    } catch (error) {
      return { kind: 'unanswered', reason: networkReason(error) }
    }
  }

  const latest = (protocolId: string, key?: string) =>
    ask('GET', `/metrics/byProtocol/${encodeURIComponent(protocolId)}`, key)

  return {
    host,
    push: (body, key, stop) => ask('POST', '/api/metrics', key, body, stop),
    register: (registration, key, stop) =>
      ask('POST', '/api/register-protocol', key, JSON.stringify(registration), stop),
    validateKey: (key, stop) => ask('GET', '/api/validate-key', key, undefined, stop),
    stored: key => ask('GET', '/api/metrics', key),
    latest,
    async widget(protocolId, key) {
      return readWidget(await latest(protocolId, key), host, protocolId)
    },
    close: () => dispatcher.destroy(),
  }
}

function readWidget(answer: Answer, host: string, protocolId: string): readonly ReadMetric[] {
  if (answer.kind === 'unanswered') {
    throw new Fault('service-unreachable', `${host} does not answer: ${answer.reason}`, {
      fix: 'check service.url and the network',
    })
  }
  const { status } = answer
  if (status === 401) throw new Fault('service-key-refused', `${host} refused the key`, { fix: 'check the key' })
  if (status === 404) {
    throw new Fault('service-refused', `${host} knows no protocol "${protocolId}"`, {
      fix: `tidegauge register ${protocolId}`,
    })
  }
  if (status >= 500) throw new Fault('service-unreachable', `${host} answered ${status}`, { fix: 'try again later' })
  const widget = widgetBody.safeParse(answer.body)
  if (status !== 200 || !widget.success) {
    throw new Fault('service-refused', `${host} gave no widget of "${protocolId}"`, { facts: { status } })
  }
  return widget.data
}

/** A body without the key; `undefined` when it nests too deeply to be searched. */
function withoutKey(body: unknown, key: string | undefined): unknown {
  if (!key || body === undefined) return body
  try {
    // Serialised again, so that the key can be spelled in only one way.
    const [text, spelled] = [JSON.stringify(body), JSON.stringify(key).slice(1, -1)]
    return text.includes(spelled) ? JSON.parse(text.replaceAll(spelled, '[redacted]')) : body
  } catch {
    return undefined
  }
}

function parseJson(text: string | undefined): unknown {
  try {
    // Some servers send a byte order mark first, which JSON does not allow.
    return text === undefined ? undefined : JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    return undefined
  }
}

/** Why there was no answer, without an address or a header. */
function networkReason(error: unknown): string {
  const { name, code, cause } = error as { name?: string; code?: string; cause?: { code?: string } }
  if (name === 'TimeoutError' || code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return 'no answer in time'
  return `no answer (${code ?? cause?.code ?? name ?? 'unknown error'})`
}
