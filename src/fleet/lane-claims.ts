import { z } from 'zod'
import { Loop, repeated } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import { type Hour, hourAt } from '../model/hour.ts'
import { hourMs } from '../model/limits.ts'
import type { BackfillStore, FleetStore } from '../outbox/contract/fleet-store.ts'
import {
  backfillQueue,
  type Claim,
  claimAfter,
  isTouchDue,
  isTrusted,
  type JobEngine,
  type LaneHour,
  laneJob,
  laneQueue,
  type NewJob,
  newClaim,
  windowJob,
} from './job-engine.ts'
import type { CollectorLanes, Lane } from './lane.ts'
import type { Leases } from './leases.ts'
import { claimMs, patienceMs, restMs, touchMs } from './limits.ts'

/** Jobs that one reconciliation makes of a lane, at most: the newest hours first. */
export const reconciledHoursMax = 500

/** Past hours of a lane that one daemon has claimed at a time. */
export const claimedHoursMax = 4

/** Windows of backfills that one reconciliation makes jobs of, at most: the oldest first. */
const reconciledWindowsMax = 2_000

/** Interval at which the engine is asked for its upkeep, whether or not a daemon is seen to be silent. */
const superviseMs = 120_000

/** A lane's hour that this daemon has claimed. */
export interface ClaimedHour extends LaneHour {
  readonly queue: string
  claim: Claim
  /** When a collector of it failed here first, by the steady clock. */
  failingSinceMs?: number
}

interface LaneClaimsDeps {
  readonly engine: JobEngine
  /** The lanes that this daemon works now. */
  readonly lanes: () => readonly Lane[]
  /** Worked lanes with due hours, claimed or not. */
  readonly withDue: () => Promise<readonly Lane[]>
  /** Whether another daemon lives, and whether one has just ended without handing over. */
  readonly fleet: Pick<Leases, 'hasOthers' | 'isAnyOver' | 'isOutdated'>
  readonly time: Pick<Time, 'steadyMs' | 'sleep'>
  /** Called with errors of touches, which are repeated. */
  readonly reportFailure: (error: unknown) => void
}

const hourOfJob = z.object({ hour: z.number().int().multipleOf(hourMs) })

/** The hours of lanes that this daemon has claimed, and touches until they end. */
export class LaneClaims {
  readonly #deps: LaneClaimsDeps
  readonly #claimed = new Map<string, ClaimedHour>()
  /** When each lane was last asked for hours, by the steady clock. */
  readonly #askedAtMs = new Map<Lane, number>()
  /** When a collector of each lane last failed here, by the steady clock. */
  readonly #failedAtMs = new Map<Lane, number>()
  readonly #supervising: Loop
  #supervisedAtMs = Number.NEGATIVE_INFINITY
  readonly #touching = new Loop(signal => this.#touchAndRest(signal))

  constructor(deps: LaneClaimsDeps) {
    this.#deps = deps
    this.#touching.start()
    // Nothing that takes long may keep it from touching.
    this.#supervising = repeated(() => this.#supervise(), claimMs, deps.time, deps.reportFailure)
  }

