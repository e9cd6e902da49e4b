import type { RateBounds } from '../../edge/rate/discovered-rate.ts'

/** Limits of an endpoint. Units are in the names. */

/** Interval of looking for an address that cannot be read. */
export const addressLookMs = 60_000

/** Longest wait for the answer to a cheap call, which tells a busy node from a dead one. */
export const probeMsMax = 5_000

/** Longest answer to one request, in bytes. */
export const chainAnswerBytesMax = 32 * 1_048_576

/** Bytes of an answer from which on an endpoint sends one at a time. */
export const largeAnswerBytes = 1_048_576

/**
 * Rest of an endpoint that failed, during which it is asked last: doubled with each failure in a row, up to the
 * longest.
 */
export const endpointRestMs = 30_000
export const endpointRestMsMax = 5 * 60_000

/** Time for which an endpoint is asked last after its answers were contradicted. */
export const endpointQuarantineMs = 60 * 60_000

/** Longest wait for a connection to an endpoint. */
export const connectMsMax = 10_000

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

/** Readings after which a larger span is tried, at first and at most. */
export const logRisesAfter = 6
export const logRisesAfterMax = 192

/** Filters of an endpoint whose span is remembered. */
export const logFiltersRememberedMax = 1_000

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

/** Characters of one request, until a node refuses that many. */
export const batchCharsMax = 4_000_000
