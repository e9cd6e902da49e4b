import { z } from 'zod'
import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { hourAt } from '../model/hour.ts'
import { hourMs } from '../model/limits.ts'
import type {
  BackfillStore,
  BackfillWindow,
  CommitStep,
  FleetStore,
  SharedTransaction,
} from '../outbox/contract/fleet-store.ts'
import {
  backfillQueue,
  type Claim,
  claimAfter,
  type HandOver,
  isTouchDue,
  type JobAttempt,
  type JobEngine,
  newClaim,
} from './job-engine.ts'
import { type Lane, livingDaemons } from './lane.ts'
import { claimMs, reconcileMs } from './limits.ts'

/** Result of a window, as it is kept with its job. */
export interface WindowResult {
  /** Runs that were not finished. */
  readonly left: number
}

/** The claim under which a window is read. */
export interface WindowClaim {
  /** Aborted when it is lost, or the daemon ends. */
  readonly signal: AbortSignal
  /**
   * Part of each commit of values: a daemon that was paused stores none of them.
   *
   * @throws Fault `hour-taken-over` when it is lost
   */
  readonly requireOwned: CommitStep
  /** Notes that nothing of it can be read here now: a daemon that works its lane and has not tried it, if there is one, gets it. */
  readonly noteUnread: (fault: Fault) => void
}

/** Dependencies of `BackfillWorker`. */
export interface BackfillWorkerDeps {
  readonly store: Pick<FleetStore, 'transaction' | 'daemons' | 'nowMs'>
  readonly backfills: Pick<BackfillStore, 'finish'>
  readonly engine: JobEngine
  /** Name of this daemon. */
  readonly name: string
  /** The lanes that this daemon works now and that have windows. */
  readonly lanes: () => Promise<readonly Lane[]>
  /** Whether the collectors of a window are configured here. */
  readonly knows: (window: BackfillWindow) => boolean
  /** Reads a window of a lane. @returns its result, for the process that asked for it */
  readonly readWindow: (lane: Lane, window: BackfillWindow, claimed: WindowClaim) => Promise<WindowResult>
  /** Called while a lane has no window, and at the end. Never rejects. */
  readonly closeLane: (lane: Lane) => Promise<void>
  readonly time: Pick<Time, 'steadyMs' | 'sleep'>
  /** Called with errors; it is tried again. */
  readonly reportFailure: (error: unknown) => void
}