  /** The hours that it may work on without asking, the newest first. */
  get trusted(): readonly ClaimedHour[] {
    const nowMs = this.#deps.time.steadyMs()
    return [...this.#claimed.values()].filter(({ claim }) => isTrusted(claim, nowMs)).sort((a, b) => b.hour - a.hour)
  }

  /** An hour as it is claimed; `undefined` when it is not. The claim may have been lost without news of it. */
  find({ lane, hour }: LaneHour): ClaimedHour | undefined {
    return this.#claimed.get(keyOf({ lane, hour }))
  }

  /**
   * Claims free hours of the lanes, as far as there is room: the current hour in any case, and a few past ones. Each lane
   * is asked about once a second.
   *
   * @param underWay hours that this daemon collects, of lost claims, too: these take room until they have ended
   */
  async claimFree(current: Hour, underWay: readonly LaneHour[]): Promise<void> {
    const due = await this.#deps.withDue()
    const lanes = this.#deps.lanes().filter(lane => due.includes(lane))
    await Promise.all(lanes.map(lane => this.#claimOf(lane, current, underWay)))
  }

  /** Whether this daemon works a lane now. */
  works(lane: Lane): boolean {
    return this.#deps.lanes().includes(lane)
  }

  /** Forgets an hour whose job has ended, or that another daemon has now. */
  forget(claimedHour: ClaimedHour): void {
    const key = keyOf(claimedHour)
    if (this.#claimed.get(key) === claimedHour) this.#claimed.delete(key)
    // There is room again.
    this.#askedAtMs.delete(claimedHour.lane)
  }

  /** Notes that a collector of an hour failed: for a while, other daemons have the lane's free hours first. */
  noteFailure(claimedHour: ClaimedHour): void {
    const nowMs = this.#deps.time.steadyMs()
    claimedHour.failingSinceMs ??= nowMs
    this.#failedAtMs.set(claimedHour.lane, nowMs)
  }

  /** Whether an hour has failed here for so long that another daemon should try it. */
  isForAnother({ failingSinceMs }: ClaimedHour): boolean {
    const { fleet, time } = this.#deps
    return failingSinceMs !== undefined && time.steadyMs() - failingSinceMs >= patienceMs && fleet.hasOthers
  }

  /** Hands an hour over that nothing is under way for. */
  async release(claimedHour: ClaimedHour): Promise<void> {
    await this.#deps.engine.release(claimedHour.queue, [claimedHour.claim.attempt])
    this.forget(claimedHour)
    this.#askedAtMs.set(claimedHour.lane, this.#deps.time.steadyMs())
  }

  /** Ends the job of an hour with nothing left to do. */
  async drop(claimed: ClaimedHour): Promise<void> {
    await this.#deps.engine.drop(claimed.queue, claimed.claim.attempt)
    this.forget(claimed)
  }

  /** Hands all hours over to other daemons. Errors are reported: they are taken over later then. */
  async stop(): Promise<void> {
    await Promise.all([this.#touching.stop(), this.#supervising.stop()])
    await this.#release()
  }

  async #release(): Promise<void> {
    await this.#byQueue((queue, hours) =>
      this.#deps.engine.release(
        queue,
        hours.map(({ claim }) => claim.attempt),
      ),
    )
    this.#claimed.clear()
  }

  /** Frees what a daemon had that has ended just now: its hours were touched at other instants than its lease was renewed. */
  async #supervise(): Promise<void> {
    const { engine, fleet, time } = this.#deps
    const nowMs = time.steadyMs()
    if (fleet.isOutdated || (!fleet.isAnyOver && nowMs - this.#supervisedAtMs < superviseMs)) return
    this.#supervisedAtMs = nowMs
    await engine.supervise()
  }

  async #claimOf(lane: Lane, current: Hour, underWay: readonly LaneHour[]): Promise<void> {
    const { engine, time } = this.#deps
    const sentAtMs = time.steadyMs()
    const hoursOfLane = [...this.#claimed.values()].filter(claimed => claimed.lane === lane)
    const busy = [...hoursOfLane, ...underWay.filter(one => one.lane === lane)].filter(({ hour }) => hour < current)
    const room = claimedHoursMax - new Set(busy.map(({ hour }) => hour)).size
    const hasCurrent = hoursOfLane.some(({ hour }) => hour >= current)
    const isTooSoon = sentAtMs - (this.#askedAtMs.get(lane) ?? Number.NEGATIVE_INFINITY) < this.#restMs(lane, sentAtMs)
    if (isTooSoon || (room <= 0 && hasCurrent)) return
    this.#askedAtMs.set(lane, sentAtMs)
    const queue = laneQueue(lane)
    const priorityMin = room <= 0 ? laneJob({ lane, hour: current }).priority : undefined
    // The current hour comes first. Past ones take no more than their room, which intake has for all collectors of a lane.
    const jobs = await engine.fetch(queue, Math.max(room, 1), priorityMin)
    for (const { attempt, data } of jobs) {
      const hour = hourAt(hourOfJob.parse(data).hour)
      const claimed = { lane, hour, queue, claim: newClaim(attempt, sentAtMs) }
      this.#claimed.set(keyOf(claimed), claimed)
    }
  }

  #restMs(lane: Lane, nowMs: number): number {
    const hasFailed = nowMs - (this.#failedAtMs.get(lane) ?? Number.NEGATIVE_INFINITY) < 2 * patienceMs
    return hasFailed && this.#deps.fleet.hasOthers ? restMs : claimMs
  }

  async #touchAndRest(signal: AbortSignal): Promise<void> {
    if (this.#deps.fleet.isOutdated) await this.#release()
    await this.#byQueue((queue, claimed) => this.#touch(queue, claimed))
    await this.#deps.time.sleep(touchMs / 2, signal).catch(() => {})
  }

  async #touch(queue: string, hours: readonly ClaimedHour[]): Promise<void> {
    const { engine, time } = this.#deps
    const sentAtMs = time.steadyMs()
    const hoursToTouch = hours.filter(({ claim }) => isTouchDue(claim, sentAtMs))
    const keptIds = await engine.touch(
      queue,
      hoursToTouch.map(({ claim }) => claim.attempt),
    )
    for (const claimedHour of hoursToTouch) {
      const isKept = keptIds.has(claimedHour.claim.attempt.id)
      claimedHour.claim = claimAfter(claimedHour.claim, isKept ? { kind: 'touched', sentAtMs } : { kind: 'refused' })
      if (!isKept) this.forget(claimedHour)
    }
  }

  /** Does something with the claims of each queue; an error of one is reported. */
  async #byQueue(act: (queue: string, claimed: readonly ClaimedHour[]) => Promise<void>): Promise<void> {
    const queues = Map.groupBy(this.#claimed.values(), ({ queue }) => queue)
    await Promise.all([...queues].map(([queue, claimed]) => act(queue, claimed).catch(this.#deps.reportFailure)))
  }
}

function keyOf({ lane, hour }: LaneHour): string {
  return `${hour} ${lane}`
}

interface ReconciledStores {
  readonly store: Pick<FleetStore, 'dueLaneHours'>
  readonly backfills: Pick<BackfillStore, 'open'>
}

/**
 * Makes the jobs of due hours that have none: of hours planned by a daemon that died, of hours that failed and whose next
 * attempt has come, of windows of backfills, and all of them when the engine's schema was dropped.
 */
export async function reconcile(
  { store, backfills }: ReconciledStores,
  engine: JobEngine,
  lanes: CollectorLanes,
  workedLanes: readonly Lane[],
  time: Pick<Time, 'nowMs' | 'steadyMs'>,
): Promise<void> {
  // Jobs of other lanes are made by the daemons that work them.
  const work = await lanes.work(workedLanes, time)
  if (work.due.length > 0) {
    const most = reconciledHoursMax * Math.max(1, lanes.all.size)
    const due = await store.dueLaneHours(await lanes.scope(time), time.nowMs(), most)
    for (const { queue, jobs } of dueJobs(due, new Set(work.due))) await engine.insert(queue, jobs)
  }
  if (work.windows.length === 0) return
  const open = await backfills.open(lanes.collectors, reconciledWindowsMax)
  for (const [lane, asked] of Map.groupBy(open, one => one.lane)) {
    const jobs = asked.map(({ window }) => windowJob(lane, window))
    await engine.insert(backfillQueue(lane), jobs)
  }
}

/** Jobs for one queue. */
interface QueueJobs {
  readonly queue: string
  readonly jobs: readonly NewJob[]
}

/**
 * The jobs of due hours, by queue: one for each lane and hour, the newest hours first. A job that exists already is not
 * made again, since its id is the same. Pure.
 *
 * @param lanes those that this daemon works
 */
export function dueJobs(due: readonly LaneHour[], lanes: ReadonlySet<Lane>): readonly QueueJobs[] {
  const known = due.filter(({ lane }) => lanes.has(lane))
  return [...Map.groupBy(known, ({ lane }) => lane)].map(([lane, hours]) => {
    const newest = [...new Set(hours.map(({ hour }) => hour))].sort((a, b) => b - a).slice(0, reconciledHoursMax)
    return { queue: laneQueue(lane), jobs: newest.map(hour => laneJob({ lane, hour })) }
  })
}
