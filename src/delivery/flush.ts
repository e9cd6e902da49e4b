import type { ProtocolConfig } from '../config/config.ts'
import { type Batch, batchesOf, halves } from '../model/batch.ts'
import type { Hour } from '../model/hour.ts'
import { batchMetricsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import type { DeadMetric, Verdict } from '../model/verdict.ts'
import type { FlushPorts, Stop } from './ports.ts'
import { spread } from './spread.ts'

/** Single metrics refused in a row after which it is asked whether it is the metrics at all. */
const suspectsMin = 3

/** Metrics from elsewhere that are tried then, while nothing has been accepted in this flush. */
const probesMax = 3

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
  /** Refused alone since something was last accepted: dead once something is again, kept if nothing is. */
  #suspects: DeadMetric[] = []
  /** Metrics from elsewhere that were put first, to find out whether anything is accepted. */
  #probes = 0
  /** Delivered in this flush: sent once more, where it is in doubt whether the service still accepts anything. */
  #witness: Metric | undefined
  #isHearingWitness = false
  #stop: Stop | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(ports: FlushPorts) {
    this.#ports = ports
  }

  /**
   * Rejects, once nothing is under way any more, with what the outbox or a stop threw.
   *
   * @returns why it stopped; `undefined` when nothing was left to send
   */
  async run(): Promise<Stop | undefined> {
    const lane = async () => {
      for (let batch = this.#next(); batch; batch = this.#next()) await this.#send(batch)
    }
    // Pushes go one by one until something is accepted: that probes a service that may be down, and shows whether
    // metrics are accepted at all.
    for (let batch = this.#next(); batch; batch = this.#witness ? undefined : this.#next()) await this.#send(batch)
    while (!this.#stop && this.#hasMore()) await Promise.all(Array.from({ length: this.#ports.inFlight }, lane))
    if (!this.#stop && this.#suspects.length > 0) this.#concludeSuspects()
    if (this.#failure) throw this.#failure.error
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
    } catch (error) {
      // The other lanes end by themselves: nothing may be under way when this flush rejects.
      this.#failure ??= { error }
      this.#stop ??= { kind: 'stopped', reason: 'the flush failed' }
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
        this.#ports.settle(verdict)
        if (verdict.delivered[0]) this.#accept(verdict.delivered[0])
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

  #accept(witness: Metric): void {
    this.#witness = witness
    this.#probes = 0
    this.#bury()
  }

  #bury(): void {
    const suspects = this.#suspects
    this.#suspects = []
    if (suspects.length > 0) this.#ports.settle({ delivered: [], dead: suspects, warnings: [] })
    for (const { metric } of suspects) this.#underWay.delete(keyOf(metric))
  }

  async #refused(batch: Batch, reason: string): Promise<void> {
    if (batch.length > 1) {
      this.#split.unshift(...halves(batch))
      return
    }
    this.#suspects.push(...batch.map(metric => ({ metric, reason })))
    if (this.#suspects.length < suspectsMin) return
    if (this.#witness) await this.#hearWitness(this.#witness)
    else if (this.#probes === 0) this.#putProbesFirst()
    else if (this.#suspects.length >= suspectsMin + this.#probes) this.#stopSystemic()
  }

  /** A re-send only updates: if what was just delivered is accepted again, it is the metrics; else it is the service. */
  async #hearWitness(witness: Metric): Promise<void> {
    if (this.#isHearingWitness) return
    this.#isHearingWitness = true
    const verdict = await this.#ports.push([witness])
    this.#isHearingWitness = false
    if (verdict.kind === 'settled' && verdict.delivered.length > 0) this.#bury()
    else if (verdict.kind === 'settled' || verdict.kind === 'refused') this.#stopSystemic()
    else if (verdict.kind === 'protocol-refused') this.#witness = undefined
    else this.#stop ??= verdict
  }

  #putProbesFirst(): void {
    const suspects = this.#suspects.map(({ metric }) => metric)
    const others = this.#ports.protocols
      .map(({ id }) => id)
      .filter(id => !suspects.some(metric => metric.protocolId === id))
    const ofOthers = this.#ports.due(
      others.filter(id => !this.#isolated.has(id)),
      this.#underWay.size + probesMax,
    )
    const candidates = [...this.#split.flat(), ...ofOthers.filter(metric => !this.#underWay.has(keyOf(metric)))]
    const probes = spread(candidates, suspects, probesMax)
    this.#probes = probes.length
    if (probes.length === 0) this.#stopSystemic()
    this.#keepSplit(metric => !probes.includes(metric))
    this.#split.unshift(...batchesOf(probes, 1))
    for (const metric of probes) this.#underWay.add(keyOf(metric))
  }

  /** A few refused at the very end: dead when others of this flush were accepted, else it may not be the metrics. */
  #concludeSuspects(): void {
    if (this.#witness) this.#bury()
    else this.#stopSystemic()
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
    this.#keepSplit(({ protocolId }) => protocolId !== protocol.id)
  }

  /** What is left out of the split parts is still due in the outbox. */
  #keepSplit(keeps: (metric: Metric) => boolean): void {
    const kept = this.#split.flatMap(batch => batchesOf(batch.filter(keeps), batchMetricsMax))
    this.#split.splice(0, this.#split.length, ...kept)
  }
}

function keyOf({ hour, id }: { readonly hour: Hour; readonly id: string }): string {
  return `${hour} ${id}`
}
