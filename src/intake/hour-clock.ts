import { DerivedTime, type Time } from '../edge/time.ts'
import {
  agreedHour,
  type ClockEvidence,
  type ClockVerdict,
  clockPatienceLongMs,
  type EarliestMs,
  isPossible,
  judgeClock,
  witnessWaitMs,
} from '../model/clock.ts'
import { Fault } from '../model/fault.ts'
import { type Hour, hourAfter, hourAt } from '../model/hour.ts'
import { hourMs } from '../model/limits.ts'
import type { CollectorDescription } from '../runner/runner.ts'

/** A change of the clock larger than this was a setting of the clock; a smaller one is drift correction. */
const clockStepMs = 10_000

/** Pause before a witness is asked for the time again. */
export const witnessAskMs = 60_000

/** The current hour, as far as it is known. */
export interface HourClock {
  /** The earliest that the present can be; `undefined` while no witness confirms the clock. */
  readonly earliestMs: EarliestMs | undefined
  /** The current hour; `undefined` while the clock is not believed, or others disagree about the hour. */
  readonly hour: Hour | undefined
  /** Registers a listener for when the clock is believed, again or for the first time. */
  onBelieved(listener: () => void): void
}

/** Why a value of the present is not stored: the hour stays due. */
const hourUnknown = new Fault('clock-doubted', 'the current hour is unknown: this machine’s clock is doubted', {
  fix: 'tidegauge status says why',
})

/** Why a collector must not be asked for an hour, or its answer not be used; `undefined` where it may. */
export function objection(
  { hour: now }: HourClock,
  description: Pick<CollectorDescription, 'history'>,
  hour: Hour,
): Fault | undefined {
  if (canCollect(hour, now, description)) return undefined
  return now === undefined ? hourUnknown : hourPassed
}

/**
 * The machine's clock of a command, which is believed as a person has just typed it.
 *
 * @param daemonClock says what is final. Default: nothing is
 */
export function commandClock(time: Pick<Time, 'nowMs'>, daemonClock?: Pick<HourClock, 'earliestMs'>): HourClock {
  return {
    get hour() {
      const nowMs = time.nowMs()
      return isPossible(nowMs) ? hourAt(nowMs) : undefined
    },
    get earliestMs() {
      return daemonClock?.earliestMs
    },
    onBelieved() {},
  }
}

type CanReadThePast = Pick<CollectorDescription, 'history'>

/** Why an hour of a collector is not collected, or its answer is not used: see `canCollect`. */
export const hourPassed = new Fault('hour-passed', 'the hour has passed, and this collector reads only "now"')

/**
 * Whether a collector can be asked for an hour, and its answer be used: one that reads only the present can be asked for
 * the current hour alone. Pure.
 *
 * @param now the current hour; `undefined` while it is not known
 */
export function canCollect(hour: Hour, now: Hour | undefined, { history }: CanReadThePast): boolean {
  return history || (now !== undefined && hour >= now)
}

/** The oldest hour that is still collected without a request: those before it are gaps. */
export function oldestCollected(now: Hour, { history }: CanReadThePast, catchUpMs: number): Hour {
  return history ? hourAfter(now, -Math.ceil(catchUpMs / hourMs)) : now
}

/** Sources that can confirm the time. */
export interface ClockWitnesses {
  /** Whether the service runs outside this process. */
  readonly service: boolean
  /** Whether there is a chain that does not follow this machine's clock. */
  readonly chains: boolean
  /** The latest instant at which this machine stored something, in milliseconds since 1970. */
  readonly storedMs?: number
  /** When the configuration was written, in milliseconds since 1970. */
  readonly configuredMs?: number
}

/** Readings of both clocks at one moment. */
interface Mark {
  readonly wallMs: number
  readonly steadyMs: number
}

/** A witness's time minus the steady clock. */
type Offset = number

const noWitnesses: ClockWitnesses = { service: false, chains: false }

/**
 * This machine's clock, believed only while something agrees with it. While it is doubted, time continues by the steady
 * clock from the last trusted reading, so that no wait ends early or never when the clock is set.
 */
export class WatchedClock extends DerivedTime {
  readonly #listeners = new Set<(byMs: number) => void>()
  #witnesses = noWitnesses
  /** The last trusted reading. */
  #trusted: (Mark & { readonly isConfirmed: boolean }) | undefined
  /** The last reading, trusted or not. */
  #latest: Mark
  /** When the machine’s clock was last set, or the start, by the steady clock. */
  #evenSinceMs: number
  #service: Offset | undefined
  #head: { readonly chain: string; readonly offset: Offset } | undefined
  /** When each witness was last asked, since the clock was set. */
  readonly #askedMs: { service?: number; chains?: number } = {}

  /** @param machine the machine's own clock */
  constructor(machine: Time) {
    super(machine)
    this.#latest = { wallMs: machine.nowMs(), steadyMs: machine.steadyMs() }
    this.#evenSinceMs = this.#latest.steadyMs
  }

  /** Sets the witnesses, and what is known without asking. Removes earlier listeners. */
  setWitnesses(witnesses: ClockWitnesses): void {
    this.#witnesses = witnesses
    this.#listeners.clear()
  }

  /** The believed time; the machine's until one is believed. */
  protected instantMs(): number {
    const { wallMs, steadyMs } = this.#readClocks()
    return this.#expected(steadyMs)?.nowMs ?? wallMs
  }

