/** Limits of this folder. Limits that other folders share are in model/limits.ts. */

/** Time limit of one POST, whole answer included. */
export const postTimeoutMs = 10_000

/** Wait after a report that was not accepted, doubled with each further one up to the cap; half of it at least. */
export const repeatBaseMs = 2_000
export const repeatCapMs = 5 * 60_000
