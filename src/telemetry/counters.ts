import type { FaultCode } from '../model/fault.ts'
import type { Verdict } from '../model/verdict.ts'

/** Runs of one collector. */
interface RunCounts {
  runs: number
  /** Duration of all runs. */
  seconds: number
  /** Runs that failed, by the code of their fault. */
  readonly failures: Map<FaultCode, number>
}

/** Answers of one receiver of reports. */
export interface ReportCounts {
  accepted: number
  /** Attempts that it did not accept, for whatever reason. */
  refused: number
  /** Why the last attempt was not accepted; absent when it was, and before the first. */
  failing?: string
}

/** Result of one run. */
interface RunResult {
  readonly acceptedValues: readonly unknown[]
  /** Absent when it gave every value. */
  readonly fault?: { readonly code: FaultCode }
}

/** Counts since the daemon's loops were started, for the exposition. Plain numbers, which cost nothing until they are read. */
export class Counters {
  /** Answers to pushes, by verdict; an attempt without an answer is `transient`. */
  readonly pushes: Record<Verdict['kind'], number> = {
    settled: 0,
    refused: 0,
    transient: 0,
    'key-refused': 0,
    'protocol-refused': 0,
    misdirected: 0,
  }
  /** By the collector's id; absent before its first run. */
  readonly runs = new Map<string, RunCounts>()
  /** By the receiver's name; of each that is configured. */
  readonly reports = new Map<string, ReportCounts>()
  /** Metrics that collectors gave, and metrics that the service took. */
  collected = 0
  delivered = 0

  /** Counts the answer to a push. */
  pushed(verdict: Verdict['kind']): void {
    this.pushes[verdict] += 1
  }

  /** Counts an attempt at a report. @param reason why it was not accepted; absent when it was */
  reported(receiver: string, reason?: string): void {
    const { accepted, refused } = this.reports.get(receiver) ?? { accepted: 0, refused: 0 }
    const counts =
      reason === undefined ? { accepted: accepted + 1, refused } : { accepted, refused: refused + 1, failing: reason }
    this.reports.set(receiver, counts)
  }

  /** Counts a run of a collector, and the metrics that it gave. */
  ran(collector: string, seconds: number, { acceptedValues, fault }: RunResult): void {
    const counts = this.runs.get(collector) ?? { runs: 0, seconds: 0, failures: new Map<FaultCode, number>() }
    counts.runs += 1
    counts.seconds += Math.max(0, seconds)
    if (fault) counts.failures.set(fault.code, (counts.failures.get(fault.code) ?? 0) + 1)
    this.runs.set(collector, counts)
    this.collected += acceptedValues.length
  }
}
