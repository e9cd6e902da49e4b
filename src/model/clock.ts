import { type Hour, hourAt, instantText } from './hour.ts'
import { futureMsMax, hourMs, overdueMs } from './limits.ts'

/**
 * Largest offset of another clock that still agrees with this machine's. A value of "now" is stored only while both are
 * in the same hour, so this is less than an hour.
 */
export const clockAgreeMs = 30 * 60_000

/** Offset from which a wrong clock is reported: the service refuses timestamps further in its future. */
export const clockReportMs = futureMsMax

/**
 * Time for which a clock must run evenly before it is believed without confirmation. A machine without a battery gets
 * the time sooner than this after its start. Stored instants that contradict it make the wait longer.
 */
export const clockPatienceMs = 90_000
export const clockPatienceLongMs = 10 * 60_000

/** Wait for an answer about the time. */
export const witnessWaitMs = 5_000

/** A configuration written within this time was written by a person at this machine, by the same clock. */
const configuredLatelyMs = 10 * 60_000

/** No clock is right before this version was released, nor that many years after it. */
const releasedMs = Date.UTC(2026, 0, 1)
const clockYearsMax = 20
/** A year in milliseconds. */
const yearMs = 365.25 * 24 * hourMs

/** A `Date` header counts whole seconds and takes time to arrive. */
const dateBlurMs = 2_000

const setIt = 'set it right (is NTP running?); nothing is collected until then'
const believedSoon = `it is believed after it has run evenly for ${clockPatienceMs / 1000} s and nothing contradicts it`

const relations: readonly [holds: boolean, relation: string][] = [
  [
    2 * clockAgreeMs <= hourMs,
    '2 * clockAgreeMs <= hourMs: clocks that agree are in the same hour at least half of it',
  ],
  [clockReportMs < clockAgreeMs, 'clockReportMs < clockAgreeMs: it is reported before collecting stops'],
  [
    clockPatienceLongMs < overdueMs,
    'clockPatienceLongMs < overdueMs: a start is over before its hour is called overdue',
  ],
]
for (const [holds, relation] of relations) if (!holds) throw new Error(`limits contradict each other: ${relation}`)

/** Evidence about the present time. Instants are milliseconds since 1970. */
export interface ClockEvidence {
  /** This machine's clock. */
  readonly wallMs: number
  /** Time for which the wall clock has agreed with the steady clock, since the start or since it was last set. */
  readonly evenMs: number
  /** The time by the steady clock since the wall clock was last trusted; absent before. */
  readonly expectedTime?: { readonly nowMs: number; readonly isConfirmed: boolean; readonly isMet: boolean }
  /** The service's clock, as seen since this machine's clock was set. */
  readonly serviceMs?: number
  /**
   * The youngest block of all chains seen since this machine's clock was set: its timestamp plus the time since it was
   * seen.
   */
  readonly head?: { readonly chain: string; readonly nowMs: number }
  /** The latest instant at which this machine stored something, by its clock then. */
  readonly storedMs?: number
  /** When the configuration was written, by this machine's clock then. */
  readonly configuredMs?: number
  /**
   * `awaited`: a service or chain has yet to answer. `silent`: none answered in time. `none`: the service runs in
   * this process, and there is no chain.
   */
  readonly witness: 'awaited' | 'silent' | 'none'
}

declare const earliest: unique symbol

/**
 * The earliest that the present can be, in milliseconds since 1970, by a clock that a witness has confirmed. Only the
 * judgement of the clock makes one: what must not be early, as the finality of a block, takes no plain time.
 */
export type EarliestMs = number & { readonly [earliest]: true }

/** A clock that is believed, and the bounds of the true time. */
interface TrustedClock {
  readonly kind: 'trusted'
  /** Whether the service or a chain agrees. If false, nothing disagrees. */
  readonly isConfirmed: boolean
  /** Earliest true time by all the evidence, in milliseconds since 1970. */
  readonly earliestMs: number
  /** Latest true time by all the evidence, in milliseconds since 1970. */
  readonly latestMs: number
  /** As `earliestMs`; absent while no witness has confirmed the clock, unless there is none to ask. */
  readonly confirmedMs?: EarliestMs
  /** A problem that does not stop the work, as a sentence that says what to do. */
  readonly remark?: string
}

