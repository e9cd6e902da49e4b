import { daemonAwayMs } from '../model/limits.ts'

/** Limits of a fleet. Relations between them are asserted below. */

/** Without a touch for this long, a claim is taken from its daemon. The engine's shortest. */
export const heartbeatSeconds = 10

/** Interval at which a daemon touches what it has claimed. */
export const touchMs = 2_500

/** Time after the latest touch for which a daemon may act on a claim; less than the heartbeat by what an action takes. */
export const trustMs = 8_000

/** Failures of a daemon in what it has a role or a claim for, after which it lets another one try. */
export const patienceMs = 30_000

/** Time for which a role that was given back, or a lane where something fails, is left to the others. */
export const restMs = 5_000

/** Interval at which free jobs and roles are asked for. */
export const claimMs = 1_000

/** Interval at which jobs are made for due hours that have none. */
export const reconcileMs = 5_000

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
