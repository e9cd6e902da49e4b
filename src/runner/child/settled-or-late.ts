import { setImmediate as turn } from 'node:timers/promises'

export type Settled<T = unknown> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** The signal was aborted first. */
  | { readonly kind: 'late' }

/** Event-loop turns a collector's code has to settle after its signal is aborted. */
const turnsAfterAbort = 10

/**
 * Result of a promise, or `late` when it has not settled at the abort of its signal. A rejection caused by the abort is
 * late, too.
 *
 * @param onSettled called when it settles, even after this has returned
 * @param turns event-loop turns it has to settle after the abort
 */
export async function settledOrLate<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  onSettled: () => void = () => {},
  turns = turnsAfterAbort,
): Promise<Settled<T>> {
  const settled = promise.then(
    (value): Settled<T> => ({ kind: 'value', value }),
    (error: unknown): Settled<T> => (signal.aborted ? { kind: 'late' } : { kind: 'threw', error }),
  )
  settled.then(onSettled)
  return Promise.race([settled, lateAfter(signal, turns)])
}

async function lateAfter(signal: AbortSignal, turns: number): Promise<{ readonly kind: 'late' }> {
  if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  for (let turned = 0; turned < turns; turned += 1) await turn()
  return { kind: 'late' }
}
