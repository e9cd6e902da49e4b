/** Limits of the tables alone. */

/** How long the newest delivered hour of a collector is cached, when it is more than two days old. */
export const deliveredKnownMs = 600_000
