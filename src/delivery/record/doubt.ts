import type { Metric } from '../../model/metric.ts'
import { MetricSet } from '../../model/metric-set.ts'
import type { Remark } from '../../model/remarks.ts'
import { warningKind } from '../../model/warning-kind.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { Sending } from '../isolate/actions.ts'

/** What doubt asks the outbox. */
export interface DoubtDeps extends Pick<Outbox, 'isCorrection'> {
  readonly unsent: Pick<Outbox['unsent'], 'has' | 'mayBeSent'>
}

/**
 * Metrics which the service may have: they were sent and nothing understandable came back, or a process before this one may
 * have sent them, or their value was corrected since. That they "already exist" is then expected, and no news. What this
 * process put into the outbox itself cannot have been sent before it.
 */
export class Doubt {
  readonly #sent = new MetricSet()
  readonly #outbox: DoubtDeps
  #isFirstFlush = true

  constructor(outbox: DoubtDeps) {
    this.#outbox = outbox
  }

  /** They were sent, and what became of them is not known. */
  add(metrics: readonly Metric[]): void {
    for (const metric of metrics) this.#sent.add(metric)
    this.#outbox.unsent.mayBeSent(metrics)
  }

  settled(metrics: readonly Metric[]): void {
    if (this.#sent.size > 0) for (const metric of metrics) this.#sent.delete(metric)
  }

  /** All that was due when the process started has had its turn. */
  flushed(): void {
    this.#isFirstFlush = false
  }

  /**
   * The remarks about a push that are news. To be asked before the push is settled.
   *
   * @param delivered what was delivered: a remark that names no metric may be about any of them
   */
  news(remarks: readonly Remark[], sending: Sending, delivered: readonly Metric[]): readonly Remark[] {
    const isInDoubt = (metric: Metric) =>
      this.#sent.has(metric) ||
      this.#outbox.isCorrection(metric) ||
      (this.#isFirstFlush && !this.#outbox.unsent.has(metric))
    const isExpected = ({ metric, text }: Remark) =>
      warningKind(text) === 'already-exists' &&
      (sending === 'again' || (metric ? isInDoubt(metric) : delivered.some(isInDoubt)))
    return remarks.filter(remark => !isExpected(remark))
  }
}
