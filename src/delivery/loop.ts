import { pollMs } from '../model/limits.ts'
import type { Time } from '../time.ts'
import type { Delivery } from './delivery.ts'

/**
 * The delivery loop: each destination on its own looks for due metrics, also for those another process has put into the
 * outbox, until it is stopped.
 */
export class DeliveryLoop {
  readonly #stopping = new AbortController()
  readonly #loops: readonly Promise<void>[]

  constructor(deliveries: readonly Delivery[], time: Time) {
    this.#loops = deliveries.map(delivery => this.#run(delivery, time))
  }

  /** Complete when no push is under way any more. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    await Promise.all(this.#loops)
  }

  async #run(delivery: Delivery, time: Time): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await delivery.flush('due', signal)
      await time.sleep(pollMs, signal).catch(() => {})
    }
  }
}
