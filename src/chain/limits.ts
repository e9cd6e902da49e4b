import type { RateBounds } from '../edge/rate/discovered-rate.ts'

/** Limits of reading a chain. Units are in the names. */

/** Headers requested in one round of the as-of search. */
export const headersPerRoundMax = 8

/** Interval of looking for an address that cannot be read. */
export const addressLookMs = 60_000

/** Longest wait for one answer of an endpoint, body included; the next endpoint is asked then. */
export const answerMsMax = 15_000

/** Longest wait for the answer to a cheap call, which tells a busy node from a dead one. */
export const probeMsMax = 5_000

/** Longest wait for each part of reads that were not answered in time together, so that the slow ones are found. */
export const partMsMax = 5_000

/** Reads of an endpoint remembered to be sent apart from the others. */
export const apartReadsMax = 1_000

/** Limit of one answer in bytes: blocks and logs can be large. */
export const chainAnswerBytesMax = 64 * 1_048_576

/** Reads in one `aggregate3`, and the hexadecimal digits of their call data. */
export const aggregateReadsMax = 1_000
export const aggregateDigitsMax = 4_000_000

/** Lists of reads whose call data are cached for each chain, and their total digits. */
export const aggregatesRememberedMax = 32
export const aggregateDigitsRememberedMax = 2_000_000

/** Call data cached for each function of an ABI, and the length of arguments worth caching, in characters. */
export const inputsRememberedMax = 4_096
export const inputCharsRememberedMax = 1_000

/** Uses of a list that was too much for an endpoint, starting with its halves, before the whole is tried again. */
export const splitUsesMax = 24

/** Reads in one JSON-RPC batch where Multicall3 is not deployed; public nodes refuse larger batches. */
export const batchReadsMax = 50

/** Hours of one chain whose as-of block is cached. */
export const hoursRememberedMax = 500

/**
 * Rest of an endpoint that failed, during which it is asked last: doubled with each failure in a row, up to the
 * longest.
 */
export const endpointRestMs = 30_000
export const endpointRestMsMax = 5 * 60_000

/** Longest wait for a connection to an endpoint. */
export const connectMsMax = 10_000

/** Calls in one request, and characters of its text, until a node refuses that many. */
export const batchCallsMax = 1_000
export const batchCharsMax = 4_000_000

/** Full requests answered before a discovered batch limit is doubled, at first and at most. */
export const batchRisesAfter = 32
export const batchRisesAfterMax = 1_024

/**
 * Messages sent together over a socket, where there are no batches, and how many such groups before the first is
 * answered.
 */
export const socketCallsMax = 100
export const socketRequestsMax = 4

/** Concurrent requests to one endpoint. */
export const requestsAtOnceMax = 8

/** Bytes read of an answer with an error status. */
export const refusalBytesMax = 65_536

/** Concurrent requests for logs to one endpoint, and the calls in one of them. */
export const logRequestsAtOnceMax = 6
export const logCallsMax = 20
/** Most logs that the answers of one request are expected to hold. */
export const logsPerRequestMax = 5_000

/**
 * Limit of one answer with logs of several blocks, in bytes: a longer one is asked for in parts, so that little is in
 * memory at a time.
 */
export const logAnswerBytesMax = 4 * 1_048_576

/** Readings after which a larger span is tried, at first and at most. */
export const logRisesAfter = 6
export const logRisesAfterMax = 192

/** Filters of an endpoint whose span is remembered. */
export const logFiltersRememberedMax = 1_000

/** Last blocks of an hour that are checked for logs answered by a node that had not seen them. */
export const logTailBlocks = 32

/** Attempts for the same logs while the node answers from before the as-of block, or from another branch. */
export const logTriesMax = 3

/** Longest retry-after of a chain's only endpoint that is waited for. */
export const patienceMsMax = 5_000

/** Bounds of the rate of a node, as learnt from its refusals. */
export const nodeRate: RateBounds = {
  perSecondMin: 5,
  doublesMs: 3_000,
  doublesMsMax: 60_000,
  retryAfterMsMax: endpointRestMsMax,
}

/** Time for which an endpoint is known to lack the state of old blocks. */
export const stateMissedMs = 60 * 60_000

/** A healthy node keeps the state of at least this many blocks before its head. */
export const stateBlocksMin = 128

/** Blocks of an endpoint whose number is cached by their hash. */
export const blocksRememberedMax = 4_096

/** A head older than this, by our clock, means that the node lags, not that the chain waits for its next block. */
export const headAgeMsMax = 120_000

/** Number of hours looked up together up to which fewer rounds are preferred to fewer calls. */
export const singleHoursMax = 4

/** Delay after its timestamp within which a block should have reached the nodes. */
export const blockArrivalMs = 2_000

/** Longest tick of a chain whose next block is waited for within a look-up. */
export const paceTickSecondsMax = 15

/** Longest wait for the next block within one look-up. */
export const nextBlockWaitMsMax = 30_000

/** Number of waits for the next block within one look-up. */
export const nextBlockWaitsMax = 2

/** Headers that must have been seen before a chain is assumed to follow the clock. */
export const paceHeadersMin = 4
