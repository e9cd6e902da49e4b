import type { z } from 'zod'
import type { HttpRequest } from '../../../collector.ts'
import type { Time } from '../../../edge/time.ts'
import { backoffMs } from '../../../model/backoff.ts'
import { Fault } from '../../../model/fault.ts'
import { retryAfterMsMax } from '../../../model/limits.ts'
import { httpAttemptsMax, httpBackoff, httpRedirectsMax, httpTryMsMax } from '../../limits.ts'
import { parsedAnswer } from './answer.ts'
import { type Got, getOnce } from './get.ts'
import { firstHop, type Hop, nextHop } from './hops.ts'
import { createNetwork, type HttpNetwork } from './network.ts'
import { sentRequest } from './request.ts'

/** Dependencies of a fetch on its run. */
export interface HttpDeps {
  /** Headers, method and body; default: a GET without headers. */
  readonly request?: HttpRequest
  /** Aborted at the run's deadline. */
  readonly signal: AbortSignal
  /** The run's deadline: a wait that would pass it is not begun. */
  readonly deadlineAtMs: number
  readonly time: Time
  /** Names what is waited for until the promise settles. */
  waitsFor<T>(name: string, promise: Promise<T>): Promise<T>
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
  const text = await deps.waitsFor(hop.address.host, answerTo(hop, sent.isRead, deps))
  return parsedAnswer(text, schema, { host: hop.address.host, secrets: [url, ...Object.values(hop.headers)] })
}

/** Fetches an answer that is not JSON as text. @throws Fault `http-unreachable`, `http-refused` or `http-unexpected` */
export async function fetchText(url: string, deps: HttpDeps): Promise<string> {
  const sent = sentRequest(deps.request, '*/*')
  const hop = firstHop(url, sent)
  return deps.waitsFor(hop.address.host, answerTo(hop, sent.isRead, deps))
}

type Tried = Exclude<Got, { readonly kind: 'redirects' }>

async function answerTo(hop: Hop, isRead: boolean, deps: HttpDeps): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const tried = await tryOnce(hop, deps)
    if (tried.kind === 'answered') return tried.text
    const nowMs = deps.time.nowMs()
    const { fault, notBeforeMs = 0 } = tried
    if (!isRead) throw onceOnly(fault)
    if (attempt >= httpAttemptsMax) throw withAttempts(fault, attempt)
    if (notBeforeMs >= deps.deadlineAtMs) throw tooLongToWait(fault, attempt, notBeforeMs, nowMs)
    const nextAtMs = Math.max(nowMs + backoffMs(httpBackoff, attempt, deps.time.chance()), notBeforeMs)
    if (nextAtMs >= deps.deadlineAtMs) throw withAttempts(fault, attempt)
    await deps.time.sleep(nextAtMs - nowMs, deps.signal)
  }
}

function onceOnly({ code, message, facts }: Fault): Fault {
  return new Fault(code, message, {
    facts,
    fix: 'it is not sent again: say isRead: true where the request changes nothing',
  })
}

function withAttempts({ code, message, facts }: Fault, attempts: number): Fault {
  return new Fault(code, message, { facts: { ...facts, attempts } })
}

function tooLongToWait({ code, facts }: Fault, attempts: number, notBeforeMs: number, nowMs: number): Fault {
  const until = `${new Date(Math.ceil(notBeforeMs / 1000) * 1000).toISOString().slice(0, 19)}Z`
  const more = notBeforeMs - nowMs >= retryAfterMsMax ? ' or longer' : ''
  return new Fault(code, `${facts['host']} asks to wait until ${until}${more}, past the deadline of this run`, {
    facts: { ...facts, attempts },
    fix: 'ask it less often, or with a key that allows more',
  })
}

/** Makes one attempt. @throws Fault when a retry would fail the same way; the signal's reason */
async function tryOnce(first: Hop, deps: HttpDeps): Promise<Tried> {
  try {
    return await follow(first, deps)
  } finally {
    // When the run is over, its own reason counts.
    deps.signal.throwIfAborted()
  }
}

/** Follows redirects. Which ones are allowed is decided here, not by a library. */
async function follow(first: Hop, { network = sharedNetwork, ...deps }: HttpDeps): Promise<Tried> {
  const signal = AbortSignal.any([deps.signal, deps.time.timeout(httpTryMsMax)])
  const getEdge = { network, time: deps.time, signal }
  let hop = first
  for (let redirects = 0; redirects <= httpRedirectsMax; redirects += 1) {
    const got = await getOnce(hop, getEdge)
    if (got.kind !== 'redirects') return got
    hop = nextHop(hop, got, hop.reach === 'any' ? network.cameFrom(hop.address.origin) : 'public')
  }
  const { host } = first.address
  throw new Fault('http-refused', `${host} redirects more than ${httpRedirectsMax} times`, { facts: { host } })
}
