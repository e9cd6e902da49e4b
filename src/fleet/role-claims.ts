import { z } from 'zod'
import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import type { FetchedJob, JobEngine, SeenJob } from './job-engine.ts'
import { roleJob, roleQueue } from './jobs.ts'
import { claimMs, engineSilentMsMax, heartbeatSeconds, superviseMs, touchMs, unheldMsMax } from './limits.ts'
import { RoleClaim, rolesById, type WantedRoles } from './role-claim.ts'

/** Begin of the role that each daemon has for itself: as long as it is held, the daemon lives. */
const daemonPrefix = 'daemon/'

/** Dependencies of `RoleClaims`. */
export interface RoleClaimsDeps {
  readonly engine: JobEngine
  /** Name of this daemon. */
  readonly name: string
  readonly time: Pick<Time, 'nowMs' | 'steadyMs' | 'sleep'>
  /** Called with errors of attempts, which are repeated. */
  readonly failed: (error: unknown) => void
}

/**
 * The roles of a fleet. Once a second one statement shows who has which, and a daemon takes what is free of those it wants;
 * one statement touches all that it has. Where a daemon is seen to be silent, what it had is freed.
 */
export class RoleClaims {
  readonly #deps: RoleClaimsDeps
  readonly #claims = new Set<RoleClaim>()
  readonly #own: string
  readonly #loop = new Loop(signal => this.#turn(signal))
  /** Since when a wanted role is seen without a living holder, by the steady clock. */
  readonly #unheldSinceMs = new Map<string, number>()
  #supervisedAtMs = Number.NEGATIVE_INFINITY
  #silentUntilMs = Number.NEGATIVE_INFINITY
  #hasOthers = false

  constructor(deps: RoleClaimsDeps) {
    this.#deps = deps
    this.#own = `${daemonPrefix}${deps.name}`
    this.claim({ roles: [this.#own] })
    this.#loop.start()
  }

  /** Whether another daemon lives. */
  get hasOthers(): boolean {
    return this.#hasOthers
  }

  /** Wants roles from now on, until the claim is stopped. */
  claim(wanted: WantedRoles): RoleClaim {
    const { engine, time, failed } = this.#deps
    const claim = new RoleClaim(wanted, { engine, time, failed })
    this.#claims.add(claim)
    return claim
  }

  /** Sentences about a fleet that does not work as far as this daemon can see; empty when it does. */
  get troubles(): readonly string[] {
    const { engine, time } = this.#deps
    const nowMs = time.steadyMs()
    const unheld = [...this.#unheldSinceMs].filter(([, sinceMs]) => nowMs - sinceMs >= unheldMsMax)
    const isSilent = engine.silentMs >= engineSilentMsMax
    return [
      ...(isSilent
        ? [
            `the database has accepted no claim of this daemon for ${seconds(engine.silentMs)} s: see its log for the reason`,
          ]
        : []),
      // Without the engine, nothing is known of the others.
      ...(isSilent ? [] : unheld).map(
        ([role, sinceMs]) =>
          `no living daemon has had the role ${role} for ${seconds(nowMs - sinceMs)} s: see the logs of the daemons`,
      ),
    ]
  }

  /** Hands over all that is left. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await Promise.all([...this.#claims].map(claim => claim.stop()))
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { time, failed } = this.#deps
    try {
      await this.#touch()
      await this.#look(await this.#seen())
    } catch (error) {
      failed(error)
    }
    for (const claim of this.#claims) claim.adjust(this.#hasOthers)
    await time.sleep(claimMs, signal).catch(() => {})
  }

  async #touch(): Promise<void> {
    const { engine, time } = this.#deps
    const sentAtMs = time.steadyMs()
    const claims = [...this.#claims]
    if (!claims.some(({ touchedAtMs }) => touchedAtMs !== undefined && sentAtMs - touchedAtMs >= touchMs)) return
    const attempts = claims.flatMap(claim => claim.attempts)
    const kept = await engine.touch(roleQueue, attempts)
    for (const claim of claims) claim.touched(kept, attempts, sentAtMs)
  }

  /** The jobs of all roles, once what silent daemons had was freed. */
  async #seen(): Promise<ReadonlyMap<string, SeenJob>> {
    const { engine, time } = this.#deps
    const jobs = await engine.jobsOf(roleQueue)
    const nowMs = time.steadyMs()
    // The hours of a silent daemon were touched at other instants than its roles.
    if ([...jobs.values()].some(job => this.#isSilent(job))) this.#silentUntilMs = nowMs + 2 * touchMs
    if (nowMs >= this.#silentUntilMs && nowMs - this.#supervisedAtMs < superviseMs) return jobs
    this.#supervisedAtMs = nowMs
    await engine.supervise()
    return engine.jobsOf(roleQueue)
  }

  #isSilent({ state, touchedAtMs = Number.POSITIVE_INFINITY }: SeenJob): boolean {
    return state === 'claimed' && this.#deps.time.nowMs() - touchedAtMs > heartbeatSeconds * 1_000
  }

  async #look(jobs: ReadonlyMap<string, SeenJob>): Promise<void> {
    const { engine, time } = this.#deps
    const lives = (job: SeenJob | undefined) => job?.state === 'claimed' && !this.#isSilent(job)
    const own = roleJob(this.#own).id
    this.#hasOthers = [...jobs].some(([id, job]) => id !== own && isOfDaemon(job) && lives(job))
    for (const { roles, isAble } of this.#claims) {
      for (const role of roles) {
        if (!isAble || lives(jobs.get(roleJob(role).id))) this.#unheldSinceMs.delete(role)
        else if (!this.#unheldSinceMs.has(role)) this.#unheldSinceMs.set(role, time.steadyMs())
      }
    }
    const missing = [...this.#claims].flatMap(claim => claim.missing(this.#hasOthers))
    const absent = missing.filter(role => !jobs.has(roleJob(role).id))
    await engine.insert(roleQueue, absent.map(roleJob))
    const free = missing.filter(role => absent.includes(role) || jobs.get(roleJob(role).id)?.state === 'free')
    if (free.length > 0) await this.#take(free, jobs)
  }

  /** Where all that is free is wanted, as by the first daemon, one statement takes it. */
  async #take(free: readonly string[], jobs: ReadonlyMap<string, SeenJob>): Promise<void> {
    const { engine, time } = this.#deps
    const wanted = rolesById(free)
    const isAll = ![...jobs].some(([id, { state }]) => state === 'free' && !wanted.has(id))
    const sentAtMs = time.steadyMs()
    const fetches = isAll
      ? [() => engine.fetch(roleQueue, free.length)]
      : free.map(role => () => engine.fetch(roleQueue, 1, roleJob(role).priority, roleJob(role).priority))
    for (const fetch of fetches) {
      for (const job of await fetch()) await this.#taken(job, wanted.get(job.attempt.id), sentAtMs)
    }
  }

  async #taken({ attempt }: FetchedJob, role: string | undefined, sentAtMs: number): Promise<void> {
    const claim = [...this.#claims].find(({ roles }) => role !== undefined && roles.includes(role))
    if (role !== undefined && claim?.taken(role, attempt, sentAtMs)) this.#unheldSinceMs.delete(role)
    else await this.#deps.engine.release(roleQueue, [attempt])
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000)
}

/** Whether a job is the one that a daemon has for itself. */
function isOfDaemon({ data }: SeenJob): boolean {
  return z.object({ role: z.string().startsWith(daemonPrefix) }).safeParse(data).success
}
