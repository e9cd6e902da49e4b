import type { Batch } from '../model/batch.ts'
import type { Metric } from '../model/metric.ts'
import type { Verdict } from '../model/verdict.ts'

/**
 * A metric that was delivered in this flush. It is sent once more where it is in doubt whether the service still accepts
 * anything: a re-send only updates, so that if it is accepted the trouble lies with what was refused.
 */
export class Witness {
  readonly #push: (batch: Batch) => Promise<Verdict>
  readonly #earlier: () => Metric | undefined
  #metric: Metric | undefined
  #hearing: Promise<Verdict> | undefined

  /** @param earlier one that was delivered before this flush */
  constructor(push: (batch: Batch) => Promise<Verdict>, earlier: () => Metric | undefined) {
    this.#push = push
    this.#earlier = earlier
  }

  /** Whether anything was accepted yet. */
  get isKnown(): boolean {
    return this.#metric !== undefined
  }

  isNow(metric: Metric): void {
    this.#metric = metric
  }

  /**
   * What the service says to it; those who ask at the same time are answered together.
   *
   * @returns `undefined` when there is no witness, or none any more
   */
  async hear(): Promise<Verdict | undefined> {
    return this.#metric && this.#hear(this.#metric)
  }

  /** The same of one that was delivered before this flush. */
  async hearEarlier(): Promise<Verdict | undefined> {
    const metric = this.#earlier()
    return metric && this.#hear(metric)
  }

  async #hear(metric: Metric): Promise<Verdict> {
    this.#hearing ??= this.#push([metric]).finally(() => {
      this.#hearing = undefined
    })
    const verdict = await this.#hearing
    if (verdict.kind === 'protocol-refused') this.#metric = undefined
    return verdict
  }
}

/** Whether a verdict shows that the service accepts metrics. */
export function isAccepted(verdict: Verdict | undefined): boolean {
  return verdict?.kind === 'settled' && verdict.delivered.length > 0
}
