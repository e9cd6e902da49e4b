import { daemonAwayMs } from '../model/limits.ts'

/** Limits of a fleet. Relations between them are asserted below. */

/** Without a touch for this long, a claim is taken from its daemon. The engine's shortest. */
export const heartbeatSeconds = 10

/** Interval at which a daemon touches what it has claimed. */
export const touchMs = 2_500

/** Time after the latest touch for which a daemon may act on a claim; less than the heartbeat by what an action takes. */
export const trustMs = 8_000

/** Interval at which the engine looks for claims without a heartbeat; jobs are fetched as often as the loops turn. */
export const superviseSeconds = 1

/** Interval at which free jobs and roles are asked for. */
export const claimMs = 1_000

/** Interval at which jobs are made for due hours that have none. */
export const reconcileMs = 15_000

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
    (heartbeatSeconds + 3 * superviseSeconds) * 1_000 + claimMs < 15_000,
    'heartbeat + supervise + poll < 15 s: what a dead daemon had is taken over by then',
  ],
]
for (const [holds, relation] of relations) if (!holds) throw new Error(`limits contradict each other: ${relation}`)
