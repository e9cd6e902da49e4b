import type { Counters } from '../telemetry/counters.ts'
import type { Log } from '../telemetry/log.ts'

/** Logs that a receiver does not accept reports, once when it begins and once when it is over, and counts its answers. */
export class ReceiverLog {
  readonly #receiver: string
  readonly #log: Log
  readonly #counters: Counters | undefined
  #isRefused = false

  /** @param receiver its name, for messages */
  constructor(receiver: string, log: Log, counters?: Counters) {
    this.#receiver = receiver
    this.#log = log
    this.#counters = counters
    if (counters && !counters.reports.has(receiver)) counters.reports.set(receiver, { accepted: 0, refused: 0 })
  }

  /** Records that a report was accepted. */
  accepted(): void {
    if (this.#isRefused) this.#log.info({ receiver: this.#receiver }, 'reports are accepted again')
    this.#isRefused = false
    this.#counters?.reported(this.#receiver)
  }

  /** Records that a report was not accepted. @param reason without a secret */
  refused(reason: string): void {
    if (!this.#isRefused) this.#log.warn({ receiver: this.#receiver, reason }, 'a report is not accepted')
    this.#isRefused = true
    this.#counters?.reported(this.#receiver, reason)
  }
}
