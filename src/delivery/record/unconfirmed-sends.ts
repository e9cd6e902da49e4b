import type { Metric } from '../../model/metric.ts'
import { MetricSet } from '../../model/metric-set.ts'
import type { Remark } from '../../model/remarks.ts'
import { warningKind } from '../../model/warning-kind.ts'
import type { SqliteOutbox } from '../../outbox/sqlite/sqlite-outbox.ts'
import type { Sending } from '../isolate/actions.ts'

/** The part of the outbox that `UnconfirmedSends` needs. */
export interface UnconfirmedSendsDeps extends Pick<SqliteOutbox, 'isCorrection'> {
  readonly unsent: Pick<SqliteOutbox['unsent'], 'has' | 'mayBeSent'>
}

/**
 * Metrics that the service may have: sends whose outcome is unknown, sends of an earlier process, and values corrected
 * since they were sent. "Already exists" is expected of them and is not news. Metrics enqueued by this process cannot
 * have been sent before.
 */
export class UnconfirmedSends {
  readonly #sent = new MetricSet()
  readonly #outbox: UnconfirmedSendsDeps
  #isFirstFlush = true

  constructor(outbox: UnconfirmedSendsDeps) {
    this.#outbox = outbox
  }

  /** Adds metrics that were sent with an unknown outcome. */
  add(metrics: readonly Metric[]): void {
    for (const metric of metrics) this.#sent.add(metric)
    this.#outbox.unsent.mayBeSent(metrics)
  }

  /** Removes metrics whose outcome is recorded. */
  remove(metrics: readonly Metric[]): void {
    if (this.#sent.size > 0) for (const metric of metrics) this.#sent.delete(metric)
  }

  /** Ends the first flush: every metric that was due when the process started has had its turn. */
  endFirstFlush(): void {
    this.#isFirstFlush = false
  }

  /**
   * The unexpected remarks about a push. Call it before its verdicts are recorded.
   *
   * @param delivered the delivered metrics: a remark without a metric may be about any of them
   */
  news(remarks: readonly Remark[], sending: Sending, delivered: readonly Metric[]): readonly Remark[] {
    const isUnconfirmed = (metric: Metric) =>
      this.#sent.has(metric) ||
      this.#outbox.isCorrection(metric) ||
      (this.#isFirstFlush && !this.#outbox.unsent.has(metric))
    const isExpected = ({ metric, text }: Remark) =>
      warningKind(text) === 'already-exists' &&
      (sending === 'again' || (metric ? isUnconfirmed(metric) : delivered.some(isUnconfirmed)))
    return remarks.filter(remark => !isExpected(remark))
  }
}
