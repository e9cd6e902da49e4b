import type { Time } from '../../time.ts'
import type { BackfillOutbox } from './store.ts'

/** Due metrics above which a backfill waits for delivery: what waits takes room, and a full disk stops the live hours. */
export const backfillDueMax = 20_000

/** How often a waiting backfill looks whether there is room again. */
const lookMs = 1_000

/** How often it says that it still waits. */
const tellMs = 60_000

/** That too much is due. */
export interface Wait {
  readonly due: number
  /** Why it is not delivered, as far as that is known. */
  readonly reasons: readonly string[]
  readonly forMs: number
}

/**
 * Resolves once few enough metrics are due. However long nothing gets delivered, nothing is lost by waiting.
 *
 * Rejects with the signal's reason when it is aborted.
 *
 * @param told when the wait begins, and each minute of it
 */
export async function untilRoom(
  { tally, destinations }: Pick<BackfillOutbox, 'tally' | 'destinations'>,
  dueMax: number,
  time: Time,
  signal: AbortSignal,
  told: (wait: Wait) => void,
): Promise<void> {
  const startMs = time.nowMs()
  let toldMs = Number.NEGATIVE_INFINITY
  for (let { due } = tally.balance(); due > dueMax; { due } = tally.balance()) {
    const nowMs = time.nowMs()
    if (nowMs - toldMs >= tellMs) {
      told({ due, reasons: destinations.waiting(), forMs: nowMs - startMs })
      toldMs = nowMs
    }
    await time.sleep(lookMs, signal)
  }
}
