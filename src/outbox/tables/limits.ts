/** Limits of the tables alone. */

/** How long it is remembered which hour was the last to be delivered, where that is more than two days ago. */
export const deliveredKnownMs = 600_000
