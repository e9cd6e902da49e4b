import { type Dispatcher, request as send } from 'undici'
import type { z } from 'zod'
import type { HttpRequest } from '../../collector.ts'
import { networkFix, networkReason, tlsWantedError } from '../../edge/network-reason.ts'
import type { Time } from '../../edge/time.ts'
import { unpackedBody } from '../../edge/unpacked-body.ts'
import { type AnswerTimes, answerTimes } from '../../model/answer-times.ts'
import { backoffMs } from '../../model/backoff.ts'
import { Fault } from '../../model/fault.ts'
import { basicAuthorization, isForeign, mayBeSecretHeader, secretCharsMin, secretPartsOf } from '../../model/host.ts'
import { JsonBeyondBounds, jsonOf, jsonWithNumbersAsText } from '../../model/json.ts'
import { retryAfterMsMax } from '../../model/limits.ts'
import { peerText, shortened, titleOf } from '../../model/text.ts'
import type { HttpRead, RequestEnd } from '../messages.ts'
import type { HostSlots, ShownHttp } from './child-end.ts'
import { createNetwork, type HttpNetwork, PrivateAddressError, type Reach, sentRequest } from './network.ts'
import { plainWords } from './thrown.ts'

/** Wait before the next attempt of an off-chain request, with full jitter. */
const httpBackoff = { baseMs: 500, capMs: 5_000 } as const

/** Redirects followed of one off-chain request. */
const httpRedirectsMax = 3

/** Attempts of one off-chain request. */
const httpAttemptsMax = 3

/** Dependencies of a fetch on its run. */
export interface HttpDeps {
  /** Headers, method and body; default: a GET without headers. */
  readonly request?: HttpRequest
  /** Aborted at the run's deadline. */
  readonly signal: AbortSignal
  readonly time: Time
  /** Slots that the requests of all collectors to a host share. */
  readonly slots: HostSlots
  /** Names what is waited for until the promise settles. */
  waitsFor<T>(name: string, promise: Promise<T>): Promise<T>
  /** Where the daemon sees the requests of the run; absent where it does not. */
  readonly shown?: ShownHttp
  /** Default: the network of this process. */
  readonly network?: HttpNetwork
}

const sharedNetwork = createNetwork()

/**
 * Fetches JSON and parses it with the schema. Transient failures are retried with backoff, after `Retry-After`, within
 * the run's deadline. Every call asks the source.
 *
 * @throws Fault `http-unreachable`, `http-refused` or `http-unexpected`; it names only the host, because a key often
 * sits in a path or a query. The signal's reason when aborted.
 */
export async function fetchJson<S extends z.ZodType>(url: string, schema: S, deps: HttpDeps): Promise<z.output<S>> {
  const sent = sentRequest(deps.request, 'application/json')
  const hop = firstHop(url, sent)
  const text = await deps.waitsFor(hop.address.host, shownOrSent(hop, 'json', sent.isRead, deps))
  const origin = { host: hop.address.host, secrets: [url, ...Object.values(hop.headers)] }
  return parsedAnswer(text, schema, origin, deps.request?.numbers)
}

/** Fetches an answer that is not JSON as text. @throws Fault `http-unreachable`, `http-refused` or `http-unexpected` */
export async function fetchText(url: string, deps: HttpDeps): Promise<string> {
  const sent = sentRequest(deps.request, '*/*')
  const hop = firstHop(url, sent)
  return deps.waitsFor(hop.address.host, shownOrSent(hop, 'text', sent.isRead, deps))
}

/** Fetches an answer as bytes. @throws Fault `http-unreachable`, `http-refused` or `http-unexpected` */
export async function fetchBytes(url: string, deps: HttpDeps): Promise<Uint8Array> {
  const sent = sentRequest(deps.request, '*/*')
  const hop = firstHop(url, sent)
  const text = await deps.waitsFor(hop.address.host, shownOrSent(hop, 'bytes', sent.isRead, deps))
  return new Uint8Array(Buffer.from(text, 'base64'))
}

