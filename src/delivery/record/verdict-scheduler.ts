import { BatchScheduler, whileExpected } from '../../edge/batch-scheduler.ts'
import { commitRowsMax } from '../../model/limits.ts'
import type { MetricVerdicts } from '../../outbox/contract/outcome.ts'

/** Writes verdicts, all or none. @param onDelay called when they cannot be written at once, perhaps repeatedly */
export type WriteVerdicts = (verdicts: MetricVerdicts, onDelay: () => void) => Promise<void>

/** Turns of the event loop, of a few microseconds each, for which a commit waits for verdicts that are expected soon. */
const turnsMax = 100

/**
 * Records verdicts one commit after the other. A lane goes on only when its own is recorded, or waits for another
 * process's lock, so that no more is sent twice after a crash than was under way.
 */
export class VerdictScheduler {
  readonly #scheduler: BatchScheduler<MetricVerdicts, void>
  /** Called when the verdicts cannot be recorded at once; each is called once. */
  readonly #untold = new Set<() => void>()
  #isDelayed = false

  /** @param areExpected whether others are expected so soon that a commit should wait for them. Default: never */
  constructor(write: WriteVerdicts, areExpected: () => boolean = () => false) {
    this.#scheduler = new BatchScheduler<MetricVerdicts, void>(
      async jobs => {
        try {
          await write(merged(jobs.map(({ request }) => request)), () => this.#delay())
        } finally {
          this.#isDelayed = false
        }
        for (const { resolve } of jobs) resolve()
      },
      { untilComplete: whileExpected(areExpected, turnsMax), sizeOf: rowsOf, sizeMax: commitRowsMax, isSerial: true },
    )
  }

  /**
   * Resolves when the verdicts are recorded; rejects with what writing threw.
   *
   * @param onDelay called once if they, or those before them, cannot be recorded at once
   */
  async record(verdicts: MetricVerdicts, onDelay: () => void = () => {}): Promise<void> {
    if (this.#isDelayed) onDelay()
    else this.#untold.add(onDelay)
    try {
      await this.#scheduler.schedule(verdicts)
    } finally {
      this.#untold.delete(onDelay)
    }
  }

  #delay(): void {
    this.#isDelayed = true
    const untold = [...this.#untold]
    this.#untold.clear()
    for (const tell of untold) tell()
  }
}

function rowsOf({ delivered, dead, warnings }: MetricVerdicts): number {
  return delivered.length + dead.length + warnings.length
}

function merged(all: readonly MetricVerdicts[]): MetricVerdicts {
  const [only] = all
  if (only && all.length === 1) return only
  return {
    delivered: joined(all.map(({ delivered }) => delivered)),
    dead: all.flatMap(({ dead }) => dead),
    warnings: all.flatMap(({ warnings }) => warnings),
  }
}

/** The lists as one, each copied whole. */
function joined<T>(lists: readonly (readonly T[])[]): readonly T[] {
  return ([] as readonly T[]).concat(...lists)
}
