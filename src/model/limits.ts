/** Limits of the product. Units are in the names; relations between limits are asserted below. */

/** An hour in milliseconds. */
export const hourMs = 3_600_000

/** Metrics in one push, as the interface allows. */
export const batchMetricsMax = 100

/** Longest label without a warning of the service, in characters. */
export const labelCharsAdvised = 16

/** How far a metric's timestamp may lie ahead of the service's clock. */
export const futureMsMax = 5 * 60_000

/** Uncertainty of the service's clock as its answers show it: they count whole seconds and take time to arrive. */
export const clockDoubtMs = 30_000

/** Attempts of one push before it is left for a later flush. */
export const attemptsMax = 5

/** Attempts of a part of a batch that fails while the service takes others. */
export const troubledAttemptsMax = 2

/** Full jitter: the wait before attempt n + 1 is drawn from 0 up to base × 2^(n-1), at most the cap. */
export const backoffBaseMs = 500
export const backoffCapMs = 30_000

/** Longest `Retry-After` that is obeyed; after that the service is asked again. */
export const retryAfterMsMax = 24 * hourMs

/** Interval of asking for the service's clock while due metrics seem to lie in its future. */
export const clockAskMs = 60_000

/** Interval of asking the service about a key it has refused. */
export const keyAskMs = hourMs

/** Longest `Retry-After` that is waited for within one flush; a longer one ends the flush and is remembered. */
export const retryAfterWaitMsMax = 60_000

/** Warnings of one push that are logged singly; all are kept. */
export const loggedWarningsMax = 10

/** Bytes read of a service's answer; a longer one counts as not understood. */
export const answerBytesMax = 1_048_576

/** Pause of a destination after failed flushes in a row, doubled with each up to the cap; half of it at least. */
export const breakerBaseMs = 5_000
export const breakerCapMs = 5 * 60_000

/**
 * Pause of a protocol or metric that the service rejects while it accepts others, doubled with each failure up to the cap;
 * half of it at least.
 */
export const quarantineBaseMs = 5_000
export const quarantineCapMs = 10 * 60_000

/** Metrics of the one batch that probes a service after a failed flush. */
export const probeMetricsMax = 10

/** Rows written in one commit, which holds up the event loop for as long. */
export const commitRowsMax = 1_000

/** Wait before a write is retried while another process has the outbox's lock. */
export const lockedRestMs = 50

/** How long another process may have the lock before it is reported and readiness turns red. */
export const lockedToldMs = 10_000

/** Rows waiting for the lock above which no more hours are started. */
export const waitingRowsMax = 50_000

/** Metrics whose verdict waits for the lock above which pushes stop; after a crash they are sent again. */
export const unrecordedMax = 5_000

/** How long a stop waits for the lock; rows not written by then are collected again. */
export const lockedStopMs = 5_000

/** Due metrics a flush reads at a time. */
export const duePageMax = 500

/** Age up to which the previous value is compared with a new one. */
export const jumpHoursMax = 24

/** Longest pause between pushes after 429s; it doubles with each, and shrinks with each accepted push. */
export const slowedIntervalMsMax = 60_000

/**
 * Size of the file that is deleted when the disk is full, so that verdicts can still be recorded: the log grows to 4
 * MiB between checkpoints, and further while a reader blocks them.
 */
export const ballastBytes = 16 * 1_048_576

/** Interval of the outbox's upkeep: deleting old history, checking the disk's free space and the lock. */
export const upkeepMs = 60_000

/** Interval of checking a full disk for free space. */
export const roomLookMs = 5_000

/** Pause between two steps of deleting old history, so that other work can run. */
export const pruneRestMs = 20

/** Wait after a daemon's outbox broke twice in a row, to spare a failing disk. */
export const breakageRestMs = 60_000

/** Interval at which the delivery loop looks for due metrics enqueued by another process. */
export const pollMs = 1_000

/**
 * How far back hours lost with a damaged outbox are expected again; for hours missed in downtime the configuration
 * decides.
 */
export const catchUpHoursMax = 7 * 24

/** Attempts after which a past hour whose state no endpoint has becomes a gap. */
export const stateMissingAttemptsMax = 3

/** A block that may be final is checked with the chain's next look-up, or alone after this many times its `settle`. */
export const settlesPatientMax = 4

/** Hours checked for finality together. */
export const recheckedHoursMax = 500

/** Wait after a check for finality failed. */
export const recheckRestMs = 60_000

/** Interval of checking all collectors for due hours; a collector whose run has ended is checked at once. */
export const attentionMs = 1_000

/** Hours of one collector collected concurrently while catching up. */
export const catchUpConcurrency = 4

/** First wait while a chain has no block past the hour yet: short, since a block is due any second. */
export const chainBehindBaseMs = 1_000
export const chainBehindCapMs = 30_000

/** First wait after a failed collection of an hour, doubled with each attempt up to the cap. */
export const recollectBaseMs = 5_000
export const recollectCapMs = 10 * 60_000

/** How long after an hour its metrics may be undelivered before readiness turns red. */
export const overdueMs = 15 * 60_000

/** Longest load of one collector while the daemon starts; after that the daemon starts without it. */
export const startLoadMsMax = 10_000

/** Longest configuration file in bytes, and deepest nesting of maps and lists in it. */
export const configBytesMax = 262_144
export const configDepthMax = 32

/** Interval of checking the configuration file for a change. */
export const fileLookMs = 5_000

/** Interval at which a process started by npm checks that its parent still runs. */
export const parentLookMs = 1_000

/** Longest secret file, in bytes. */
export const secretBytesMax = 65_536

/** Upper bounds of settings in the configuration. */
export const deadlineMsMax = 30 * 60_000
export const deliveryTimeoutMsMax = 10 * 60_000
/** How long delivered hours are kept, at least and at most. */
export const keepMsMin = 8 * 24 * hourMs
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

const relations: readonly [holds: boolean, relation: string][] = [
  [backoffBaseMs < backoffCapMs, 'backoffBaseMs < backoffCapMs'],
  [recollectBaseMs < recollectCapMs, 'recollectBaseMs < recollectCapMs'],
  [recollectCapMs < overdueMs, 'recollectCapMs < overdueMs: a failed hour is tried again before it is called overdue'],
  [
    breakerCapMs < overdueMs,
    'breakerCapMs < overdueMs: a failed push is tried again before its hour is called overdue',
  ],
  [
    quarantineCapMs < overdueMs,
    'quarantineCapMs < overdueMs: a protocol that recovers is tried before its hour is called overdue',
  ],
  [catchUpHoursMax * hourMs < keepMsMin, 'catchUpHoursMax < keepMsMin: what is pruned is not caught up again'],
  [commitRowsMax < waitingRowsMax, 'commitRowsMax < waitingRowsMax'],
  [roomLookMs <= upkeepMs, 'roomLookMs <= upkeepMs'],
  [probeMetricsMax < batchMetricsMax, 'probeMetricsMax < batchMetricsMax'],
  [batchMetricsMax <= duePageMax, 'batchMetricsMax <= duePageMax: a page fills a batch'],
  [overdueMs < hourMs, 'overdueMs < hourMs: readiness is red within one hour'],
  [deadlineMsMax < hourMs, 'deadlineMsMax < hourMs: an hour is collected before the next one is due'],
]
for (const [holds, relation] of relations) if (!holds) throw new Error(`limits contradict each other: ${relation}`)