function shownOrSent(hop: Hop, format: HttpRead['as'], isRead: boolean, deps: HttpDeps): Promise<string> {
  const send = () => answerTo(hop, isRead, { ...deps, as: format })
  return deps.shown ? deps.shown.answerTo(hop, format, send) : send()
}

/** What an answer needs: how it is read, too. */
type AnswerDeps = HttpDeps & Pick<HttpRead, 'as'>

type Tried = Exclude<Got, { readonly kind: 'redirects' }> & {
  /** The run's deadline, which moves while it waits for slots. */
  readonly deadlineAtMs: number
}

async function answerTo(hop: Hop, isRead: boolean, deps: AnswerDeps): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const attemptEnd = await tryOnce(hop, deps)
    if (attemptEnd.kind === 'answered') return attemptEnd.text
    const nowMs = deps.time.nowMs()
    const { fault, notBeforeMs = 0, deadlineAtMs } = attemptEnd
    if (!isRead) throw onceOnly(fault)
    if (attempt >= httpAttemptsMax) throw withAttempts(fault, attempt)
    if (notBeforeMs >= deadlineAtMs) throw tooLongToWait(fault, attempt, notBeforeMs, nowMs)
    const nextAtMs = Math.max(nowMs + backoffMs(httpBackoff, attempt, deps.time.chance()), notBeforeMs)
    if (nextAtMs >= deadlineAtMs) throw withAttempts(fault, attempt)
    await deps.time.sleep(nextAtMs - nowMs, deps.signal)
  }
}

function onceOnly({ code, message, facts }: Fault): Fault {
  return new Fault(code, message, {
    facts,
    fix: 'it is not sent again: say isRead: true where the request changes nothing',
  })
}

function withAttempts({ code, message, facts, fix }: Fault, attempts: number): Fault {
  return new Fault(code, message, { facts: { ...facts, attempts }, ...(fix !== undefined && { fix }) })
}

function tooLongToWait({ code, facts }: Fault, attempts: number, notBeforeMs: number, nowMs: number): Fault {
  const suffix = notBeforeMs - nowMs >= retryAfterMsMax ? ' or longer' : ''
  const until = `${secondOf(notBeforeMs)}${suffix}`
  return new Fault(code, `${facts['host']} asks to wait until ${until}, past the deadline of this run`, {
    facts: { ...facts, attempts },
    fix: 'ask it less often, or with a key that allows more',
  })
}

function heldBack(host: string, untilMs: number): Fault {
  const until = secondOf(untilMs)
  return new Fault('http-unreachable', `${host} is not asked before ${until}, past the deadline of this run`, {
    facts: { host },
    fix: 'it asked this or another collector to wait: ask it less often, or with a key that allows more',
  })
}

/** An instant in UTC, rounded up to a full second. */
function secondOf(ms: number): string {
  return `${new Date(Math.ceil(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`
}

/** Makes one attempt. @throws Fault when a retry would fail the same way; the signal's reason */
async function tryOnce(first: Hop, deps: AnswerDeps): Promise<Tried> {
  try {
    return await follow(first, deps)
  } finally {
    // When the run is over, its own reason counts.
    deps.signal.throwIfAborted()
  }
}

/** Follows redirects. Which ones are allowed is decided here, not by a library. */
async function follow(
  first: Hop,
  { network = sharedNetwork, slots, time, signal, request, as: format }: AnswerDeps,
): Promise<Tried> {
  const statuses = request?.statuses ?? []
  let hop = first
  let leftMs = httpTryMsMax
  for (let redirects = 0; redirects <= httpRedirectsMax; redirects += 1) {
    const slot = await slots.take(hostAndPort(hop.address), signal)
    if (slot.kind === 'refused') throw heldBack(hop.address.host, slot.untilMs)
    const startMs = time.steadyMs()
    const limit = AbortSignal.any([signal, time.timeout(Math.max(1, Math.ceil(leftMs)))])
    const hopEnd = await inSlot(getOnce(hop, { network, time, signal: limit, statuses, as: format }), slot.end, time)
    if (hopEnd.kind !== 'redirects') return { ...hopEnd, deadlineAtMs: slot.deadlineAtMs }
    leftMs -= time.steadyMs() - startMs
    hop = nextHop(hop, hopEnd, hop.reach === 'any' ? network.cameFrom(hop.address.origin) : 'public')
  }
  const { host } = first.address
  throw new Fault('http-refused', `${host} redirects more than ${httpRedirectsMax} times`, {
    facts: { host },
    fix: `${redirectAdvice}, or check the key that is sent`,
  })
}

