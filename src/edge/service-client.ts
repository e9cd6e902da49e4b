import { z } from 'zod'
import { answerTimes } from '../model/answer-times.ts'
import { Fault } from '../model/fault.ts'
import { jsonOf } from '../model/json.ts'
import { answerBytesMax } from '../model/limits.ts'
import { peerText } from '../model/text.ts'
import { type Answer, foreignFact, isForeign } from '../model/verdict.ts'
import { type ReadMetric, type Registration, readMetric } from '../model/wire.ts'
import { describedAnswer } from './described-answer.ts'
import type { ClientCertificate } from './egress.ts'
import { type ExchangeRequest, HttpExchange } from './http-exchange.ts'
import { networkFix, networkReason } from './network-reason.ts'
import type { Time } from './time.ts'

/** Address and limits of a service client. */
interface ServiceClientOptions {
  /** Address of the service, without a trailing slash. */
  readonly url: string
  /** Time limit of one request, whole answer included, in milliseconds. */
  readonly timeoutMs: number
  /** Concurrent connections, at most. */
  readonly connections: number
  readonly time: Time
  /** Headers of every request, read for each. Secret; may throw a Fault. Default: none. */
  readonly headers?: (() => Readonly<Record<string, string>>) | undefined
  /** Reads the certificate of this client for each connection; may throw a Fault. Default: none is shown. */
  readonly certificate?: (() => ClientCertificate) | undefined
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
  /** Endpoint 2: pushes a batch, as JSON. Never rejects: every outcome is an answer, also a stop. */
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
export function serviceClient(options: ServiceClientOptions): ListingClient {
  const { url, timeoutMs, connections, time, redact, headers: extraHeaders, certificate } = options
  const exchange = new HttpExchange({ url, timeoutMs, connections, time, certificate })
  const host = new URL(url).host

  async function ask(
    method: ExchangeRequest['method'],
    path: string,
    key: string | undefined,
    body?: string,
    stop?: AbortSignal,
  ): Promise<Answer> {
    try {
      // Without an encoding any would be acceptable.
      const headers: Record<string, string> = {
        ...extraHeaders?.(),
        accept: 'application/json',
        'accept-encoding': 'identity',
      }
      if (key !== undefined) headers['authorization'] = `Bearer ${key}`
      if (body !== undefined) headers['content-type'] = 'application/json'
      const sentMs = time.nowMs()
      const answer = await exchange.ask({ method, path, headers, body, bytesMax: answerBytesMax, stop })
      const trip = { sentMs, receivedMs: time.nowMs() }
      const { status } = answer
      const text = redact && answer.text ? redact(answer.text) : answer.text
      const understood = bodyWithoutKey(text, key)
      const isOdd = understood === undefined || (status >= 300 && status < 400)
      const answerSentence = isOdd
        ? describedAnswer({ ...answer, text: text === undefined ? text : peerText(text) }, url)
        : undefined
      return {
        kind: 'answered',
        status,
        body: understood,
        ...(answerSentence !== undefined && { described: withoutKey(answerSentence, key, redact) }),
        ...answerTimes(answer.headers, trip),
      }
    } catch (error) {
      return { kind: 'unanswered', reason: networkReason(error), fix: fixOf(error, url) }
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
    close: () => exchange.close(),
  }
}

function fixOf(error: unknown, url: string): string | undefined {
  const fix = networkFix(error)
  const isCut = (error as { readonly code?: unknown }).code === 'UND_ERR_SOCKET' && url.startsWith('https:')
  // With TLS 1.3 a server refuses a client without a certificate once the connection is there.
  return isCut ? `${fix}; it may want a client certificate: service.certificate` : fix
}

function withoutKey(text: string, key: string | undefined, redact: (text: string) => string = all => all): string {
  return redact(key ? text.replaceAll(key, '[redacted]') : text)
}

function readWidget(answer: Answer, host: string, protocolId: string): readonly ReadMetric[] {
  if (answer.kind === 'unanswered') {
    throw new Fault('service-unreachable', `${host} does not answer: ${answer.reason}`, {
      fix: answer.fix?.replace('the address', 'service.url') ?? 'check service.url and the network',
    })
  }
  const { status } = answer
  if (status === 401) throw new Fault('service-key-refused', `${host} refused the key`, { fix: 'check the key' })
  if (status === 404) {
    throw new Fault('service-refused', `${host} knows no protocol "${protocolId}"`, {
      facts: { status },
      fix: `tidegauge register ${protocolId}`,
    })
  }
  if (status >= 500) throw new Fault('service-unreachable', `${host} answered ${status}`, { fix: 'try again later' })
  const widget = widgetBody.safeParse(answer.body)
  if (status !== 200 || !widget.success) {
    const found = isForeign(answer) ? `: ${foreignFact(answer)}` : ''
    throw new Fault('service-refused', `${host} gave no widget of "${protocolId}"${found}`, {
      facts: { status },
      fix: 'check service.url',
    })
  }
  return widget.data
}

/** The JSON of a body, without the key; `undefined` when it is not JSON, or nests too deeply to be searched. */
function bodyWithoutKey(text: string | undefined, key: string | undefined): unknown {
  const body = parseJson(text)
  if (!key || !text || body === undefined) return body
  // Without an escape the key can be spelled in only one way.
  if (!text.includes('\\') && !text.includes(key)) return body
  try {
    // Serialised again, so that there is only one way.
    const [again, spelled] = [JSON.stringify(body), JSON.stringify(key).slice(1, -1)]
    return again.includes(spelled) ? jsonOf(again.replaceAll(spelled, '[redacted]')) : body
  } catch {
    return undefined
  }
}

/** A value in which each text is cut. */
function withCutTexts(text: string): unknown {
  return jsonOf(text, undefined, (_, value) => (typeof value === 'string' ? peerText(value) : value))
}

function parseJson(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    // Some servers send a byte order mark first, which JSON does not allow.
    return withCutTexts(text.startsWith('\uFEFF') ? text.slice(1) : text)
  } catch {
    return undefined
  }
}
