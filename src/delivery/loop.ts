import { faultLine } from '../model/fault.ts'
import { breakerBaseMs, pollMs } from '../model/limits.ts'
import type { Log } from '../telemetry/log.ts'
import type { Time } from '../time.ts'
import type { Delivery } from './delivery.ts'

/**
 * The delivery loop: each destination on its own looks for due metrics, also for those another process has put into the
 * outbox, until it is stopped.
 */
export class DeliveryLoop {
  readonly #stopping = new AbortController()
  readonly #loops: readonly Promise<void>[]

  constructor(deliveries: readonly Delivery[], time: Time, log: Log) {
    this.#loops = deliveries.map(delivery => this.#run(delivery, time, log))
  }

  /** Complete when no push is under way any more. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    await Promise.all(this.#loops)
  }

  async #run(delivery: Delivery, time: Time, log: Log): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      // What rejects here is the outbox itself, a full disk say: it may be mended at a later look.
      const restMs = await delivery.flush('due', signal).then(
        () => pollMs,
        error => {
          log.error({ fault: faultLine(error) }, 'delivery: the outbox cannot be read or written')
          return breakerBaseMs
        },
      )
      await time.sleep(restMs, signal).catch(() => {})
    }
  }
}
