import { z } from 'zod'
import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import type { SharedTransaction } from '../outbox/contract/fleet-store.ts'
import {
  type Claim,
  claimAfter,
  type FetchedJob,
  isTrusted,
  type JobAttempt,
  type JobEngine,
  newClaim,
  roleJob,
  roleQueue,
  type SeenJob,
  trustLeftMs,
} from './job-engine.ts'
import { claimMs, heartbeatSeconds, patienceMs, restMs, touchMs } from './limits.ts'

/** Interval at which the engine is asked for its upkeep, whether or not a daemon is seen to be silent. */
const superviseMs = 60_000

/** Longest time of failures, where several daemons have let each other try. */
const patienceMsMax = 600_000

/** Time without a living owner after which a role is reported. */
const unownedMsMax = 15_000

/** Time without an accepted call after which the job engine is reported. */
export const engineSilentMsMax = 30_000

/** Begin of the role that each daemon has for itself: as long as it is owned, the daemon lives. */
const daemonPrefix = 'daemon/'

interface RoleClaimsDeps {
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
  readonly #loop = new Loop(signal => this.#pass(signal))
  /** Since when a wanted role is seen without a living owner, by the steady clock. */
  readonly #unownedSinceMs = new Map<string, number>()
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
    const claim = new RoleClaim(wanted, this.#deps)
    this.#claims.add(claim)
    return claim
  }

