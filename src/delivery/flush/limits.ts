/** Limits of this folder. Limits that other folders share are in model/limits.ts. */

/** Largest share of the pace for pushes out of quarantine. */
export const quarantinePacePart = 0.1

/** Duration from which a failed push is not repeated: pushes behind it would be late. */
export const slowPushMs = 5_000

/** Full jitter: the wait before attempt n + 1 is drawn from 0 up to base × 2^(n-1), at most the cap. */
export const backoffBaseMs = 500
export const backoffCapMs = 30_000
