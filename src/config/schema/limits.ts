import { hourMs } from '../../model/limits.ts'

/** Bounds of settings in the configuration. */

/** Longest deadline of a run and longest timeout of a push that may be configured. */
export const deadlineMsMax = 30 * 60_000
export const deliveryTimeoutMsMax = 10 * 60_000

/** How long delivered hours are kept, at most. */
export const keepMsMax = 3_650 * 24 * hourMs

/** Concurrent pushes, at most. */
export const inFlightMax = 64
export const pacePerSecondMax = 1_000

/** How far back hours missed in downtime are caught up, at least and at most. */
export const catchUpMsMin = hourMs
export const catchUpMsMax = 90 * 24 * hourMs

/** How long after an hour its block counts as final, at most. */
export const settleMsMax = 24 * hourMs

/** Calls a second to one RPC endpoint, and calls in one request to it. */
export const rpcCallsPerSecondMax = 100_000
export const rpcBatchCallsMax = 10_000

/** Blocks of one `eth_getLogs`. */
export const rpcLogBlocksMax = 1_000_000

if (deadlineMsMax >= hourMs) throw new Error('deadlineMsMax < hourMs: an hour is collected before the next one is due')
