import { Agent, request as send } from 'undici'
import type { z } from 'zod'
import { backoffMs, retryAfterInstantMs } from '../model/backoff.ts'
import { Fault } from '../model/fault.ts'
import type { Time } from '../time.ts'
import { bodyText } from './http-body.ts'
import { httpAttemptsMax, httpBackoff, httpRedirectsMax, httpTryMsMax } from './limits.ts'

/** What a fetch needs of the run it belongs to. */
export interface HttpEdge {
  readonly headers?: Readonly<Record<string, string>>
  /** Aborted at the run's deadline. */
  readonly signal: AbortSignal
  /** The run's deadline: a wait that would pass it is not begun. */
  readonly deadlineAtMs: number
  readonly time: Time
  /** Names what is waited for until the promise settles. */
  waitsFor<T>(name: string, promise: Promise<T>): Promise<T>
}

interface Answer {
  readonly status: number
  readonly location: string | undefined
  readonly retryAfter: string | undefined
  readonly text: string
}

type Tried =
  | { readonly kind: 'answered'; readonly text: string }
  | { readonly kind: 'transient'; readonly fault: Fault; readonly notBeforeMs?: number | undefined }

const agent = new Agent({ connect: { timeout: 10_000 } })

/**
 * Fetches a JSON answer and parses it with the schema. What may pass is tried again, with backoff and as `Retry-After`
 * asks, within the run's deadline.
 *
 * @throws Fault `http-unreachable`, `http-refused` or `http-unexpected`; it names the host alone, because a key often
 *   sits in a path or a query. The signal's reason when it is aborted.
 */
export async function fetchJson<S extends z.ZodType>(url: string, schema: S, edge: HttpEdge): Promise<z.output<S>> {
  const address = addressOf(url)
  const text = await edge.waitsFor(address.host, fetchText(address, edge))
  return parsed(text, schema, address.host)
}

function addressOf(url: string, base?: URL): URL {
  const address = URL.canParse(url, base?.href) ? new URL(url, base?.href) : undefined
  if (address?.protocol === 'http:' || address?.protocol === 'https:') return address
  const whose = base ? `${base.host} redirects to what` : 'what is to be fetched'
  throw new Fault('http-refused', `${whose} is no http or https address`)
}

async function fetchText(address: URL, edge: HttpEdge): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const tried = await tryOnce(address, edge)
    if (tried.kind === 'answered') return tried.text
    const nowMs = edge.time.nowMs()
    const backoffAtMs = nowMs + backoffMs(httpBackoff, attempt, edge.time.chance())
    const nextAtMs = Math.max(backoffAtMs, tried.notBeforeMs ?? 0)
    if (attempt >= httpAttemptsMax || nextAtMs >= edge.deadlineAtMs) throw withAttempts(tried.fault, attempt)
    await edge.time.sleep(nextAtMs - nowMs, edge.signal)
  }
}

function withAttempts({ code, message, facts }: Fault, attempts: number): Fault {
  return new Fault(code, message, { facts: { ...facts, attempts } })
}

/** @throws Fault that would be the same again; the signal's reason */
async function tryOnce(address: URL, edge: HttpEdge): Promise<Tried> {
  const { host } = address
  try {
    const { status, retryAfter, text } = await follow(address, edge)
    if (status >= 200 && status < 300) return { kind: 'answered', text }
    if (!mayPass(status)) throw new Fault('http-refused', `${host} refuses the request`, { facts: { host, status } })
    const fault = new Fault('http-unreachable', `${host} answers an error`, { facts: { host, status } })
    return { kind: 'transient', fault, notBeforeMs: retryAfterInstantMs(retryAfter, edge.time.nowMs()) }
  } catch (error) {
    edge.signal.throwIfAborted()
    if (error instanceof Fault) throw error
    const facts = { host, error: networkWord(error) }
    return { kind: 'transient', fault: new Fault('http-unreachable', `${host} does not answer`, { facts }) }
  }
}

function mayPass(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

/** Follows redirects by itself: headers, which may hold a key, go to the origin they were meant for and no other. */
async function follow(first: URL, edge: HttpEdge): Promise<Answer> {
  const signal = AbortSignal.any([edge.signal, edge.time.timeout(httpTryMsMax)])
  let address = first
  for (let redirects = 0; redirects <= httpRedirectsMax; redirects += 1) {
    const own = address.origin === first.origin ? edge.headers : {}
    const answer = await get(address, { accept: 'application/json', ...own, 'accept-encoding': 'identity' }, signal)
    if (answer.status < 300 || answer.status > 399 || answer.location === undefined) return answer
    address = addressOf(answer.location, address)
  }
  const facts = { host: first.host }
  throw new Fault('http-refused', `${first.host} redirects more than ${httpRedirectsMax} times`, { facts })
}

async function get(address: URL, headers: Record<string, string>, signal: AbortSignal): Promise<Answer> {
  const answer = await send(address, { dispatcher: agent, headers, signal })
  const one = (name: string) => [answer.headers[name]].flat()[0]
  const text = await bodyText(answer.body, address.host)
  return { status: answer.statusCode, location: one('location'), retryAfter: one('retry-after'), text }
}

/** What kind of failure it was. A library's message is not repeated: it may hold the address. */
function networkWord(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  if (error.name === 'TimeoutError') return `no answer within ${httpTryMsMax / 1000} s`
  return 'code' in error ? String(error.code) : error.name
}

async function parsed<S extends z.ZodType>(text: string, schema: S, host: string): Promise<z.output<S>> {
  const result = await schema.safeParseAsync(jsonOf(text, host))
  if (result.success) return result.data
  const [issue, ...others] = result.error.issues
  const path = issue?.path.map(String).join('.') || 'the answer'
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  throw new Fault(
    'http-unexpected',
    `${host} answers something else than expected: ${path}: ${issue?.message}${more}`,
    {
      facts: { host },
    },
  )
}

function jsonOf(text: string, host: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Fault('http-unexpected', `${host} answers something that is not JSON`, { facts: { host } })
  }
}