/** A clock that is not believed. */
interface DoubtedClock {
  readonly kind: 'doubted'
  /**
   * `contradicted`: other evidence disagrees. `written`: only what this machine has written disagrees, which may be what was
   * wrong. `unconfirmed`: nothing has agreed so far.
   */
  readonly why: 'contradicted' | 'written' | 'unconfirmed'
  /** One sentence with what to do. */
  readonly reason: string
}

/** Result of judging this machine's clock. */
export type ClockVerdict = TrustedClock | DoubtedClock

/** Decides whether this machine's clock is believed. The rules are in docs/decisions/0003. Pure. */
export function judgeClock(evidence: ClockEvidence): ClockVerdict {
  const { wallMs, expectedTime } = evidence
  const contradictionText = contradiction(evidence)
  if (expectedTime?.isMet && expectedTime.isConfirmed) return trusted(evidence, true)
  if (isWitnessed(evidence)) return trusted(evidence, true)
  if (contradictionText !== undefined) return doubted('contradicted', `${contradictionText}: ${setIt}`)
  if (!isPossible(wallMs))
    return doubted('contradicted', `this machine's clock says ${instantText(wallMs)}, which cannot be: ${setIt}`)
  return judgeAlone(evidence)
}

/** Whether a clock may show an instant: not before this version's release, nor decades after it. */
export function isPossible(instantMs: number): boolean {
  return instantMs >= releasedMs && instantMs <= releasedMs + clockYearsMax * yearMs
}

/** Judges the clock when neither the service nor a recent block says anything. */
function judgeAlone(evidence: ClockEvidence): ClockVerdict {
  const { wallMs, evenMs, expectedTime, storedMs, configuredMs, witness } = evidence
  if (expectedTime?.isMet) return trusted(evidence, false)
  const laterSentence = writtenLater(wallMs, evidence)
  if (laterSentence !== undefined && evenMs < clockPatienceLongMs) {
    const end = `if it is right, it is believed once it has run evenly for ${clockPatienceLongMs / 60_000} min`
    return doubted(
      'written',
      `${laterSentence}: set it right (is NTP running?); ${end}, and nothing is collected until then`,
    )
  }
  if (expectedTime && evenMs < clockPatienceMs) {
    const aheadMs = wallMs - expectedTime.nowMs
    const by = `${spanText(aheadMs)} ${aheadMs < 0 ? 'back' : 'ahead'}`
    return doubted('unconfirmed', `this machine's clock was set ${by}, and ${believedSoon}`)
  }
  if (evenMs >= clockPatienceMs) return trusted(evidence, false)
  if (witness === 'awaited') return doubted('unconfirmed', `this machine's clock is being compared: ${believedSoon}`)
  const isConfigured = configuredMs !== undefined && wallMs - configuredMs < configuredLatelyMs
  const isContinued = witness === 'none' && wallMs - Math.max(storedMs ?? 0, configuredMs ?? 0) < hourMs
  if (isConfigured || isContinued) return trusted(evidence, false)
  return doubted(
    'unconfirmed',
    `nothing confirms this machine's clock, neither the service nor a chain: ${believedSoon}`,
  )
}

/** The beginning of a sentence about an instant after now that this machine has written; `undefined` without one. Pure. */
export function writtenLater(
  wallMs: number,
  { storedMs = 0, configuredMs = 0 }: Pick<ClockEvidence, 'storedMs' | 'configuredMs'>,
): string | undefined {
  const last = Math.max(storedMs, configuredMs)
  if (last <= wallMs + clockReportMs) return undefined
  return `this machine's clock says ${instantText(wallMs)}, and has said ${instantText(last)} before`
}

