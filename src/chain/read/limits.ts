/** Limits of what is read as of an hour. Units are in the names. */

/** Longest wait for each part of reads that were not answered in time together, so that the slow ones are found. */
export const partMsMax = 5_000

/** Reads of an endpoint remembered to be sent apart from the others. */
export const apartReadsMax = 1_000

/** Reads in one `aggregate3`, and the hexadecimal digits of their call data. */
export const aggregateReadsMax = 1_000
export const aggregateDigitsMax = 4_000_000

/** Reads of a chain remembered to revert without data, and the hexadecimal digits of the call data of one. */
export const revertsRememberedMax = 10_000
export const revertDigitsRememberedMax = 1_000

/** Lists of an endpoint that are remembered to be too much as a whole. */
export const splitListsMax = 100

/** Uses of a list that was too much for an endpoint, starting with its halves, before the whole is tried again. */
export const splitUsesMax = 24

/** Reads in one JSON-RPC batch where Multicall3 is not deployed; public nodes refuse larger batches. */
export const batchReadsMax = 50

/**
 * Limit of one answer with logs of several blocks, in bytes: a longer one is asked for in parts, so that little is in
 * memory at a time.
 */
export const logAnswerBytesMax = 4 * 1_048_576

/** Last blocks of an hour that are checked for logs answered by a node that had not seen them. */
export const logTailBlocks = 32

/** Attempts for the same logs while the node answers from before the as-of block, or from another branch. */
export const logTriesMax = 3

/** Longest wait for the next block within one look-up. */
export const nextBlockWaitMsMax = 30_000

/** Number of waits for the next block within one look-up. */
export const nextBlockWaitsMax = 2

/** Calls in one request for logs. */
export const logCallsMax = 20

/** Most logs that the answers of one request are expected to hold. */
export const logsPerRequestMax = 5_000

/** Blocks spread over an hour whose headers tell whether logs were left out. */
export const logSamples = 8

/** Blocks of an hour whose receipts are asked for, and bytes of those of one block. */
export const logReceiptBlocks = 2
export const logReceiptBytesMax = 16 * 1_048_576

/** Transactions of a block whose receipts are asked for where a node has no receipts by block. */
export const logReceiptTransactionsMax = 20

/** Hours back in which any log of a contract shows that it exists, where a node has no state of the hour. */
export const logHoursBack = 24

/** Contracts and filters whose logs are remembered to be there. */
export const logSourcesRememberedMax = 10_000
