import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Dice } from '../../src/devchain/dice.ts'
import { type PushResult, push as pushSchema, registration, type SubmittedMetric } from '../../src/model/wire.ts'
import { type Fault, fail, judged, send, slowly } from './faults.ts'
import { listening } from './listening.ts'

/** The service's knowledge of one metric and timestamp. */
export interface Arrival {
  /** Every value that came; a correct client never sends a second one. */
  readonly values: Set<number>
  /** Pushes that brought it. */
  times: number
  isStored: boolean
  /** The last push of it that was answered in whole with the truth: after this it need not be sent again. */
  acknowledged?: ReceivedPush
}

/** One request to push, as it came. */
export interface ReceivedPush {
  /** `{metric id} {timestamp}` of each of its metrics. */
  readonly keys: readonly string[]
  /** Trouble that it will meet; `undefined` for none. */
  readonly fault?: Fault
}

interface Signals {
  /** Its body is there, nothing was done about it yet. */
  received: [ReceivedPush]
  /** Its metrics are stored, nothing was answered yet. */
  stored: [ReceivedPush]
  /** A whole answer that says it is stored has left. */
  acknowledged: [ReceivedPush]
  /** Nothing is done about it any more: it was answered, or its connection is gone. */
  over: [ReceivedPush]
}

export interface FaultyServiceOptions {
  readonly dice: Dice
  readonly key: string
  /** Share of the pushes that something bad happens to, from 0 to 1. */
  readonly share?: number
  /**
   * A push is spared after so many faults in a row, its own or of all pushes: with fewer than five, the client's
   * breaker stays closed, or closes soon. A row of all pushes ends where the client has surely noted a success, as one
   * that is killed before has counted none.
   */
  readonly inARow?: number
}

export interface FaultyService {
  readonly url: string
  /** By `{metric id} {timestamp}`. */
  readonly arrivals: ReadonlyMap<string, Arrival>
  /** Metrics in each push, in the order of arrival. */
  readonly batchSizes: readonly number[]
  /** Actions of no correct client, in words. */
  readonly mistakes: readonly string[]
  /** Pushes of which metrics were sent again, not one alone, although they had been acknowledged. */
  readonly resent: ReadonlySet<ReceivedPush>
  /** Faults done so far, by kind. */
  readonly faults: ReadonlyMap<Fault, number>
  readonly signals: EventEmitter<Signals>
  /** From now on it is healthy. */
  faultless(): void
  /** The client was killed; it may not have noted the last answer. */
  killed(): void
}

/**
 * A real HTTP server that speaks the service's interface and is faulty by the dice: it breaks connections before and
 * after storing, answers 5xx, 429 and garbage, or byte by byte. It ends with the test.
 */
export async function startFaultyService(options: FaultyServiceOptions): Promise<FaultyService> {
  const service = new Service(options)
  service.url = await listening((request, response) => void service.answer(request, response))
  return service
}

class Service implements FaultyService {
  url = ''
  readonly arrivals = new Map<string, Arrival>()
  readonly batchSizes: number[] = []
  readonly mistakes: string[] = []
  readonly resent = new Set<ReceivedPush>()
  readonly faults = new Map<Fault, number>()
  readonly signals = new EventEmitter<Signals>()
  readonly #latest = new Map<string, Map<string, SubmittedMetric>>()
  readonly #inARow = new Map<string, number>()
  #inARowOfAll = 0
  /** Whether a push was acknowledged to the client that lives now; with its next one this is noted. */
  #isAcknowledged = false
  readonly #options: Required<FaultyServiceOptions>
  #share: number

  constructor(options: FaultyServiceOptions) {
    this.#options = { share: 0.5, inARow: 2, ...options }
    this.#share = this.#options.share
  }

  faultless(): void {
    this.#share = 0
  }

