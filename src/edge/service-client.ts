import { Agent, type Dispatcher, request } from 'undici'
import { z } from 'zod'
import { answerTimes } from '../model/answer-times.ts'
import { Fault } from '../model/fault.ts'
import { answerBytesMax } from '../model/limits.ts'
import type { Answer } from '../model/verdict.ts'
import { type ReadMetric, type Registration, readMetric } from '../model/wire.ts'
import { readBounded } from './bounded-body.ts'
import type { Time } from './time.ts'

/** Where the service is, and how patiently it is asked. */
export interface ServiceClientOptions {
  /** Without a trailing slash. */
  readonly url: string
  /** For one request, whole answer. */
  readonly timeoutMs: number
  /** Connections at most. */
  readonly connections: number
  readonly time: Time
  /** Takes secrets out of an answer: also keys of other destinations, and earlier ones. */
  readonly redact?: (text: string) => string
}

/**
 * The endpoints of the service that the daemon uses. A key is an argument of each call and is never kept; where the service repeats it in
 * an answer it is taken out.
 */
export interface ServiceClient {
  /** `host:port`, for people. */
  readonly host: string
  /** Endpoint 2. Never rejects: whatever happens is an answer, also being stopped. */
  push(body: string, key: string, stop: AbortSignal): Promise<Answer>
  /** Endpoint 1. */
  register(registration: Registration, key: string, stop?: AbortSignal): Promise<Answer>
  /** Endpoint 6. */
  validateKey(key: string, stop?: AbortSignal): Promise<Answer>
  /** Endpoint 4: the latest value of each metric. Rejects with a Fault. */
  widget(protocolId: string, key?: string): Promise<readonly ReadMetric[]>
  /** Complete when it returns. */
  close(): Promise<void>
}

const widgetBody = z.array(readMetric)

/** Makes a client of a service at an address. Redirects are never followed: the key must not go elsewhere. */
export function serviceClient({ url, timeoutMs, connections, time, redact }: ServiceClientOptions): ServiceClient {
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
      // Without it any encoding would be acceptable.
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
        // A status that refuses says all; of a push that is accepted the rest is needed.
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

  return {
    host,
    push: (body, key, stop) => ask('POST', '/api/metrics', key, body, stop),
    register: (registration, key, stop) =>
      ask('POST', '/api/register-protocol', key, JSON.stringify(registration), stop),
    validateKey: (key, stop) => ask('GET', '/api/validate-key', key, undefined, stop),
    async widget(protocolId, key) {
      const answer = await ask('GET', `/metrics/byProtocol/${encodeURIComponent(protocolId)}`, key)
      return readWidget(answer, host, protocolId)
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

/** A body without the key; `undefined` for one that nests too deeply to be searched. */
function withoutKey(body: unknown, key: string | undefined): unknown {
  if (!key || body === undefined) return body
  try {
    // Written anew, so that there is one way in which the key can be spelled.
    const [text, spelled] = [JSON.stringify(body), JSON.stringify(key).slice(1, -1)]
    return text.includes(spelled) ? JSON.parse(text.replaceAll(spelled, '[redacted]')) : body
  } catch {
    return undefined
  }
}

function parseJson(text: string | undefined): unknown {
  try {
    // Some servers write a byte order mark first, which JSON does not allow and nobody means.
    return text === undefined ? undefined : JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    return undefined
  }
}

/** Why there was no answer, without an address or a header in it. */
function networkReason(error: unknown): string {
  const { name, code, cause } = error as { name?: string; code?: string; cause?: { code?: string } }
  if (name === 'TimeoutError' || code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return 'no answer in time'
  return `no answer (${code ?? cause?.code ?? name ?? 'unknown error'})`
}
