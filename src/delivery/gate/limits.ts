import { hourMs } from '../../model/limits.ts'

/** Limits of this folder. Limits that other folders share are in model/limits.ts. */

/** Interval of asking for the service's clock while due metrics seem to lie in its future. */
export const clockAskMs = 60_000

/** Uncertainty of the service's clock as its answers show it: they count whole seconds and take time to arrive. */
export const clockDoubtMs = 30_000

/** Interval of asking the service about a key it has refused. */
export const keyAskMs = hourMs

/** Longest `Retry-After` of the service that is believed: a longer one, as of a page of maintenance, would silence a day. */
export const serviceRetryAfterMsMax = hourMs

/** Longest `Retry-After` that is waited for within one flush; a longer one ends the flush and is remembered. */
export const retryAfterWaitMsMax = 60_000

/** Longest pause between pushes after 429s; it doubles with each, and shrinks with each accepted push. */
export const slowedIntervalMsMax = 60_000

/** Pause after a failed flush, doubled with each further one in a row up to `breakerCapMs`; half of it at least. */
export const breakerBaseMs = 5_000