  killed(): void {
    this.#isAcknowledged = false
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request).catch(() => undefined)
    // The client went away in the middle of its request.
    if (body === undefined) return
    const { method, url = '' } = request
    if (request.headers.authorization !== `Bearer ${this.#options.key}`) {
      this.mistakes.push(`${method} ${url} without the key`)
      return send(response, 401, { error: 'invalid key' })
    }
    const read = /^\/metrics\/byProtocol\/([^/]+)$/.exec(url)?.[1]
    if (method === 'GET' && read !== undefined) return this.#read(decodeURIComponent(read), response)
    if (method === 'GET' && url === '/api/validate-key') return send(response, 200, { valid: true })
    if (method === 'POST' && url === '/api/register-protocol') return this.#register(body, response)
    if (method === 'POST' && url === '/api/metrics') return this.#push(body, response)
    this.mistakes.push(`${method} ${url} is not of the interface`)
    send(response, 404, { error: 'no such endpoint' })
  }

  #read(protocolId: string, response: ServerResponse): void {
    const metrics = this.#latest.get(protocolId)
    if (metrics) send(response, 200, [...metrics.values()])
    else send(response, 404, { error: 'no such protocol' })
  }

  #register(body: string, response: ServerResponse): void {
    const { id } = registration.parse(JSON.parse(body))
    const isTaken = this.#latest.has(id)
    if (!isTaken) this.#latest.set(id, new Map())
    send(response, isTaken ? 400 : 200, isTaken ? { error: `${id} is taken` } : { id })
  }

  async #push(body: string, response: ServerResponse): Promise<void> {
    const parsed = pushSchema.safeParse(JSON.parse(body))
    if (!parsed.success) {
      this.mistakes.push(`a push that is not of the interface: ${parsed.error.message}`)
      return send(response, 400, { error: 'not a push' })
    }
    const { metrics } = parsed.data
    const keys = metrics.map(({ id, timestamp }) => `${id} ${timestamp}`)
    this.#inspect(metrics, keys)
    const unknown = metrics.find(({ protocolId }) => !this.#latest.has(protocolId))
    if (unknown) return send(response, 404, { error: `no such protocol: ${unknown.protocolId}` })
    const fault = this.#chosen(keys[0] ?? '')
    const push: ReceivedPush = { keys, ...(fault && { fault }) }
    response.once('close', () => this.signals.emit('over', push))
    this.signals.emit('received', push)
    if (!fault || judged[fault].stores) {
      this.#store(metrics, keys)
      this.signals.emit('stored', push)
    }
    const result: PushResult = { success: true, processed: metrics.length, errors: [], warnings: [] }
    if (fault && !judged[fault].acknowledges) return fail(fault, response, result, this.#options.dice)
    response.once('finish', () => this.#acknowledged(push))
    if (fault) await slowly(response, result)
    else send(response, 200, result)
  }

  #inspect(metrics: readonly SubmittedMetric[], keys: readonly string[]): void {
    this.batchSizes.push(metrics.length)
    if (metrics.length === 0) this.mistakes.push('an empty push')
    if (new Set(keys).size < keys.length) this.mistakes.push('a metric twice in one batch')
    for (const { id, timestamp } of metrics) {
      if (!timestamp?.endsWith(':00:00Z')) this.mistakes.push(`${id} at ${timestamp}, which is no full hour`)
    }
    metrics.forEach(({ value }, index) => {
      const arrival = this.arrivals.get(keys[index] ?? '') ?? { values: new Set(), times: 0, isStored: false }
      arrival.values.add(value)
      arrival.times += 1
      // One alone is how a client asks whether the service still takes what it took before: it knows that it did.
      if (arrival.acknowledged && metrics.length > 1) this.resent.add(arrival.acknowledged)
      this.arrivals.set(keys[index] ?? '', arrival)
    })
  }

  #store(metrics: readonly SubmittedMetric[], keys: readonly string[]): void {
    metrics.forEach((metric, index) => {
      const arrival = this.arrivals.get(keys[index] ?? '')
      if (arrival) arrival.isStored = true
      const latest = this.#latest.get(metric.protocolId)
      if ((latest?.get(metric.id)?.timestamp ?? '') <= (metric.timestamp ?? '')) latest?.set(metric.id, metric)
    })
  }

  #acknowledged(push: ReceivedPush): void {
    for (const key of push.keys) {
      const arrival = this.arrivals.get(key)
      if (arrival) arrival.acknowledged = push
    }
    this.#isAcknowledged = true
    this.signals.emit('acknowledged', push)
  }

  #chosen(first: string): Fault | undefined {
    const { dice, inARow } = this.#options
    const before = this.#inARow.get(first) ?? 0
    if (this.#isAcknowledged) this.#inARowOfAll = 0
    this.#isAcknowledged = false
    // A probe may begin with another metric than the one before, so that none of them would be spared for its own sake.
    const isSpared = before >= inARow || this.#inARowOfAll >= inARow
    const isFaulty = dice.roll() < this.#share && !isSpared
    this.#inARow.set(first, isFaulty ? before + 1 : 0)
    if (isFaulty) this.#inARowOfAll += 1
    if (!isFaulty) return undefined
    const kinds = Object.keys(judged) as Fault[]
    const kind = kinds[dice.whole(0, kinds.length - 1)]
    if (kind) this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1)
    return kind
  }
}
