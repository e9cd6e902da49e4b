import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import type { SharedTransaction } from '../outbox/contract/fleet-store.ts'
import { type Claim, claimAfter, isTouchDue, isTrusted, newClaim, trustLeftMs } from './claim.ts'
import type { JobEngine } from './job-engine.ts'
import { roleJob, roleQueue } from './jobs.ts'
import { claimMs, reconcileMs, touchMs } from './limits.ts'

/** Work of the one daemon of a fleet that has a role. */
export interface RoleWork {
  /**
   * Begins it. Rejects to be tried again.
   *
   * @returns what ends it; resolves when it has ended
   */
  begin(): Promise<() => Promise<void>>
}

/** Dependencies of `RoleClaim`. */
export interface RoleClaimDeps {
  readonly engine: JobEngine
  /** Name of the role, the same in all daemons. */
  readonly role: string
  readonly time: Pick<Time, 'steadyMs' | 'sleep'>
  /** Called with errors of attempts, which are repeated. */
  readonly failed: (error: unknown) => void
  /** Whether this daemon may have the role now. Default: it may. */
  readonly isAble?: () => boolean
  /** Default: none; others ask `isHeld`. */
  readonly work?: RoleWork
}

/**
 * A role that one daemon of a fleet has at a time: a job that always exists, and that its holder keeps. Its work is done
 * while the role is held, and ended when another daemon has taken it.
 */
export class RoleClaim {
  readonly #deps: RoleClaimDeps
  readonly #queue: string
  readonly #loop = new Loop(signal => this.#turn(signal))
  #claim: Claim | undefined
  /** Resolves to what ends the work, once it has begun; absent without work. */
  #working: Promise<() => Promise<void>> | undefined
  #isStopping = false
  #insertedAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: RoleClaimDeps) {
    this.#deps = deps
    this.#queue = roleQueue(deps.role)
    this.#loop.start()
  }

  /** Its name. */
  get role(): string {
    return this.#deps.role
  }

  /** Whether this daemon has the role, and no other can. */
  get isHeld(): boolean {
    return this.#claim !== undefined && isTrusted(this.#claim, this.#deps.time.steadyMs())
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

  /** Keeps the role until the end of a transaction. @returns whether this daemon has it */
  async hold(transaction: SharedTransaction): Promise<boolean> {
    const claim = this.#claim
    return claim !== undefined && this.#deps.engine.hold(this.#queue, claim.attempt, transaction)
  }

  /** Notes that another daemon was found to have the role. */
  lost(): void {
    if (this.#claim) this.#claim = claimAfter(this.#claim, { kind: 'refused' })
  }

  /** Ends the work and hands the role over, which is kept while the work ends. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#ended()
    await this.#loop.stop()
    const { engine, failed } = this.#deps
    const claim = this.#claim
    this.#claim = undefined
    if (claim && !claim.isLost) await engine.release(this.#queue, [claim.attempt]).catch(failed)
  }

  /** Never rejects. */
  async #abortWhenLost(lost: AbortController, ended: AbortSignal): Promise<void> {
    const { time } = this.#deps
    while (!ended.aborted) {
      const leftMs = this.#claim ? trustLeftMs(this.#claim, time.steadyMs()) : 0
      if (leftMs <= 0) return lost.abort(new Error('another daemon may deliver'))
      await time.sleep(leftMs, ended).catch(() => {})
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { time, failed } = this.#deps
    try {
      await (this.#claim ? this.#touch(this.#claim) : this.#take())
    } catch (error) {
      failed(error)
    }
    await time.sleep(this.#claim ? touchMs / 2 : claimMs, signal).catch(() => {})
  }

  async #take(): Promise<void> {
    const { engine, role, time, isAble } = this.#deps
    if (isAble && !isAble()) return
    const sentAtMs = time.steadyMs()
    const [job] = await engine.fetch(this.#queue, 1)
    if (job) {
      this.#claim = newClaim(job.attempt, sentAtMs)
      await this.#begin()
    } else if (sentAtMs - this.#insertedAtMs >= reconcileMs) {
      await engine.insert(this.#queue, [roleJob(role)])
      this.#insertedAtMs = sentAtMs
    }
  }

  async #touch(claim: Claim): Promise<void> {
    const { engine, time, isAble } = this.#deps
    if (isAble && !isAble()) return this.#giveBack(claim)
    const sentAtMs = time.steadyMs()
    if (isTouchDue(claim, sentAtMs)) {
      const kept = await engine.touch(this.#queue, [claim.attempt])
      const isKept = kept.has(claim.attempt.id)
      this.#claim = claimAfter(claim, isKept ? { kind: 'touched', sentAtMs } : { kind: 'refused' })
    }
    if (this.#claim?.isLost) {
      await this.#ended()
      this.#claim = undefined
    } else {
      await this.#begin()
    }
  }

  async #giveBack({ attempt }: Claim): Promise<void> {
    await this.#ended()
    this.#claim = undefined
    await this.#deps.engine.release(this.#queue, [attempt])
  }

  /** Begins the work unless it has begun. */
  async #begin(): Promise<void> {
    if (this.#isStopping || this.#working) return
    this.#working = this.#deps.work?.begin()
    try {
      await this.#working
    } catch (error) {
      this.#working = undefined
      throw error
    }
  }

  async #ended(): Promise<void> {
    const working = this.#working
    this.#working = undefined
    // A failure to begin is reported by the turn that tried.
    const end = await working?.catch(() => undefined)
    await end?.()
  }
}
