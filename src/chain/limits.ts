/** Limits of reading a chain. Units are in the names. */

/** Headers asked for in one round trip of the as-of search. */
export const headersPerRoundMax = 8

/** Longest wait for one answer of an endpoint, body included; then the next endpoint is asked. */
export const answerMsMax = 15_000

/** Bytes read of one answer; blocks and logs can be large, a runaway answer is larger. */
export const chainAnswerBytesMax = 64 * 1_048_576

/** Reads in one `aggregate3`, and the hexadecimal digits of their call data. */
export const aggregateReadsMax = 1_000
export const aggregateDigitsMax = 1_000_000

/** Reads in one JSON-RPC batch where Multicall3 is not deployed; public nodes refuse larger batches. */
export const batchReadsMax = 50

/** Hours of one chain whose as-of block is remembered. */
export const hoursRememberedMax = 2_000

/** How long an endpoint that failed is asked last. */
export const endpointRestMs = 30_000

/** A head older than this by our clock is a node that lags, not a chain that waits for its next block. */
export const headAgeMsMax = 120_000
