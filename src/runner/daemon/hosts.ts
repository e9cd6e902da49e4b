import { type ProcessorTime, ProcessStopwatch } from '../../edge/processor-time.ts'
import type { RateBounds } from '../../edge/rate/discovered-rate.ts'
import { RateLimit } from '../../edge/rate/rate-limit.ts'
import type { AdmittedRequest } from '../../edge/rate/sent-calls.ts'
import type { Time } from '../../edge/time.ts'
import { unlessAborted } from '../../edge/unless-aborted.ts'
import type { Hour } from '../../model/hour.ts'
import { retryAfterMsMax } from '../../model/limits.ts'
import type { RequestEnd, SlotEnd, SlotReply } from '../messages.ts'
import type { RunnerLimits } from './limits.ts'

/** Time that a run waits for slots at hosts, or for a processor, without coming nearer to its deadline, at most. */
export const hostWaitMsMax = 10 * 60_000

/**
 * The deadline of one run. Time that the run waits for its slot at a host, or for a processor, does not count, up to a
 * limit: it is late because of others.
 */
export class RunDeadline {
  readonly #time: Time
  readonly #ms: number
  readonly #startMs: number
  readonly #stopwatch: ProcessStopwatch
  #waits = 0
  #waitingSinceMs = 0
  #waitedMs = 0

  /**
   * Starts now.
   *
   * @param ms time limit of the run, in milliseconds
   * @param processor processor time of its process. Default: unknown
   */
  constructor(time: Time, ms: number, processor: () => ProcessorTime | undefined = () => undefined) {
    this.#time = time
    this.#ms = ms
    this.#startMs = time.steadyMs()
    this.#stopwatch = new ProcessStopwatch(time, processor)
  }

  /** Time left, in milliseconds; 0 or less when the deadline has passed. */
  get leftMs(): number {
    const nowMs = this.#time.steadyMs()
    const waitedMs = this.#waitedMs + (this.#waits > 0 ? nowMs - this.#waitingSinceMs : 0)
    return this.#startMs + this.#ms + Math.min(waitedMs + this.#stopwatch.starvedMs, hostWaitMsMax) - nowMs
  }

