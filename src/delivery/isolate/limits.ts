/** Limits of this folder. Limits that other folders share are in model/limits.ts. */

/** Metrics of one protocol that fail alone, after which the protocol as a whole is in quarantine. */
export const quarantineMetricsMax = 3

/** Metrics that fail alone in a row, with nothing accepted between them, after which the service is at fault. */
export const failingMax = 6

/** Parts of a batch that failed slowly, since each further round takes as long; one that fails at once is halved. */
export const slowPartsMax = 8

/** Attempts of one push before it is left for a later flush. */
export const attemptsMax = 5

/** Attempts of a part of a batch that fails while the service takes others. */
export const troubledAttemptsMax = 2

/** First pause in quarantine, doubled with each further failure up to `quarantineCapMs`; half of it at least. */
export const quarantineBaseMs = 5_000
