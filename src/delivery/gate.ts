import { Sequence } from '../edge/sequence.ts'
import type { ServiceClient } from '../edge/service-client.ts'
import type { Time } from '../edge/time.ts'
import { isYetToCome } from '../model/backoff.ts'
import { type Hour, hourAt } from '../model/hour.ts'
import { futureMsMax, hourMs } from '../model/limits.ts'
import { type Answer, isForeign, reasonOf, transientOf, type Verdict } from '../model/verdict.ts'
import type { DeliveryStore, DestinationState } from '../outbox/contract/delivery-store.ts'
import type { Counters } from '../telemetry/counters.ts'
import type { Redactor } from '../telemetry/redactor.ts'
import {
  afterAnswer,
  afterFlush,
  afterRest,
  aheadSentence,
  type FlushEnd,
  isSkewNew,
  probeAt,
  retryAfterAt,
  serviceRetryAfterMsMax,
} from './breaker.ts'
import type { Stop } from './isolate/state.ts'

/** Interval of asking for the service's clock while due metrics seem to lie in its future. */
const clockAskMs = 60_000

/** Longest `Retry-After` that is waited for within one flush; a longer one ends the flush and is remembered. */
const retryAfterWaitMsMax = 60_000

interface GateDeps {
  readonly destination: {
    readonly name: string
    readonly readKey: () => string
    readonly staleKey?: () => string | undefined
  }
  /** Stores retry-after and the breaker across restarts. */
  readonly outbox: Pick<DeliveryStore, 'destination' | 'saveDestination'>
  readonly client: Pick<ServiceClient, 'validateKey'>
  /** The pace of the destination: the service's, shared by all, or a fleet's. */
  readonly pacer: RequestSlots
  /** The service's clock, shared by all destinations. */
  readonly clock: ServiceClock
  readonly redactor: Pick<Redactor, 'add'>
  readonly time: Time
  /** Counts answers. Default: nothing is counted. */
  readonly counters?: Counters | undefined
}

/** Age of the last known push after which an accepted one is stored within a flush. */
const lastPushMs = 60_000

/** `asked`: a person wants a flush now. Neither the breaker nor a retry-after hold it back; it begins with a probe then. */
export type FlushOccasion = 'due' | 'asked'

/** A hold on every push to a destination. */
export interface GateHold {
  /** The first reason that was found. */
  readonly why: 'retry-after' | 'breaker' | 'key-refused'
  /** End of the hold, in milliseconds since 1970. */
  readonly untilMs: number
}

/**
 * Answers whether something may be sent to a destination now, and if not, until when and why. It knows all holds on
 * every push: retry-after, the breaker, a refused key, the service's clock, and the two pacers. Holds on single
 * protocols and metrics belong to the quarantine.
 *
 * The answers come from memory, but for a new key, which is read where it is kept. The stored state is taken over once, at the first `occasion`, and is written with each
 * change. Only a person's request for a flush is written elsewhere; `occasion` reads it.
 */
export class Gate {
  readonly #deps: GateDeps
  readonly #keyWatch = new KeyWatch()
  /** Slower for a while after a 429, which is about the destination's key. */
  readonly #ownPacer: Pacer
  readonly #stored: StoredState
  #clockAskedMs: number | undefined
  /** The newest hour that was due when the last flush began. */
  #triedHour: Hour | undefined

  constructor(deps: GateDeps) {
    this.#deps = deps
    this.#ownPacer = new Pacer(deps.time, 1_000 / deps.pacer.intervalMs)
    this.#stored = new StoredState(deps.outbox, deps.destination.name)
  }

  /** Failed flushes in a row. */
  get failures(): number {
    return this.#state.failures
  }