/** The result of a request. Its slot ends with it, so that none is taken while another one is waited for. */
async function inSlot(pendingResult: Promise<Got>, end: (requestEnd: RequestEnd) => void, time: Time): Promise<Got> {
  let requestEnd: RequestEnd = { kind: 'failed' }
  try {
    const got = await pendingResult
    requestEnd = requestEndOf(got, time.nowMs())
    return got
  } catch (error) {
    if (error instanceof Fault) requestEnd = requestEndOf(error, time.nowMs())
    throw error
  } finally {
    end(requestEnd)
  }
}

/** Dependencies of one request. */
interface GetDeps {
  readonly network: HttpNetwork
  readonly time: Time
  /** Aborted at the deadline of this attempt. */
  readonly signal: AbortSignal
  /** Statuses whose answer counts, besides 2xx. */
  readonly statuses: readonly number[]
  readonly as: HttpRead['as']
}

type Got =
  | { readonly kind: 'answered'; readonly text: string }
  | ({ readonly kind: 'redirects' } & Redirect)
  /** Transient; the source may have named a retry-after. */
  | { readonly kind: 'transient'; readonly fault: Fault; readonly notBeforeMs?: number | undefined }

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Sends one request. @throws Fault when a retry would fail the same way */
async function getOnce(hop: Hop, deps: GetDeps): Promise<Got> {
  // A proxy that is down is a Fault, too, and may be up again at the next attempt.
  const answer = await ask(hop, deps).catch(error => unansweredOf(error, hop))
  if (answer instanceof Fault) return { kind: 'transient', fault: answer }
  try {
    return await judged(answer, hop, deps)
  } catch (error) {
    if (error instanceof Fault) throw error
    return { kind: 'transient', fault: unansweredOf(error, hop) }
  }
}

interface HttpResponse {
  readonly status: number
  readonly body: Dispatcher.ResponseData['body']
  /** The values of a header in one, separated as in a list. */
  header(name: string): string | undefined
  /** The first value of the header. */
  readonly location: string | undefined
  readonly times: AnswerTimes
}

async function ask(hop: Hop, { network, time, signal }: GetDeps): Promise<HttpResponse> {
  // Some sources refuse a request that does not say what sends it.
  const headers = { 'user-agent': 'tidegauge', ...hop.headers, 'accept-encoding': 'identity' }
  const sentMs = time.nowMs()
  const { method, body } = hop
  const dispatcher = network.dispatcher(hop.reach)
  const answer = await send(hop.address, { dispatcher, method, headers, signal, ...(body !== undefined && { body }) })
  const values = (name: string) => [answer.headers[name] ?? []].flat()
  return {
    status: answer.statusCode,
    body: answer.body,
    header: name => (values(name).length > 0 ? values(name).join(', ') : undefined),
    location: values('location')[0],
    times: answerTimes(answer.headers, { sentMs, receivedMs: time.nowMs() }),
  }
}

async function judged(answer: HttpResponse, hop: Hop, { statuses, time, as: format }: GetDeps): Promise<Got> {
  const { status, header, location, times } = answer
  const { host } = hop.address
  if ((status >= 200 && status < 300) || statuses.includes(status)) {
    const kind = { contentEncoding: header('content-encoding'), contentType: header('content-type') }
    return { kind: 'answered', text: await bodyText(answer.body, kind, host, format) }
  }
  // An error is logged: where it breaks off, its status is enough.
  answer.body.on('error', () => {})
  if (redirectStatuses.has(status) && location !== undefined) {
    answer.body.destroy()
    return { kind: 'redirects', status, location }
  }
  const words = await wordsOf(answer, hop, time)
  const facts = { host, status }
  const fix = networkFix(tlsWantedError(status, peerText(words))) ?? fixOf(status)
  if (!mayPass(status)) throw new Fault('http-refused', `${host} refuses the request${words}`, { facts, fix })
  const fault = new Fault('http-unreachable', `${host} answers an error${words}`, { facts, fix })
  return { kind: 'transient', fault, notBeforeMs: times.notBeforeMs }
}

