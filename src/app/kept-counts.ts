import { CallOutcomes } from '../chain/endpoint/call-outcomes.ts'
import { ProcessMetrics } from '../status/exposition/process-metrics.ts'
import { Counters } from '../telemetry/counters.ts'

/** Counts since the start of the process. They outlive the daemon's parts, which a reload starts again. */
export class KeptCounts {
  readonly counters = new Counters()
  readonly ofProcess = new ProcessMetrics()
  readonly #calls = new Map<string, CallOutcomes>()

  /** Counts of the calls to an endpoint. @param url a secret, kept in memory alone */
  callsTo(chain: string, url: string): CallOutcomes {
    const key = `${chain} ${url}`
    const counts = this.#calls.get(key) ?? new CallOutcomes()
    this.#calls.set(key, counts)
    return counts
  }
}
