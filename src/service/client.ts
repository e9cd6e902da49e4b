import { Agent, type Dispatcher, request } from 'undici'
import { z } from 'zod'
import { retryAfterInstantMs } from '../model/backoff.ts'
import { Fault } from '../model/fault.ts'
import { answerBytesMax } from '../model/limits.ts'
import type { Answer } from '../model/verdict.ts'
import { type ReadMetric, type Registration, readMetric } from '../model/wire.ts'
import type { Time } from '../time.ts'
import { readBounded } from './bounded.ts'

/** Where the service is, and how patiently it is asked. */
export interface ServiceClientOptions {
  /** Without a trailing slash. */
  readonly url: string
  /** For one request, whole answer. */
  readonly timeoutMs: number
  /** Connections at most. */
  readonly connections: number
  readonly time: Time
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
  register(registration: Registration, key: string): Promise<Answer>
  /** Endpoint 6. */
  validateKey(key: string): Promise<Answer>
  /** Endpoint 4: the latest value of each metric. Rejects with a Fault. */
  widget(protocolId: string, key?: string): Promise<readonly ReadMetric[]>
  /** Complete when it returns. */
  close(): Promise<void>
}

const widgetBody = z.array(readMetric)

/** Makes a client of a service at an address. Redirects are never followed: the key must not go elsewhere. */
export function serviceClient({ url, timeoutMs, connections, time }: ServiceClientOptions): ServiceClient {
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
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    try {
      const timeout = time.timeout(timeoutMs)
      const signal = stop ? AbortSignal.any([timeout, stop]) : timeout
      const response = await request(`${url}${path}`, { method, headers, body: body ?? null, dispatcher, signal })
      const notBeforeMs = retryAfterInstantMs(header(response.headers['retry-after']), time.nowMs())
      return {
        kind: 'answered',
        status: response.statusCode,
        body: parseJson(withoutKey(await readBounded(response.body, answerBytesMax), key)),
        ...(notBeforeMs === undefined ? {} : { notBeforeMs }),
      }
    } catch (error) {
      return { kind: 'unanswered', reason: networkReason(error) }
    }
  }

  return {
    host,
    push: (body, key, stop) => ask('POST', '/api/metrics', key, body, stop),
    register: (registration, key) => ask('POST', '/api/register-protocol', key, JSON.stringify(registration)),
    validateKey: key => ask('GET', '/api/validate-key', key),
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

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

function withoutKey(text: string | undefined, key: string | undefined): string | undefined {
  return key ? text?.replaceAll(key, '[redacted]') : text
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text)
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