/** Bytes of an error's body that are read: it may be endless. */
const errorBytesMax = 4_096

/** Longest wait for them. */
const errorMsMax = 1_000

/** Characters of it that are shown. */
const errorCharsMax = 120

/** The beginning of an error's body, or the title of a page, to be appended; empty where it may repeat a secret. */
async function wordsOf({ body, header }: HttpResponse, { address, headers }: Hop, time: Time): Promise<string> {
  const timeout = time.timeout(errorMsMax)
  const end = () => body.destroy()
  timeout.addEventListener('abort', end, { once: true })
  const pieces: Buffer[] = []
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      pieces.push(piece)
      if (pieces.reduce((bytes, { length }) => bytes + length, 0) >= errorBytesMax) break
    }
  } catch {
    // The beginning that was read is shown.
  }
  timeout.removeEventListener('abort', end)
  if ((header('content-encoding') ?? 'identity') !== 'identity') return ''
  const text = Buffer.concat(pieces).toString('utf8')
  const secrets = [address.href, ...Object.values(headers)].flatMap(one => secretPartsOf(one, secretCharsMin))
  if (secrets.some(secret => text.includes(secret))) return ''
  const isPage = text.trimStart().startsWith('<')
  const shown = isPage ? titleOf(peerText(text)) : peerText(text)
  const line = shown.replace(/[\p{C}\s]+/gu, ' ').trim()
  return line === '' ? '' : `: ${shortened(line, errorCharsMax)}`
}

function fixOf(status: number): string {
  if (status === 429) return 'ask it less often, or with a key that allows more'
  if (mayPass(status)) return 'look into the log of the source, or ask who runs it'
  if (status === 401 || status === 403) return 'check the key that is sent, and what it may read'
  return status === 404 || status === 410 ? 'check the address' : 'check the address, and what is sent'
}

