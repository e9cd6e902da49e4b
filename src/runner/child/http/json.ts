import type { z } from 'zod'
import type { HttpRequest } from '../../../collector.ts'
import type { Time } from '../../../edge/time.ts'
import { backoffMs } from '../../../model/backoff.ts'
import { Fault } from '../../../model/fault.ts'
import { retryAfterMsMax } from '../../../model/limits.ts'
import type { HttpRead, RequestEnd } from '../../messages.ts'
import { parsedAnswer } from './answer.ts'
import { type Got, getOnce } from './get.ts'
import { firstHop, type Hop, nextHop } from './hops.ts'
import { httpAttemptsMax, httpBackoff, httpRedirectsMax, httpTryMsMax } from './limits.ts'
import { createNetwork, type HttpNetwork } from './network.ts'
import { sentRequest } from './request.ts'
import type { ShownHttp } from './shown.ts'
import { hostAndPort, type RequestTurns, requestEndOf } from './turns.ts'

/** Dependencies of a fetch on its run. */
export interface HttpDeps {
  /** Headers, method and body; default: a GET without headers. */
  readonly request?: HttpRequest
  /** Aborted at the run's deadline. */
  readonly signal: AbortSignal
  readonly time: Time
  /** Turns that the requests of all collectors to a host share. */
  readonly turns: RequestTurns
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

function shownOrSent(hop: Hop, as: HttpRead['as'], isRead: boolean, deps: HttpDeps): Promise<string> {
  const send = () => answerTo(hop, isRead, deps)
  return deps.shown ? deps.shown.answerTo(hop, as, send) : send()
}

type Tried = Exclude<Got, { readonly kind: 'redirects' }> & {
  /** The run's deadline, which moves while it waits for turns. */
  readonly deadlineAtMs: number
}

async function answerTo(hop: Hop, isRead: boolean, deps: HttpDeps): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const tried = await tryOnce(hop, deps)
    if (tried.kind === 'answered') return tried.text
    const nowMs = deps.time.nowMs()
    const { fault, notBeforeMs = 0, deadlineAtMs } = tried
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

function withAttempts({ code, message, facts }: Fault, attempts: number): Fault {
  return new Fault(code, message, { facts: { ...facts, attempts } })
}

function tooLongToWait({ code, facts }: Fault, attempts: number, notBeforeMs: number, nowMs: number): Fault {
  const more = notBeforeMs - nowMs >= retryAfterMsMax ? ' or longer' : ''
  const until = `${secondOf(notBeforeMs)}${more}`
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
async function tryOnce(first: Hop, deps: HttpDeps): Promise<Tried> {
  try {
    return await follow(first, deps)
  } finally {
    // When the run is over, its own reason counts.
    deps.signal.throwIfAborted()
  }
}

/** Follows redirects. Which ones are allowed is decided here, not by a library. */
async function follow(first: Hop, { network = sharedNetwork, turns, time, signal, request }: HttpDeps): Promise<Tried> {
  const statuses = request?.statuses ?? []
  let hop = first
  let leftMs = httpTryMsMax
  for (let redirects = 0; redirects <= httpRedirectsMax; redirects += 1) {
    const turn = await turns.take(hostAndPort(hop.address), signal)
    if (turn.kind === 'refused') throw heldBack(hop.address.host, turn.untilMs)
    const startMs = time.steadyMs()
    const limit = AbortSignal.any([signal, time.timeout(Math.max(1, Math.ceil(leftMs)))])
    const got = await inTurn(getOnce(hop, { network, time, signal: limit, statuses }), turn.end, time)
    if (got.kind !== 'redirects') return { ...got, deadlineAtMs: turn.deadlineAtMs }
    leftMs -= time.steadyMs() - startMs
    hop = nextHop(hop, got, hop.reach === 'any' ? network.cameFrom(hop.address.origin) : 'public')
  }
  const { host } = first.address
  throw new Fault('http-refused', `${host} redirects more than ${httpRedirectsMax} times`, { facts: { host } })
}

/** The result of a request. Its turn ends with it, so that no turn is held while another one is waited for. */
async function inTurn(getting: Promise<Got>, end: (how: RequestEnd) => void, time: Time): Promise<Got> {
  let how: RequestEnd = { kind: 'failed' }
  try {
    const got = await getting
    how = requestEndOf(got, time.nowMs())
    return got
  } catch (error) {
    if (error instanceof Fault) how = requestEndOf(error, time.nowMs())
    throw error
  } finally {
    end(how)
  }
}
