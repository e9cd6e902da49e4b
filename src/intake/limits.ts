/** Limits of intake. */

/** Attempts after which a past hour whose state no endpoint has becomes a gap. */
export const stateMissingAttemptsMax = 3

/** A block that may be final is checked with the chain's next look-up, or alone after this many times its `settle`. */
export const settlesPatientMax = 4

/** Hours checked for finality together. */
export const recheckedHoursMax = 500

/** Wait after a check for finality failed. */
export const recheckRestMs = 60_000

/** Interval of checking all collectors for due hours; a collector whose run has ended is checked at once. */
export const attentionMs = 1_000

/** First wait while a chain has no block past the hour yet: short, since a block is due any second. */
export const chainBehindBaseMs = 1_000
export const chainBehindCapMs = 30_000

/** A change of the clock larger than this was a setting of the clock; a smaller one is drift correction. */
export const clockStepMs = 10_000

/** Pause before a witness is asked for the time again. */
export const witnessAskMs = 60_000
