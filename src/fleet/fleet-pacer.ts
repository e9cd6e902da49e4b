import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import type { Metric } from '../model/metric.ts'
import type { CommitStep, FleetStore, Identity, SharedTransaction } from '../outbox/contract/fleet-store.ts'
import type { OperatorStore } from '../outbox/contract/operator-store.ts'
import type { Log } from '../telemetry/log.ts'
import type { Lease } from './leases.ts'
import { claimMs } from './limits.ts'

interface FleetPacerDeps {
  readonly store: Pick<FleetStore, 'transaction' | 'takeSlot' | 'noteRetryAfter' | 'identities'>
  /** The service that it delivers to: without a slot where the fleet has another one. */
  readonly service: Identity
  /** The lease of delivering to the destination. */
  readonly lease: Pick<Lease, 'isHeld' | 'names'>
  /** @throws Fault `lease-lost` where another daemon may have it */
  readonly requireHeld: CommitStep
  /** Name of what the pace is of, the same in all daemons; it may change with a key. */
  readonly destination: () => string
  /** Requests a second, at most, of the whole fleet. */
  readonly perSecond: number
  readonly time: Pick<Time, 'sleep'>
}

/**
 * Starts requests to a destination at an even pace, which all daemons of a fleet keep together. A daemon gets a slot only
 * while it has the lease of delivering there. With the slot it learns the retry-after that another daemon has met.
 */
export class FleetPacer {
  readonly #deps: FleetPacerDeps
  /** Pause between two requests. */
  readonly intervalMs: number
  #notBeforeMs = 0

  constructor(deps: FleetPacerDeps) {
    this.#deps = deps
    this.intervalMs = 1_000 / deps.perSecond
  }

  /** The retry-after of all daemons with the same key. */
  get shared(): { readonly notBeforeMs: number; note(notBeforeMs: number): Promise<void> } {
    const { store, destination } = this.#deps
    return { notBeforeMs: this.#notBeforeMs, note: notBeforeMs => store.noteRetryAfter(destination(), notBeforeMs) }
  }

  /** Whether this daemon has the lease, and its service is the fleet's. */
  async #mayPush(transaction: SharedTransaction): Promise<boolean> {
    const { store, lease, requireHeld, service } = this.#deps
    const [counting] = await store.identities([service.name], transaction)
    if (lease.names.length === 0 || !counting?.digest.equals(service.digest)) return false
    await requireHeld(transaction)
    return true
  }

  /**
   * Resolves when the next request may start. Without the lease it never may: then the work is about to be ended.
   *
   * @throws the signal's reason; errors of the outbox
   */
  async slot(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!(await this.#hasSlot(signal).catch(unlessLost))) await aborted(signal)
  }

  async #hasSlot(signal: AbortSignal): Promise<boolean> {
    const { store, lease, destination, time } = this.#deps
    const slot = await store.transaction(async transaction =>
      (await this.#mayPush(transaction)) ? store.takeSlot(destination(), this.intervalMs, transaction) : undefined,
    )
    this.#notBeforeMs = slot?.notBeforeMs ?? 0
    if (slot && slot.waitMs > 0) await time.sleep(Math.ceil(slot.waitMs), signal)
    // A process that was paused has waited for longer.
    return slot !== undefined && (lease.isHeld || store.transaction(transaction => this.#mayPush(transaction)))
  }
}

/** @returns `false` for a lease that is lost @throws any other error */
function unlessLost(error: unknown): false {
  if (error instanceof Fault && error.code === 'lease-lost') return false
  throw error
}

/** Rejects with the signal's reason once it is aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

interface PushBackDeps {
  readonly operators: Pick<OperatorStore, 'stored' | 'resend'>
  /** Time limit of a push, in milliseconds. */
  readonly pushMsMax: number
  readonly time: Pick<Time, 'steadyMs' | 'sleep'>
  readonly log: Log
  /** Called with errors, which are repeated. */
  readonly reportFailure: (error: unknown) => void
}

/** Metrics that were sent without the lease, and when to look at them, by the steady clock. */
interface StaleSend {
  readonly metrics: readonly Metric[]
  readonly atMs: number
  readonly isLast: boolean
}

/**
 * Metrics that this daemon has sent without the lease of delivering, as one that was paused does. The one that has it
 * may have sent a correction before, which the service has lost then: a metric with another value now is due again. It is
 * looked at twice, as a push of the other daemon may be under way at first.
 */
export class PushBack {
  readonly #deps: PushBackDeps
  readonly #loop = new Loop(signal => this.#pass(signal))
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

  async #pass(signal: AbortSignal): Promise<void> {
    const { time } = this.#deps
    await this.#look(time.steadyMs())
    await time.sleep(claimMs, signal).catch(() => {})
  }

  async #look(upToMs: number): Promise<void> {
    const { pushMsMax, reportFailure } = this.#deps
    for (const send of [...this.#sends].filter(({ atMs }) => atMs <= upToMs)) {
      try {
        await this.#resend(send.metrics)
      } catch (error) {
        reportFailure(error)
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
