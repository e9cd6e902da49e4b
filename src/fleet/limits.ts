import { daemonAwayMs } from '../model/limits.ts'

/** Limits of a fleet. Relations between them are asserted below. */

/** Without a touch for this long, a claim is taken from its daemon. The engine's shortest. */
export const heartbeatSeconds = 10

/** Interval at which a daemon touches what it has claimed. */
export const touchMs = 2_500

/** Interval at which a daemon renews its lease. */
export const renewMs = 2_500

/** Time after the latest touch or renewal for which a daemon may act on it; less than the heartbeat by what an action takes. */
export const trustMs = 8_000

/** Failures of a daemon in what it has a lease or a claim of, after which it lets another one try. */
export const patienceMs = 30_000

/** Time for which what was given back, or a lane where something fails, is left to the others. */
export const restMs = 5_000

/** Interval at which free jobs are asked for. */
export const claimMs = 1_000

/** Interval at which jobs are made for due hours that have none. */
export const reconcileMs = 5_000

const relations: readonly [holds: boolean, relation: string][] = [
  [touchMs * 3 < trustMs, 'touchMs * 3 < trustMs: two lost touches lose no claim'],
  [renewMs * 3 < trustMs, 'renewMs * 3 < trustMs: two lost renewals lose no lease'],
  [trustMs < daemonAwayMs, 'trustMs < daemonAwayMs: what a daemon has is given up before it is taken'],
  [daemonAwayMs + renewMs < 15_000, 'daemonAwayMs + renewMs < 15 s: what a dead daemon had is taken over by then'],
  [renewMs < restMs, 'renewMs < restMs: another daemon gets what one gives back'],
  [trustMs < heartbeatSeconds * 1_000, 'trustMs < heartbeat: a claim is given up before it is taken'],
  [
    heartbeatSeconds * 1_000 + 3 * claimMs < 15_000,
    'heartbeat + looks < 15 s: what a dead daemon had is taken over by then',
  ],
]
for (const [holds, relation] of relations) if (!holds) throw new Error(`limits contradict each other: ${relation}`)