function mayPass(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

/** An answer that redirects. */
interface Redirect {
  /** A status from 300 to 399. */
  readonly status: number
  /** As in the header, absolute or relative. */
  readonly location: string
}

/** One request of a chain of redirects. */
interface Hop {
  /** http or https, without a name or a password. */
  readonly address: URL
  readonly method: 'GET' | 'POST'
  /** The caller's headers, names in lower case; only `accept` after leaving their origin. */
  readonly headers: Readonly<Record<string, string>>
  /** Body of a POST; absent otherwise. */
  readonly body?: string
  readonly reach: Reach
  /** Host whose redirect led here; absent for the first request. */
  readonly sentBy?: string
}

/**
 * The first request of a chain. It may go to a private address, such as one's own node. A name and a password in the
 * address are sent as a header.
 *
 * @throws Fault `http-refused` when the address is not http or https, or a secret would go unencrypted to a foreign host
 */
export function firstHop(url: string, { method, headers, body }: Pick<Hop, 'method' | 'headers' | 'body'>): Hop {
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (!address || !isHttp(address)) {
    throw new Fault('http-refused', 'the URL is not an http or https address', {
      fix: 'write it whole, like https://api.example.com/v1',
    })
  }
  const authorization = basicAuthorization(address)
  const signedIn = { ...(authorization && { authorization }), ...headers }
  const secret = Object.keys(signedIn).find(mayBeSecretHeader)
  if (secret !== undefined && address.protocol === 'http:' && isForeign(address.hostname)) {
    const { host } = address
    const message = `the header ${secret} would be sent to ${host} unencrypted`
    throw new Fault('http-refused', message, { facts: { host }, fix: 'write https:// in its address' })
  }
  address.username = ''
  address.password = ''
  return { address, method, headers: signedIn, reach: 'any', ...(body !== undefined && { body }) }
}

/**
 * The request that a redirect leads to. A source must not choose what is requested inside the operator's network: after
 * an answer from a public address only public ones may follow, after one from a private address only the same host or
 * public ones. A POST stays a POST with 307 and 308, within its origin; 303 slots it into a GET.
 *
 * @param from the kind of address that answered
 * @throws Fault `http-refused` for another protocol, a step from https to http, a name or password, and a POST that
 * would leave its origin or change
 */
function nextHop(hop: Hop, { status, location }: Redirect, from: 'private' | 'public'): Hop {
  const { host, origin, hostname, protocol, href } = hop.address
  const address = URL.canParse(location, href) ? new URL(location, href) : undefined
  if (!address || !isHttp(address)) throw refused(host, 'to an address that is not http or https')
  if (protocol === 'https:' && address.protocol === 'http:')
    throw refused(host, 'from https to http', 'write the address that does not, or ask who runs it')
  if (address.username !== '' || address.password !== '') {
    throw refused(host, 'to an address with a name or password in it')
  }
  const isSame = address.origin === origin
  const staysPost = hop.method === 'POST' && status !== 303
  if (staysPost && (!isSame || status < 307)) {
    throw refused(host, `a POST (${status})`, redirectAdvice)
  }
  const staysInside = hop.reach === 'any' && from === 'private' && address.hostname === hostname
  return {
    address,
    method: staysPost ? 'POST' : 'GET',
    headers: headersOf(hop.headers, isSame, staysPost),
    ...(staysPost && hop.body !== undefined && { body: hop.body }),
    reach: staysInside ? 'any' : 'public',
    sentBy: host,
  }
}

function headersOf(all: Hop['headers'], isSame: boolean, withBody: boolean): Hop['headers'] {
  const { accept, 'content-type': _type, ...others } = all
  if (isSame && withBody) return all
  return { ...(isSame && others), ...(accept !== undefined && { accept }) }
}

function isHttp({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:'
}

function refused(host: string, where: string, fix = 'check the address, or ask who runs it'): Fault {
  return new Fault('http-refused', `${host} redirects ${where}`, { facts: { host }, fix })
}

/** Longest answer of an off-chain source, in bytes. */
export const httpAnswerBytesMax = 8 * 1_048_576

/** Content headers of an answer. */
interface BodyKind {
  /** As in the header; `undefined` when the body is not compressed. */
  readonly contentEncoding: string | undefined
  /** As in the header; `undefined` when there is none. */
  readonly contentType: string | undefined
}

/**
 * Reads the body as text up to the limit, decompressed and without a byte order mark; bytes as Base64.
 *
 * @throws Fault `http-unexpected` when it is longer, compressed in an unknown way or not text; the stream's error
 */
async function bodyText(
  body: AsyncIterable<Uint8Array>,
  kind: BodyKind,
  host: string,
  format: HttpRead['as'],
): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.byteLength
    // Leaving the loop closes the connection: the rest is never read.
    if (bytes > httpAnswerBytesMax) throw tooLong(host)
    chunks.push(chunk)
  }
  const whole = await unpacked(Buffer.concat(chunks), kind, host)
  return format === 'bytes' ? whole.toString('base64') : decoded(whole, kind, host)
}

async function unpacked(bytes: Buffer, { contentEncoding }: BodyKind, host: string): Promise<Buffer> {
  const body = await unpackedBody(bytes, contentEncoding, httpAnswerBytesMax)
  if (body === 'too-long') throw tooLong(host)
  if (body === 'unknown-encoding') throw unexpected(host, 'answers in a content encoding that is not known here')
  if (body === 'damaged') throw unexpected(host, `answers something that is not ${contentEncoding}, as it says`)
  return body
}

/** Decodes bytes: JSON is UTF-8, other texts have the charset they declare. */
function decoded(bytes: Buffer, { contentType }: BodyKind, host: string): string {
  const declared = /;\s*charset="?([\w.:-]+)/i.exec(contentType ?? '')?.[1]
  const text = decodedAs(markedCharset(bytes) ?? 'utf-8', bytes) ?? (declared && decodedAs(declared, bytes))
  if (text === undefined) throw unexpected(host, 'answers something that is not UTF-8 text')
  // Some sources add a byte order mark to a text that has one.
  return text.replace(/^\uFEFF+/, '')
}

