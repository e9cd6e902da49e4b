import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { OpenPort } from '../../edge/open-port.ts'
import type { Time } from '../../edge/time.ts'
import { unlessAborted } from '../../edge/unless-aborted.ts'
import {
  answerAt,
  type Listening,
  listen,
  type WebReply,
  type WebRequest,
  type WebServer,
  webServer,
} from '../../edge/web-server.ts'
import { withFile } from '../../model/advice.ts'
import { Fault } from '../../model/fault.ts'
import { localUrl } from '../../model/host.ts'
import { jsonOf, valueAt } from '../../model/json.ts'
import { historyCsv, type MetricHistory } from '../history.ts'
import { statusJson } from '../json.ts'
import { historyPage } from '../page/history.ts'
import { page } from '../page/page.ts'
import type { Readiness, Snapshot } from '../snapshot.ts'
import { isAllowed, patience, type ServedAddress, securityHeaders } from './guard.ts'
import { notReadyReply } from './starting.ts'

/** Time limit of a snapshot or the exposition; after it the answer is an error. */
const answerMsMax = 5_000

/** Longest metric id in a path, in characters. */
const idCharsMax = 1_000

interface EventsRoute {
  readonly Querystring: { readonly token?: unknown }
}

interface HistoryRoute {
  readonly Params: { readonly id: string }
  readonly Querystring: Readonly<Record<string, unknown>>
}

/** Address and sources of the status server. */
export interface StatusDeps {
  readonly host: string
  /** 0: the system picks one. */
  readonly port: number
  /** As in `ServedAddress`. */
  readonly hosts?: readonly string[]
  /** The present state, called at each request. */
  readonly snapshot: () => Promise<Snapshot> | Snapshot
  /** Readiness alone, called at each probe. */
  readonly ready: () => Promise<Readiness> | Readiness
  /** Text of `/metrics` in the Prometheus format 0.0.4. */
  readonly exposition: () => Promise<string>
  /** A metric's history by its id; `undefined` when none of its values is stored. */
  readonly history: (id: string) => Promise<MetricHistory | undefined>
  /** A text that differs when the page does; called while a page listens. */
  readonly state: () => Promise<string>
  readonly time: Time
  /** Its port, if that is open already. Default: it is opened. */
  readonly openPort?: OpenPort | undefined
}

/**
 * Serves `/` (the page), `/events` (its changes, as server-sent events), `/history/ID` (a page, or with `?csv` CSV), `/livez`, `/readyz`, `/metrics` and
 * `/status.json`, read-only.
 *
 * `/livez` answers 200 while the process answers at all; `/readyz` 200 or 503 with `{ ready, reasons, causes?, warnings? }`. Where a
 * snapshot fails or takes longer than five seconds, the others answer as without an outbox if it cannot be read; else 500.
 *
 * @throws Fault `address-unusable` when it cannot listen there; it names another daemon that does
 */
export async function startStatus(deps: StatusDeps): Promise<Listening> {
  const { openPort } = deps
  const server = guardedServer(deps, openPort)
  const snapshot = () => inTime(deps.time, async () => deps.snapshot())
  const state = together(async () => JSON.stringify(statusJson(await snapshot())))
  const ready = together(() => readiness(() => inTime(deps.time, async () => deps.ready())))
  const exposition = together(() => inTime(deps.time, deps.exposition))
  // The error may hold what no page should show, so it is not sent.
  server.setErrorHandler(async (_, request, reply) => {
    const { ok, reasons, causes } = await ready()
    // Where readiness was read from the outbox, what has failed here is something else.
    if (ok || !causes?.includes('outbox-unread')) return reply.code(500).send({ error: 'the status could not be read' })
    const { status, type, body } = notReadyReply(deps, { reasons, causes }, request.raw)
    return reply.code(status).type(`${type}; charset=utf-8`).send(body)
  })

  server.get('/livez', async (_, reply) => reply.type('text/plain; charset=utf-8').send('live\n'))
  server.get('/readyz', async (_, reply) => {
    const { ok, ...sentences } = await ready()
    return reply.code(ok ? 200 : 503).send({ ready: ok, ...sentences })
  })
  server.get('/metrics', async (_, reply) => {
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await exposition())
  })
  server.get('/status.json', async (_, reply) => reply.type('application/json; charset=utf-8').send(await state()))
  server.get<HistoryRoute>('/history/:id', async ({ params, query }, reply) => {
    const history = await inTime(deps.time, () => deps.history(params.id))
    if (!history) return reply.code(404).send({ error: 'no value of such a metric is stored' })
    if (!('csv' in query)) return reply.type('text/html; charset=utf-8').send(historyPage(history))
    const name = `${params.id.replace(/[^\w.-]/g, '_')}.csv`
    reply.header('content-disposition', `attachment; filename="${name}"`)
    return reply.type('text/csv; charset=utf-8').send(historyCsv(history))
  })
  const changes = new Changes(() => inTime(deps.time, deps.state), deps.time)
  server.addHook('preClose', async () => changes.stop())
  // Without encryption a browser does not say whose page asks: one of another server cannot read this.
  const token = randomBytes(16).toString('hex')
  server.get<EventsRoute>('/events', { exposeHeadRoute: false }, ({ query }, reply) => {
    if (query.token === token) changes.add(reply.hijack().raw)
    else reply.code(403).send({ error: 'this is for the page, which names its token' })
  })
  const whole = together(async () => page(await snapshot(), `/events?token=${token}`))
  server.get('/', async (_, reply) => reply.type('text/html; charset=utf-8').send(await whole()))

  return openPort ? answerAt(server, openPort) : listenInTurn(server, deps)
}

