import { futureMsMax, hourMs } from '../../src/model/limits.ts'
import type { Push } from '../../src/model/wire.ts'
import { chanceOf, Fortune } from './chance.ts'
import type { Clock } from './clock.ts'
import type { Keys } from './keys.ts'
import { type Judged, pushReply, type Sent } from './replies.ts'
import type { Script } from './script.ts'
import type { Ill, Trouble } from './troubles.ts'

/** Answer over the wire; without a status there is none. */
export interface Reply {
  readonly status?: number
  readonly body?: unknown
  readonly retryAfter?: string
  readonly date?: string
  /** Time until it arrives. */
  readonly afterMs: number
  /** When the service wants to be asked again, by true time. */
  readonly wishMs?: number
  /** Lead of its clock when it answered. */
  readonly skewMs?: number
}

/** A request as the service gets it. */
export type Request =
  | { readonly kind: 'push'; readonly key: string; readonly metrics: readonly Sent[] }
  | { readonly kind: 'register'; readonly key: string; readonly id: string }
  | { readonly kind: 'validate-key'; readonly key: string }

/** The service by a script: what it has stored, and how it answers. It outlives every life of the process. */
export class Service {
  /** Values by metric and hour. */
  readonly stored = new Map<string, number>()
  /** Those it had from us already when they came. */
  readonly again = new Set<string>()
  /** Those it refused for good at least once. */
  readonly refused = new Set<string>()
  readonly #script: Script
  readonly #clock: Clock
  readonly #keys: Keys
  readonly #chance: Fortune
  readonly #registered = new Set<string>()

  constructor(script: Script, clock: Clock, keys: Keys) {
    this.#script = script
    this.#clock = clock
    this.#keys = keys
    this.#chance = new Fortune(script.seed + 1)
  }

