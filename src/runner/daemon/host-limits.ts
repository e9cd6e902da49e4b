import type { Time } from '../../edge/time.ts'
import { type Asker, HostLimit, type TurnResult } from './host-limit.ts'
import { hostsMax, type RunnerLimits } from './limits.ts'

/** The limits of all hosts that collectors send requests to, whatever process they run in. */
export class HostLimits {
  readonly #time: Time
  readonly #limits: RunnerLimits
  readonly #byHost = new Map<string, HostLimit>()

  constructor(time: Time, limits: RunnerLimits) {
    this.#time = time
    this.#limits = limits
  }

  /** Waits for a turn to send a request. Rejects with the reason of the asker's signal. @param host name and port */
  take(host: string, asker: Asker): Promise<TurnResult> {
    const limit = this.#byHost.get(host) ?? this.#newLimit()
    this.#byHost.set(host, limit)
    return limit.take(asker)
  }

  #newLimit(): HostLimit {
    if (this.#byHost.size >= hostsMax) {
      for (const [host, limit] of this.#byHost) if (limit.isIdle) this.#byHost.delete(host)
    }
    return new HostLimit({ time: this.#time, ...this.#limits })
  }
}
