import type { Time } from '../../edge/time.ts'
import type { BackfillOutbox } from './store.ts'

/** Due metrics above which a backfill waits for delivery: what waits takes room, and a full disk stops the live hours. */
export const backfillBacklogMax = 20_000

/** How often a waiting backfill looks whether there is room again. */
const lookMs = 1_000

/** How often it says that it still waits. */
const tellMs = 60_000

/** How long nothing of a protocol is delivered before nobody waits for it, while there is room for another one. */
const stuckMs = 60_000

/** That too much is due. */
export interface BacklogWait {
  readonly due: number
  /** Why it is not delivered, as far as that is known. */
  readonly reasons: readonly string[]
  /** Whether anything was delivered since it was told last. */
  readonly isMoving: boolean
  readonly forMs: number
}

/** That the due metrics of a protocol are not waited for any more. */
export interface StuckBacklog {
  readonly protocolId: string
  readonly due: number
  readonly reasons: readonly string[]
}

/** What a wait for room tells. */
export type BackpressureNews =
  /** Too much is due; when the wait begins, and each minute of it. */
  | { readonly kind: 'waits'; readonly wait: BacklogWait }
  /** Nothing of a protocol is delivered: the others go on without waiting for it. Once for each that gets stuck. */
  | { readonly kind: 'leaves-protocol'; readonly stuck: StuckBacklog }

/** What a wait for room works with. */
export interface BackpressureDeps {
  readonly outbox: Pick<BackfillOutbox, 'tally' | 'destinations'>
  /** Those that the backfill collects for: what is due of others takes no more room because of it. */
  readonly protocolIds: readonly string[]
  readonly dueMax: number
  readonly time: Time
  readonly signal: AbortSignal
  readonly told: (news: BackpressureNews) => void
}

/** How many metrics of a protocol are due, and since when it is that none was settled. */
interface Watched {
  readonly settled: number
  readonly sinceMs: number
}

/**
 * Whether there is room for more due metrics of the protocols that a backfill collects for. One that the service refuses, while
 * another has room, is left out, so that its backlog stops nobody else; as soon as one of its metrics is settled it counts again.
 */
export class Backpressure {
  readonly #deps: BackpressureDeps
  readonly #stuck = new Set<string>()
  readonly #watched = new Map<string, Watched>()

  constructor(deps: BackpressureDeps) {
    this.#deps = deps
  }

  /**
   * Resolves once few enough metrics are due. However long nothing gets delivered, nothing is lost by waiting.
   *
   * Rejects with the signal's reason when it is aborted.
   */
  async wait(): Promise<void> {
    const { dueMax, destinations, time, signal, told } = { ...this.#deps, ...this.#deps.outbox }
    const startMs = time.nowMs()
    let toldMs = Number.NEGATIVE_INFINITY
    let settledBefore = this.#look().settled
    for (let { due, settled } = this.#look(); due > dueMax; { due, settled } = this.#look()) {
      const nowMs = time.nowMs()
      if (this.#leaveStuck(nowMs)) continue
      if (nowMs - toldMs >= tellMs) {
        const isMoving = settled > settledBefore
        told({ kind: 'waits', wait: { due, reasons: destinations.waiting(), isMoving, forMs: nowMs - startMs } })
        toldMs = nowMs
        settledBefore = settled
      }
      await time.sleep(lookMs, signal)
    }
  }

  /** What is due of the protocols that are waited for, and how much of all was settled so far. */
  #look(): { readonly due: number; readonly settled: number } {
    const nowMs = this.#deps.time.nowMs()
    let [due, settled] = [0, 0]
    for (const [id, counts] of this.#counts()) {
      const before = this.#watched.get(id)
      if (before?.settled !== counts.settled) {
        this.#watched.set(id, { settled: counts.settled, sinceMs: nowMs })
        if (before) this.#stuck.delete(id)
      }
      if (!this.#stuck.has(id)) due += counts.due
      settled += counts.settled
    }
    return { due, settled }
  }

  /** @returns whether any was left out */
  #leaveStuck(nowMs: number): boolean {
    const { outbox, dueMax, told } = this.#deps
    const waited = [...this.#counts()].filter(([id]) => !this.#stuck.has(id))
    const isStill = (id: string) => nowMs - (this.#watched.get(id)?.sinceMs ?? nowMs) >= stuckMs
    const stuck = waited.filter(([id, { due }]) => due > 0 && isStill(id)).sort(([, a], [, b]) => b.due - a.due)
    const [most] = stuck
    // Where nothing has room, the service may be down: then all of it is waited for.
    if (!most || !waited.some(([id, { due }]) => id !== most[0] && due <= dueMax)) return false
    const [protocolId, { due }] = most
    this.#stuck.add(protocolId)
    told({ kind: 'leaves-protocol', stuck: { protocolId, due, reasons: outbox.destinations.waiting() } })
    return true
  }

  #counts(): ReadonlyMap<string, { readonly due: number; readonly settled: number }> {
    const { outbox, protocolIds } = this.#deps
    const all = outbox.tally.byProtocol()
    return new Map(protocolIds.map(id => [id, all.get(id) ?? { due: 0, settled: 0 }]))
  }
}