/** Longest wait for the port of another daemon that starts, and the interval of the tries. */
const rivalMsMax = 60_000
const rivalLookMs = 100

/**
 * Listens, once another daemon that is starting has left the port: of two started at once, one may have opened it, and the
 * other have the role. It ends then.
 *
 * @throws Fault `address-unusable`
 */
async function listenInTurn(server: WebServer, deps: StatusDeps): Promise<Listening> {
  const timeout = deps.time.timeout(rivalMsMax)
  for (let silences = 0; ; ) {
    try {
      return await listen(server, deps.host, deps.port)
    } catch (error) {
      const listener = isTaken(error) && deps.port !== 0 ? await listenerAt(deps) : {}
      // It may have left between the two looks, or leave in the middle of its answer.
      silences = listener === undefined ? silences + 1 : 0
      const isLeaving = listener ? listener.isStarting : silences < silencesMax
      if (timeout.aborted || !isLeaving) throw takenBy(error, listener?.file)
      await deps.time.sleep(rivalLookMs)
    }
  }
}

/** Number of tries to ask a port that is in use and does not answer; then another program has it. */
const silencesMax = 3

/** Answer to a request for a foreign host name, or of a foreign page. */
const foreign = {
  error: 'this server does not answer to that name, nor to pages of others: see status.hosts in the configuration',
}

/** Creates a server with what all routes share: headers, methods, accepted host names, and errors without internals. */
function guardedServer(address: ServedAddress, openPort?: OpenPort): WebServer {
  const server = webServer({
    frameworkErrors: refuseMalformed(address),
    routerOptions: { maxParamLength: idCharsMax },
    ...patience,
    openPort,
    isOneAtATime: true,
  })
  server.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders)
    if (!isAllowed(address, request.headers)) return reply.code(403).send(foreign)
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return reply.code(405).header('allow', 'GET, HEAD').send({ error: 'only GET and HEAD are answered' })
    }
  })
  server.addHook('onSend', async (_, reply, payload) => {
    const [, form] = /\b(json|html)\b/.exec(String(reply.getHeader('content-type'))) ?? []
    return typeof payload === 'string' && (form === 'json' || form === 'html') ? withFile(payload, form) : payload
  })
  server.setNotFoundHandler(async (_, reply) => reply.code(404).send({ error: 'there is nothing here' }))
  return server
}

/** Answers malformed paths, which skip the hooks, by the same rules. */
function refuseMalformed(address: ServedAddress) {
  return (_: Error, request: WebRequest, reply: WebReply): void => {
    reply.headers(securityHeaders)
    if (!isAllowed(address, request.headers)) reply.code(403).send(foreign)
    else reply.code(400).send({ error: 'the path is not well-formed' })
  }
}

async function readiness(ready: () => Promise<Readiness>): Promise<Readiness> {
  try {
    return await ready()
  } catch {
    const reasons = ['The status could not be read: the outbox did not answer.']
    return { ok: false, reasons, causes: ['outbox-unread'] }
  }
}

/** One answer for all who ask while it is made: however many ask, one is made at a time. */
function together<T>(make: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined
  return () => {
    answer ??= make().finally(() => {
      answer = undefined
    })
    return answer
  }
}

/** The answer, or a rejection when it takes too long; a later answer is dropped. */
function inTime<T>(time: Time, ask: () => Promise<T>): Promise<T> {
  return unlessAborted(ask(), time.timeout(answerMsMax))
}

