import { type Dispatcher, request as send } from 'undici'
import { retryAfterInstantMs } from '../../model/backoff.ts'
import { Fault } from '../../model/fault.ts'
import { clockSkewMs, type RoundTrip } from '../../model/skew.ts'
import type { Time } from '../../time.ts'
import { bodyText } from './body.ts'
import { type AnswerCache, cacheKey, forbidsStoring, sameTag, type TaggedAnswer } from './cache.ts'
import type { Hop, Redirect } from './hops.ts'
import type { HttpNetwork } from './network.ts'
import { unansweredOf } from './unanswered.ts'

/** What one request needs beside its address. */
export interface GetEdge {
  readonly network: HttpNetwork
  readonly cache: AnswerCache
  readonly time: Time
  /** Aborted at the deadline of this try. */
  readonly signal: AbortSignal
}

export type Got =
  | { readonly kind: 'answered'; readonly text: string }
  | ({ readonly kind: 'redirects' } & Redirect)
  /** It may pass; the source may have said when. */
  | { readonly kind: 'transient'; readonly fault: Fault; readonly notBeforeMs?: number | undefined }

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * Asks once, with the tag of the answer that is held for the same request, if there is one.
 *
 * @throws Fault that would be the same again
 */
export async function getOnce(hop: Hop, edge: GetEdge): Promise<Got> {
  const { host } = hop.address
  // A POST is never held; headers of the caller that make the request conditional are left to it, with their answer.
  const isCallers =
    hop.method !== 'GET' || 'if-none-match' in hop.headers || forbidsStoring(hop.headers['cache-control'])
  const key = cacheKey(hop.address, hop.headers)
  try {
    const held = isCallers ? undefined : edge.cache.get(key)
    const answer = await ask(hop, held, edge)
    if (answer.status === 304 && held) return await unchanged(answer, held, key, hop, edge)
    return await taken(answer, isCallers ? undefined : key, host, edge)
  } catch (error) {
    if (error instanceof Fault) throw error
    return { kind: 'transient', fault: unansweredOf(error, hop) }
  }
}

interface Asked {
  readonly status: number
  readonly body: Dispatcher.ResponseData['body']
  /** One that came more than once has several values. */
  headers(name: string): readonly string[]
  /** Its values in one, as a list is written. */
  header(name: string): string | undefined
  readonly trip: RoundTrip
}

async function ask(hop: Hop, held: TaggedAnswer | undefined, { network, time, signal }: GetEdge): Promise<Asked> {
  const conditional = held ? { 'if-none-match': held.etag } : {}
  const headers = { ...hop.headers, ...conditional, 'accept-encoding': 'identity' }
  const sentMs = time.nowMs()
  const { method, body } = hop
  const dispatcher = network.dispatcher(hop.reach)
  const answer = await send(hop.address, { dispatcher, method, headers, signal, ...(body !== undefined && { body }) })
  const all = (name: string) => [answer.headers[name] ?? []].flat()
  return {
    status: answer.statusCode,
    body: answer.body,
    headers: all,
    header: name => (all(name).length > 0 ? all(name).join(', ') : undefined),
    trip: { sentMs, receivedMs: time.nowMs() },
  }
}

/** The source says that its answer is still the one held. One that names another tag is asked again, without a tag. */
async function unchanged(answer: Asked, held: TaggedAnswer, key: string, hop: Hop, edge: GetEdge): Promise<Got> {
  drop(answer)
  const etag = answer.header('etag') ?? held.etag
  if (!sameTag(etag, held.etag)) {
    edge.cache.forget(key)
    return taken(await ask(hop, undefined, edge), key, hop.address.host, edge)
  }
  if (forbidsStoring(answer.header('cache-control'))) edge.cache.forget(key)
  return { kind: 'answered', text: held.text }
}

async function taken(answer: Asked, key: string | undefined, host: string, { cache, time }: GetEdge): Promise<Got> {
  const { status, header, headers } = answer
  if (status >= 200 && status < 300) {
    const kind = { contentEncoding: header('content-encoding'), contentType: header('content-type') }
    const text = await bodyText(answer.body, kind, host)
    const keeping = { etag: header('etag'), cacheControl: header('cache-control') }
    if (status === 200 && key !== undefined) cache.put(key, text, keeping)
    return { kind: 'answered', text }
  }
  drop(answer)
  const [location] = headers('location')
  if (redirectStatuses.has(status) && location !== undefined) return { kind: 'redirects', status, location }
  const facts = { host, status }
  if (!mayPass(status)) throw new Fault('http-refused', `${host} refuses the request`, { facts })
  const fault = new Fault('http-unreachable', `${host} answers an error`, { facts })
  return { kind: 'transient', fault, notBeforeMs: notBeforeMs(answer, time.nowMs()) }
}

/** What an answer without a value says beside its status is not read: it may be long, slow or without end. */
function drop({ body }: Asked): void {
  body.on('error', () => {}).destroy()
}

function mayPass(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

/** The latest `Retry-After`, by this machine's clock; a date in it is by the source's, which the answer shows. */
function notBeforeMs({ header, headers, trip }: Asked, nowMs: number): number | undefined {
  const instants = headers('retry-after').flatMap(text => {
    const aheadMs = /^\s*\d/.test(text) ? 0 : (clockSkewMs(header('date'), trip) ?? 0)
    const instantMs = retryAfterInstantMs(text, nowMs + aheadMs)
    return instantMs === undefined ? [] : [instantMs - aheadMs]
  })
  return instants.length > 0 ? Math.max(...instants) : undefined
}
