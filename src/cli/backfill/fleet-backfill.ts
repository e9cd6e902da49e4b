import type { Time } from '../../edge/time.ts'
import { backfillQueue, type HandOver, JobEngine, type SeenJob, windowJob } from '../../fleet/job-engine.ts'
import { type Lane, laneOf, livingDaemons } from '../../fleet/lane.ts'
import { claimMs } from '../../fleet/limits.ts'
import type { BackfillNews, BackfillRead } from '../../intake/backfill/backfill.ts'
import {
  type BackfillPart,
  joinedEnd,
  joinedParts,
  type PartEnd,
  partFromRecord,
} from '../../intake/backfill/joined-end.ts'
import { type CollectorHours, Counts, hoursOf, runsOf, type Work, windowsOf } from '../../intake/backfill/work.ts'
import { Fault } from '../../model/fault.ts'
import { hourAt } from '../../model/hour.ts'
import type { BackfillWindow, SharedOutbox } from '../../outbox/contract/fleet-store.ts'
import { note } from '../terminal.ts'

/**
 * Reads a backfill by the daemons of a fleet in the lanes that one of them works, and here in the others.
 *
 * @param readHere reads a part of it in this process
 */
export async function readWithFleet(
  run: BackfillRead,
  { sharedOutbox, time }: { readonly sharedOutbox: SharedOutbox; readonly time: Time },
  readHere: (part: BackfillRead) => Promise<PartEnd>,
  stack: AsyncDisposableStack,
): Promise<PartEnd> {
  const living = await livingLanes(sharedOutbox)
  const theirs = run.works.filter(work => work.hours.length > 0 && living.has(laneOfWork(work)))
  if (theirs.length === 0) return readHere(run)
  const works = run.works.filter(work => !theirs.includes(work))
  // Its own upkeep is done by the daemons, too.
  const engine = new JobEngine({ statements: sharedOutbox.jobs, time, reportFailure: () => {} })
  stack.defer(() => engine.stop())
  const report = (news: BackfillNews) => {
    // There is one line of progress: that of the fleet.
    if (news.kind !== 'went-on') run.report(news)
  }
  const fleet = new FleetBackfill({ ...run, works: theirs }, { sharedOutbox, engine, time }).run()
  return joinedParts(await Promise.all([fleet, readHere({ ...run, works, report })]))
}

/** Reads that may fail one after the other. */
const failuresMax = 15

/** A window with its job. */
interface WindowOfFleet {
  readonly lane: Lane
  readonly asked: BackfillWindow
  readonly window: readonly CollectorHours[]
  readonly job: ReturnType<typeof windowJob>
  ended?: PartEnd
}

interface FleetAccess {
  readonly sharedOutbox: SharedOutbox
  readonly engine: JobEngine
  readonly time: Time
}

/** The lanes that a living daemon works. */
async function livingLanes({ store }: SharedOutbox): Promise<ReadonlySet<Lane>> {
  return new Set((await livingDaemons(store)).flatMap(({ lanes }) => lanes))
}

/** Lane of a work. A collector of one machine has no past hours to read, unless its entry names that machine. */
function laneOfWork({ collector }: Work): Lane {
  return laneOf(collector, '')
}

/**
 * A backfill that the daemons of a fleet read: it asks them for windows of each lane, and waits until they have read all.
 * They go on when it is stopped; asked for again, what is left is the same windows.
 */
class FleetBackfill {
  readonly #run: BackfillRead
  readonly #shared: SharedOutbox
  readonly #engine: JobEngine
  readonly #time: Time
  readonly #windows: readonly WindowOfFleet[]
  #saidIdle = ''
  readonly #notedHandOvers = new Set<string>()
  /** Reads that failed, one after the other. */
  #failures = 0

