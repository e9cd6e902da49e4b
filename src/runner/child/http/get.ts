import { type Dispatcher, request as send } from 'undici'
import type { Time } from '../../../edge/time.ts'
import { retryAfterInstantMs } from '../../../model/backoff.ts'
import { Fault } from '../../../model/fault.ts'
import { clockSkewMs, type RoundTrip } from '../../../model/skew.ts'
import { bodyText } from './body.ts'
import type { Hop, Redirect } from './hops.ts'
import type { HttpNetwork } from './network.ts'
import { unansweredOf } from './unanswered.ts'

/** What one request needs beside its address. */
export interface GetDeps {
  readonly network: HttpNetwork
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

/** Asks once. @throws Fault that would be the same again */
export async function getOnce(hop: Hop, edge: GetDeps): Promise<Got> {
  try {
    return await judged(await ask(hop, edge), hop.address.host, edge.time)
  } catch (error) {
    if (error instanceof Fault) throw error
    return { kind: 'transient', fault: unansweredOf(error, hop) }
  }
}

interface HttpResponse {
  readonly status: number
  readonly body: Dispatcher.ResponseData['body']
  /** One that came more than once has several values. */
  headers(name: string): readonly string[]
  /** Its values in one, as a list is written. */
  header(name: string): string | undefined
  readonly trip: RoundTrip
}

async function ask(hop: Hop, { network, time, signal }: GetDeps): Promise<HttpResponse> {
  const headers = { ...hop.headers, 'accept-encoding': 'identity' }
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

async function judged(answer: HttpResponse, host: string, time: Time): Promise<Got> {
  const { status, header, headers } = answer
  if (status >= 200 && status < 300) {
    const kind = { contentEncoding: header('content-encoding'), contentType: header('content-type') }
    return { kind: 'answered', text: await bodyText(answer.body, kind, host) }
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
function drop({ body }: HttpResponse): void {
  body.on('error', () => {}).destroy()
}

function mayPass(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

/** The latest `Retry-After`, by this machine's clock; a date in it is by the source's, which the answer shows. */
function notBeforeMs({ header, headers, trip }: HttpResponse, nowMs: number): number | undefined {
  const instants = headers('retry-after').flatMap(text => {
    const aheadMs = /^\s*\d/.test(text) ? 0 : (clockSkewMs(header('date'), trip) ?? 0)
    const instantMs = retryAfterInstantMs(text, nowMs + aheadMs)
    return instantMs === undefined ? [] : [instantMs - aheadMs]
  })
  return instants.length > 0 ? Math.max(...instants) : undefined
}
