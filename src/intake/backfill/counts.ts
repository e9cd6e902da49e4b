import type { Recorded } from '../../outbox/contract/outcome.ts'
import type { Work } from './work.ts'

/** Results of the hours of one collector, as counts. */
export interface CollectorCounts {
  readonly collector: string
  /** Hours read and stored. */
  readonly done: number
  /** Hours collected before. */
  readonly alreadyCollected: number
  /** Due hours left to the running daemon. */
  readonly leftToDaemon: number
  /** Hours that failed. */
  readonly failed: number
  /** Past hours of a collector that reads only the present, and hours before a chain's first block. */
  readonly impossible: number
  /** Number of new metrics. */
  readonly added: number
  /** Metrics whose value changed. */
  readonly corrected: number
}

/** Counts results of hours, by collector. */
export class Counts {
  readonly #counts: Map<string, CollectorCounts>

  constructor(works: readonly Work[]) {
    const none = { done: 0, failed: 0, added: 0, corrected: 0 }
    this.#counts = new Map(
      works.map(({ collector: { id }, alreadyCollected, leftToDaemon, impossible }) => [
        id,
        { collector: id, alreadyCollected, leftToDaemon, impossible, ...none },
      ]),
    )
  }

  /** Counts one hour. */
  add(collector: string, fate: 'done' | 'alreadyCollected' | 'leftToDaemon' | 'failed' | 'impossible'): void {
    this.#change(collector, counts => ({ ...counts, [fate]: counts[fate] + 1 }))
  }

  stored(collector: string, { added, corrected }: Recorded): void {
    this.#change(collector, counts => ({
      ...counts,
      added: counts.added + added,
      corrected: counts.corrected + corrected,
    }))
  }

  get all(): readonly CollectorCounts[] {
    return [...this.#counts.values()]
  }

  #change(collector: string, change: (counts: CollectorCounts) => CollectorCounts): void {
    const counts = this.#counts.get(collector)
    if (counts) this.#counts.set(collector, change(counts))
  }
}
