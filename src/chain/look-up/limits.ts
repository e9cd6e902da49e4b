/** Limits of the search for as-of blocks. Units are in the names. */

/** Headers requested in one round of the as-of search. */
export const headersPerRoundMax = 8

/** Hours of one chain whose as-of block is cached. */
export const hoursRememberedMax = 500

/** A head older than this, by our clock, means that the node lags, not that the chain waits for its next block. */
export const headAgeMsMax = 120_000

/** Number of hours looked up together up to which fewer rounds are preferred to fewer calls. */
export const singleHoursMax = 4

/** Delay after its timestamp within which a block should have reached the nodes. */
export const blockArrivalMs = 2_000

/** Longest tick of a chain whose next block is waited for within a look-up. */
export const paceTickSecondsMax = 15

/** Headers that must have been seen before a chain is assumed to follow the clock. */
export const paceHeadersMin = 4