function trusted(evidence: ClockEvidence, isConfirmed: boolean): TrustedClock {
  const { wallMs, serviceMs, head } = evidence
  const witnessMs = serviceMs ?? head?.nowMs
  // An answer that is far off is outvoted, and says nothing about the hour.
  const nearMs = witnessMs !== undefined && Math.abs(witnessMs - wallMs) <= clockAgreeMs ? witnessMs : wallMs
  // Whole, as every instant is: the time of a witness is carried on by a clock that has fractions.
  const span = { earliestMs: Math.floor(Math.min(wallMs, nearMs)), latestMs: Math.ceil(Math.max(wallMs, nearMs)) }
  const remark = remarkOf(evidence)
  const isSure = isConfirmed || evidence.witness === 'none'
  return {
    kind: 'trusted',
    isConfirmed,
    ...span,
    ...(isSure && { confirmedMs: span.earliestMs as EarliestMs }),
    ...(remark !== undefined && { remark }),
  }
}

/**
 * Offset of the witness of a clock that is believed, and what to do. A chain far behind says nothing of the time; it is
 * asked again only while it leaves the hour open.
 */
function remarkOf({ wallMs, serviceMs, head }: ClockEvidence): string | undefined {
  const offMs = (serviceMs ?? head?.nowMs ?? wallMs) - wallMs
  if (Math.abs(offMs) <= clockReportMs) return undefined
  if (serviceMs !== undefined) return `${offSentence(offMs)}: set it right, unless it is the service’s that is wrong`
  if (!head || Math.abs(offMs) > clockAgreeMs || hourAt(head.nowMs) === hourAt(wallMs)) return undefined
  return `this machine's clock is ${offsetText(-offMs)} the last block of ${head.chain}: let its node catch up, or set the clock right; nothing is collected while they are in different hours`
}

/**
 * Whether the service or a chain confirms the clock. After a small step they must agree better with it than with the
 * expected time.
 */
function isWitnessed({ wallMs, evenMs, serviceMs, head, expectedTime }: ClockEvidence): boolean {
  const offMs = Math.abs((serviceMs ?? Number.NEGATIVE_INFINITY) - wallMs)
  if (serviceMs !== undefined && offMs <= clockAgreeMs) {
    const isNearer = !expectedTime || offMs <= Math.abs(serviceMs - expectedTime.nowMs) + dateBlurMs
    return isNearer || evenMs >= clockPatienceMs
  }
  return head !== undefined && Math.abs(wallMs - head.nowMs) <= clockReportMs
}

/** The evidence that contradicts the clock, as the beginning of a sentence. */
function contradiction({ wallMs, serviceMs, head }: ClockEvidence): string | undefined {
  if (serviceMs !== undefined) return offSentence(serviceMs - wallMs)
  if (head && head.nowMs > wallMs + clockReportMs)
    return `this machine's clock is ${offsetText(wallMs - head.nowMs)} the last block of ${head.chain}`
  return undefined
}

/**
 * Sentence with the offset between this machine's clock and the service's.
 * @param offMs how far the service's clock is ahead
 */
export function offSentence(offMs: number): string {
  return `this machine's clock is ${offsetText(-offMs)} the service's`
}

/** The hour that all evidence agrees on; `undefined` while the clock is doubted or they differ. */
export function agreedHour(verdict: ClockVerdict): Hour | undefined {
  if (verdict.kind === 'doubted') return undefined
  const hour = hourAt(verdict.earliestMs)
  return hour === hourAt(verdict.latestMs) ? hour : undefined
}

function doubted(why: DoubtedClock['why'], reason: string): DoubtedClock {
  return { kind: 'doubted', why, reason }
}

/** `130 min ahead of`, or `behind` when negative. */
function offsetText(ms: number): string {
  return `${spanText(ms)} ${ms < 0 ? 'behind' : 'ahead of'}`
}

/** `130 min`. */
function spanText(ms: number): string {
  const [seconds = 0, minutes = 0, hours = 0, days = 0] = [1, 60, 3_600, 86_400].map(each =>
    Math.round(Math.abs(ms) / 1000 / each),
  )
  // By the rounded number: a second less than 3 h is 3 h, as a second more is.
  const inHours = hours < 72 ? ([hours, 'h'] as const) : ([days, 'd'] as const)
  const inMinutes = minutes < 180 ? ([minutes, 'min'] as const) : inHours
  const [count, unit] = seconds < 120 ? [seconds, 's'] : inMinutes
  return `${count} ${unit}`
}