function markedCharset([first, second]: Buffer): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined
}

function decodedAs(charset: string, bytes: Buffer): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function tooLong(host: string): Fault {
  return unexpected(host, `answers more than ${httpAnswerBytesMax / 1_048_576} MiB`, 'ask for less of it')
}

function unexpected(host: string, what: string, fix = 'check the address, or ask who runs it'): Fault {
  return new Fault('http-unexpected', `${host} ${what}`, { facts: { host }, fix })
}

/** A redirect may lead to an address with the hour of the request in it, which would then be read for ever. */
const redirectAdvice = 'write the address that it leads to, with {hour} where it has the hour of the request'

/** Longest attempt of an off-chain request, answer included. */
export const httpTryMsMax = 20_000

/** Error codes of OpenSSL and Node for rejected certificates: they are rejected again. */
const certificateCodes = /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|CRL/

/**
 * The Fault of a request without an answer, when it is transient. A library's message is not repeated: it may hold the
 * address.
 *
 * @throws Fault when a retry would fail the same way
 */
function unansweredOf(error: unknown, { address: { host }, sentBy }: Hop): Fault {
  if (error instanceof PrivateAddressError) {
    throw new Fault('http-refused', `${sentBy} redirects to ${host}, which is in a private network`, {
      facts: { host, address: error.address },
      fix: `if that is meant, ${redirectAdvice}`,
    })
  }
  const { name, code } = error as { readonly name?: string; readonly code?: unknown }
  if (code === 'UND_ERR_INVALID_ARG' || code === 'ERR_INVALID_CHAR') {
    throw new Fault('http-refused', 'a header has a name or a value that cannot be sent', {
      facts: { host },
      fix: 'look for a line break or a character that is not ASCII',
    })
  }
  const why = name === 'TimeoutError' ? `no answer within ${httpTryMsMax / 1000} s` : networkReason(error)
  const fix = networkFix(error) ?? 'check the address, and that the server runs'
  const fault = new Fault('http-unreachable', `${host} does not answer: ${why}`, { facts: { host }, fix })
  if (certificateCodes.test(String(code))) throw fault
  return fault
}

/** Longest value of an off-chain answer in a message, in characters. */
const httpValueCharsMax = 40

/** Mistakes of one off-chain answer that are named; further ones are counted. */
const httpMistakesMax = 3

/** Source of an answer, for error messages, and secrets to keep out of them. */
interface AnswerOrigin {
  /** Host of the source, for messages. */
  readonly host: string
  /** The requested address and the values of headers: a source may repeat a part of them in its answer. */
  readonly secrets: readonly string[]
}

/**
 * Parses an answer with the schema.
 *
 * @param numbers how the schema sees the numbers of the answer
 * @throws Fault `http-unexpected` that names up to three places in the answer, what was expected and what is there
 */
export async function parsedAnswer<S extends z.ZodType>(
  text: string,
  schema: S,
  { host, secrets }: AnswerOrigin,
  numbers?: HttpRequest['numbers'],
): Promise<z.output<S>> {
  const parse = numbers === 'text' ? jsonWithNumbersAsText : parsed
  const result = await schema.safeParseAsync(answered(text, host, parse), { reportInput: true })
  if (result.success) return result.data
  const mistakes = result.error.issues.flatMap(issue => mistakesOf(issue, []))
  const parts = secrets.flatMap(secret => secretPartsOf(secret, secretCharsMin))
  const shown = mistakes.slice(0, httpMistakesMax).map(mistake => worded(mistake, parts))
  const more = mistakes.length > shown.length ? `; and ${mistakes.length - shown.length} more` : ''
  throw new Fault('http-unexpected', `${host} answers something else than expected: ${shown.join('; ')}${more}`, {
    facts: { host },
    fix: fixIn(mistakes) ?? 'compare what the source answers with what is expected of it',
  })
}

const parsed = (text: string) => jsonOf(text)

