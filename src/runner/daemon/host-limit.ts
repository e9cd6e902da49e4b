import { RateLimit } from '../../edge/rate/rate-limit.ts'
import type { Turn } from '../../edge/rate/sent-calls.ts'
import type { Time } from '../../edge/time.ts'
import { unlessAborted } from '../../edge/unless-aborted.ts'
import type { Hour } from '../../model/hour.ts'
import type { RequestEnd } from '../messages.ts'
import { hostAnswersToRise, hostRate, hostTurnMsMax, type RunnerLimits } from './limits.ts'
import type { RunDeadline } from './run-deadline.ts'

/** A run that wants to send a request to a host. */
export interface Asker {
  readonly collectorId: string
  readonly hour: Hour
  readonly deadline: RunDeadline
  /** Aborted when the run is over. */
  readonly signal: AbortSignal
}

/** A turn, to be ended once; or the time that the host must be left alone, when it ends after the run's deadline. */
export type TurnResult =
  | { readonly kind: 'granted'; readonly end: (how: RequestEnd) => void }
  | { readonly kind: 'refused'; readonly waitMs: number }

interface Waiter {
  readonly asker: Asker
  resolve(result: TurnResult): void
}

type HostLimitDeps = Pick<RunnerLimits, 'hostRequestsMax' | 'hostPerSecondMax'> & { readonly time: Time }

/**
 * Gives turns to send a request to one host: only so many at a time, and a second. A 429 or a `Retry-After` holds all
 * requests back until its instant and halves both limits, which rise again as the host answers.
 *
 * The newest hour is first, so that a backfill does not delay the current one. Within an hour collectors take turns.
 */
export class HostLimit {
  readonly #time: Time
  readonly #requestsMax: number
  readonly #rate: RateLimit
  readonly #waiting = new Set<Waiter>()
  /** Number of the last turn of each collector, while any waits. */
  readonly #lastTurns = new Map<string, number>()
  #turns = 0
  #underWay = 0
  #underWayMax: number
  #answers = 0
  #isGranting = false
  #emptied = new AbortController()

  constructor({ time, hostRequestsMax, hostPerSecondMax }: HostLimitDeps) {
    this.#time = time
    this.#requestsMax = hostRequestsMax
    this.#underWayMax = hostRequestsMax
    this.#rate = new RateLimit(time, hostRate, hostPerSecondMax)
  }

  /** Whether nothing is lost when it is forgotten. */
  get isIdle(): boolean {
    return this.#waiting.size === 0 && this.#underWay === 0 && this.#rate.notBeforeMs <= this.#time.nowMs()
  }

  /** Waits for a turn. Rejects with the reason of the asker's signal. */
  async take(asker: Asker): Promise<TurnResult> {
    const waitMs = this.#waitMsPast(asker)
    if (waitMs !== undefined) return { kind: 'refused', waitMs }
    const { promise, resolve } = Promise.withResolvers<TurnResult>()
    const waiter: Waiter = { asker, resolve }
    this.#waiting.add(waiter)
    void this.#grantAll()
    try {
      return await unlessAborted(promise, asker.signal)
    } catch (error) {
      if (this.#waiting.has(waiter)) this.#leave(waiter)
      // The turn was granted at the moment of the abort.
      else void promise.then(result => result.kind === 'granted' && result.end({ kind: 'failed' }))
      throw error
    }
  }

  async #grantAll(): Promise<void> {
    if (this.#isGranting) return
    this.#isGranting = true
    while (this.#waiting.size > 0 && this.#underWay < this.#underWayMax) {
      this.#emptied = new AbortController()
      const turn = await this.#rate.admitted(1, this.#emptied.signal).catch(() => undefined)
      const next = turn && this.#next()
      if (next) this.#grant(next, turn)
      else if (turn) this.#rate.ended(turn)
    }
    this.#isGranting = false
  }

  #next(): Waiter | undefined {
    const lastTurn = ({ asker }: Waiter) => this.#lastTurns.get(asker.collectorId) ?? 0
    const isBefore = (one: Waiter, other: Waiter) =>
      one.asker.hour === other.asker.hour ? lastTurn(one) < lastTurn(other) : one.asker.hour > other.asker.hour
    let first: Waiter | undefined
    for (const waiter of this.#waiting) if (!first || isBefore(waiter, first)) first = waiter
    return first
  }

  #grant(waiter: Waiter, turn: Turn): void {
    this.#turns += 1
    this.#lastTurns.set(waiter.asker.collectorId, this.#turns)
    this.#leave(waiter)
    this.#underWay += 1
    const over = new AbortController()
    const end = (how: RequestEnd) => {
      if (over.signal.aborted) return
      over.abort()
      this.#end(turn, how)
    }
    // A process that never ends a turn must not keep it from the others.
    void this.#time.sleep(hostTurnMsMax, over.signal).then(
      () => end({ kind: 'failed' }),
      () => {},
    )
    waiter.resolve({ kind: 'granted', end })
  }

  #end(turn: Turn, how: RequestEnd): void {
    this.#underWay -= 1
    if (how.kind === 'answered') this.#answered(turn)
    if (how.kind === 'refused') this.#refused(turn, how.retryAfterMs)
    if (how.kind === 'failed') this.#rate.ended(turn)
    void this.#grantAll()
  }

  #answered(turn: Turn): void {
    this.#rate.answered(turn)
    this.#answers += 1
    if (this.#answers < hostAnswersToRise) return
    this.#answers = 0
    this.#underWayMax = Math.min(this.#underWayMax + 1, this.#requestsMax)
  }

  #refused(turn: Turn, retryAfterMs: number | undefined): void {
    const retryAtMs = retryAfterMs === undefined ? undefined : this.#time.nowMs() + retryAfterMs
    if (this.#rate.refused(turn, retryAtMs)) {
      this.#answers = 0
      this.#underWayMax = Math.max(1, Math.floor(this.#underWayMax / 2))
    }
    this.#refuseLate()
  }

  /** Refuses the runs that will be over before the host may be asked again. */
  #refuseLate(): void {
    for (const waiter of [...this.#waiting]) {
      const waitMs = this.#waitMsPast(waiter.asker)
      if (waitMs === undefined) continue
      this.#leave(waiter)
      waiter.resolve({ kind: 'refused', waitMs })
    }
  }

  /** Time until the host may be asked again, when the asker's deadline passes before. */
  #waitMsPast({ deadline }: Asker): number | undefined {
    const waitMs = this.#rate.notBeforeMs - this.#time.nowMs()
    return waitMs > 0 && deadline.leftMs <= waitMs ? waitMs : undefined
  }

  #leave(waiter: Waiter): void {
    this.#waiting.delete(waiter)
    if (this.#waiting.size > 0) return
    this.#lastTurns.clear()
    this.#emptied.abort()
  }
}
