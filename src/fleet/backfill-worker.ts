import { z } from 'zod'
import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { hourAt } from '../model/hour.ts'
import { hourMs } from '../model/limits.ts'
import type { BackfillStore, BackfillWindow } from '../outbox/contract/backfill-store.ts'
import type { FleetStore } from '../outbox/contract/fleet-store.ts'
import type { JobAttempt } from './claim.ts'
import { type Claim, claimAfter, isTouchDue, newClaim } from './claim.ts'
import type { JobEngine } from './job-engine.ts'
import { backfillQueue } from './jobs.ts'
import type { Lane } from './lane.ts'
import { claimMs, reconcileMs } from './limits.ts'

/** Result of a window, as it is kept with its job. */
export interface WindowResult {
  /** Runs that were not finished. */
  readonly left: number
}

/** Dependencies of `BackfillWorker`. */
export interface BackfillWorkerDeps {
  readonly store: Pick<FleetStore, 'transaction'>
  readonly backfills: Pick<BackfillStore, 'finish'>
  readonly engine: JobEngine
  /** The lanes that this daemon works now. */
  readonly lanes: () => readonly Lane[]
  /** Whether the collectors of a window are configured here. */
  readonly knows: (window: BackfillWindow) => boolean
  /** Reads a window of a lane, until its signal is aborted. @returns its result, for the process that asked for it */
  readonly read: (lane: Lane, window: BackfillWindow, signal: AbortSignal) => Promise<WindowResult>
  /** Called while a lane has no window, and at the end. Never rejects. */
  readonly rest: (lane: Lane) => Promise<void>
  readonly time: Pick<Time, 'steadyMs' | 'sleep'>
  /** Called with errors; it is tried again. */
  readonly failed: (error: unknown) => void
}

/** A window that this daemon reads. */
interface WindowReading {
  readonly queue: string
  claim: Claim
  readonly stopping: AbortController
  readonly ended: Promise<void>
}

const instant = z
  .number()
  .int()
  .multipleOf(hourMs)
  .transform(ms => hourAt(ms))
const windowShape = z.object({
  collectors: z.array(z.string()).min(1),
  from: instant,
  to: instant,
  what: z.enum(['missing', 'overwrite']),
  order: z.enum(['oldest-first', 'newest-first']),
})

/**
 * Reads windows of backfills that any process has asked for: one of each lane at a time, so that the other daemons have
 * the next ones. A window whose claim is lost is stopped: another daemon reads what is missing of it.
 */
export class BackfillWorker {
  readonly #deps: BackfillWorkerDeps
  readonly #reading = new Map<Lane, WindowReading>()
  /** When a window of a lane was last given back, by the steady clock. */
  readonly #refusedAtMs = new Map<Lane, number>()
  readonly #loop = new Loop(signal => this.#turn(signal))
  /** Lanes of which a window is being claimed. */
  readonly #claiming = new Set<Lane>()
  #isStopping = false

  constructor(deps: BackfillWorkerDeps) {
    this.#deps = deps
    this.#loop.start()
  }

  /** Stops what is read, and hands the windows over. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#loop.stop()
    const all = [...this.#reading]
    for (const [, { stopping }] of all) stopping.abort(stopped)
    await Promise.all(all.map(([, { ended }]) => ended))
    await Promise.all(all.map(([lane]) => this.#deps.rest(lane)))
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { lanes, time, failed } = this.#deps
    const touching = [...this.#reading.values()].map(reading => this.#touch(reading))
    const beginning = lanes().map(lane => this.#begin(lane))
    await Promise.all([...touching, ...beginning].map(step => step.catch(failed)))
    await time.sleep(claimMs, signal).catch(() => {})
  }

  async #touch(reading: WindowReading): Promise<void> {
    const { engine, time } = this.#deps
    const sentAtMs = time.steadyMs()
    if (!isTouchDue(reading.claim, sentAtMs)) return
    const { attempt } = reading.claim
    const isKept = (await engine.touch(reading.queue, [attempt])).has(attempt.id)
    reading.claim = claimAfter(reading.claim, isKept ? { kind: 'touched', sentAtMs } : { kind: 'refused' })
    if (!isKept) reading.stopping.abort(takenOver)
  }

  /** Claims the next window of a lane, unless one is read or being claimed. */
  async #begin(lane: Lane): Promise<void> {
    if (this.#reading.has(lane) || this.#claiming.has(lane)) return
    this.#claiming.add(lane)
    try {
      await this.#claim(lane)
    } finally {
      this.#claiming.delete(lane)
    }
  }

  async #claim(lane: Lane): Promise<void> {
    const { engine, time, knows, rest } = this.#deps
    const sentAtMs = time.steadyMs()
    const isTooSoon = sentAtMs - (this.#refusedAtMs.get(lane) ?? Number.NEGATIVE_INFINITY) < reconcileMs
    if (isTooSoon) return
    const queue = backfillQueue(lane)
    const [job] = await engine.fetch(queue, 1)
    if (!job) return rest(lane)
    if (this.#isStopping) return engine.release(queue, [job.attempt])
    const window = windowShape.parse(job.data)
    if (!knows(window)) {
      // Another daemon may know its collectors, and gets it meanwhile.
      this.#refusedAtMs.set(lane, sentAtMs)
      return engine.release(queue, [job.attempt])
    }
    const stopping = new AbortController()
    const claim = newClaim(job.attempt, sentAtMs)
    const ended = this.#read(lane, window, () => this.#reading.get(lane)?.claim ?? claim, stopping.signal)
    this.#reading.set(lane, { queue, claim, stopping, ended })
  }

  /** Never rejects. */
  async #read(lane: Lane, window: BackfillWindow, claim: () => Claim, signal: AbortSignal): Promise<void> {
    const { engine, read, time, failed } = this.#deps
    const queue = backfillQueue(lane)
    try {
      const result = await read(lane, window, signal)
      if (!signal.aborted) await this.#finish(queue, claim().attempt, result)
      else if (!claim().isLost) await engine.release(queue, [claim().attempt])
    } catch (error) {
      failed(error)
      this.#refusedAtMs.set(lane, time.steadyMs())
      if (!claim().isLost) await engine.release(queue, [claim().attempt]).catch(failed)
    }
    this.#reading.delete(lane)
    // The next one at once: a window takes a second or two.
    if (!this.#isStopping) await this.#begin(lane).catch(failed)
  }

  /** A window with runs left stays asked for: it gets another job once the result is forgotten. */
  async #finish(queue: string, attempt: JobAttempt, result: WindowResult): Promise<void> {
    const { store, backfills, engine } = this.#deps
    await store.transaction(async transaction => {
      if (!(await engine.hold(queue, attempt, transaction))) return
      await engine.finish(queue, attempt, result, transaction)
      if (result.left === 0) await backfills.finish(attempt.id, transaction)
    })
  }
}

const stopped = new Fault('stopped', 'the daemon ends')
const takenOver = new Fault('stopped', 'another daemon has taken over these hours')
