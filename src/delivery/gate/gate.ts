import { isYetToCome } from '../../model/backoff.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'
import type { Answer, Verdict } from '../../model/verdict.ts'
import type { DestinationState } from '../../outbox/contract/destination.ts'
import { afterAnswer, afterFlush, afterRest, type FlushEnd, probeAt, retryAfterAt } from './breaker.ts'
import type { GateDeps } from './gate-deps.ts'
import { stateAfter } from './gate-state.ts'
import { KeyWatch, type ValidateKey, waitOf } from './key-watch.ts'
import { clockAskMs, retryAfterWaitMsMax, serviceRetryAfterMsMax } from './limits.ts'
import { Pacer } from './pacer.ts'
import { aheadSentence } from './sentences.ts'
import type { Stop } from './stop.ts'
import { StoredState } from './stored-state.ts'

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
 * The answers come from memory. The stored state is taken over once, at the first `occasion`, and is written with each
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
  async occasion(wanted: FlushOccasion): Promise<FlushOccasion> {
    const isAsked = await this.#stored.read()
    const isWaiting = retryAfterAt(this.#state, this.#deps.time.nowMs()) > 0
    if (!isAsked && !(wanted === 'asked' && isWaiting)) return wanted
    try {
      // With a failure the flush begins with a small batch, whose answer may set a retry-after again.
      const failures = Math.max(this.#state.failures, isWaiting ? 1 : 0)
      await this.#deps.pacer.shared?.note(0)
      await this.#stored.save({ ...this.#state, notBeforeMs: 0, probeAtMs: 0, failures })
      return 'asked'
    } catch {
      // It would be asked again at each look. The flush reports the disk's error.
      return wanted
    }
  }

  /**
   * The present hold on a flush, as far as known in memory; `undefined` when it may begin.
   *
   * @param newest hour with a due metric of the destination; default: none is newer than what was tried
   */
  hold(occasion: FlushOccasion, newest?: Hour): GateHold | undefined {
    const nowMs = this.#deps.time.nowMs()
    const retryAfterMs = retryAfterAt(this.#state, nowMs)
    if (retryAfterMs > 0) return { why: 'retry-after', untilMs: retryAfterMs }
    // A person's request does not wait for the breaker, nor does a new hour, or a new key in place of a refused one.
    const isUrgent =
      occasion === 'asked' || this.#isNew(newest) || this.#keyWatch.hasNew(this.#deps.destination.readKey)
    const untilMs = isUrgent ? 0 : probeAt(this.#state, nowMs)
    return untilMs > 0 ? { why: 'breaker', untilMs } : undefined
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
   * @param newest hour with a due metric of the destination
   */
  isClockWanted(newest: Hour | undefined): boolean {
    const { clock, time } = this.#deps
    if (clock.isWanted) return true
    if (newest === undefined) return false
    if (this.#clockAskedMs === undefined && clock.skewMs === undefined) return true
    const nowMs = time.nowMs()
    const aheadMs = newest - clock.latestHour(nowMs)
    const restMs = aheadMs > hourMs ? hourMs : clockAskMs
    return aheadMs > 0 && !isYetToCome((this.#clockAskedMs ?? 0) + restMs, nowMs, restMs)
  }

  /**
   * Reads the key. Asks the service about it after a refusal, and about its clock if wanted.
   *
   * @param newest hour with a due metric of the destination
   * @returns the key to send with, or why nothing may be sent
   * @throws Fault when the key cannot be read; the signal's reason
   */
  async enter(
    occasion: FlushOccasion,
    newest: Hour | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly key: string } | { readonly stop: Stop }> {
    const { destination, redactor, time } = this.#deps
    this.#triedHour = newest
    const key = destination.readKey()
    redactor.add([key])
    const validate = (asked: string) => this.#validate(asked, signal)
    const objection = await this.#keyWatch.objection(key, validate, time.nowMs(), occasion === 'asked')
    const stop = objection ?? (this.isClockWanted(newest) ? await this.#askClock(key, validate) : undefined)
    if (!stop) return { key }
    const stale = stop.kind === 'key-refused' ? destination.staleKey?.() : undefined
    return { stop: stale === undefined ? stop : { ...stop, reason: `${stop.reason}; ${stale}` } }
  }

  /** Resolves when a request other than a push may start. Rejects with the signal's reason. */
  async requestTurn(signal: AbortSignal): Promise<void> {
    await this.#deps.pacer.turn(signal)
  }

  /**
   * Resolves when a push may start: after a short retry-after, at the pace of the destination and of the service.
   *
   * @returns a hold that lasts longer than a flush waits
   * @throws the signal's reason
   */
  async pushTurn(key: string, signal: AbortSignal): Promise<GateHold | undefined> {
    const { time, pacer } = this.#deps
    for (;;) {
      signal.throwIfAborted()
      const nowMs = time.nowMs()
      const untilMs = retryAfterAt(this.#state, nowMs)
      if (untilMs - nowMs > retryAfterWaitMsMax) return { why: 'retry-after', untilMs }
      if (untilMs > 0) await time.sleep(untilMs - nowMs, signal)
      const ownTurn = this.#ownPacer.turn(signal)
      if (ownTurn) await ownTurn
      const turn = pacer.turn(signal)
      if (turn) await turn
      await this.#takeShared()
      // Either may have happened while this push waited for its turn.
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

  /**
   * Applies the answer to a push to later pushes with the same key, at once. The promise, if something must last, resolves
   * when it is stored.
   */
  pushed(verdict: Verdict, key: string): Promise<void> | void {
    this.#deps.counters?.pushed(verdict.kind)
    switch (verdict.kind) {
      case 'settled':
        this.#ownPacer.quicken()
        return this.#answered(verdict.delivered.length > 0)
      case 'key-refused':
        return this.#keyWatch.refused(key, this.#deps.time.nowMs())
      case 'transient':
        if (verdict.status === 429) this.#ownPacer.slow()
        return this.#retryAfter(verdict.notBeforeMs)
    }
  }

  /**
   * Records the end of a flush that sent, or tried to send.
   *
   * @param newest hour with a metric that is still due
   * @returns the new state of the destination
   */
  async flushed({ stop, left }: Pick<FlushEnd, 'stop' | 'left'>, newest: Hour | undefined): Promise<DestinationState> {
    const { time, counters, destination } = this.#deps
    counters?.gates.set(destination.name, stateAfter(stop))
    const end = { ...this.#withClock(left, newest), ...(stop && { stop }) }
    await this.#stored.save(afterFlush(this.#state, end, time.nowMs(), stop ? time.chance() : 0))
    return this.#state
  }

  /** Records a flush that sent nothing, without a failure. @param left why metrics are left out, one sentence each */
  async rested(left: readonly string[], newest: Hour | undefined): Promise<void> {
    const state = afterRest(this.#state, this.#withClock(left, newest))
    if (state) await this.#stored.save(state)
  }

  /**
   * Stores what a person reads, and a daemon after this one finds: a flush may last for long, and a daemon that is killed
   * in it would leave failures from long ago, so that the next one alone held all pushes back for minutes.
   */
  #answered(isAccepted: boolean): Promise<void> | void {
    const nowMs = this.#deps.time.nowMs()
    const { atMs = nowMs } = this.#state.lastPush ?? {}
    if (!this.#stored.hasFailures && !(isAccepted && nowMs - atMs >= lastPushMs)) return
    this.#deps.counters?.gates.set(this.#deps.destination.name, 'open')
    // If it cannot be stored, the running flush reports the disk's error.
    return this.#stored.saveAtOnce(afterAnswer(this.#state, isAccepted, nowMs)).catch(() => {})
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
    const wait = waitOf(answer)
    return wait?.notBeforeMs === undefined ? undefined : wait.stop
  }

  async #validate(key: string, signal: AbortSignal): Promise<Answer> {
    await this.requestTurn(signal)
    const answer = await this.#deps.client.validateKey(key, signal)
    this.noteClock(answer)
    await this.#retryAfter(waitOf(answer)?.notBeforeMs)
    return answer
  }

  /** Sets the retry-after instant; its only writer. It holds for all pushes, not only the one that was answered. */
  async #retryAfter(notBeforeMs = 0): Promise<void> {
    if (notBeforeMs === 0) return
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

  #withClock(left: readonly string[], newest: Hour | undefined): Pick<FlushEnd, 'left' | 'skewMs'> {
    const { clock, time } = this.#deps
    const { skewMs } = clock
    const isAhead = newest !== undefined && newest > clock.latestHour(time.nowMs())
    const all = [...left, ...(isAhead ? [aheadSentence(newest, skewMs ?? 0)] : [])]
    return { left: all, ...(skewMs !== undefined && { skewMs }) }
  }

  get #state(): DestinationState {
    return this.#stored.current
  }
}
