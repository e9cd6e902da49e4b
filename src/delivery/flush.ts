import type { ProtocolConfig } from '../config/config.ts'
import { type Batch, batchesOf, halves } from '../model/batch.ts'
import type { Hour } from '../model/hour.ts'
import { batchMetricsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import type { DeadMetric, Verdict } from '../model/verdict.ts'
import type { Settlement } from '../outbox/outbox.ts'

/** Single metrics refused, with none accepted, after which it is not the metrics. */
const systemicSinglesMin = 3

/** Why a flush ended before everything due was settled. */
export type Stop =
  | { readonly kind: 'transient'; readonly reason: string; readonly notBeforeMs?: number }
  | { readonly kind: 'key-refused'; readonly reason: string }
  | { readonly kind: 'misdirected'; readonly reason: string }
  | { readonly kind: 'systemic'; readonly reason: string }
  | { readonly kind: 'stopped'; readonly reason: string }

/** What a flush reads and does: the outbox and the service, as functions. */
export interface FlushPorts {
  readonly protocols: readonly ProtocolConfig[]
  /** Due metrics of the protocols, in the order of delivery, at most `limit`. */
  due(protocolIds: readonly string[], limit: number): readonly Metric[]
  push(batch: Batch): Promise<Verdict>
  settle(settlement: Settlement): void
  /** Registers a protocol the service does not know; resolves to why it could not, or `undefined` when it did. */
  register(protocol: ProtocolConfig): Promise<string | undefined>
  /** A protocol's metrics stay due until a later flush. */
  isolated(protocol: ProtocolConfig, status: number, reason: string): void
  readonly inFlight: number
}

/**
 * One flush of one destination: everything due is pushed, bad metrics are found by halving, bad protocols are set aside.
 * What is under way is kept in memory only; the outbox knows nothing but verdicts.
 */
export class Flush {
  readonly #ports: FlushPorts
  /** Parts of batches that were split, to be sent before anything new. */
  readonly #split: Batch[] = []
  readonly #underWay = new Set<string>()
  readonly #isolated = new Set<string>()
  readonly #registrations = new Map<string, Promise<string | undefined>>()
  readonly #sentAfterRegistration = new WeakSet<Batch>()
  /** Refused alone while nothing had been accepted yet: dead only once something is. */
  #suspects: DeadMetric[] = []
  #accepted = false
  #stop: Stop | undefined

  constructor(ports: FlushPorts) {
    this.#ports = ports
  }

  /** @returns why it stopped; `undefined` when nothing was left to send */
  async run(): Promise<Stop | undefined> {
    const lane = async () => {
      for (let batch = this.#next(); batch; batch = this.#next()) await this.#send(batch)
    }
    // Pushes go one by one until something is accepted: that probes a service that may be down, and shows whether
    // metrics are accepted at all.
    for (let batch = this.#next(); batch; batch = this.#accepted ? undefined : this.#next()) await this.#send(batch)
    while (!this.#stop && this.#hasMore()) await Promise.all(Array.from({ length: this.#ports.inFlight }, lane))
    if (!this.#stop && this.#suspects.length > 0 && !this.#accepted) this.#stopSystemic()
    return this.#stop
  }

  #hasMore(): boolean {
    const batch = this.#next()
    if (batch) this.#putBack(batch)
    return batch !== undefined
  }

  #putBack(batch: Batch): void {
    this.#leave(batch)
    this.#split.unshift(batch)
  }

  #next(): Batch | undefined {
    if (this.#stop) return undefined
    const batch = this.#split.shift() ?? this.#fromOutbox()
    for (const metric of batch ?? []) this.#underWay.add(keyOf(metric))
    return batch
  }

  #fromOutbox(): Batch | undefined {
    const ids = this.#ports.protocols.map(({ id }) => id).filter(id => !this.#isolated.has(id))
    if (ids.length === 0) return undefined
    const waiting = this.#split.reduce((sum, batch) => sum + batch.length, 0)
    const due = this.#ports.due(ids, batchMetricsMax + this.#underWay.size + waiting)
    return batchesOf(
      due.filter(metric => !this.#underWay.has(keyOf(metric))),
      batchMetricsMax,
    )[0]
  }

  async #send(batch: Batch): Promise<void> {
    try {
      await this.#act(await this.#ports.push(batch), batch)
    } finally {
      if (!this.#suspects.some(({ metric }) => batch.includes(metric))) this.#leave(batch)
    }
  }

  /** Metrics of split parts stay under way until their own verdict. */
  #leave(batch: Batch): void {
    const split = new Set(this.#split.flat().map(keyOf))
    for (const key of batch.map(keyOf)) if (!split.has(key)) this.#underWay.delete(key)
  }

  async #act(verdict: Verdict, batch: Batch): Promise<void> {
    switch (verdict.kind) {
      case 'settled':
        if (verdict.delivered.length > 0) this.#accept()
        this.#ports.settle(verdict)
        this.#split.unshift(...halves(verdict.resend))
        return
      case 'refused':
        return this.#refused(batch, verdict.reason)
      case 'protocol-refused':
        return this.#protocolRefused(batch, verdict.status, verdict.reason)
      case 'transient':
      case 'key-refused':
      case 'misdirected':
        this.#stop ??= verdict
        return
    }
  }

  #accept(): void {
    this.#accepted = true
    if (this.#suspects.length === 0) return
    this.#ports.settle({ delivered: [], dead: this.#suspects, warnings: [] })
    for (const { metric } of this.#suspects) this.#underWay.delete(keyOf(metric))
    this.#suspects = []
  }

  #refused(batch: Batch, reason: string): void {
    if (batch.length > 1) {
      this.#split.unshift(...halves(batch))
      return
    }
    const dead = batch.map(metric => ({ metric, reason }))
    if (this.#accepted) {
      this.#ports.settle({ delivered: [], dead, warnings: [] })
      return
    }
    this.#suspects.push(...dead)
    if (this.#suspects.length >= systemicSinglesMin) this.#stopSystemic()
  }

  #stopSystemic(): void {
    const reason = `every metric is refused, so it is not the metrics: ${this.#suspects[0]?.reason ?? ''}`
    this.#stop ??= { kind: 'systemic', reason }
  }

  async #protocolRefused(batch: Batch, status: 403 | 404, reason: string): Promise<void> {
    const byProtocol = [...Map.groupBy(batch, ({ protocolId }) => protocolId).values()]
    if (byProtocol.length > 1) {
      this.#split.unshift(...byProtocol.flatMap(part => batchesOf(part, batchMetricsMax)))
      return
    }
    const protocol = this.#ports.protocols.find(({ id }) => id === batch[0].protocolId)
    if (!protocol) return
    const mayRegister = status === 404 && protocol.register && !this.#sentAfterRegistration.has(batch)
    const refusal = mayRegister ? await this.#register(protocol) : reason
    if (refusal === undefined) {
      this.#sentAfterRegistration.add(batch)
      this.#split.unshift(batch)
    } else {
      this.#isolate(protocol, status, refusal)
    }
  }

  /** Once a flush and protocol, however many pushes find it unknown at the same time. */
  #register(protocol: ProtocolConfig): Promise<string | undefined> {
    const running = this.#registrations.get(protocol.id) ?? this.#ports.register(protocol)
    this.#registrations.set(protocol.id, running)
    return running
  }

  #isolate(protocol: ProtocolConfig, status: number, reason: string): void {
    if (!this.#isolated.has(protocol.id)) this.#ports.isolated(protocol, status, reason)
    this.#isolated.add(protocol.id)
    this.#dropSplit(protocol.id)
  }

  /** What was split of an isolated protocol is still due in the outbox; nothing of it is sent in this flush. */
  #dropSplit(protocolId: string): void {
    const kept = this.#split.flatMap(batch =>
      batchesOf(
        batch.filter(metric => metric.protocolId !== protocolId),
        batchMetricsMax,
      ),
    )
    this.#split.splice(0, this.#split.length, ...kept)
  }
}

function keyOf({ hour, id }: { readonly hour: Hour; readonly id: string }): string {
  return `${hour} ${id}`
}
