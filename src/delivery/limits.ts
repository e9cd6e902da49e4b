/** Limits of this folder; those that other folders share are in model/limits.ts. */

/** Metrics of one protocol that fail alone, after which the protocol as a whole is in quarantine. */
export const quarantineMetricsMax = 3

/** Pushes that try what is in quarantine, as a part of the pace. */
export const quarantinePacePart = 0.1

/** A push that fails after so long is not repeated as it is: what waits behind it would be late. */
export const slowPushMs = 5_000

/** Parts of a batch that failed after so long, since each further round takes as long; one that fails at once is halved. */
export const slowPartsMax = 8
