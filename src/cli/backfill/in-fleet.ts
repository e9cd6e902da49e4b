import type { Time } from '../../edge/time.ts'
import { backfillQueue, type JobEngine, type SeenJob, windowJob } from '../../fleet/job-engine.ts'
import { type Lane, laneOf } from '../../fleet/lane.ts'
import { claimMs } from '../../fleet/limits.ts'
import type { BackfillNews } from '../../intake/backfill/backfill.ts'
import { type BackfillPart, joinedEnd, type PartEnd, partFromRecord } from '../../intake/backfill/joined-end.ts'
import {
  type BackfillRequest,
  type CollectorCounts,
  type CollectorHours,
  type HourOrder,
  hoursOf,
  runsOf,
  type Work,
  windowsOf,
} from '../../intake/backfill/work.ts'
import { Fault } from '../../model/fault.ts'
import { hourAt } from '../../model/hour.ts'
import { daemonAwayMs } from '../../model/limits.ts'
import type { BackfillStore, BackfillWindow } from '../../outbox/contract/backfill-store.ts'
import type { FleetStore } from '../../outbox/contract/fleet-store.ts'
import { note } from '../terminal.ts'

/** Dependencies of `FleetBackfill`. */
export interface FleetBackfillDeps {
  readonly engine: JobEngine
  readonly store: Pick<FleetStore, 'nowMs' | 'daemons'>
  readonly backfills: Pick<BackfillStore, 'ask'>
  readonly works: readonly Work[]
  readonly asked: BackfillRequest
  readonly order: HourOrder
  /** Hours of a window. */
  readonly size: number
  readonly time: Pick<Time, 'sleep'>
  /** Ends the wait; the daemons go on. */
  readonly signal: AbortSignal
  readonly report: (news: BackfillNews) => void
}

/** Looks that may fail one after the other. */
const failuresMax = 15

/** A window with its job. */
interface WindowOfFleet {
  readonly lane: Lane
  readonly asked: BackfillWindow
  readonly window: readonly CollectorHours[]
  readonly job: ReturnType<typeof windowJob>
  ended?: PartEnd
}

/** The lanes that a living daemon works. */
export async function livingLanes(store: FleetBackfillDeps['store']): Promise<ReadonlySet<Lane>> {
  const [nowMs, daemons] = await Promise.all([store.nowMs(), store.daemons()])
  return new Set(daemons.filter(({ seenAtMs }) => nowMs - seenAtMs <= daemonAwayMs).flatMap(({ lanes }) => lanes))
}

/** Lane of a work. A collector of one machine has no past hours to read, unless its entry names that machine. */
export function laneOfWork({ collector }: Work): Lane {
  return laneOf(collector, '')
}

/**
 * A backfill that the daemons of a fleet read: it asks them for windows of each lane, and waits until they have read all.
 * They go on when it is stopped; asked for again, what is left is the same windows.
 */
export class FleetBackfill {
  readonly #deps: FleetBackfillDeps
  readonly #windows: readonly WindowOfFleet[]
  #saidIdle = ''
  /** Looks that failed, one after the other. */
  #failures = 0

  constructor(deps: FleetBackfillDeps) {
    this.#deps = deps
    const { works, size, order } = deps
    this.#windows = [...Map.groupBy(works, laneOfWork)].flatMap(([lane, own]) =>
      windowsOf(own, size, order).map(window => {
        const asked = askedOf(window, deps)
        return { lane, window, asked, job: windowJob(lane, asked) }
      }),
    )
  }

  /** Resolves when all windows are read, or it is stopped. Rejects while the database cannot be reached. */
  async run(): Promise<PartEnd> {
    const { signal, time } = this.#deps
    await this.#forgetOldResults()
    while (this.#left.length > 0 && !signal.aborted) {
      await this.#lookAgain()
      if (this.#left.length > 0) await time.sleep(claimMs, signal).catch(() => {})
    }
    const fault = signal.reason instanceof Fault ? signal.reason : stopped
    if (this.#left.length > 0) note('the daemons go on with it: the same command shows how far they are')
    const parts: readonly BackfillPart[] = this.#windows
    return joinedEnd(this.#deps.works.map(countsOf), parts, fault)
  }

  get #left(): readonly WindowOfFleet[] {
    return this.#windows.filter(({ ended }) => !ended)
  }

  /** A window that was read a minute ago has its result still, which is no answer to this request. */
  async #forgetOldResults(): Promise<void> {
    await this.#eachLane(async (queue, windows, jobs) => {
      const old = windows.flatMap(({ job: { id } }) => (jobs.get(id)?.state === 'done' ? [id] : []))
      await this.#deps.engine.remove(queue, old)
    })
  }

  /** The engine's schema may be dropped: a call fails, and the next one makes it again. */
  async #lookAgain(): Promise<void> {
    try {
      await this.#look()
      this.#failures = 0
    } catch (error) {
      this.#failures += 1
      if (this.#failures > failuresMax) throw error
    }
  }

  async #look(): Promise<void> {
    const { engine, backfills, report } = this.#deps
    await this.#eachLane(async (queue, windows, jobs) => {
      for (const window of windows) {
        const job = jobs.get(window.job.id)
        if (job?.state === 'done') window.ended = partFromRecord(job.result)
      }
      // Also those that were lost with the engine's tables: hours that were read are not read again.
      const missing = windows.filter(({ job, ended }) => !ended && !jobs.has(job.id))
      await backfills.ask(missing.map(({ lane, asked, job: { id } }) => ({ id, lane, window: asked })))
      await engine.insert(
        queue,
        missing.map(({ job }) => job),
      )
    })
    report({ kind: 'went-on', progress: this.#progress })
    await this.#noteIdleLanes()
  }

  async #eachLane(
    act: (queue: string, windows: readonly WindowOfFleet[], jobs: ReadonlyMap<string, SeenJob>) => Promise<void>,
  ): Promise<void> {
    const byLane = Map.groupBy(this.#left, ({ lane }) => lane)
    for (const [lane, windows] of byLane) {
      const queue = backfillQueue(lane)
      await act(queue, windows, await this.#deps.engine.jobsOf(queue))
    }
  }

  async #noteIdleLanes(): Promise<void> {
    const living = await livingLanes(this.#deps.store)
    const idle = [...new Set(this.#left.map(({ lane }) => lane))].filter(lane => !living.has(lane)).join(', ')
    if (idle !== '' && idle !== this.#saidIdle) note(`waits: no living daemon works ${idle}`)
    this.#saidIdle = idle
  }

  get #progress() {
    const done = this.#windows.filter(({ ended }) => ended).flatMap(({ window }) => window)
    const { works } = this.#deps
    return { runs: runsOf(works), runsDone: runsOf(done), hours: hoursOf(works), hoursDone: hoursOf(done) }
  }
}

function askedOf(window: readonly CollectorHours[], { asked, order }: FleetBackfillDeps): BackfillWindow {
  const hours = window.flatMap(({ hours: own }) => own)
  return {
    collectors: window.map(({ work }) => work.collector.id),
    from: hourAt(Math.min(...hours)),
    to: hourAt(Math.max(...hours)),
    what: asked.what,
    order,
  }
}

function countsOf({ collector, alreadyCollected, leftToDaemon, impossible }: Work): CollectorCounts {
  const none = { done: 0, failed: 0, added: 0, corrected: 0 }
  return { collector: collector.id, alreadyCollected, leftToDaemon, impossible, ...none }
}

const stopped = new Fault('stopped', 'it was asked to stop')
