import type { ProtocolConfig } from '../config/config.ts'
import { backoffMs, isYetToCome } from '../model/backoff.ts'
import type { Batch } from '../model/batch.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { hourAt, hourText } from '../model/hour.ts'
import { breakerBaseMs, breakerCapMs, loggedWarningsMax, retryAfterMsMax } from '../model/limits.ts'
import type { Verdict } from '../model/verdict.ts'
import type { DestinationState } from '../outbox/destinations.ts'
import type { Outbox, Settlement } from '../outbox/outbox.ts'
import type { ServiceClient } from '../service/client.ts'
import type { Log } from '../telemetry/log.ts'
import type { Redactor } from '../telemetry/redactor.ts'
import type { Time } from '../time.ts'
import type { Destination } from './destination.ts'
import { Flush } from './flush.ts'
import { Isolation } from './isolation.ts'
import type { Pacer } from './pacer.ts'
import type { Stop } from './ports.ts'
import { pushBatch } from './push.ts'
import { registerProtocol } from './register.ts'

/** What a delivery works with. */
export interface DeliveryOptions {
  readonly outbox: Outbox
  readonly client: ServiceClient
  readonly destination: Destination
  /** Shared by all destinations: it is one service that is spared. */
  readonly pacer: Pacer
  readonly inFlight: number
  readonly log: Log
  readonly redactor: Redactor
  readonly time: Time
}

/** `asked`: a person wants it now, which the breaker does not hinder; the service's own `Retry-After` does. */
export type FlushOccasion = 'due' | 'asked'

