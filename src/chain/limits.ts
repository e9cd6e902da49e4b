/** Limits of reading a chain. Units are in the names. */

/** Headers asked for in one round trip of the as-of search. */
export const headersPerRoundMax = 8

/** How often an address that cannot be read is looked for again. */
export const addressLookMs = 60_000

/** Longest wait for one answer of an endpoint, body included; then the next endpoint is asked. */
export const answerMsMax = 15_000

/** Longest wait for the answer to a cheap question, which tells a node that is busy with one read from a dead one. */
export const probeMsMax = 5_000

/** Longest wait for each part of reads that were not answered in time together, so that the slow ones are found. */
export const partMsMax = 5_000

/** Reads of an endpoint that are remembered to be made apart from the others. */
export const apartReadsMax = 1_000

/** Bytes read of one answer; blocks and logs can be large, a runaway answer is larger. */
export const chainAnswerBytesMax = 64 * 1_048_576

/** Reads in one `aggregate3`, and the hexadecimal digits of their call data. */
export const aggregateReadsMax = 1_000
export const aggregateDigitsMax = 4_000_000

/** Lists of reads whose call data are remembered for each chain, and the digits of all of them. */
export const aggregatesRememberedMax = 32
export const aggregateDigitsRememberedMax = 2_000_000

/** Call data remembered for each function of an ABI, and the characters of arguments that are worth it. */
export const inputsRememberedMax = 4_096
export const inputCharsRememberedMax = 1_000

/** How often a list that was too much for an endpoint begins with its halves before the whole is tried again. */
export const splitUsesMax = 24

/** Reads in one JSON-RPC batch where Multicall3 is not deployed; public nodes refuse larger batches. */
export const batchReadsMax = 50

/** Hours of one chain whose as-of block is remembered. */
export const hoursRememberedMax = 500

/** How long an endpoint that failed is asked last: doubled with each failure in a row up to the longest. */
export const endpointRestMs = 30_000
export const endpointRestMsMax = 5 * 60_000

/** Longest wait for a connection to an endpoint. */
export const connectMsMax = 10_000

/** Calls in one request until a node refuses so many, and characters of its text. */
export const batchCallsMax = 1_000
export const batchCharsMax = 4_000_000

/** Full requests that are answered before a limit of a batch that was found is doubled, at first and at most. */
export const batchRisesAfter = 32
export const batchRisesAfterMax = 1_024

/** Messages that go together over a socket, where there are no batches, and how often before the first are answered. */
export const socketCallsMax = 100
export const socketRequestsMax = 4

/** Requests under way to one endpoint. */
export const requestsAtOnceMax = 8

/** Bytes read of an answer whose status refuses. */
export const refusalBytesMax = 65_536

/** Requests for logs under way to one endpoint, and the calls in one of them. */
export const logRequestsAtOnceMax = 6
export const logCallsMax = 20
/** Logs that the answers to the calls of one request may be expected to hold. */
export const logsPerRequestMax = 5_000

/** Bytes read of one answer with logs of several blocks: what is longer is asked for in parts, so that little is held at a time. */
export const logAnswerBytesMax = 4 * 1_048_576

/** Readings after which a span that was found is tried to rise, at first and at most. */
export const logRisesAfter = 6
export const logRisesAfterMax = 192

/** Filters of an endpoint whose span is remembered. */
export const logFiltersRememberedMax = 1_000

/** Last blocks of an hour for which it is looked whether a node has answered that had not seen them. */
export const logTailBlocks = 32

/** Requests for the same logs while the node answers from before the as-of block, or from another branch. */
export const logTriesMax = 3

/** Longest wait that an endpoint asks for that is waited out where it is the only one, and how often for the same calls. */
export const patienceMsMax = 5_000
export const rateTriesMax = 4

/** Wait after a refusal for the rate that names none, doubled with each in a row up to the cap. */
export const rateBackoffBaseMs = 1_000
export const rateBackoffCapMs = 60_000

/** After a refusal the rate doubles in this time; twice the time after each further refusal on the way up, up to the longest. */
export const rateDoublesMs = 3_000
export const rateDoublesMsMax = 60_000

/** Calls a second to which refusals lower the rate at most, and from which on it is none. */
export const ratePerSecondMin = 5
export const rateUnlimitedPerSecond = 10_000

/** The second of a rate, with a millisecond more as clocks cut them off, and the longest way of a request to the node. */
export const rateWindowMs = 1_001
export const rateTransitMsMax = 500

/** How long it is remembered what a node took in a second. */
export const rateHistoryMs = 10_000

/** How often to look whether a rate that rises lets calls pass. */
export const rateLookMs = 250

/** How long it is remembered that an endpoint misses the state of old blocks. */
export const stateMissedMs = 60 * 60_000

/** A node keeps the state of at least this many blocks before its head: if it does not, it is not well. */
export const stateBlocksMin = 128

/** Blocks of an endpoint whose number is remembered by their hash. */
export const blocksRememberedMax = 4_096

/** A head older than this by our clock is a node that lags, not a chain that waits for its next block. */
export const headAgeMsMax = 120_000

/** Hours looked up together up to which few rounds matter more than few calls. */
export const singleHoursMax = 4

/** How long after its timestamp a block should have reached the nodes. */
export const blockArrivalMs = 2_000

/** Longest tick of a chain whose next block is waited for, rather than tried for again later. */
export const paceTickSecondsMax = 15

/** Longest wait for the next block within one look-up. */
export const nextBlockWaitMsMax = 30_000

/** How often the next block is waited for within one look-up. */
export const nextBlockWaitsMax = 2

/** Headers that must have been seen before a chain is taken to go by the clock. */
export const paceHeadersMin = 4