  /**
   * `asked` when a person has requested a flush from another process since the last call, else the argument. A flush
   * calls it first.
   */
  async occasion(occasion: FlushOccasion): Promise<FlushOccasion> {
    const isAsked = await this.#stored.read()
    const isWaiting = retryAfterAt(this.#state, this.#deps.time.nowMs()) > 0
    if (!isAsked && !(occasion === 'asked' && isWaiting)) return occasion
    try {
      // With a failure the flush begins with a small batch, whose answer may set a retry-after again.
      const failures = Math.max(this.#state.failures, isWaiting ? 1 : 0)
      await this.#deps.pacer.shared?.note(0)
      await this.#stored.save({ ...this.#state, notBeforeMs: 0, probeAtMs: 0, failures })
      return 'asked'
    } catch {
      // If this threw, the request would be repeated for ever. The flush reports the error of the disk.
      return occasion
    }
  }

  /**
   * The present hold on a flush, as far as known in memory; `undefined` when it may begin.
   *
   * @param newestHour hour with a due metric of the destination; default: none is newer than what was tried
   */
  hold(occasion: FlushOccasion, newestHour?: Hour): GateHold | undefined {
    const nowMs = this.#deps.time.nowMs()
    const retryAfterMs = retryAfterAt(this.#state, nowMs)
    if (retryAfterMs > 0) return { why: 'retry-after', untilMs: retryAfterMs }
    // A person's request does not wait for the breaker, nor does a new hour, or a new key in place of a refused or missing one.
    const isUrgent = occasion === 'asked' || this.#isNew(newestHour) || this.#hasNewKey()
    const untilMs = isUrgent ? 0 : probeAt(this.#state, nowMs)
    return untilMs > 0 ? { why: 'breaker', untilMs } : undefined
  }

  #hasNewKey(): boolean {
    try {
      const key = this.#deps.destination.readKey()
      return this.#state.cure === 'key' || this.#keyWatch.isNew(key)
    } catch {
      return false // It is being exchanged, or is still missing.
    }
  }

  /** Whether an hour was not due when something was last sent: older ones may be why that failed. */
  #isNew(hour: Hour | undefined): boolean {
    if (hour === undefined) return false
    // A new process does not know what was sent. It tries the current hour at once, and no other.
    return this.#triedHour === undefined ? hour >= hourAt(this.#deps.time.nowMs()) : hour > this.#triedHour
  }

  /**
   * Whether the service's clock must be asked for. Metrics in its future would be refused, so it is asked once before
   * the first push, and again while a metric seems to be in its future; seldom if that is too far ahead for a clock
   * correction to help soon. Also while this machine's clock is doubted.
   *
   * @param newestHour hour with a due metric of the destination
   */
  isClockWanted(newestHour: Hour | undefined): boolean {
    const { clock, time } = this.#deps
    if (clock.isWanted) return true
    if (newestHour === undefined) return false
    if (this.#clockAskedMs === undefined && clock.skewMs === undefined) return true
    const nowMs = time.nowMs()
    const aheadMs = newestHour - clock.latestHour(nowMs)
    const restMs = aheadMs > hourMs ? hourMs : clockAskMs
    return aheadMs > 0 && !isYetToCome((this.#clockAskedMs ?? 0) + restMs, nowMs, restMs)
  }

  /**
   * Reads the key. Asks the service about it after a refusal, and about its clock if wanted.
   *
   * @param newestHour hour with a due metric of the destination
   * @returns the key to send with, or why nothing may be sent
   * @throws Fault when the key cannot be read; the signal's reason
   */
  async enter(
    occasion: FlushOccasion,
    newestHour: Hour | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly key: string } | { readonly stop: Stop }> {
    const { destination, redactor, time } = this.#deps
    this.#triedHour = newestHour
    const key = destination.readKey()
    redactor.add([key])
    const validate = (asked: string) => this.#validate(asked, signal)
    const objection = await this.#keyWatch.objection(key, validate, time.nowMs(), occasion === 'asked')
    const stop = objection ?? (this.isClockWanted(newestHour) ? await this.#askClock(key, validate) : undefined)
    if (!stop) return { key }
    const stale = stop.kind === 'key-refused' ? destination.staleKey?.() : undefined
    return { stop: stale === undefined ? stop : { ...stop, reason: `${stop.reason}; ${stale}` } }
  }

  /** Resolves when a request other than a push may start. Rejects with the signal's reason. */
  async requestSlot(signal: AbortSignal): Promise<void> {
    await this.#deps.pacer.slot(signal)
  }

  /**
   * Resolves when a push may start: after a short retry-after, at the pace of the destination and of the service.
   *
   * @returns a hold that lasts longer than a flush waits
   * @throws the signal's reason
   */
  async pushSlot(key: string, signal: AbortSignal): Promise<GateHold | undefined> {
    const { time, pacer } = this.#deps
    for (;;) {
      signal.throwIfAborted()
      const nowMs = time.nowMs()
      const untilMs = retryAfterAt(this.#state, nowMs)
      if (untilMs - nowMs > retryAfterWaitMsMax) return { why: 'retry-after', untilMs }
      if (untilMs > 0) await time.sleep(untilMs - nowMs, signal)
      await this.#ownPacer.slot(signal)
      await pacer.slot(signal)
      await this.#takeShared()
      // Either may have happened while this push waited for its slot.
      if (this.#keyWatch.isRefused(key)) return { why: 'key-refused', untilMs: this.#keyWatch.askAtMs }
      if (retryAfterAt(this.#state, time.nowMs()) === 0) return undefined
    }
  }

  /** Whether a failed push may be retried within its flush. */
  get isRetrySoon(): boolean {
    const nowMs = this.#deps.time.nowMs()
    return retryAfterAt(this.#state, nowMs) - nowMs <= retryAfterWaitMsMax
  }

  /** Notes the service's clock, which each of its answers shows. */
  noteClock(answer: Answer): void {
    this.#deps.clock.observe(answer)
  }

  /** Applies the answer to a push to later pushes with the same key, at once. Resolves when what must last is stored. */
  async pushed(verdict: Verdict, key: string): Promise<void> {
    this.#deps.counters?.pushed(verdict.kind)
    switch (verdict.kind) {
      case 'settled':
        this.#ownPacer.quicken()
        return await this.#answered(verdict.delivered.length > 0)
      case 'key-refused':
        return this.#keyWatch.refused(key, this.#deps.time.nowMs())
      case 'transient':
        if (verdict.status === 429) this.#ownPacer.slow()
        return await this.#retryAfter(verdict.notBeforeMs)
    }
  }

  /**
   * Records the end of a flush that sent, or tried to send.
   *
   * @param newestHour hour with a metric that is still due
   * @returns the new state of the destination
   */
  async flushed(
    { stop, left: remarks }: Pick<FlushEnd, 'stop' | 'left'>,
    newestHour: Hour | undefined,
  ): Promise<DestinationState> {
    const { time } = this.#deps
    const end = { ...this.#withClock(remarks, newestHour), ...(stop && { stop }) }
    await this.#stored.save(afterFlush(this.#state, end, time.nowMs(), stop ? time.chance() : 0))
    return this.#state
  }

  /** Records a flush that sent nothing, without a failure. @param remarks why metrics are left out, one sentence each */
  async rested(remarks: readonly string[], newestHour: Hour | undefined): Promise<void> {
    const state = afterRest(this.#state, this.#withClock(remarks, newestHour))
    if (state) await this.#stored.save(state)
  }

  /**
   * Stores what a person reads, and a daemon after this one finds: a flush may last for long. A clock that was mended
   * would be wrong until its end, and a daemon that is killed in it would leave failures from long ago, so that the next
   * one alone held all pushes back for minutes.
   */
  async #answered(isAccepted: boolean): Promise<void> {
    const nowMs = this.#deps.time.nowMs()
    const { atMs = nowMs } = this.#state.lastPush ?? {}
    const { skewMs } = this.#deps.clock
    const isLastPushOld = isAccepted && nowMs - atMs >= lastPushMs
    if (!this.#stored.hasFailures && !isLastPushOld && !isSkewNew(this.#state, skewMs)) return
    // If it cannot be stored, the running flush reports the disk's error.
    await this.#stored
      .saveAtOnce(afterAnswer(this.#state, { isAccepted, ...(skewMs !== undefined && { skewMs }) }, nowMs))
      .catch(() => {})
  }

  /** @returns why nothing may be sent: the key is refused, or the service asks to wait */
  async #askClock(key: string, validate: ValidateKey): Promise<Stop | undefined> {
    const { clock, time } = this.#deps
    this.#clockAskedMs = time.nowMs()
    clock.asked()
    const answer = await validate(key)
    if (answer.kind === 'answered' && answer.status === 401) {
      this.#keyWatch.refused(key, time.nowMs())
      return { kind: 'key-refused', reason: '401' }
    }
    const wait = transientOf(answer)
    if (wait?.notBeforeMs === undefined) return undefined
    const { kind, reason, status } = wait
    return { kind, reason, ...(status !== undefined && { status }) }
  }

  async #validate(key: string, signal: AbortSignal): Promise<Answer> {
    await this.requestSlot(signal)
    const answer = await this.#deps.client.validateKey(key, signal)
    this.noteClock(answer)
    await this.#retryAfter(transientOf(answer)?.notBeforeMs)
    return answer
  }

  /** Sets the retry-after instant; its only writer. It holds for all pushes, not only the one that was answered. */
  async #retryAfter(notBeforeMs: number | undefined): Promise<void> {
    if (notBeforeMs === undefined) return
    const nowMs = this.#deps.time.nowMs()
    const believedMs = Math.min(notBeforeMs, nowMs + serviceRetryAfterMsMax)
    const latestMs = Math.max(believedMs, retryAfterAt(this.#state, nowMs))
    // At once: the process may end while it waits. If it cannot be stored, the running flush reports the disk's error.
    await this.#stored.saveAtOnce({ ...this.#state, notBeforeMs: latestMs }).catch(() => {})
    await this.#deps.pacer.shared?.note(latestMs).catch(() => {})
  }

  /** Takes a later retry-after that another daemon has learnt with the same key. */
  async #takeShared(): Promise<void> {
    const { pacer, time } = this.#deps
    const notBeforeMs = retryAfterAt({ notBeforeMs: pacer.shared?.notBeforeMs ?? 0 }, time.nowMs())
    if (notBeforeMs <= this.#state.notBeforeMs) return
    await this.#stored.saveAtOnce({ ...this.#state, notBeforeMs }).catch(() => {})
  }

  #withClock(remarks: readonly string[], newestHour: Hour | undefined): Pick<FlushEnd, 'left' | 'skewMs'> {
    const { clock, time } = this.#deps
    const { skewMs } = clock
    const isAhead = newestHour !== undefined && newestHour > clock.latestHour(time.nowMs())
    const all = [...remarks, ...(isAhead ? [aheadSentence(newestHour, skewMs ?? 0)] : [])]
    return { left: all, ...(skewMs !== undefined && { skewMs }) }
  }

  get #state(): DestinationState {
    return this.#stored.current
  }
}

/** Interval of asking the service about a key it has refused. */
const keyAskMs = hourMs

type ValidateKey = (key: string) => Promise<Answer>

const refusedBy401: Stop = { kind: 'key-refused', reason: '401' }

/**
 * Knows which key the service has refused. Nothing is sent with it until the service says that it is valid. The service is
 * asked each hour, when a person wants it, and at once when the key has changed.
 */
class KeyWatch {
  #refusedKey: string | undefined
  #askedKey: string | undefined
  #askedAtMs = 0
  /** The meaning of the last answer about the key: 401 and 403 alone refuse it. */
  #meaning: Stop = refusedBy401

  /** Notes that the service answered 401. */
  refused(key: string, nowMs: number): void {
    this.#meaning = refusedBy401
    this.#refusedKey = key
    this.#askedKey = key
    this.#askedAtMs = nowMs
  }

  isRefused(key: string): boolean {
    return this.#refusedKey === key
  }

  /** Instant at which the service is asked about the refused key again. */
  get askAtMs(): number {
    return this.#askedAtMs + keyAskMs
  }

  /** Whether a key is an untried one in place of the refused one, which need not wait for anything. */
  isNew(key: string): boolean {
    return this.#refusedKey !== undefined && key !== this.#refusedKey && key !== this.#askedKey
  }

  /**
   * The reason why nothing may be sent with a key; `undefined` when something may.
   *
   * @param validate called after a refusal only
   * @param isAsked a person wants it to be tried
   */
  async objection(key: string, validate: ValidateKey, nowMs: number, isAsked: boolean): Promise<Stop | undefined> {
    if (this.#refusedKey === undefined) return undefined
    const isSame = this.#refusedKey === key
    const isAskedLately = isYetToCome(this.askAtMs, nowMs, keyAskMs)
    if (isSame && !isAsked && isAskedLately) {
      return this.#objectionTo(isSame)
    }
    this.#askedKey = key
    this.#askedAtMs = nowMs
    const keyWords = isSame ? 'the refused key' : 'the changed key'
    const answer = await validate(key)
    const wait = transientOf(answer)
    if (wait) return { kind: 'transient', reason: `${keyWords} could not be checked: ${wait.reason}` }
    // It is transient, which is handled above.
    if (answer.kind === 'unanswered') return undefined
    const { status } = answer
    if (status === 401) this.#refusedKey = key
    if (status === 401 || status === 403) this.#meaning = { kind: 'key-refused', reason: `${status}` }
    else if (status < 200 || status >= 300 || isForeign(answer)) {
      this.#meaning = { kind: 'misdirected', reason: reasonOf(answer) }
    } else {
      this.#refusedKey = undefined
      return undefined
    }
    return this.#objectionTo(isSame)
  }

  #objectionTo(isSame: boolean): Stop {
    return { ...this.#meaning, ...(isSame && this.#meaning.kind === 'key-refused' && { isUnchanged: true }) }
  }
}

/** The state of a destination, in memory and in the outbox. */
export class StoredState {
  readonly #outbox: Pick<DeliveryStore, 'destination' | 'saveDestination'>
  readonly #name: string
  /** Absent before the first `read`. */
  #current: DestinationState | undefined
  /** Whether another process would find an open breaker, or failures that it counts on from. */
  #hasFailures = false
  /** Stores changes one after the other: the first of two could be stored last. */
  readonly #saves = new Sequence()

  /** @param name of the destination */
  constructor(outbox: Pick<DeliveryStore, 'destination' | 'saveDestination'>, name: string) {
    this.#outbox = outbox
    this.#name = name
  }

  /** The state in memory. Only the stored one of the first `read` is taken over. */
  get current(): DestinationState {
    return this.#current ?? { notBeforeMs: 0, probeAtMs: 0, failures: 0 }
  }

  /** @returns whether a person has asked for a flush since the state was last saved */
  async read(): Promise<boolean> {
    const { isAsked = false, ...stored } = await this.#outbox.destination(this.#name)
    this.#current ??= stored
    this.#hasFailures = stored.failures > 0
    return isAsked
  }

  /** Whether another process would find failures. */
  get hasFailures(): boolean {
    return this.#hasFailures
  }

  /** Changes the state once the new one is stored. */
  async save(state: DestinationState): Promise<void> {
    await this.#store(state)
    this.#current = state
  }

  /** Changes the state at once; rejects when the new one cannot be stored. */
  async saveAtOnce(state: DestinationState): Promise<void> {
    this.#current = state
    await this.#store(state)
  }

  #store(state: DestinationState): Promise<void> {
    this.#hasFailures = state.failures > 0
    return this.#saves.run(() => this.#outbox.saveDestination(this.#name, state))
  }
}

/**
 * Longest pause between pushes after 429s; it doubles with each, and shrinks with each accepted push, so that an outage of
 * 429s is over within two minutes. A service that must be asked more seldom says so by `Retry-After`, or has the breaker open.
 */
const slowedIntervalMsMax = 10_000

/** Factor by which an accepted push shortens the pause between requests, until it is the configured one again. */
const recovery = 0.9

/** Gives requests their slots, one after the other. */
export interface RequestSlots {
  /** Pause between two requests. */
  readonly intervalMs: number
  /** Resolves when the next request may start. Rejects with the signal's reason, or an error of the outbox. */
  slot(signal: AbortSignal): Promise<void>
  /** The retry-after of all daemons that push with the same key. Absent where no others do. */
  readonly shared?: SharedRetryAfter
}

/** A retry-after that one daemon of a fleet learns and all keep. */
interface SharedRetryAfter {
  /** As of the last slot, in milliseconds since 1970; 0 for none. */
  readonly notBeforeMs: number
  /** Tells the others. 0 ends it. Rejects with errors of the outbox. */
  note(notBeforeMs: number): Promise<void>
}

/** Starts requests at an even pace, never faster than configured, and slower for a while after a 429. */
export class Pacer implements RequestSlots {
  readonly #time: Time
  readonly #configuredMs: number
  #intervalMs: number
  #lastMs = Number.NEGATIVE_INFINITY

  constructor(time: Time, perSecond: number) {
    this.#time = time
    this.#configuredMs = 1000 / perSecond
    this.#intervalMs = this.#configuredMs
  }

  get intervalMs(): number {
    return this.#configuredMs
  }

  async slot(signal: AbortSignal): Promise<void> {
    const nowMs = this.#time.steadyMs()
    const startMs = Math.max(nowMs, this.#lastMs + this.#intervalMs)
    this.#lastMs = startMs
    if (startMs > nowMs) await this.#time.sleep(Math.ceil(startMs - nowMs), signal)
  }

  /** Doubles the pause, after a 429. */
  slow(): void {
    const doubledMs = Math.max(this.#intervalMs * 2, 1)
    this.#intervalMs = Math.max(this.#configuredMs, Math.min(doubledMs, slowedIntervalMsMax))
  }

  /** Shortens the pause, after an accepted push. */
  quicken(): void {
    this.#intervalMs = Math.max(this.#configuredMs, this.#intervalMs * recovery)
  }
}

/** Comparison of this machine's clock with the service's. */
export interface ClockComparison {
  /** Lead of the service's clock over this machine's; `undefined` before the first answer. */
  readonly serviceAheadMs: number | undefined
  /** Takes a reading of the service's clock. @param aheadMs its lead over this machine's */
  sawService(aheadMs: number): void
  /** Whether the service should be asked, although nothing is to be sent. */
  wantsService(): boolean
  /** Notes that the service is being asked. */
  asks(witness: 'service'): void
}

/** Uncertainty of the service's clock as its answers show it: they count whole seconds and take time to arrive. */
const clockDoubtMs = 30_000

/** The service's clock, as its answers show it. One for all destinations: it is one service. */
export class ServiceClock {
  readonly #comparison: ClockComparison | undefined
  #skewMs: number | undefined

  /** @param comparison gets each reading; without it the service is asked before a push only */
  constructor(comparison?: ClockComparison) {
    this.#comparison = comparison
    this.#skewMs = comparison?.serviceAheadMs
  }

  /** Lead of the service's clock over this machine's, negative when behind; `undefined` before the first answer. */
  get skewMs(): number | undefined {
    return this.#skewMs
  }

  /** Whether to ask for it although nothing is to be sent: this machine's clock is doubted. */
  get isWanted(): boolean {
    return this.#comparison?.wantsService() ?? false
  }

  /** Notes that the service is being asked. */
  asked(): void {
    this.#comparison?.asks('service')
  }

  observe(answer: Answer): void {
    if (answer.kind !== 'answered' || answer.skewMs === undefined) return
    this.#skewMs = answer.skewMs
    this.#comparison?.sawService(answer.skewMs)
  }

  /** Keeps the lead right after this machine's clock was set. @param byMs how far ahead it was set */
  machineWasSet(byMs: number): void {
    if (this.#skewMs !== undefined) this.#skewMs -= byMs
  }

  /**
   * Latest hour that the service surely accepts at an instant of this machine's clock: it rejects hours in its future.
   */
  latestHour(nowMs: number): Hour {
    return hourAt(nowMs + (this.#skewMs ?? 0) + futureMsMax - clockDoubtMs)
  }
}