/** Delivers to one destination: flush after flush, as long as there is something due and nothing to wait for. */
export class Delivery {
  readonly #options: DeliveryOptions
  readonly #isolation = new Isolation()
  /** The key the service has refused; as long as it is the same one, nothing is sent with it. */
  #refusedKey: string | undefined

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  /**
   * Pushes all that is due, unless the destination has to wait. What goes wrong is recorded, and what is not settled
   * stays due. Rejects only when the outbox cannot be read or written.
   */
  async flush(occasion: FlushOccasion, signal: AbortSignal): Promise<void> {
    const protocols = this.#sendable(occasion)
    if (protocols.length === 0) return
    const stop = await this.#flushWithKey(protocols, signal).catch((error: unknown): Stop => {
      if (signal.aborted) return { kind: 'stopped', reason: faultLine(error) }
      if (error instanceof Fault) return { kind: 'transient', reason: faultLine(error) }
      throw error
    })
    this.#conclude(stop)
  }

  /** Protocols with something due that may be sent now; none while the destination waits. */
  #sendable(occasion: FlushOccasion): readonly ProtocolConfig[] {
    const { outbox, destination, time } = this.#options
    const nowMs = time.nowMs()
    const { notBeforeMs, probeAtMs } = this.#state
    if (isYetToCome(notBeforeMs, nowMs, retryAfterMsMax)) return []
    if (occasion === 'due' && isYetToCome(probeAtMs, nowMs, breakerCapMs)) return []
    const protocols = destination.protocols.filter(
      ({ id }) => occasion === 'asked' || !this.#isolation.isAside(id, nowMs),
    )
    const ids = protocols.map(({ id }) => id)
    return outbox.metrics.due(ids, hourAt(nowMs), 1).length > 0 ? protocols : []
  }

  async #flushWithKey(protocols: readonly ProtocolConfig[], signal: AbortSignal): Promise<Stop | undefined> {
    const key = this.#options.destination.readKey()
    this.#options.redactor.add([key])
    const refusal = await this.#refusalOf(key)
    if (refusal !== undefined) return { kind: 'key-refused', reason: refusal }
    const stop = await this.#newFlush(protocols, key, signal).run()
    if (stop?.kind === 'key-refused') this.#refusedKey = key
    return stop
  }

  /** After a 401 the service is asked about the key again only when it has changed. */
  async #refusalOf(key: string): Promise<string | undefined> {
    if (this.#refusedKey === undefined) return undefined
    if (this.#refusedKey === key) return 'the service refused this key and it has not changed'
    const answer = await this.#options.client.validateKey(key)
    if (answer.kind === 'unanswered') return `the changed key could not be checked: ${answer.reason}`
    if (answer.status === 401) this.#refusedKey = key
    if (answer.status < 200 || answer.status >= 300)
      return `the service answered ${answer.status} about the changed key`
    this.#refusedKey = undefined
    return undefined
  }

  #newFlush(protocols: readonly ProtocolConfig[], key: string, signal: AbortSignal): Flush {
    const { outbox, client, inFlight, time } = this.#options
    return new Flush({
      protocols,
      inFlight,
      due: (protocolIds, limit) => outbox.metrics.due(protocolIds, hourAt(time.nowMs()), limit),
      push: batch => this.#push(batch, key, signal),
      settle: settlement => this.#settle(settlement),
      register: protocol => registerProtocol(client, protocol, key),
      isolated: (protocol, status, reason) => this.#isolate(protocol, status, reason),
    })
  }

  async #push(batch: Batch, key: string, signal: AbortSignal): Promise<Verdict> {
    const { client, pacer, time, log } = this.#options
    const verdict = await pushBatch(batch, { client, key, pacer, time, signal })
    log.debug({ metrics: batch.length, first: hourText(batch[0].hour), verdict: verdict.kind }, 'pushed')
    return verdict
  }

  #settle(settlement: Settlement): void {
    const { outbox, log, time } = this.#options
    outbox.settle(settlement, time.nowMs())
    for (const { metric, reason } of settlement.dead) {
      log.error(
        { metric: metric.id, hour: hourText(metric.hour), reason },
        'metric refused by the service: kept as dead',
      )
    }
    for (const { metric, text } of settlement.warnings.slice(0, loggedWarningsMax)) {
      log.warn({ metric: metric?.id, warning: text }, 'warning of the service')
    }
    const more = settlement.warnings.length - loggedWarningsMax
    if (more > 0) log.warn({ more }, 'warnings of the service: the rest is in the status')
    for (const { protocolId } of settlement.delivered) this.#isolation.remove(protocolId)
    if (settlement.delivered.length > 0) log.info({ metrics: settlement.delivered.length }, 'delivered')
  }

  #isolate({ id }: ProtocolConfig, status: number, reason: string): void {
    const { log, time } = this.#options
    const fix = status === 404 ? `register it: tidegauge register ${id}` : 'use the key that owns it'
    this.#isolation.add(id, `protocol ${id} is refused (${reason}): ${fix}`, time.nowMs(), time.chance())
    log.error({ protocol: id, status, reason, fix }, 'protocol refused: its metrics stay due')
  }

  #conclude(stop: Stop | undefined): void {
    if (stop?.kind === 'stopped') return
    const { outbox, destination, log, time } = this.#options
    const nowMs = time.nowMs()
    const sentences = [...(stop ? [stopSentence(stop)] : []), ...this.#isolation.sentences]
    const waiting = sentences.length > 0 ? { waiting: sentences.join('; ') } : {}
    const lastPush = { atMs: nowMs, verdict: stop?.kind ?? (sentences.length > 0 ? 'protocol-refused' : 'delivered') }
    const breaker = stop ? this.#opened(stop, nowMs) : { notBeforeMs: 0, probeAtMs: 0, failures: 0 }
    outbox.destinations.set(destination.name, { ...breaker, ...waiting, lastPush })
    if (stop) {
      const nextAttempt = new Date(Math.max(breaker.notBeforeMs, breaker.probeAtMs)).toISOString()
      log.warn({ destination: destination.name, reason: waiting.waiting, nextAttempt }, 'delivery waits')
    }
  }

  #opened(stop: Stop, nowMs: number): Pick<DestinationState, 'notBeforeMs' | 'probeAtMs' | 'failures'> {
    const failures = this.#state.failures + 1
    const chance = 0.5 + this.#options.time.chance() / 2
    const probeAtMs = nowMs + backoffMs({ baseMs: breakerBaseMs, capMs: breakerCapMs }, failures, chance)
    return { failures, probeAtMs, notBeforeMs: stop.kind === 'transient' ? (stop.notBeforeMs ?? 0) : 0 }
  }

  get #state(): DestinationState {
    return this.#options.outbox.destinations.get(this.#options.destination.name)
  }
}

function stopSentence({ kind, reason }: Stop): string {
  switch (kind) {
    case 'key-refused':
      return `the key is refused (${reason}): put a valid key in its place, delivery resumes by itself`
    case 'misdirected':
      return `the address does not answer like the service (${reason}): check service.url`
    default:
      return reason
  }
}
