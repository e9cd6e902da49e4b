import { hourMs } from '../../model/limits.ts'

/** Bounds of settings in the configuration. */

/** Upper bound of a run's deadline and a push's timeout. */
export const deadlineMsMax = 30 * 60_000
export const deliveryTimeoutMsMax = 10 * 60_000

/** Upper bound of the time for which delivered hours are kept. */
export const keepMsMax = 3_650 * 24 * hourMs

/** Concurrent pushes to one destination, at most. */
export const inFlightMax = 64

/** Pushes a second of all destinations together, at most. */
export const pacePerSecondMax = 1_000

/** Bounds of the catch-up range of hours missed in downtime. */
export const catchUpMsMin = hourMs
export const catchUpMsMax = 90 * 24 * hourMs

/** Receivers of notifications, at most. */
export const receiversMax = 20

/** Upper bound of the delay until an hour's block counts as final. */
export const settleMsMax = 24 * hourMs

/** Calls a second to one RPC endpoint, and calls in one request to it. */
export const rpcCallsPerSecondMax = 100_000
export const rpcBatchCallsMax = 10_000

/** Endpoints that must agree. */
export const agreeMax = 10

/** Lanes that a daemon of a fleet names. */
export const lanesMax = 100

/** Blocks of one `eth_getLogs`. */
export const rpcLogBlocksMax = 1_000_000

if (deadlineMsMax >= hourMs) throw new Error('deadlineMsMax < hourMs: an hour is collected before the next one is due')
