import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import type { Metric } from '../model/metric.ts'
import type { OperatorStore } from '../outbox/contract/operator-store.ts'
import type { Log } from '../telemetry/log.ts'
import { claimMs } from './limits.ts'

/** Dependencies of `PushBack`. */
export interface PushBackDeps {
  readonly operators: Pick<OperatorStore, 'stored' | 'resend'>
  /** Time limit of a push, in milliseconds. */
  readonly pushMsMax: number
  readonly time: Pick<Time, 'steadyMs' | 'sleep'>
  readonly log: Log
  /** Called with errors, which are repeated. */
  readonly failed: (error: unknown) => void
}

/** Metrics that were sent without the role, and when to look at them, by the steady clock. */
interface StaleSend {
  readonly metrics: readonly Metric[]
  readonly atMs: number
  readonly isLast: boolean
}

/**
 * Metrics that this daemon has sent without the role of delivering, as one that was paused does. The one that has the role
 * may have sent a correction before, which the service has lost then: a metric with another value now is due again. It is
 * looked at twice, as a push of the other daemon may be under way at first.
 */
export class PushBack {
  readonly #deps: PushBackDeps
  readonly #loop = new Loop(signal => this.#turn(signal))
  readonly #sends = new Set<StaleSend>()

  constructor(deps: PushBackDeps) {
    this.#deps = deps
    this.#loop.start()
  }

  /** Adds metrics as they were sent. */
  add(metrics: readonly Metric[]): void {
    if (metrics.length > 0) this.#sends.add({ metrics, atMs: this.#deps.time.steadyMs(), isLast: false })
  }

  /** Stops the loop, after a last look at what is left. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#look(Number.POSITIVE_INFINITY)
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { time } = this.#deps
    await this.#look(time.steadyMs())
    await time.sleep(claimMs, signal).catch(() => {})
  }

  async #look(upToMs: number): Promise<void> {
    const { pushMsMax, failed } = this.#deps
    for (const send of [...this.#sends].filter(({ atMs }) => atMs <= upToMs)) {
      try {
        await this.#resend(send.metrics)
      } catch (error) {
        failed(error)
        return
      }
      this.#sends.delete(send)
      if (!send.isLast) this.#sends.add({ ...send, atMs: send.atMs + pushMsMax, isLast: true })
    }
  }

  async #resend(metrics: readonly Metric[]): Promise<void> {
    const { operators, log } = this.#deps
    const stored = await operators.stored(metrics)
    const stale = metrics.filter((metric, place) => {
      const now = stored[place]
      return now !== undefined && !Object.is(now.value, metric.value)
    })
    const count = stale.length > 0 ? await operators.resend(stale) : 0
    if (count > 0) log.warn({ metrics: count }, 'a value was sent after its correction: the correction is sent again')
  }
}
