import { type Dispatcher, request as send } from 'undici'
import type { Time } from '../../../edge/time.ts'
import { type AnswerTimes, answerTimes } from '../../../model/answer-times.ts'
import { Fault } from '../../../model/fault.ts'
import { bodyText } from './body.ts'
import type { Hop, Redirect } from './hops.ts'
import type { HttpNetwork } from './network.ts'
import { unansweredOf } from './unanswered.ts'

/** Dependencies of one request. */
export interface GetDeps {
  readonly network: HttpNetwork
  readonly time: Time
  /** Aborted at the deadline of this attempt. */
  readonly signal: AbortSignal
  /** Statuses whose answer counts, besides 2xx. */
  readonly statuses: readonly number[]
}

export type Got =
  | { readonly kind: 'answered'; readonly text: string }
  | ({ readonly kind: 'redirects' } & Redirect)
  /** Transient; the source may have named a retry-after. */
  | { readonly kind: 'transient'; readonly fault: Fault; readonly notBeforeMs?: number | undefined }

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Sends one request. @throws Fault when a retry would fail the same way */
export async function getOnce(hop: Hop, deps: GetDeps): Promise<Got> {
  try {
    return await judged(await ask(hop, deps), hop.address.host, deps.statuses)
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

async function judged(answer: HttpResponse, host: string, statuses: readonly number[]): Promise<Got> {
  const { status, header, location, times } = answer
  if ((status >= 200 && status < 300) || statuses.includes(status)) {
    const kind = { contentEncoding: header('content-encoding'), contentType: header('content-type') }
    return { kind: 'answered', text: await bodyText(answer.body, kind, host) }
  }
  drop(answer)
  if (redirectStatuses.has(status) && location !== undefined) return { kind: 'redirects', status, location }
  const facts = { host, status }
  if (!mayPass(status)) throw new Fault('http-refused', `${host} refuses the request`, { facts, fix: cureOf(status) })
  const fault = new Fault('http-unreachable', `${host} answers an error`, { facts })
  return { kind: 'transient', fault, notBeforeMs: times.notBeforeMs }
}

/** Discards the body of an answer without a value: it may be long, slow or endless. */
function drop({ body }: HttpResponse): void {
  body.on('error', () => {}).destroy()
}

function cureOf(status: number): string {
  if (status === 401 || status === 403) return 'check the key that is sent, and what it may read'
  return status === 404 || status === 410 ? 'check the address' : 'check the address, and what is sent'
}

function mayPass(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}
