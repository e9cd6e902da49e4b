import type { Reporter, ReportStore } from '../../../src/outbox/contract/outbox.ts'

/** Reports in memory, which outlive the reporters of a test. */
export class MemoryReports implements ReportStore {
  readonly states = new Map<Reporter, string>()
  /** Number of states saved. */
  saves = 0

  async read(reporter: Reporter): Promise<string | undefined> {
    return this.states.get(reporter)
  }

  async save(reporter: Reporter, state: string): Promise<void> {
    this.saves += 1
    this.states.set(reporter, state)
  }
}
