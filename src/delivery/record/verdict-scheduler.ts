import { BatchScheduler, whileExpected } from '../../edge/batch-scheduler.ts'
import { commitRowsMax } from '../../model/limits.ts'
import { joined } from '../../model/metric-list.ts'
import type { MetricVerdicts } from '../../outbox/contract/outcome.ts'

interface Unrecorded {
  readonly verdicts: MetricVerdicts
  readonly onDelay: () => void
}

/** Writes verdicts, all or none. @param onDelay called at each attempt that cannot write them */
export type WriteVerdicts = (verdicts: MetricVerdicts, onDelay: () => void) => Promise<void>

/** Turns of the event loop, of a few microseconds each when nothing else happens, for which a commit waits at most. */
const turnsMax = 100

/**
 * Records verdicts that arrive soon after each other in one commit. A lane goes on only when its own is recorded,
 * or waits for another process's lock, so that no more is sent twice after a crash than was under way.
 */
export class VerdictScheduler {
  readonly #scheduler: BatchScheduler<Unrecorded, void>

  /** @param areExpected whether others are still to be waited for, after so many turns. Default: never */
  constructor(write: WriteVerdicts, areExpected: (turns: number) => boolean = () => false) {
    this.#scheduler = new BatchScheduler<Unrecorded, void>(
      async jobs => {
        const onDelay = () => jobs.forEach(({ request }) => void request.onDelay())
        await write(merged(jobs.map(({ request }) => request.verdicts)), onDelay)
        for (const { resolve } of jobs) resolve()
      },
      {
        untilComplete: whileExpected(areExpected, turnsMax),
        sizeOf: ({ verdicts }) => rowsOf(verdicts),
        sizeMax: commitRowsMax,
      },
    )
  }

  /**
   * Resolves when the verdicts are recorded; rejects with what writing threw.
   *
   * @param onDelay called at each attempt that cannot record them
   */
  record(verdicts: MetricVerdicts, onDelay: () => void = () => {}): Promise<void> {
    return this.#scheduler.schedule({ verdicts, onDelay })
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
