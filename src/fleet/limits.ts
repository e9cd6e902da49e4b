import { daemonAwayMs } from '../model/limits.ts'

/** Limits of a fleet. Relations between them are asserted below. */

/** Without a touch for this long, a claim is taken from its daemon. The engine's shortest. */
export const heartbeatSeconds = 10

/** Interval at which a daemon touches what it has claimed. */
export const touchMs = 2_500

/** Time after the latest touch for which a daemon may act on a claim; less than the heartbeat by what an action takes. */
export const trustMs = 8_000

/** Interval at which the engine is asked for its upkeep, whether or not a daemon is seen to be silent. */
export const superviseMs = 60_000

/** Failures of a daemon in what it has a role or a claim for, after which it lets another one try. */
export const patienceMs = 30_000

/** Longest time of failures, where several daemons have let each other try. */
export const patienceMsMax = 600_000

/** Time for which a role that was given back, or a lane where something fails, is left to the others. */
export const restMs = 5_000

/** Time without a living holder after which a role is reported. */
export const unheldMsMax = 15_000

/** Time without an accepted call after which the job engine is reported. */
export const engineSilentMsMax = 30_000

/** Interval at which free jobs and roles are asked for. */
export const claimMs = 1_000

/** Interval at which jobs are made for due hours that have none. */
export const reconcileMs = 5_000

/** Jobs that one reconciliation makes of a lane, at most: the newest hours first. */
export const reconciledHoursMax = 500

/** Past hours of a lane that one daemon has claimed at a time. */
export const claimedHoursMax = 4

/** Windows of backfills that one reconciliation makes jobs of, at most: the oldest first. */
export const reconciledWindowsMax = 2_000

/** A claimed hour is kept for a next attempt that is this close; a later one makes a job of its own. */
export const keptForRetryMs = 60_000

/** Claims of one job, at most: each takeover and each hand-over counts. */
export const claimsMax = 10_000

/** Time for which a job may be claimed by one daemon, whatever its heartbeat. The engine's longest is a day. */
export const claimSecondsMax = 23 * 3_600

/** Interval at which a daemon shows that it is there. */
export const seenMs = 4_000

const relations: readonly [holds: boolean, relation: string][] = [
  [touchMs * 3 < trustMs, 'touchMs * 3 < trustMs: two lost touches lose no claim'],
  [
    seenMs + heartbeatSeconds * 1_000 <= daemonAwayMs,
    'seen + heartbeat <= daemonAwayMs: a daemon is away when a sign is late by more than a heartbeat',
  ],
  [trustMs < heartbeatSeconds * 1_000, 'trustMs < heartbeat: a claim is given up before it is taken'],
  [
    heartbeatSeconds * 1_000 + 3 * claimMs < 15_000,
    'heartbeat + looks < 15 s: what a dead daemon had is taken over by then',
  ],
]
for (const [holds, relation] of relations) if (!holds) throw new Error(`limits contradict each other: ${relation}`)
