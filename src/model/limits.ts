/** Every limit of the product, named once. Units are in the names; relations between limits are asserted below. */

/** An hour in milliseconds. */
export const hourMs = 3_600_000

/** Metrics in one push, as the interface allows. */
export const batchMetricsMax = 100

/** Characters of a label above which the service warns. */
export const labelCharsAdvised = 16

/** How far a metric's timestamp may lie ahead of the service's clock. */
export const futureMsMax = 5 * 60_000

/** How far the service's clock may be from what its answers show: they count whole seconds and were on their way. */
export const clockDoubtMs = 30_000

/** Tries of one push before it is left for a later flush. */
export const attemptsMax = 5

/** Tries of a part of a batch that the service fails on while it takes others. */
export const troubledAttemptsMax = 2

/** Full jitter: the wait before attempt n + 1 is drawn from 0 up to base × 2^(n-1), at most the cap. */
export const backoffBaseMs = 500
export const backoffCapMs = 30_000

/** Longest a `Retry-After` is believed; beyond it the service is asked again. */
export const retryAfterMsMax = 24 * hourMs

/** How often the service's clock is asked for while due metrics seem to lie in its future. */
export const clockAskMs = 60_000

/** How often the service is asked about a key that it has refused. */
export const keyAskMs = hourMs

/** Longest wait a `Retry-After` may ask for within one flush; a longer one is remembered and ends the flush. */
export const retryAfterWaitMsMax = 60_000

/** Warnings of one push that are logged one by one; all are kept. */
export const loggedWarningsMax = 10

/** Bytes read of a service's answer; what is longer is not understood. */
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

/** Rest before a write is tried again while another process has the outbox's lock. */
export const lockedRestMs = 50

/** How long another process may have the lock before it is told, and readiness is red. */
export const lockedToldMs = 10_000

/** Rows that wait for the lock, at most, while more hours are started. */
export const waitingRowsMax = 50_000

/** Metrics whose verdict waits for the lock, at most, while pushes go on; after a crash they are sent again. */
export const unrecordedMax = 5_000

/** How long a stop waits for the lock; what is not written then is collected again. */
export const lockedStopMs = 5_000

/** Due metrics read at a time by a flush. */
export const duePageMax = 500

/** How far back a value is compared with the one before it. */
export const jumpHoursMax = 24

/** Pause between pushes after 429s, at most; it doubles with each and shrinks with each push that is accepted. */
export const slowedIntervalMsMax = 60_000

/**
 * Room that is kept to be given away when the disk is full. Settling needs some: the log grows to 4 MiB between its
 * checkpoints, and to more while a reader is in the way.
 */
export const ballastBytes = 16 * 1_048_576

/** How often the outbox is looked after: old history, room on the disk, the lock. */
export const upkeepMs = 60_000

/** How often it is looked whether there is room again on a full disk. */
export const roomLookMs = 5_000

/** Rest after a part of old history was deleted, for everything else. */
export const pruneRestMs = 20

/** Rest after a daemon's outbox broke twice in a row, so that a failing disk is not worn out. */
export const breakageRestMs = 60_000

/** How often the delivery loop looks for due metrics that another process has put in. */
export const pollMs = 1_000

/** How far back hours lost with a damaged outbox are missed; those missed in downtime as far as is configured. */
export const catchUpHoursMax = 7 * 24

/** Attempts after which a past hour whose state no endpoint has becomes a gap. */
export const stateMissingAttemptsMax = 3

/** A block that may be final is looked at with the chain's next look-up, or alone after so many times its `settle`. */
export const settlesPatientMax = 4

/** Values that are looked at together for whether their block is final. */
export const recheckedHoursMax = 500

/** Rest after it could not be found out whether a block is final. */
export const recheckRestMs = 60_000

/** How often all collectors are looked at for what is due, beside those whose runs have ended. */
export const attentionMs = 1_000

/** Hours of one collector under way at the same time while catching up. */
export const catchUpConcurrency = 4

/** Waits while a chain has no block past the hour yet: short, since a block is due any second. */
export const chainBehindBaseMs = 1_000
export const chainBehindCapMs = 30_000

/** First wait after a failed collection of an hour, doubled with each attempt up to the cap. */
export const recollectBaseMs = 5_000
export const recollectCapMs = 10 * 60_000

/** How long after an hour has passed its metrics may be on their way before readiness turns red. */
export const overdueMs = 15 * 60_000

/** For loading one collector while the daemon starts; one that takes longer is started without. */
export const startLoadMsMax = 10_000

/** Bytes of a configuration file, and maps and lists one inside another in it. */
export const configBytesMax = 262_144
export const configDepthMax = 32

/** How often the configuration file is looked at for a change. */
export const fileLookMs = 5_000

/** How often a process that npm started looks whether its parent is still there. */
export const parentLookMs = 1_000

/** Bytes of a secret's file. */
export const secretBytesMax = 65_536

/** Upper ends of what the configuration lets an operator set. */
export const deadlineMsMax = 30 * 60_000
export const deliveryTimeoutMsMax = 10 * 60_000
/** How long settled hours are kept, at least and at most. */
export const keepMsMin = 8 * 24 * hourMs
export const keepMsMax = 3_650 * 24 * hourMs
/** Pushes under way at a time, at most. */
export const inFlightMax = 64
export const pacePerSecondMax = 1_000
/** How far back hours missed in downtime are caught up, at least and at most. */
export const catchUpMsMin = hourMs
export const catchUpMsMax = 90 * 24 * hourMs
/** How long after an hour its block is taken for final, at most. */
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
