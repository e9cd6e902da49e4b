/** Limits of the product. Units are in the names; relations between limits are asserted below. */

/** An hour in milliseconds. */
export const hourMs = 3_600_000
/** A day in milliseconds. */
export const dayMs = 24 * hourMs

/** Metrics in one push, as the interface allows. */
export const batchMetricsMax = 100

/** Longest label without a warning of the service, in characters. */
export const labelCharsAdvised = 16

/** Largest lead of a metric's timestamp over the service's clock. */
export const futureMsMax = 5 * 60_000

/** Longest `Retry-After` that is believed; who asks again has a bound of its own, which is shorter. */
export const retryAfterMsMax = 24 * hourMs

/** Bytes read of a service's answer; a longer one counts as not understood. */
export const answerBytesMax = 1_048_576

/** Longest pause of a destination after failed flushes in a row. */
export const breakerCapMs = 5 * 60_000

/** Longest pause of a protocol or metric that the service rejects while it accepts others. */
export const quarantineCapMs = 10 * 60_000

/** Metrics of the one batch that probes a service after a failed flush. */
export const probeMetricsMax = 10

/** Rows written in one commit, which holds up the event loop for as long. */
export const commitRowsMax = 1_000

/** Rows waiting for the lock above which no more hours are started. */
export const waitingRowsMax = 50_000

/** Due metrics a flush reads at a time. Each read has a fixed cost of about 500 rows. */
export const dueListMax = 2_000

/** Age up to which the previous value is compared with a new one. */
export const jumpHoursMax = 24

/** Interval of the outbox's upkeep: deleting old history, checking the disk's free space and the lock. */
export const upkeepMs = 60_000

/**
 * WAL size at which SQLite checkpoints, about. The same few pages are written again and again, so fewer checkpoints cost
 * less.
 */
export const walBytesMax = 12_360_000

/** Interval of checking a full disk for free space. */
export const roomLookMs = 5_000

/** Time without a renewal after which the lease of a daemon of a fleet ends: it counts as away, and others take what it had. */
export const daemonAwayMs = 10_000

/** Interval at which the delivery loop looks for due metrics enqueued by another process. */
export const pollMs = 1_000

/**
 * Age up to which hours lost with a damaged outbox are expected again; for hours missed in downtime the configuration
 * decides.
 */
export const catchUpHoursMax = 7 * 24

/** Hours of one collector collected concurrently while catching up. */
export const catchUpConcurrency = 4

/** First wait after a failed collection of an hour, doubled with each attempt up to the cap. */
export const recollectBaseMs = 5_000
export const recollectCapMs = 10 * 60_000

/** Delay after an hour until undelivered metrics turn readiness red. */
export const overdueMs = 15 * 60_000

/** Shortest time for which delivered hours are kept. */
export const keepMsMin = 8 * 24 * hourMs

const relations: readonly [holds: boolean, relation: string][] = [
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
  [batchMetricsMax <= dueListMax, 'batchMetricsMax <= dueListMax: a list fills a batch'],
  [overdueMs < hourMs, 'overdueMs < hourMs: readiness is red within one hour'],
]
for (const [holds, relation] of relations) if (!holds) throw new Error(`limits contradict each other: ${relation}`)