  constructor(run: BackfillRead, { sharedOutbox, engine, time }: FleetAccess) {
    this.#run = run
    this.#shared = sharedOutbox
    this.#engine = engine
    this.#time = time
    const { works, concurrency, order } = run
    this.#windows = [...Map.groupBy(works, laneOfWork)].flatMap(([lane, own]) =>
      windowsOf(own, concurrency, order).map(window => {
        const asked = askedOf(window, run)
        return { lane, window, asked, job: windowJob(lane, asked) }
      }),
    )
  }

  /** Resolves when all windows are read, or it is stopped. Rejects while the database cannot be reached. */
  async run(): Promise<PartEnd> {
    const { signal, works } = this.#run
    await this.#forgetOldResults()
    while (this.#left.length > 0 && !signal.aborted) {
      await this.#readAgain()
      if (this.#left.length > 0) await this.#time.sleep(claimMs, signal).catch(() => {})
    }
    const fault = signal.reason instanceof Fault ? signal.reason : new Fault('stopped', 'it was asked to stop')
    if (this.#left.length > 0) note('the daemons go on with it: the same command shows how far they are')
    const parts: readonly BackfillPart[] = this.#windows
    return joinedEnd(new Counts(works).all, parts, fault)
  }

  get #left(): readonly WindowOfFleet[] {
    return this.#windows.filter(({ ended }) => !ended)
  }

  /** A window that was read a minute ago has its result still, which is no answer to this request. */
  async #forgetOldResults(): Promise<void> {
    await this.#eachLane(async (queue, windows, jobs) => {
      const old = windows.flatMap(({ job: { id } }) => (jobs.get(id)?.isDone ? [id] : []))
      await this.#engine.remove(queue, old)
    })
  }

  /** The engine's schema may be dropped: a call fails, and the next one makes it again. */
  async #readAgain(): Promise<void> {
    try {
      await this.#read()
      this.#failures = 0
    } catch (error) {
      this.#failures += 1
      if (this.#failures > failuresMax) throw error
    }
  }

  async #read(): Promise<void> {
    await this.#eachLane(async (queue, windows, jobs) => {
      for (const window of windows) {
        const job = jobs.get(window.job.id)
        if (job?.isDone) window.ended = partFromRecord(job.result)
        if (job?.handOver) this.#noteHandOver(window.lane, job.handOver)
      }
      // Also those that were lost with the engine's tables: hours that were read are not read again.
      const missingWindows = windows.filter(({ job, ended }) => !ended && !jobs.has(job.id))
      const { backfills } = this.#shared
      await backfills.ask(missingWindows.map(({ lane, asked, job: { id } }) => ({ id, lane, window: asked })))
      const jobsMissing = missingWindows.map(({ job }) => job)
      await this.#engine.insert(queue, jobsMissing)
    })
    this.#run.report({ kind: 'went-on', progress: this.#progress })
    await this.#noteIdleLanes()
  }

  async #eachLane(
    act: (queue: string, windows: readonly WindowOfFleet[], jobs: ReadonlyMap<string, SeenJob>) => Promise<void>,
  ): Promise<void> {
    const byLane = Map.groupBy(this.#left, ({ lane }) => lane)
    for (const [lane, windows] of byLane) {
      const queue = backfillQueue(lane)
      await act(queue, windows, await this.#engine.jobsOf(queue))
    }
  }

  /** Once for each daemon and lane. */
  #noteHandOver(lane: Lane, { daemon, reason }: HandOver): void {
    const key = `${daemon} ${lane}`
    if (!this.#notedHandOvers.has(key)) note(`${daemon} lets other daemons try: ${reason}`)
    this.#notedHandOvers.add(key)
  }

  async #noteIdleLanes(): Promise<void> {
    const living = await livingLanes(this.#shared)
    const idle = [...new Set(this.#left.map(({ lane }) => lane))].filter(lane => !living.has(lane)).join(', ')
    if (idle !== '' && idle !== this.#saidIdle) note(`waits: no living daemon works ${idle}`)
    this.#saidIdle = idle
  }

  get #progress() {
    const done = this.#windows.filter(({ ended }) => ended).flatMap(({ window }) => window)
    const { works } = this.#run
    return { runs: runsOf(works), runsDone: runsOf(done), hours: hoursOf(works), hoursDone: hoursOf(done) }
  }
}

function askedOf(window: readonly CollectorHours[], { asked: request, order }: BackfillRead): BackfillWindow {
  const hours = window.flatMap(({ hours: own }) => own)
  return {
    collectors: window.map(({ work }) => work.collector.id),
    from: hourAt(Math.min(...hours)),
    to: hourAt(Math.max(...hours)),
    what: request.scope,
    order,
  }
}