/** A window that this daemon reads. */
interface WindowReading {
  readonly queue: string
  claim: Claim
  readonly stopController: AbortController
  readonly ended: Promise<void>
  /** The last one of its job. */
  handOver: HandOver | undefined
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
  readonly #loop = new Loop(signal => this.#pass(signal))
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
    const windows = [...this.#reading]
    for (const [, { stopController }] of windows) stopController.abort(stopped)
    await Promise.all(windows.map(([, { ended }]) => ended))
    await Promise.all(windows.map(([lane]) => this.#deps.closeLane(lane)))
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { lanes, time, reportFailure } = this.#deps
    const touches = [...this.#reading.values()].map(reading => this.#touch(reading).catch(reportFailure))
    const openLanes = await lanes().catch((error: unknown) => {
      reportFailure(error)
      return []
    })
    const beginning = openLanes.map(lane => this.#begin(lane).catch(reportFailure))
    await Promise.all([...touches, ...beginning])
    await time.sleep(claimMs, signal).catch(() => {})
  }

  async #touch(reading: WindowReading): Promise<void> {
    const { engine, time } = this.#deps
    const sentAtMs = time.steadyMs()
    if (!isTouchDue(reading.claim, sentAtMs)) return
    const { attempt } = reading.claim
    const isKept = (await engine.touch(reading.queue, [attempt])).has(attempt.id)
    if (isKept) reading.claim = claimAfter(reading.claim, { kind: 'touched', sentAtMs })
    else lose(reading)
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
    const { engine, time, knows, closeLane, name } = this.#deps
    const sentAtMs = time.steadyMs()
    const isTooSoon = sentAtMs - (this.#refusedAtMs.get(lane) ?? Number.NEGATIVE_INFINITY) < reconcileMs
    if (isTooSoon) return
    const queue = backfillQueue(lane)
    const [job] = await engine.fetch(queue, 1)
    if (!job) return closeLane(lane)
    const { handOver } = job
    if (this.#isStopping) return engine.release(queue, [job.attempt], handOver)
    const window = windowShape.parse(job.data)
    if (!knows(window)) {
      // Another daemon may know its collectors, and gets it meanwhile.
      this.#refusedAtMs.set(lane, sentAtMs)
      return engine.release(queue, [job.attempt], handOver && { ...handOver, tried: [...handOver.tried, name] })
    }
    const stopController = new AbortController()
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const reading = { queue, claim: newClaim(job.attempt, sentAtMs), stopController, ended, handOver }
    this.#reading.set(lane, reading)
    void this.#read(lane, window, reading).then(resolve)
  }

  /** Never rejects. */
  async #read(lane: Lane, window: BackfillWindow, reading: WindowReading): Promise<void> {
    const { engine, readWindow, time, reportFailure } = this.#deps
    const { queue, stopController } = reading
    const requireOwned = oncePerCommit(async transaction => {
      const isOwned = !reading.claim.isLost && (await engine.keep(queue, reading.claim.attempt, transaction))
      if (isOwned) return
      lose(reading)
      throw takenOver
    })
    const noteUnread = (fault: Fault) => void this.#leave(lane, reading, fault).catch(reportFailure)
    const giveBack = async () => {
      const { claim, handOver } = reading
      if (stopController.signal.reason === leftToOthers) this.#refusedAtMs.set(lane, time.steadyMs())
      if (!claim.isLost) await engine.release(queue, [claim.attempt], handOver)
    }
    try {
      const result = await readWindow(lane, window, { signal: stopController.signal, requireOwned, noteUnread })
      if (stopController.signal.aborted) await giveBack()
      else await this.#finish(queue, reading.claim.attempt, result)
    } catch (error) {
      reportFailure(error)
      this.#refusedAtMs.set(lane, time.steadyMs())
      await giveBack().catch(reportFailure)
    }
    this.#reading.delete(lane)
    // The next one at once: a window takes a second or two.
    if (!this.#isStopping) await this.#begin(lane).catch(reportFailure)
  }

  /** Of daemons that cannot read it either, the last one waits for the chain, and ends the window. */
  async #leave(lane: Lane, reading: WindowReading, fault: Fault): Promise<void> {
    const { store, name } = this.#deps
    const triedDaemons = [...new Set([...(reading.handOver?.tried ?? []), name])]
    const living = await livingDaemons(store)
    if (!living.some(daemon => daemon.lanes.includes(lane) && !triedDaemons.includes(daemon.name))) return
    reading.handOver = { daemon: name, reason: faultLine(fault), tried: triedDaemons }
    reading.stopController.abort(leftToOthers)
  }

  /** A window with runs left stays asked for: it gets another job once the result is forgotten. */
  async #finish(queue: string, attempt: JobAttempt, result: WindowResult): Promise<void> {
    const { store, backfills, engine } = this.#deps
    await store.transaction(async transaction => {
      if (!(await engine.keep(queue, attempt, transaction))) return
      await engine.finish(queue, attempt, result, transaction)
      if (result.left === 0) await backfills.finish(attempt.id, transaction)
    })
  }
}

const stopped = new Fault('stopped', 'the daemon ends')
const leftToOthers = new Fault('stopped', 'nothing can be read here now: another daemon is let try')
const takenOver = new Fault('hour-taken-over', 'another daemon has taken over these hours')

function lose(reading: WindowReading): void {
  reading.claim = claimAfter(reading.claim, { kind: 'refused' })
  reading.stopController.abort(takenOver)
}

/** Many outcomes share a commit: the claim is asked for once. */
function oncePerCommit(step: CommitStep): CommitStep {
  const stepOfCommit = new WeakMap<SharedTransaction, Promise<void>>()
  return transaction => {
    const known = stepOfCommit.get(transaction) ?? step(transaction)
    stepOfCommit.set(transaction, known)
    return known
  }
}