  /** Lead of its clock. */
  get skewMs(): number {
    const { skews } = this.#script.service
    return skews.findLast(({ fromMs }) => fromMs <= this.#clock.nowMs())?.skewMs ?? 0
  }

  /** One way through the network. */
  get latencyMs(): number {
    const slow = this.#troubles('').find(({ ill }) => ill.kind === 'slow')?.ill
    const mostMs = slow?.kind === 'slow' ? slow.latencyMs : this.#script.service.latencyMs
    return Math.ceil(this.#chance.between(0.1, 1) * (mostMs / 2))
  }

  /** Whether it fails on a metric by now. */
  isPoison(key: string): boolean {
    const { service, healthyMs, seed } = this.#script
    if (service.isPoisonMended && this.#clock.nowMs() >= healthyMs) return false
    return chanceOf(seed, 'poison', key) < service.poison
  }

  answer(request: Request): Reply {
    const judged = request.kind === 'push' ? request.metrics.map(metric => this.#judge(metric)) : []
    const ill = this.#ill(request)
    const reply = ill ? this.#answerIll(ill, request, judged) : this.#answerWell(request, judged)
    return { ...reply, date: this.#date(0), skewMs: this.skewMs }
  }

  #answerWell(request: Request, judged: readonly Judged[]): Reply {
    const afterMs = this.latencyMs
    const owner = this.#keys.ownerAtService(request.key)
    if (owner === undefined) return { status: 401, body: { error: 'invalid key' }, afterMs }
    if (request.kind === 'validate-key') return { status: 200, body: { valid: true }, afterMs }
    if (request.kind === 'register') return { ...this.#register(request.id), afterMs }
    if (judged.some(({ isPoison }) => isPoison)) return { status: 500, body: { error: 'internal error' }, afterMs }
    const unknown = request.metrics.find(({ protocolId }) => !this.#isRegistered(protocolId))
    if (unknown) return { status: 404, body: { error: `protocol ${unknown.protocolId} not found` }, afterMs }
    return { ...pushReply(this.#script.service.dialect, judged, kept => this.#store(kept)), afterMs }
  }

  #answerIll(ill: Ill, request: Request, judged: readonly Judged[]): Reply {
    const stores = 'stores' in ill && this.#chance.is(ill.stores)
    if (stores) this.#answerWell(request, judged)
    const afterMs = this.latencyMs
    switch (ill.kind) {
      case 'silent':
        return { afterMs: ill.afterMs }
      case 'status':
        // A status that the interface does not name is a refusal of what was sent, once anything was accepted.
        if (ill.status === 405) for (const { metric } of judged) this.refused.add(`${metric.id} ${metric.timestamp}`)
        return { status: ill.status, body: { message: 'try again later' }, ...this.#wish(ill.retryAfterMs), afterMs }
      case 'garbage':
        return { status: 200, body: this.#chance.pick([undefined, [], { ok: true }, 'fine']), afterMs }
      case 'miscounts':
        return this.#miscount(request, judged)
      case 'forgets':
        return this.#forget(request, judged)
      case 'too-large':
      case 'refuses-all':
        return { status: ill.kind === 'too-large' ? 413 : ill.status, body: { error: 'no' }, afterMs }
      case 'slow':
        return this.#answerWell(request, judged)
    }
  }

  /** A single metric is counted right or twice: one that is said not to be accepted would be taken for refused. */
  #miscount(request: Request, judged: readonly Judged[]): Reply {
    const reply = this.#answerWell(request, judged)
    // Where it has refused some, a wrong count could be the right one of what it has not stored.
    if (request.kind !== 'push' || reply.status !== 200 || judged.some(({ fault }) => fault)) return reply
    const processed = judged.length === 1 ? this.#chance.whole(1, 2) : this.#chance.whole(0, 120)
    return { ...reply, body: { ...(reply.body as object), processed } }
  }

  /** Single metrics are kept. */
  #forget(request: Request, judged: readonly Judged[]): Reply {
    return this.#answerWell(
      request,
      judged.filter(({ fault }) => fault || judged.length === 1 || this.#chance.is(0.8)),
    )
  }

  #wish(retryAfterMs: number | undefined): Pick<Reply, 'retryAfter' | 'wishMs'> {
    if (retryAfterMs === undefined) return {}
    const wishMs = this.#clock.nowMs() + retryAfterMs
    const isDate = this.#script.service.dialect.retryAfter === 'date'
    return { wishMs, retryAfter: isDate ? this.#date(retryAfterMs) : `${retryAfterMs / 1000}` }
  }

  #date(aheadMs: number): string {
    return new Date(this.#clock.nowMs() + this.skewMs + aheadMs).toUTCString()
  }

  #troubles(protocolId: string): Trouble[] {
    const nowMs = this.#clock.nowMs()
    return this.#script.service.troubles.filter(
      trouble => trouble.fromMs <= nowMs && nowMs < trouble.toMs && (trouble.protocolId ?? protocolId) === protocolId,
    )
  }

  /** Trouble of the service, as far as a request meets it. */
  #ill(request: Request): Ill | undefined {
    const protocolIds = request.kind === 'push' ? new Set(request.metrics.map(({ protocolId }) => protocolId)) : ['']
    const found = [...protocolIds].flatMap(id => this.#troubles(id)).map(({ ill }) => ill)
    const isLarge = (ill: Ill) =>
      ill.kind !== 'too-large' || (request.kind === 'push' && request.metrics.length > ill.metricsMax)
    const isMet = (ill: Ill) => isLarge(ill) && (ill.kind !== 'refuses-all' || request.kind === 'push')
    const isWell = this.#clock.nowMs() >= this.#script.healthyMs
    const flaky: Ill = { kind: 'silent', afterMs: 50, stores: 0.5 }
    return found.find(isMet) ?? (!isWell && this.#chance.is(this.#script.service.flaky) ? flaky : undefined)
  }

  #judge(metric: Sent): Judged {
    const { seed, service } = this.#script
    const key = `${metric.id} ${metric.timestamp}`
    const is = (word: string, part: number) => chanceOf(seed, word, key) < part
    const isFuture = Date.parse(metric.timestamp) > this.#clock.nowMs() + this.skewMs + futureMsMax
    const isBad = is('bad', service.bad)
    if (isBad) this.refused.add(key)
    const fault = isBad ? 'value is not allowed' : isFuture ? 'timestamp is too far in the future' : undefined
    return {
      metric,
      isPoison: this.isPoison(key),
      isThere: this.stored.has(key) || is('foreign', service.foreign),
      ...(fault === undefined ? {} : { fault }),
    }
  }

  #isRegistered(protocolId: string): boolean {
    const protocol = this.#script.protocols.find(({ id }) => id === protocolId)
    const nowMs = this.#clock.nowMs()
    return this.#registered.has(protocolId) || nowMs >= Math.min(this.#script.healthyMs, protocol?.registeredMs ?? 0)
  }

  #register(id: string): Pick<Reply, 'status' | 'body'> {
    if (this.#isRegistered(id)) return { status: 400, body: { error: 'the id is taken' } }
    this.#registered.add(id)
    return { status: 201, body: { id } }
  }

  #store(judged: readonly Judged[]): void {
    for (const { metric } of judged) {
      const key = `${metric.id} ${metric.timestamp}`
      if (this.stored.has(key)) this.again.add(key)
      this.stored.set(key, metric.value)
    }
  }
}

/** The longest a process has to wait for once the service is healthy: a wish it has heard just before. */
export const wishMsMax = 2 * hourMs

/** A push as it was sent. */
export function sentMetrics(body: string): readonly Sent[] {
  return (JSON.parse(body) as Push).metrics.map(metric => ({
    ...metric,
    timestamp: metric.timestamp ?? '',
  }))
}