  /** The time until the wait settles does not count. */
  async without<T>(wait: Promise<T>): Promise<T> {
    if (this.#waits === 0) this.#waitingSinceMs = this.#time.steadyMs()
    this.#waits += 1
    try {
      return await wait
    } finally {
      this.#waits -= 1
      if (this.#waits === 0) this.#waitedMs += this.#time.steadyMs() - this.#waitingSinceMs
    }
  }

  /** Waits for the deadline. Rejects with the signal's reason. */
  async passed(signal: AbortSignal): Promise<void> {
    for (let ms = this.leftMs; ms > 0; ms = this.leftMs) await this.#time.sleep(Math.ceil(ms), signal)
  }
}

/** Whether a wait has ended, and not been aborted. */
export function isOver(wait: Promise<void>): Promise<boolean> {
  return wait.then(
    () => true,
    () => false,
  )
}

/** Longest time for which a request holds its slot: an attempt, and some time for the messages. */
export const hostSlotMsMax = 25_000

/** Answers in a row after which a host that refused is sent one more concurrent request. */
const hostAnswersToRise = 20

/** Bounds of a host's rate after a 429 or `Retry-After`. */
const hostRate: RateBounds = { perSecondMin: 0.5, doublesMs: 10_000, doublesMsMax: 120_000, retryAfterMsMax }

/** A run that wants to send a request to a host. */
export interface Asker {
  readonly collectorId: string
  readonly hour: Hour
  readonly deadline: RunDeadline
  /** Aborted when the run is over. */
  readonly signal: AbortSignal
}

/** A slot, to be ended once; or the time that the host must be left alone, when it ends after the run's deadline. */
type SlotResult =
  | { readonly kind: 'granted'; readonly end: (how: RequestEnd) => void }
  | { readonly kind: 'refused'; readonly waitMs: number }

interface Waiter {
  readonly asker: Asker
  resolve(result: SlotResult): void
}

type HostLimitDeps = Pick<RunnerLimits, 'hostRequestsMax' | 'hostPerSecondMax'> & { readonly time: Time }

/**
 * Gives slots to send a request to one host: only so many at a time, and a second. A 429 or a `Retry-After` holds all
 * requests back until its instant and halves both limits, which rise again as the host answers.
 *
 * The newest hour is first, so that a backfill does not delay the current one. Within an hour the collector with the fewest
 * requests under way is first, so that one that ends none does not take the others' turns; equal ones take turns.
 */
export class HostLimit {
  readonly #time: Time
  readonly #requestsMax: number
  readonly #rate: RateLimit
  readonly #waiting = new Set<Waiter>()
  /** Number of the last slot of each collector, while any waits. */
  readonly #lastSlots = new Map<string, number>()
  /** Requests under way of each collector that has some. */
  readonly #underWayOf = new Map<string, number>()
  #slots = 0
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

  /** Waits for a slot. Rejects with the reason of the asker's signal. */
  async take(asker: Asker): Promise<SlotResult> {
    const waitMs = this.#waitMsPast(asker)
    if (waitMs !== undefined) return { kind: 'refused', waitMs }
    const { promise, resolve } = Promise.withResolvers<SlotResult>()
    const waiter: Waiter = { asker, resolve }
    this.#waiting.add(waiter)
    void this.#grantAll()
    try {
      return await unlessAborted(promise, asker.signal)
    } catch (error) {
      if (this.#waiting.has(waiter)) this.#leave(waiter)
      // The slot was granted at the moment of the abort.
      else void promise.then(result => result.kind === 'granted' && result.end({ kind: 'failed' }))
      throw error
    }
  }

  async #grantAll(): Promise<void> {
    if (this.#isGranting) return
    this.#isGranting = true
    while (this.#waiting.size > 0 && this.#underWay < this.#underWayMax) {
      this.#emptied = new AbortController()
      const slot = await this.#rate.admitted(1, this.#emptied.signal).catch(() => undefined)
      const next = slot && this.#next()
      if (next) this.#grant(next, slot)
      else if (slot) this.#rate.ended(slot)
    }
    this.#isGranting = false
  }

  #next(): Waiter | undefined {
    const rank = ({ asker: { collectorId, hour } }: Waiter) =>
      [-hour, this.#underWayOf.get(collectorId) ?? 0, this.#lastSlots.get(collectorId) ?? 0] as const
    const isBefore = (one: Waiter, other: Waiter) => {
      const [a, b] = [rank(one), rank(other)]
      return (a[0] - b[0] || a[1] - b[1] || a[2] - b[2]) < 0
    }
    let first: Waiter | undefined
    for (const waiter of this.#waiting) if (!first || isBefore(waiter, first)) first = waiter
    return first
  }

  #grant(waiter: Waiter, slot: AdmittedRequest): void {
    this.#slots += 1
    const { collectorId } = waiter.asker
    this.#lastSlots.set(collectorId, this.#slots)
    this.#leave(waiter)
    this.#addUnderWay(collectorId, 1)
    const endController = new AbortController()
    const end = (requestEnd: RequestEnd) => {
      if (endController.signal.aborted) return
      endController.abort()
      this.#addUnderWay(collectorId, -1)
      this.#end(slot, requestEnd)
    }
    // A process that never ends a slot must not keep it from the others.
    void this.#time.sleep(hostSlotMsMax, endController.signal).then(
      () => end({ kind: 'failed' }),
      () => {},
    )
    waiter.resolve({ kind: 'granted', end })
  }

  #addUnderWay(collectorId: string, count: 1 | -1): void {
    this.#underWay += count
    const underWay = (this.#underWayOf.get(collectorId) ?? 0) + count
    if (underWay > 0) this.#underWayOf.set(collectorId, underWay)
    else this.#underWayOf.delete(collectorId)
  }

  #end(slot: AdmittedRequest, requestEnd: RequestEnd): void {
    if (requestEnd.kind === 'answered') this.#answered(slot)
    if (requestEnd.kind === 'refused') this.#refused(slot, requestEnd.retryAfterMs)
    if (requestEnd.kind === 'failed') this.#rate.ended(slot)
    void this.#grantAll()
  }

  #answered(slot: AdmittedRequest): void {
    this.#rate.answered(slot)
    this.#answers += 1
    if (this.#answers < hostAnswersToRise) return
    this.#answers = 0
    this.#underWayMax = Math.min(this.#underWayMax + 1, this.#requestsMax)
  }

  #refused(slot: AdmittedRequest, retryAfterMs: number | undefined): void {
    const retryAtMs = retryAfterMs === undefined ? undefined : this.#time.nowMs() + retryAfterMs
    if (this.#rate.refused(slot, retryAtMs)) {
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
    this.#lastSlots.clear()
    this.#emptied.abort()
  }
}

/** Hosts whose limit is remembered. */
const hostsMax = 1_000

/** The limits of all hosts that collectors send requests to, whatever process they run in. */
export class HostLimits {
  readonly #time: Time
  readonly #limits: RunnerLimits
  readonly #byHost = new Map<string, HostLimit>()
  /** Number of hosts from which on idle ones are forgotten; twice those that were left, so that a new host is cheap. */
  #roomFor = hostsMax