/** Interval of looks while a page listens, in milliseconds. */
const lookMs = 2_000

/** Looks without a change after which a comment keeps the connection open. */
const quietLooksMax = 7

/** Pages that may listen at a time; further ones load themselves again now and then. */
export const listenersMax = 16

/** Bytes a listener may be behind before it is dropped: it does not read. */
const unsentBytesMax = 16_384

/** Wait after which a browser connects again, in milliseconds. */
const retryMs = 2_000

/** Sends open pages an event when the state has changed, by server-sent events. While no page listens, nothing is read. */
export class Changes {
  readonly #state: () => Promise<string>
  readonly #time: Pick<Time, 'sleep'>
  readonly #listeners = new Set<ServerResponse>()
  readonly #stopping = new AbortController()
  #last: string | undefined
  #isLooking = false

  /** @param state as in `StatusDeps` */
  constructor(state: () => Promise<string>, time: Pick<Time, 'sleep'>) {
    this.#state = state
    this.#time = time
  }

  /** Answers a page that listens, until it leaves. */
  add(response: ServerResponse): void {
    if (this.#listeners.size >= listenersMax || this.#stopping.signal.aborted) {
      response.writeHead(503, securityHeaders).end()
      return
    }
    response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream; charset=utf-8' })
    this.#listeners.add(response)
    const leave = () => this.#listeners.delete(response)
    response.once('close', leave).once('error', leave)
    send(response, `retry: ${retryMs}\n\n`)
    if (this.#isLooking && this.#last !== undefined) send(response, eventText(this.#last))
    if (!this.#isLooking) void this.#look()
  }

  /** Ends all answers. */
  stop(): void {
    this.#stopping.abort(new Error('stopped'))
    for (const listener of this.#listeners) listener.end()
  }

  async #look(): Promise<void> {
    const { signal } = this.#stopping
    this.#isLooking = true
    this.#last = undefined
    let quietLooks = 0
    while (this.#listeners.size > 0 && !signal.aborted) {
      // A state that cannot be read is another one: the page finds out why.
      const state = await this.#state().catch(() => 'unreadable')
      const isNews = state !== this.#last
      this.#last = state
      quietLooks = isNews || quietLooks >= quietLooksMax ? 0 : quietLooks + 1
      const text = isNews ? eventText(state) : ': still here\n\n'
      if (quietLooks === 0) for (const listener of this.#listeners) send(listener, text)
      await this.#time.sleep(lookMs, signal).catch(() => {})
    }
    this.#isLooking = false
  }
}

function eventText(state: string): string {
  return `data: ${state}\n\n`
}

function send(listener: ServerResponse, text: string): void {
  if (listener.writableLength > unsentBytesMax) listener.destroy()
  else listener.write(text)
}

/** Longest wait for a daemon on this machine. */
const otherAnswerMsMax = 1_000

function isTaken(error: unknown): boolean {
  return error instanceof Fault && error.message.endsWith('another program listens there')
}

/** Why the status server cannot listen. @param file configuration of the other daemon, if it is one that listens there */
function takenBy(error: unknown, file: string | undefined): unknown {
  if (!(error instanceof Fault) || error.code !== 'address-unusable') return error
  const other = `another tidegauge listens there, with the configuration ${file}`
  const message = file === undefined ? error.message : error.message.replace('another program listens there', other)
  return new Fault('address-unusable', message, {
    facts: { setting: 'status.listen' },
    fix: isTaken(error)
      ? 'stop that one first, or set status.listen to another port'
      : 'set status.listen to another address',
    cause: error,
  })
}

interface Listener {
  /** Configuration of a daemon that runs. */
  readonly file?: string
  /** Whether it is a daemon that starts. */
  readonly isStarting?: boolean
}

/** Asks the address of the status server who listens there; `undefined` when there is no answer. */
async function listenerAt(server: StatusDeps): Promise<Listener | undefined> {
  let text: string
  try {
    const signal = server.time.timeout(otherAnswerMsMax)
    text = await (await fetch(`${localUrl(server)}/status.json`, { signal })).text()
  } catch {
    return undefined
  }
  try {
    const answer = jsonOf(text)
    const file = valueAt(answer, ['configuration', 'file'])
    // Any program may listen there, and answer anything.
    const isFile = typeof file === 'string' && /^[^\p{C}]{1,300}$/u.test(file)
    return { isStarting: valueAt(answer, ['startsSince']) !== undefined, ...(isFile && { file }) }
  } catch {
    return {}
  }
}