  /** Sentences about a fleet that does not work as far as this daemon can see; empty when it does. */
  get troubles(): readonly string[] {
    const { engine, time } = this.#deps
    const nowMs = time.steadyMs()
    const unowned = [...this.#unownedSinceMs].filter(([, sinceMs]) => nowMs - sinceMs >= unownedMsMax)
    const isSilent = engine.silentMs >= engineSilentMsMax
    return [
      ...(isSilent
        ? [
            `the database has accepted no claim of this daemon for ${seconds(engine.silentMs)} s: see its log for the reason`,
          ]
        : []),
      // Without the engine, nothing is known of the others.
      ...(isSilent ? [] : unowned).map(
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

  async #pass(signal: AbortSignal): Promise<void> {
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
        if (!isAble || lives(jobs.get(roleJob(role).id))) this.#unownedSinceMs.delete(role)
        else if (!this.#unownedSinceMs.has(role)) this.#unownedSinceMs.set(role, time.steadyMs())
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
    if (role !== undefined && claim?.taken(role, attempt, sentAtMs)) this.#unownedSinceMs.delete(role)
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

/** Work of the daemon of a fleet that has a role. */
export interface RoleWork {
  /**
   * Begins it. It is ended and begun again when the roles change. Rejects to be tried again.
   *
   * @param roles the roles that it owns
   * @returns what ends it; resolves when it has ended
   */
  begin(roles: readonly string[]): Promise<() => Promise<void>>
  /** Called when the roles are about to be given back because this daemon fails in them. */
  givingBack?(): Promise<void>
}

/** Failures of a daemon in what it has roles for. Instants are of its steady clock. */
interface Failing {
  /** Begin of the first since it was last of use, or since it got the roles. */
  readonly sinceMs: number
  readonly lastMs: number
  /** Of the last one. */
  readonly reason: string
}

/** Roles that a daemon wants, and what it does while it has any of them. */
interface WantedRoles {
  /** Names, the same in all daemons. */
  readonly roles: readonly string[]
  /** Whether this daemon may have the roles at all: one that differs from its fleet may not. Default: it may. */
  readonly mayHold?: () => boolean
  /** Whether this daemon can do the work now, as far as is known without trying. Default: it can. */
  readonly isAble?: () => boolean
  /** Default: none; others ask `isOwned`. */
  readonly work?: RoleWork
}

/**
 * Roles that one daemon of a fleet has at a time, each a job that always exists and that its owner keeps. Their work is
 * done while any is owned, and ended when one was taken by another daemon. `RoleClaims` takes them and touches them.
 */
export class RoleClaim {
  readonly #deps: Pick<RoleClaimsDeps, 'engine' | 'time' | 'failed'>
  readonly #wanted: WantedRoles
  /** By the name of the role. */
  readonly #claims = new Map<string, Claim>()
  /** The roles that the work was begun for, and what ends it; absent without work. */
  #working: { readonly roles: string; readonly end?: () => Promise<void> } | undefined
  #adjusting: Promise<void> | undefined
  #isStopping = false
  /** Why the work is of no use here; absent since it was. */
  #failing: Failing | undefined
  #patienceMs = patienceMs
  #restUntilMs = Number.NEGATIVE_INFINITY

  constructor(wanted: WantedRoles, deps: Pick<RoleClaimsDeps, 'engine' | 'time' | 'failed'>) {
    this.#wanted = wanted
    this.#deps = deps
  }

  /** Names of the roles that this daemon has. */
  get owned(): readonly string[] {
    const nowMs = this.#deps.time.steadyMs()
    return [...this.#claims].filter(([, claim]) => isTrusted(claim, nowMs)).map(([role]) => role)
  }

  /** Whether this daemon has a role, and no other daemon can have any that it works for. */
  get isOwned(): boolean {
    return this.#claims.size > 0 && this.#trustLeftMs > 0
  }

  /** The claims, to be touched. */
  get attempts(): readonly JobAttempt[] {
    return [...this.#claims.values()].filter(({ isLost }) => !isLost).map(({ attempt }) => attempt)
  }

  /** When the claim that was touched longest ago was touched, by the steady clock; absent without a claim. */
  get touchedAtMs(): number | undefined {
    return this.#claims.size > 0 ? Math.min(...[...this.#claims.values()].map(one => one.touchedAtMs)) : undefined
  }

  /** Names of the roles that it wants and has not. @param hasOthers whether another daemon lives */
  missing(hasOthers: boolean): readonly string[] {
    const isResting = hasOthers && this.#deps.time.steadyMs() < this.#restUntilMs
    if (this.#isStopping || isResting || !this.#mayHold || (hasOthers && !this.isAble)) return []
    return this.#wanted.roles.filter(role => !this.#claims.has(role))
  }

  /** Whether this daemon can do the work now, as far as is known without trying. */
  get isAble(): boolean {
    return this.#mayHold && (this.#wanted.isAble?.() ?? true)
  }

  get #mayHold(): boolean {
    return this.#wanted.mayHold?.() ?? true
  }

  get roles(): readonly string[] {
    return this.#wanted.roles
  }

  /** Notes a claim that was fetched. @returns whether it is wanted still */
  taken(role: string, attempt: JobAttempt, sentAtMs: number): boolean {
    if (this.#isStopping) return false
    this.#claims.set(role, newClaim(attempt, sentAtMs))
    // It is tried again.
    if (this.#failing) this.#failing = { ...this.#failing, sinceMs: sentAtMs }
    return true
  }

  /** Notes the answer to a touch of all claims. @param kept ids of the jobs that are still claimed */
  touched(kept: ReadonlySet<string>, touched: readonly JobAttempt[], sentAtMs: number): void {
    const asked = new Set(touched)
    for (const [role, claim] of this.#claims) {
      if (!asked.has(claim.attempt)) continue
      const isKept = kept.has(claim.attempt.id)
      this.#claims.set(role, claimAfter(claim, isKept ? { kind: 'touched', sentAtMs } : { kind: 'refused' }))
    }
  }

  /**
   * Does something that must end while this daemon has the role.
   *
   * @param work its signal is aborted when another daemon may have the role
   */
  async whileOwned<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const [lost, ended] = [new AbortController(), new AbortController()]
    void this.#abortWhenLost(lost, ended.signal)
    try {
      return await work(lost.signal)
    } finally {
      ended.abort(new Error('it has ended'))
    }
  }

  /** Asks, in a transaction, whether this daemon has all roles that it works for. */
  async owns(transaction: SharedTransaction): Promise<boolean> {
    const { attempts } = this
    if (attempts.length === 0 || attempts.length < this.#claims.size) return false
    const jobs = await this.#deps.engine.jobsOf(roleQueue, transaction)
    return attempts.every(({ id, retryCount, madeAtMs }) => {
      const job = jobs.get(id)
      return job?.state === 'claimed' && job.attempt.retryCount === retryCount && job.attempt.madeAtMs === madeAtMs
    })
  }

  /** Notes that another daemon was found to have a role. */
  lost(): void {
    for (const [role, claim] of this.#claims) this.#claims.set(role, claimAfter(claim, { kind: 'refused' }))
  }

  /** Notes that the work was of use. */
  noteSuccess(): void {
    this.#patienceMs = patienceMs
    this.#failing = undefined
  }

  /**
   * Notes that the work was of no use. After failures for a while, another daemon is let try.
   *
   * @param sinceMs when what failed began, by the steady clock
   */
  noteFailure(reason: string, sinceMs = this.#deps.time.steadyMs()): void {
    this.#failing = { sinceMs: this.#failing?.sinceMs ?? sinceMs, lastMs: this.#deps.time.steadyMs(), reason }
  }

  /** Why its work was of no use here a short while ago; `undefined` since it was, and after a while without a trial. */
  get failing(): string | undefined {
    const { reason, lastMs = Number.NEGATIVE_INFINITY } = this.#failing ?? {}
    return this.#deps.time.steadyMs() - lastMs < patienceMsMax ? reason : undefined
  }

  /** Begins, ends or gives back what is to be; resolves at once. @param hasOthers whether another daemon lives */
  adjust(hasOthers: boolean): void {
    if (this.#wanted.isAble && this.#claims.size > 0) {
      if (this.isAble) this.noteSuccess()
      else this.noteFailure('it cannot do the work')
    }
    this.#adjusting ??= this.#adjusted(hasOthers)
      .catch(this.#deps.failed)
      .finally(() => {
        this.#adjusting = undefined
      })
  }

  /** Ends the work and hands the roles over, which are kept while the work ends. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#adjusting
    await this.#end()
    await this.#release().catch(this.#deps.failed)
  }

  get #trustLeftMs(): number {
    const nowMs = this.#deps.time.steadyMs()
    return Math.min(...[...this.#claims.values()].map(claim => trustLeftMs(claim, nowMs)))
  }

  /** Never rejects. */
  async #abortWhenLost(lost: AbortController, ended: AbortSignal): Promise<void> {
    const { time } = this.#deps
    while (!ended.aborted) {
      const leftMs = this.#claims.size > 0 ? this.#trustLeftMs : 0
      if (leftMs <= 0) return lost.abort(new Error('another daemon may deliver'))
      await time.sleep(leftMs, ended).catch(() => {})
    }
  }

  async #adjusted(hasOthers: boolean): Promise<void> {
    const lost = [...this.#claims].filter(([, { isLost }]) => isLost)
    if (lost.length > 0) await this.#end()
    for (const [role, claim] of lost) if (this.#claims.get(role) === claim) this.#claims.delete(role)
    if (this.#claims.size > 0 && !this.#mayHold) {
      await this.#end()
      await this.#release()
    } else if (hasOthers && this.#isFailing) await this.#giveBack()
    const owned = [...this.#claims.keys()].sort()
    const roles = owned.join(' ')
    if (this.#isStopping || roles === (this.#working?.roles ?? '')) return
    await this.#end()
    const end = owned.length > 0 ? await this.#wanted.work?.begin(owned) : undefined
    this.#working = { roles, ...(end && { end }) }
  }

  get #isFailing(): boolean {
    const { sinceMs = Number.POSITIVE_INFINITY } = this.#failing ?? {}
    return this.#claims.size > 0 && this.#deps.time.steadyMs() - sinceMs >= this.#patienceMs
  }

  async #giveBack(): Promise<void> {
    await this.#end()
    await this.#wanted.work?.givingBack?.()
    this.#patienceMs = Math.min(2 * this.#patienceMs, patienceMsMax)
    this.#restUntilMs = this.#deps.time.steadyMs() + restMs
    await this.#release()
  }

  async #end(): Promise<void> {
    const end = this.#working?.end
    this.#working = undefined
    await end?.()
  }

  async #release(): Promise<void> {
    const { attempts } = this
    this.#claims.clear()
    await this.#deps.engine.release(roleQueue, attempts)
  }
}

/** The names of wanted roles by the ids of their jobs. */
function rolesById(roles: readonly string[]): ReadonlyMap<string, string> {
  return new Map(roles.map(role => [roleJob(role).id, role]))
}
