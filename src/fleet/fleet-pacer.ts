import type { Time } from '../edge/time.ts'
import type { FleetStore } from '../outbox/contract/fleet-store.ts'
import type { RoleClaim } from './role-claim.ts'

/** Dependencies of `FleetPacer`. */
export interface FleetPacerDeps {
  readonly store: Pick<FleetStore, 'transaction' | 'takeTurn' | 'noteRetryAfter'>
  /** The role of delivering to the destination. */
  readonly role: Pick<RoleClaim, 'hold' | 'isHeld' | 'lost'>
  /** Name of what the pace is of, the same in all daemons; it may change with a key. */
  readonly destination: () => string
  /** Requests a second, at most, of the whole fleet. */
  readonly perSecond: number
  readonly time: Pick<Time, 'sleep'>
}

/**
 * Starts requests to a destination at an even pace, which all daemons of a fleet keep together. A daemon gets a turn only
 * while it has the role of delivering there. With the turn it learns the retry-after that another daemon has met.
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

  /**
   * Resolves when the next request may start. Without the role it never may: its loss is reported, and ends the work.
   *
   * @throws the signal's reason; errors of the outbox
   */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { store, role, destination, time } = this.#deps
    const given = await store.transaction(async transaction =>
      (await role.hold(transaction)) ? store.takeTurn(destination(), this.intervalMs, transaction) : undefined,
    )
    this.#notBeforeMs = given?.notBeforeMs ?? 0
    if (given && given.waitMs > 0) await time.sleep(Math.ceil(given.waitMs), signal)
    // A process that was paused has waited for longer.
    const hasTurn = given !== undefined && (role.isHeld || (await store.transaction(async tx => role.hold(tx))))
    if (hasTurn) return
    role.lost()
    await aborted(signal)
  }
}

/** Rejects with the signal's reason once it is aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