  constructor(time: Time, limits: RunnerLimits) {
    this.#time = time
    this.#limits = limits
  }

  /** Waits for a slot to send a request. Rejects with the reason of the asker's signal. @param host name and port */
  take(host: string, asker: Asker): Promise<SlotResult> {
    const limit = this.#byHost.get(host) ?? this.#newLimit()
    this.#byHost.set(host, limit)
    return limit.take(asker)
  }

  #newLimit(): HostLimit {
    if (this.#byHost.size >= this.#roomFor) {
      for (const [host, limit] of this.#byHost) if (limit.isIdle) this.#byHost.delete(host)
      this.#roomFor = Math.max(hostsMax, 2 * this.#byHost.size)
    }
    return new HostLimit({ time: this.#time, ...this.#limits })
  }
}

/** Longest time for which a process with code of others may say that a host must be left alone. */
const foreignRetryAfterMsMax = 3_600_000

/**
 * The limits for a process that runs code of others. It takes slots as all do, and at most half of those of a host: it may
 * end none. Its reports about a host hold for itself alone: they may be wrong, also about a host that it has not asked.
 */
export class ForeignHostLimits {
  readonly #shared: Pick<HostLimits, 'take'>
  readonly #own: HostLimits

  constructor(shared: Pick<HostLimits, 'take'>, time: Time, limits: RunnerLimits) {
    this.#shared = shared
    this.#own = new HostLimits(time, { ...limits, hostRequestsMax: Math.ceil(limits.hostRequestsMax / 2) })
  }

  /** As that of `HostLimits`. */
  async take(host: string, asker: Asker): Promise<SlotResult> {
    const slot = await this.#own.take(host, asker)
    if (slot.kind === 'refused') return slot
    const sharedSlot = await this.#shared.take(host, asker).catch(error => {
      slot.end({ kind: 'failed' })
      throw error
    })
    if (sharedSlot.kind === 'refused') {
      slot.end({ kind: 'failed' })
      return sharedSlot
    }
    const end = (requestEnd: RequestEnd) => {
      const retryAfterMs = requestEnd.kind === 'refused' ? requestEnd.retryAfterMs : undefined
      slot.end(
        retryAfterMs === undefined
          ? requestEnd
          : { kind: 'refused', retryAfterMs: Math.min(retryAfterMs, foreignRetryAfterMsMax) },
      )
      sharedSlot.end({ kind: 'failed' })
    }
    return { kind: 'granted', end }
  }
}

/** Gives a slot to send a request to a host, by name and port. Rejects when the asker's run is over. */
type TakeSlot = (host: string, asker: Asker) => Promise<SlotResult>

/** The slots that one process has asked for. */
export class ChildSlots {
  readonly #take: TakeSlot
  readonly #tell: (ask: number, reply: SlotReply) => void
  /** Ends of the granted slots by the number of the question; undefined while a slot is waited for. */
  readonly #ends = new Map<number, ((requestEnd: RequestEnd) => void) | undefined>()
  #isOver = false

  constructor(take: TakeSlot, tell: (ask: number, reply: SlotReply) => void) {
    this.#take = take
    this.#tell = tell
  }

  /** Slots that are waited for, or not ended. */
  get size(): number {
    return this.#ends.size
  }

  /** Waits for a slot and replies. Never rejects. A question that was asked before is ignored. */
  async ask(ask: number, host: string, asker: Asker): Promise<void> {
    if (this.#ends.has(ask)) return
    this.#ends.set(ask, undefined)
    try {
      const result = await asker.deadline.without(this.#take(host, asker))
      this.#ends.set(ask, result.kind === 'granted' ? result.end : () => {})
      if (this.#isOver || result.kind === 'refused') this.end({ ask, how: { kind: 'failed' } })
      const { leftMs } = asker.deadline
      this.#tell(ask, result.kind === 'granted' ? { kind: 'granted', leftMs } : result)
    } catch {
      // The run is over.
      this.#ends.delete(ask)
    }
  }

  /** Ends a slot. One that is not held any more is ignored. */
  end({ ask, how: requestEnd }: SlotEnd): void {
    const end = this.#ends.get(ask)
    if (!end) return
    this.#ends.delete(ask)
    end(requestEnd)
  }

  /** Ends all slots, because the process has ended. */
  endAll(): void {
    this.#isOver = true
    for (const ask of this.#ends.keys()) this.end({ ask, how: { kind: 'failed' } })
  }
}
