/** Limits of the tables. */

/** Time for which the newest delivered hour of a collector is cached, when it is more than two days old. */
export const deliveredKnownMs = 600_000
