import type { Metric } from '../../model/metric.ts'
import type { MetricList } from '../../model/metric-list.ts'
import { MetricSet, metricKey } from '../../model/metric-set.ts'
import { type Remark, warningKind } from '../../model/remarks.ts'
import type { DeliveryStore } from '../../outbox/contract/delivery-store.ts'
import type { Sending } from '../isolate/actions.ts'

/**
 * Metrics that the service may have: sends whose outcome is unknown, sends of an earlier process, and values corrected
 * since they were sent. "Already exists" is expected of them and is not news. Metrics enqueued by this process cannot
 * have been sent before.
 */
export class UnconfirmedSends {
  readonly #sent = new MetricSet()
  readonly #outbox: Pick<DeliveryStore, 'sentBefore' | 'maybeSent'>
  #isFirstFlush = true

  constructor(outbox: Pick<DeliveryStore, 'sentBefore' | 'maybeSent'>) {
    this.#outbox = outbox
  }

  /** Adds metrics that were sent with an unknown outcome. */
  add(metrics: MetricList): void {
    for (const metric of metrics) this.#sent.add(metric)
    this.#outbox.maybeSent([...metrics])
  }

  /** Removes metrics whose outcome is recorded. */
  remove(metrics: MetricList): void {
    if (this.#sent.size > 0) for (const metric of metrics) this.#sent.delete(metric)
  }

  /** Ends the first flush: every metric that was due when the process started has had its turn. */
  endFirstFlush(): void {
    this.#isFirstFlush = false
  }

  /**
   * The unexpected remarks about a push. Wait for them before its verdicts are recorded.
   *
   * @param delivered the delivered metrics: a remark without a metric may be about any of them
   */
  async unexpectedWarnings(
    remarks: readonly Remark[],
    sending: Sending,
    delivered: MetricList,
  ): Promise<readonly Remark[]> {
    const existing = new Set(remarks.filter(({ text }) => warningKind(text) === 'already-exists'))
    if (existing.size === 0) return remarks
    if (sending === 'again') return remarks.filter(remark => !existing.has(remark))
    const unconfirmed = await this.#unconfirmedOf([...existing].flatMap(({ metric }) => metric ?? [...delivered]))
    const isUnconfirmed = (metric: Metric) => unconfirmed.has(metricKey(metric))
    const isExpected = ({ metric }: Remark) => (metric ? isUnconfirmed(metric) : delivered.some(isUnconfirmed))
    return remarks.filter(remark => !existing.has(remark) || !isExpected(remark))
  }

  /** The keys of those among some metrics that the service may have had before. */
  async #unconfirmedOf(metrics: readonly Metric[]): Promise<ReadonlySet<string>> {
    const isFirstFlush = this.#isFirstFlush
    const [sent, others] = [metrics.filter(one => this.#sent.has(one)), metrics.filter(one => !this.#sent.has(one))]
    const answers = others.length === 0 ? [] : await this.#outbox.sentBefore(others)
    const mayHave = (place: number) => answers[place] === 'corrected' || (isFirstFlush && answers[place] === 'unknown')
    return new Set([...sent, ...others.filter((_, place) => mayHave(place))].map(metricKey))
  }
}