function answered(text: string, host: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw new Fault('http-unexpected', `${host} answers ${notJson(text, error)}`, {
      facts: { host },
      fix: 'look at what the address answers in a browser: a page to log in, or a notice, may stand there',
    })
  }
}

function notJson(text: string, error: unknown): string {
  if (error instanceof JsonBeyondBounds) return `${error.message}: ask for less of it`
  const start = text.trimStart().slice(0, 20)
  if (start === '') return 'nothing: the body is empty, and JSON was expected'
  if (/^<(!doctype html|html|head|body|!--)/i.test(start)) return 'what looks like a web page, not JSON'
  if (start.startsWith('<')) return 'what looks like XML, not JSON'
  const isCut = error instanceof Error && /^(Unexpected end|Unterminated)/.test(error.message)
  return isCut ? 'JSON that ends too early' : 'something that is not JSON'
}

type AnswerIssue = z.core.$ZodIssue

interface AnswerMistake {
  readonly issue: AnswerIssue
  readonly path: readonly PropertyKey[]
}

/** The instruction of the first mistake that has one. */
function fixIn(mistakes: readonly AnswerMistake[]): string | undefined {
  const fixes = mistakes.map(({ issue }) => (issue.code === 'custom' ? issue.params?.['fix'] : undefined))
  return fixes.find(fix => typeof fix === 'string')
}

/** The mistakes of an issue: of a union without its own message, those of the branch that comes nearest. */
function mistakesOf(issue: AnswerIssue, before: readonly PropertyKey[]): AnswerMistake[] {
  const path = [...before, ...issue.path]
  if (issue.code !== 'invalid_union' || issue.message !== 'Invalid input') return [{ issue, path }]
  const nearest = [...issue.errors].sort((a, b) => depth(b) - depth(a) || a.length - b.length)[0] ?? []
  return nearest.length === 0 ? [{ issue, path }] : nearest.flatMap(part => mistakesOf(part, path))
}

function depth(issues: readonly AnswerIssue[]): number {
  return Math.max(0, ...issues.map(({ path }) => path.length))
}

/** `prices[0].usd: expected number, found the text "n/a"` */
function worded({ issue, path }: AnswerMistake, secrets: readonly string[]): string {
  const { message } = issue
  const isOfZod = /^(Too (small|big): |Invalid )/.test(message) && !message.startsWith('Invalid input: ')
  const expectation = isOfZod
    ? plainWords(issue)
    : message
        .replace(/^Invalid input: /, '')
        .split(', received ', 1)
        .join()
        .replace(/^Unrecognized keys?/, 'unexpected')
  return `${pathText(path)}: ${expectation}, found ${found(issue.input, secrets)}`
}

function pathText(path: readonly PropertyKey[]): string {
  const text = path.map(part => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
  return text === '' ? 'the answer' : shortened(text.replace(/^\./, ''), 4 * httpValueCharsMax)
}

function found(value: unknown, secrets: readonly string[]): string {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string') return String(value)
  const repeats = secrets.some(secret => value.includes(secret))
  // A number may have been read as its text.
  if (!repeats && /^-?\d+(\.\d+)?$/.test(value)) return shortened(value, httpValueCharsMax)
  return repeats ? 'what the request has, too' : `the text ${JSON.stringify(shortened(value, httpValueCharsMax))}`
}

/** Name and port of an address, by which hosts are distinguished. */
function hostAndPort({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

/** The end of a request, by its answer or its error. @param nowMs when it was there, in milliseconds since 1970 */
function requestEndOf(attemptEnd: Got | Fault, nowMs: number): RequestEnd {
  if (attemptEnd instanceof Fault) return { kind: attemptEnd.facts['status'] === undefined ? 'failed' : 'answered' }
  if (attemptEnd.kind !== 'transient') return { kind: 'answered' }
  const { fault, notBeforeMs } = attemptEnd
  if (notBeforeMs !== undefined) return { kind: 'refused', retryAfterMs: Math.max(0, notBeforeMs - nowMs) }
  return { kind: fault.facts['status'] === 429 ? 'refused' : 'failed' }
}
