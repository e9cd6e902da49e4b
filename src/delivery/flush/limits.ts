/** Limits of this folder. Limits that other folders share are in model/limits.ts. */

/** Share of the pace that pushes out of quarantine have, at most. */
export const quarantinePacePart = 0.1

/** Duration from which on a push that failed is not repeated as it is: what waits behind it would be late. */
export const slowPushMs = 5_000

/** Full jitter: the wait before attempt n + 1 is drawn from 0 up to base × 2^(n-1), at most the cap. */
export const backoffBaseMs = 500
export const backoffCapMs = 30_000
