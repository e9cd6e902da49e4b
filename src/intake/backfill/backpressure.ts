import type { Time } from '../../edge/time.ts'
import type { Backlog } from '../../outbox/contract/balance.ts'
import type { BackfillOutbox } from '../../outbox/contract/outbox.ts'

/**
 * Due metrics above which a backfill waits for delivery: they take disk space, and a full disk stops the live hours.
 */
export const backfillBacklogMax = 20_000

/** Interval of checking whether a waiting backfill may continue. */
const lookMs = 1_000

/** Interval of reporting that it still waits. */
const reportMs = 60_000

/** Time without a delivery after which a protocol is no longer waited for, if another one has room. */
const stuckMs = 60_000

/** That too much is due. */
export interface BacklogWait {
  /** Due metrics of the protocols that are waited for. */
  readonly due: number
  /** Why they are not delivered, as far as known. */
  readonly reasons: readonly string[]
  /** Whether any metric was delivered since the last report. */
  readonly isMoving: boolean
  /** Milliseconds since the wait began. */
  readonly forMs: number
}

/** The due metrics of a protocol are not waited for any more. */
export interface StuckBacklog {
  readonly protocolId: string
  /** Number of its due metrics. */
  readonly due: number
  /** Why it is not delivered, as far as known. */
  readonly reasons: readonly string[]
}

/** Events of waiting for room. */
export type BackpressureNews =
  /** Too many metrics are due; reported when the wait begins and each minute. */
  | { readonly kind: 'waits'; readonly wait: BacklogWait }
  /** A protocol has no deliveries: the others continue. Reported once each time a protocol gets stuck. */
  | { readonly kind: 'leaves-protocol'; readonly stuck: StuckBacklog }

/** Dependencies of `Backpressure`. */
export interface BackpressureDeps {
  readonly outbox: Pick<BackfillOutbox, 'intake'>
  /** Protocols of the backfill's collectors: it does not add to the due metrics of others. */
  readonly protocolIds: readonly string[]
  /** Due metrics of the protocols above which it waits. */
  readonly dueMax: number
  readonly time: Time
  readonly signal: AbortSignal
  readonly report: (news: BackpressureNews) => void
}

/** Due metrics of a protocol, and since when none of them was delivered. */
interface Watched {
  readonly finished: number
  readonly sinceMs: number
}

/**
 * Decides whether there is room for more due metrics of a backfill's protocols. A protocol that the service refuses
 * while another has room is left out, so that its backlog stops no other; it counts again once one of its metrics is
 * delivered.
 */
export class Backpressure {
  readonly #deps: BackpressureDeps
  readonly #stuck = new Set<string>()
  readonly #watched = new Map<string, Watched>()

  constructor(deps: BackpressureDeps) {
    this.#deps = deps
  }

  /**
   * Resolves once few enough metrics are due. However long delivery fails, waiting loses nothing.
   *
   * Rejects with the signal's reason when aborted.
   */
  async wait(): Promise<void> {
    const { outbox, dueMax, time, signal, report } = this.#deps
    const startMs = time.nowMs()
    let reportedMs = Number.NEGATIVE_INFINITY
    let finishedBefore: number | undefined
    for (;;) {
      const backlog = await outbox.intake.backlog()
      const { due, finished } = this.#watch(backlog)
      if (due <= dueMax) return
      finishedBefore ??= finished
      const nowMs = time.nowMs()
      if (this.#leaveStuck(backlog, nowMs)) continue
      if (nowMs - reportedMs >= reportMs) {
        const isMoving = finished > finishedBefore
        report({ kind: 'waits', wait: { due, reasons: backlog.waiting, isMoving, forMs: nowMs - startMs } })
        reportedMs = nowMs
        finishedBefore = finished
      }
      await time.sleep(lookMs, signal)
    }
  }

  /** Due metrics of the protocols waited for, and the number finished so far. */
  #watch(backlog: Backlog): { readonly due: number; readonly finished: number } {
    const nowMs = this.#deps.time.nowMs()
    let [due, finished] = [0, 0]
    for (const [id, counts] of this.#counts(backlog)) {
      const before = this.#watched.get(id)
      if (before?.finished !== counts.finished) {
        this.#watched.set(id, { finished: counts.finished, sinceMs: nowMs })
        if (before) this.#stuck.delete(id)
      }
      if (!this.#stuck.has(id)) due += counts.due
      finished += counts.finished
    }
    return { due, finished }
  }

  /** Leaves out stuck protocols. @returns whether any was left out */
  #leaveStuck(backlog: Backlog, nowMs: number): boolean {
    const { dueMax, report } = this.#deps
    const waited = [...this.#counts(backlog)].filter(([id]) => !this.#stuck.has(id))
    const isStill = (id: string) => nowMs - (this.#watched.get(id)?.sinceMs ?? nowMs) >= stuckMs
    const stuck = waited.filter(([id, { due }]) => due > 0 && isStill(id)).sort(([, a], [, b]) => b.due - a.due)
    const [most] = stuck
    // When no protocol has room, the service may be down: all are waited for.
    if (!most || !waited.some(([id, { due }]) => id !== most[0] && due <= dueMax)) return false
    const [protocolId, { due }] = most
    this.#stuck.add(protocolId)
    report({ kind: 'leaves-protocol', stuck: { protocolId, due, reasons: backlog.waiting } })
    return true
  }

  #counts({ byProtocol }: Backlog): Backlog['byProtocol'] {
    return new Map(this.#deps.protocolIds.map(id => [id, byProtocol.get(id) ?? { due: 0, finished: 0 }]))
  }
}
