import type { Time } from '../edge/time.ts'
import type { SharedTransaction } from '../outbox/contract/fleet-store.ts'
import { type Claim, claimAfter, isTrusted, type JobAttempt, newClaim, trustLeftMs } from './claim.ts'
import type { JobEngine } from './job-engine.ts'
import { roleJob, roleQueue } from './jobs.ts'
import { patienceMs, patienceMsMax, restMs } from './limits.ts'

/** Work of the daemon of a fleet that has a role. */
export interface RoleWork {
  /**
   * Begins it. It is ended and begun again when the roles change. Rejects to be tried again.
   *
   * @param roles those that are held
   * @returns what ends it; resolves when it has ended
   */
  begin(roles: readonly string[]): Promise<() => Promise<void>>
  /** Called when the roles are about to be given back because this daemon fails in them. */
  givingBack?(): Promise<void>
}

/** Roles that a daemon wants, and what it does while it has any of them. */
export interface WantedRoles {
  /** Names, the same in all daemons. */
  readonly roles: readonly string[]
  /** Whether this daemon can do the work now, as far as is known without trying. Default: it can. */
  readonly isAble?: () => boolean
  /** Default: none; others ask `isHeld`. */
  readonly work?: RoleWork
}

/** Dependencies of `RoleClaim`. */
export interface RoleClaimDeps {
  readonly engine: JobEngine
  readonly time: Pick<Time, 'steadyMs' | 'sleep'>
  /** Called with errors of attempts, which are repeated. */
  readonly failed: (error: unknown) => void
}

/**
 * Roles that one daemon of a fleet has at a time, each a job that always exists and that its holder keeps. Their work is
 * done while any is held, and ended when one was taken by another daemon. `RoleClaims` takes them and touches them.
 */
export class RoleClaim {
  readonly #deps: RoleClaimDeps
  readonly #wanted: WantedRoles
  /** By the name of the role. */
  readonly #claims = new Map<string, Claim>()
  /** The roles that the work was begun for, and what ends it; absent without work. */
  #working: { readonly roles: string; readonly end?: () => Promise<void> } | undefined
  #adjusting: Promise<void> | undefined
  #isStopping = false
  #failingSinceMs: number | undefined
  #patienceMs = patienceMs
  #restUntilMs = Number.NEGATIVE_INFINITY

  constructor(wanted: WantedRoles, deps: RoleClaimDeps) {
    this.#wanted = wanted
    this.#deps = deps
  }

  /** Names of the roles that this daemon has. */
  get held(): readonly string[] {
    const nowMs = this.#deps.time.steadyMs()
    return [...this.#claims].filter(([, claim]) => isTrusted(claim, nowMs)).map(([role]) => role)
  }

  /** Whether this daemon has a role, and no other daemon can have any that it works for. */
  get isHeld(): boolean {
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
    if (this.#isStopping || isResting || (hasOthers && !this.isAble)) return []
    return this.#wanted.roles.filter(role => !this.#claims.has(role))
  }

  /** Whether this daemon can do the work now, as far as is known without trying. */
  get isAble(): boolean {
    return this.#wanted.isAble?.() ?? true
  }

  /** All roles that it wants. */
  get roles(): readonly string[] {
    return this.#wanted.roles
  }

  /** Notes a claim that was fetched. @returns whether it is wanted still */
  taken(role: string, attempt: JobAttempt, sentAtMs: number): boolean {
    if (this.#isStopping) return false
    this.#claims.set(role, newClaim(attempt, sentAtMs))
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
  async whileHeld<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const [lost, ended] = [new AbortController(), new AbortController()]
    void this.#abortWhenLost(lost, ended.signal)
    try {
      return await work(lost.signal)
    } finally {
      ended.abort(new Error('it has ended'))
    }
  }

  /** Asks, in a transaction, whether this daemon has all roles that it works for. */
  async hold(transaction: SharedTransaction): Promise<boolean> {
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

  /** Notes whether the work was of use. After failures for a while, another daemon is let try. */
  noteResult(isSuccess: boolean): void {
    if (isSuccess) this.#patienceMs = patienceMs
    this.#failingSinceMs = isSuccess ? undefined : (this.#failingSinceMs ?? this.#deps.time.steadyMs())
  }

  /** Begins, ends or gives back what is to be; resolves at once. @param hasOthers whether another daemon lives */
  adjust(hasOthers: boolean): void {
    if (this.#wanted.isAble && this.#claims.size > 0) this.noteResult(this.isAble)
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
    if (hasOthers && this.#isFailing) await this.#giveBack()
    const held = [...this.#claims.keys()].sort()
    const roles = held.join(' ')
    if (this.#isStopping || roles === (this.#working?.roles ?? '')) return
    await this.#end()
    const end = held.length > 0 ? await this.#wanted.work?.begin(held) : undefined
    this.#working = { roles, ...(end && { end }) }
  }

  get #isFailing(): boolean {
    const sinceMs = this.#failingSinceMs
    return sinceMs !== undefined && this.#claims.size > 0 && this.#deps.time.steadyMs() - sinceMs >= this.#patienceMs
  }

  async #giveBack(): Promise<void> {
    await this.#end()
    await this.#wanted.work?.givingBack?.()
    this.#failingSinceMs = undefined
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
export function rolesById(roles: readonly string[]): ReadonlyMap<string, string> {
  return new Map(roles.map(role => [roleJob(role).id, role]))
}
