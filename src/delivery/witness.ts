import type { Batch } from '../model/batch.ts'
import type { Metric } from '../model/metric.ts'
import type { Verdict } from '../model/verdict.ts'
import type { FlushPorts } from './ports.ts'

/**
 * A metric that was delivered in this flush. It is sent once more where it is in doubt whether the service still accepts
 * anything: a re-send only updates, so that if it is accepted the trouble lies with what was refused.
 */
export class Witness {
  readonly #push: (batch: Batch) => Promise<Verdict>
  readonly #ports: Pick<FlushPorts, 'earlier' | 'present'>
  #metric: Metric | undefined
  #hearing: Promise<Verdict> | undefined

  constructor(push: (batch: Batch) => Promise<Verdict>, ports: Pick<FlushPorts, 'earlier' | 'present'>) {
    this.#push = push
    this.#ports = ports
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
    const metric = this.#ports.earlier()
    return metric && this.#hear(metric)
  }

  /** With the value that it has now: an old one would win at the service over a correction. */
  async #hear(metric: Metric): Promise<Verdict | undefined> {
    const present = this.#ports.present(metric)
    if (!present) {
      this.#metric = undefined
      return undefined
    }
    this.#hearing ??= this.#push([present]).finally(() => {
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
