import { BatchScheduler } from '../../edge/batch-scheduler.ts'
import { commitRowsMax } from '../../model/limits.ts'
import type { MetricVerdicts } from '../../outbox/contract/outcome.ts'

interface Unrecorded {
  readonly settlement: MetricVerdicts
  readonly onDelay: () => void
}

/** Writes verdicts, all or none. @param onDelay called when they cannot be written at once */
export type WriteVerdicts = (settlement: MetricVerdicts, onDelay: () => void) => Promise<void>

/**
 * Records verdicts that arrive in one turn of the event loop in one commit. A lane goes on only when its own is recorded,
 * or waits for another process's lock, so that no more is sent twice after a crash than was under way.
 */
export class VerdictScheduler {
  readonly #scheduler: BatchScheduler<Unrecorded, void>

  constructor(write: WriteVerdicts) {
    this.#scheduler = new BatchScheduler<Unrecorded, void>(
      async jobs => {
        const onDelay = () => jobs.forEach(({ request }) => void request.onDelay())
        await write(merged(jobs.map(({ request }) => request.settlement)), onDelay)
        for (const { resolve } of jobs) resolve()
      },
      { sizeOf: ({ settlement }) => rowsOf(settlement), sizeMax: commitRowsMax },
    )
  }

  /**
   * Resolves when the verdicts are recorded; rejects with what writing threw.
   *
   * @param onDelay called when they cannot be recorded at once
   */
  async record(settlement: MetricVerdicts, onDelay: () => void = () => {}): Promise<void> {
    await this.#scheduler.schedule({ settlement, onDelay })
  }
}

function rowsOf({ delivered, dead, warnings }: MetricVerdicts): number {
  return delivered.length + dead.length + warnings.length
}

function merged(settlements: readonly MetricVerdicts[]): MetricVerdicts {
  const [only] = settlements
  if (only && settlements.length === 1) return only
  return {
    delivered: settlements.flatMap(({ delivered }) => delivered),
    dead: settlements.flatMap(({ dead }) => dead),
    warnings: settlements.flatMap(({ warnings }) => warnings),
  }
}
