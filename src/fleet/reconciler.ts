import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import type { BackfillStore } from '../outbox/contract/backfill-store.ts'
import type { FleetStore } from '../outbox/contract/fleet-store.ts'
import type { CollectorLanes } from './collector-lanes.ts'
import { dueJobs } from './due-jobs.ts'
import type { JobEngine } from './job-engine.ts'
import { backfillQueue, windowJob } from './jobs.ts'
import { reconciledHoursMax, reconciledWindowsMax, reconcileMs } from './limits.ts'

/** Dependencies of `Reconciler`. */
export interface ReconcilerDeps {
  readonly store: Pick<FleetStore, 'dueLaneHours'>
  readonly backfills: Pick<BackfillStore, 'open'>
  readonly engine: JobEngine
  readonly lanes: CollectorLanes
  readonly time: Pick<Time, 'nowMs' | 'sleep'>
  /** Called with errors; it is repeated. */
  readonly failed: (error: unknown) => void
}

/**
 * Makes the jobs of due hours that have none: of hours planned by a daemon that died, of hours that failed and whose next
 * attempt has come, of windows of backfills, and all of them when the engine's schema was dropped.
 */
export class Reconciler {
  readonly #deps: ReconcilerDeps
  readonly #loop = new Loop(signal => this.#turn(signal))

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { store, backfills, engine, lanes, time, failed } = this.#deps
    try {
      const most = reconciledHoursMax * Math.max(1, lanes.all.size)
      const due = await store.dueLaneHours(lanes.collectors, time.nowMs(), most)
      for (const { queue, jobs } of dueJobs(due, lanes.all)) await engine.insert(queue, jobs)
      const open = await backfills.open(lanes.collectors, reconciledWindowsMax)
      for (const [lane, asked] of Map.groupBy(open, one => one.lane)) {
        const jobs = asked.map(({ window }) => windowJob(lane, window))
        await engine.insert(backfillQueue(lane), jobs)
      }
    } catch (error) {
      failed(error)
    }
    await time.sleep(reconcileMs, signal).catch(() => {})
  }
}