  /** Whether the machine's clock is believed now. */
  get verdict(): ClockVerdict {
    const mark = this.#readClocks()
    const expectation = this.#expected(mark.steadyMs)
    const verdict = judgeClock(this.#evidence(mark, expectation))
    if (verdict.kind === 'doubted') return verdict
    const isConfirmed = verdict.isConfirmed || (expectation?.isMet === true && expectation.isConfirmed)
    const isNew = this.#trusted === undefined || expectation?.isMet === false
    this.#trusted = { ...mark, isConfirmed }
    if (isNew)
      for (const listener of this.#listeners) listener(expectation ? Math.round(mark.wallMs - expectation.nowMs) : 0)
    return verdict
  }

  /** The current hour; `undefined` while the clock is not believed, or a witness is in another hour. */
  get hour(): Hour | undefined {
    return agreedHour(this.verdict)
  }

  get earliestMs(): EarliestMs | undefined {
    const { verdict } = this
    return verdict.kind === 'trusted' ? verdict.confirmedMs : undefined
  }

  /** Whether old data may be deleted: not before a witness agrees with the clock, or it ran alone for long. */
  get mayPrune(): boolean {
    const { verdict } = this
    return verdict.kind === 'trusted' && (this.#trusted?.isConfirmed === true || this.#evenMs >= clockPatienceLongMs)
  }

  /**
   * Registers a listener for when the clock is believed, again or for the first time.
   * @param listener called with the change of the time, in whole milliseconds
   */
  onBelieved(listener: (byMs: number) => void): void {
    this.#listeners.add(listener)
  }

  /** Records the service's clock. @param aheadMs how far it is ahead of the believed time */
  sawService(aheadMs: number): void {
    this.#service = this.nowMs() + aheadMs - this.steadyMs()
    void this.verdict
  }

  /**
   * Offset of the service's clock from the believed time, in milliseconds, positive when ahead; `undefined` until it
   * was seen.
   */
  get serviceAheadMs(): number | undefined {
    return this.#service === undefined ? undefined : Math.round(this.#service + this.steadyMs() - this.nowMs())
  }

  /** Records a chain's last block. */
  sawHead(chain: string, timestampMs: number): void {
    const offset = timestampMs - this.steadyMs()
    if (!this.#head || offset > this.#head.offset) this.#head = { chain, offset }
    void this.verdict
  }

  /** Whether the service should be asked for its clock now; a pending question is not repeated. */
  wantsService(): boolean {
    return this.#witnesses.service && this.#isWanted('service')
  }

  /** Whether chains should be asked for their last block now, because the service has not confirmed the clock. */
  wantsHeads(): boolean {
    if (!this.#witnesses.chains || this.#awaits('service')) return false
    return this.#isWanted('chains')
  }

  /** Records that a witness is asked now. */
  asks(witness: 'service' | 'chains'): void {
    this.#askedMs[witness] = this.steadyMs()
  }

  /** Reads both clocks. After the machine's clock was set, earlier statements are discarded. */
  #readClocks(): Mark {
    const mark = { wallMs: this.source.nowMs(), steadyMs: this.steadyMs() }
    if (Math.abs(clockChangeMs(this.#latest, mark)) > clockStepMs) {
      this.#evenSinceMs = mark.steadyMs
      this.#service = undefined
      this.#head = undefined
      delete this.#askedMs.service
      delete this.#askedMs.chains
    }
    this.#latest = mark
    return mark
  }

  #expected(steadyMs: number): ClockEvidence['expectedTime'] {
    if (!this.#trusted) return undefined
    const nowMs = this.#trusted.wallMs + steadyMs - this.#trusted.steadyMs
    const isMet = Math.abs(this.#latest.wallMs - nowMs) <= clockStepMs
    return { nowMs: isMet ? this.#latest.wallMs : nowMs, isConfirmed: this.#trusted.isConfirmed, isMet }
  }

  get #evenMs(): number {
    return this.#latest.steadyMs - this.#evenSinceMs
  }

  #evidence({ wallMs, steadyMs }: Mark, expectation: ClockEvidence['expectedTime']): ClockEvidence {
    const { storedMs, configuredMs } = this.#witnesses
    return {
      wallMs,
      evenMs: this.#evenMs,
      ...(expectation && { expectedTime: expectation }),
      ...(this.#service !== undefined && { serviceMs: this.#service + steadyMs }),
      ...(this.#head && { head: { chain: this.#head.chain, nowMs: this.#head.offset + steadyMs } }),
      ...(storedMs !== undefined && { storedMs }),
      ...(configuredMs !== undefined && { configuredMs }),
      witness: this.#witness,
    }
  }

  get #witness(): ClockEvidence['witness'] {
    const { service, chains } = this.#witnesses
    if (!service && !chains) return 'none'
    return this.#awaits('service') || this.#awaits('chains') ? 'awaited' : 'silent'
  }

  /** Whether a witness has not answered yet but still may. */
  #awaits(witness: 'service' | 'chains'): boolean {
    if (!this.#witnesses[witness]) return false
    const isSeen = witness === 'service' ? this.#service !== undefined : this.#head !== undefined
    return !isSeen && this.steadyMs() - this.#evenSinceMs < witnessWaitMs
  }

  #isWanted(witness: 'service' | 'chains'): boolean {
    const askedMs = this.#askedMs[witness]
    if (askedMs !== undefined && this.steadyMs() - askedMs < witnessAskMs) return false
    const { verdict } = this
    if (verdict.kind === 'doubted') return true
    // Also while the witness is in another hour: what it said may be long ago, as a chain that has caught up since. Where the
    // service has said the time, no chain counts.
    return agreedHour(verdict) === undefined && (witness === 'service' || this.#service === undefined)
  }
}

/** By how much the clock was set between two readings. */
function clockChangeMs(before: Mark, after: Mark): number {
  return after.wallMs - before.wallMs - (after.steadyMs - before.steadyMs)
}
