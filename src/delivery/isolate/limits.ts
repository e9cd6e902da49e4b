/** Limits of this folder. Limits that other folders share are in model/limits.ts. */

/** Metrics of one protocol that fail alone, after which the protocol as a whole is in quarantine. */
export const quarantineMetricsMax = 3

/** Parts of a batch that failed slowly, since each further round takes as long; one that fails at once is halved. */
export const slowPartsMax = 8
