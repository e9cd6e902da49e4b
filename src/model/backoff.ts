/** Backoff and retry instants. Pure: randomness comes in as a number from 0 up to 1. */

/** First step and longest wait, in milliseconds. */
export interface Backoff {
  /** Upper bound of the first wait, in milliseconds. */
  readonly baseMs: number
  /** Upper bound of any wait, in milliseconds. */
  readonly capMs: number
}

/**
 * Exponential backoff with full jitter: uniformly from 0 up to base × 2^(attempt-1), at most the cap.
 * Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
 *
 * @param attempt the attempt that has just failed, counted from 1
 */
export function backoffMs({ baseMs, capMs }: Backoff, attempt: number, chance: number): number {
  return Math.floor(chance * Math.min(capMs, baseMs * 2 ** Math.min(attempt - 1, 30)))
}

/**
 * Whether a stored wait is still running. An instant further ahead than the longest wait was written by a wrong clock
 * and counts as over.
 *
 * @param waitMsMax the longest such a wait can be
 */
export function isYetToCome(instantMs: number, nowMs: number, waitMsMax: number): boolean {
  return nowMs < instantMs && instantMs <= nowMs + waitMsMax
}
