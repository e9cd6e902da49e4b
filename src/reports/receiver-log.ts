import type { Log } from '../telemetry/log.ts'

/** Logs that a receiver does not accept reports: once when it begins, and once when it is over. */
export class ReceiverLog {
  readonly #receiver: string
  readonly #log: Log
  #isRefused = false

  /** @param receiver its name, for messages */
  constructor(receiver: string, log: Log) {
    this.#receiver = receiver
    this.#log = log
  }

  /** Records that a report was accepted. */
  accepted(): void {
    if (this.#isRefused) this.#log.info({ receiver: this.#receiver }, 'reports are accepted again')
    this.#isRefused = false
  }

  /** Records that a report was not accepted. @param reason without a secret */
  refused(reason: string): void {
    if (!this.#isRefused) this.#log.warn({ receiver: this.#receiver, reason }, 'a report is not accepted')
    this.#isRefused = true
  }
}
