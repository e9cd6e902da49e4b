import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import type { FleetStore } from '../outbox/contract/fleet-store.ts'
import type { CollectorLanes } from './collector-lanes.ts'
import { dueJobs } from './due-jobs.ts'
import type { JobEngine } from './job-engine.ts'
import { reconciledHoursMax, reconcileMs } from './limits.ts'

/** Dependencies of `Reconciler`. */
export interface ReconcilerDeps {
  readonly store: Pick<FleetStore, 'dueLaneHours'>
  readonly engine: JobEngine
  readonly lanes: CollectorLanes
  readonly time: Pick<Time, 'nowMs' | 'sleep'>
  /** Called with errors; it is repeated. */
  readonly failed: (error: unknown) => void
}

/**
 * Makes the jobs of due hours that have none: of hours planned by a daemon that died, of hours that failed and whose next
 * attempt has come, and all of them when the engine's schema was dropped.
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
    const { store, engine, lanes, time, failed } = this.#deps
    try {
      const most = reconciledHoursMax * Math.max(1, lanes.all.size)
      const due = await store.dueLaneHours(lanes.collectors, time.nowMs(), most)
      for (const { queue, jobs } of dueJobs(due, lanes.all)) await engine.insert(queue, jobs)
    } catch (error) {
      failed(error)
    }
    await time.sleep(reconcileMs, signal).catch(() => {})
  }
}
