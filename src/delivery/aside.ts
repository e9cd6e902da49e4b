import type { ProtocolConfig } from '../config/config.ts'
import { hourText } from '../model/hour.ts'
import type { Metric } from '../model/metric.ts'
import { Isolation } from './isolation.ts'
import { protocolSentence } from './sentences.ts'

/** What the service refuses, or fails on, while it takes others: left out for a while, so that those are on time. */
export class Aside {
  readonly #protocols = new Isolation<string>(id => id)
  readonly #metrics = new Isolation<Metric>(({ id, hour }) => `${id} ${hour}`)

  protocol({ id }: ProtocolConfig, status: number, reason: string, nowMs: number, chance: number): void {
    this.#protocols.add(id, protocolSentence(id, status, reason), nowMs, chance)
  }

  metric(metric: Metric, reason: string, nowMs: number, chance: number): void {
    const sentence = `the service fails on ${metric.id} of ${hourText(metric.hour)} alone (${reason})`
    this.#metrics.add(metric, sentence, nowMs, chance)
  }

  /** They were accepted. */
  delivered(metrics: readonly Metric[]): void {
    for (const metric of metrics) {
      this.#metrics.remove(metric)
      this.#protocols.remove(metric.protocolId)
    }
  }

  /** The service will not take it, ever. */
  dead(metric: Metric): void {
    this.#metrics.remove(metric)
  }

  /** Ids of protocols that are left out at an instant. */
  protocolsAt(nowMs: number): readonly string[] {
    return this.#protocols.asideAt(nowMs)
  }

  /** Metrics that are left out at an instant. */
  metricsAt(nowMs: number): readonly Metric[] {
    return this.#metrics.asideAt(nowMs)
  }

  /** Metrics that may be tried again at an instant. */
  troubledAt(nowMs: number): readonly Metric[] {
    return this.#metrics.overAt(nowMs)
  }

  /** Why, a sentence each. */
  get sentences(): readonly string[] {
    return [...this.#protocols.sentences, ...this.#metrics.sentences]
  }
}
