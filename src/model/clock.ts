import {
  clockAgreeMs,
  clockPatienceLongMs,
  clockPatienceMs,
  clockToldMs,
  clockYearsMax,
  configuredLatelyMs,
  releasedMs,
  yearMs,
} from './clock-limits.ts'
import { type Hour, hourAt } from './hour.ts'
import { hourMs } from './limits.ts'

/** What can be known of the time. Instants are milliseconds since 1970. */
export interface ClockEvidence {
  /** What this machine's clock says. */
  readonly wallMs: number
  /** How long it has gone evenly by the steady clock, since the start or since it was set. */
  readonly evenMs: number
  /** What it should say by the steady clock since it was trusted last; absent before. */
  readonly expected?: { readonly nowMs: number; readonly isConfirmed: boolean; readonly isMet: boolean }
  /** What the service's clock says, seen since this machine's was set. */
  readonly serviceMs?: number
  /** The youngest block of all chains, seen since this machine's clock was set: its instant, and the time passed since it was seen. */
  readonly head?: { readonly chain: string; readonly nowMs: number }
  /** The latest instant at which this machine has stored something, by its own clock then. */
  readonly storedMs?: number
  /** When the configuration was written, by this machine's clock then. */
  readonly configuredMs?: number
  /** Whether somebody could say more, and has not answered yet; `nobody`: the service is inside this process, and there is no chain. */
  readonly witness: 'awaited' | 'silent' | 'nobody'
}

/** How late it is, as far as it is known. */
export interface TrustedClock {
  readonly kind: 'trusted'
  /** Whether something beside this machine agrees. Else nothing disagrees. */
  readonly isConfirmed: boolean
  /** The true time lies between these, as far as anybody says. */
  readonly earliestMs: number
  readonly latestMs: number
  /** What is wrong although it can be worked with, as a sentence with what to do. */
  readonly remark?: string
}

/** What the clock says is not believed. */
export interface DoubtedClock {
  readonly kind: 'doubted'
  /** `contradicted`: something says otherwise. `unconfirmed`: nothing has agreed so far. */
  readonly why: 'contradicted' | 'unconfirmed'
  /** One sentence with what to do. */
  readonly reason: string
}

/** Whether this machine's clock is believed. */
export type ClockVerdict = TrustedClock | DoubtedClock

/** Whether this machine's clock is believed. The rules are in ARCHITECTURE.md. Pure. */
export function judgeClock(evidence: ClockEvidence): ClockVerdict {
  const { wallMs, expected } = evidence
  const other = contradiction(evidence)
  if (expected?.isMet && expected.isConfirmed) return trusted(evidence, true)
  if (isWitnessed(evidence)) return trusted(evidence, true)
  if (other !== undefined) return doubted('contradicted', `${other}: ${setIt}`)
  if (!isPossible(wallMs))
    return doubted('contradicted', `this machine's clock says ${textOf(wallMs)}, which cannot be: ${setIt}`)
  return judgeAlone(evidence)
}

/** Whether a clock may show an instant: neither before this version was made, nor decades after. */
export function isPossible(instantMs: number): boolean {
  return instantMs >= releasedMs && instantMs <= releasedMs + clockYearsMax * yearMs
}

/** Nobody beside this machine says anything. */
function judgeAlone(evidence: ClockEvidence): ClockVerdict {
  const { wallMs, evenMs, expected, storedMs, configuredMs, witness } = evidence
  if (expected?.isMet) return trusted(evidence, false)
  const last = Math.max(storedMs ?? 0, configuredMs ?? 0)
  if (last > wallMs + clockToldMs && evenMs < clockPatienceLongMs) {
    const what = `this machine's clock says ${textOf(wallMs)}, and has said ${textOf(last)} before`
    return doubted('contradicted', `${what}: ${setIt}`)
  }
  if (expected && evenMs < clockPatienceMs) {
    const by = spanText(wallMs - expected.nowMs)
    return doubted('unconfirmed', `this machine's clock was set ${by}, and ${believedSoon}`)
  }
  if (evenMs >= clockPatienceMs) return trusted(evidence, false)
  if (witness === 'awaited') return doubted('unconfirmed', `this machine's clock is being compared: ${believedSoon}`)
  const isConfigured = configuredMs !== undefined && wallMs - configuredMs < configuredLatelyMs
  const isContinued = witness === 'nobody' && wallMs - last < hourMs
  if (isConfigured || isContinued) return trusted(evidence, false)
  return doubted(
    'unconfirmed',
    `nothing confirms this machine's clock, neither the service nor a chain: ${believedSoon}`,
  )
}

function trusted(evidence: ClockEvidence, isConfirmed: boolean): TrustedClock {
  const { wallMs, serviceMs, head } = evidence
  const offMs = serviceMs === undefined ? 0 : serviceMs - wallMs
  const witnessMs = serviceMs ?? head?.nowMs
  // Whoever is far off is outvoted, and says nothing about the hour.
  const nearMs = witnessMs !== undefined && Math.abs(witnessMs - wallMs) <= clockAgreeMs ? witnessMs : wallMs
  const span = { earliestMs: Math.min(wallMs, nearMs), latestMs: Math.max(wallMs, nearMs) }
  const remark =
    Math.abs(offMs) > clockToldMs
      ? { remark: `${offSentence(offMs)}: set it right, unless it is the service’s that is wrong` }
      : {}
  return { kind: 'trusted', isConfirmed, ...span, ...remark }
}

/** Somebody beside this machine agrees; of a clock that was set by little, more than with what it should say. */
function isWitnessed({ wallMs, evenMs, serviceMs, head, expected }: ClockEvidence): boolean {
  const offMs = Math.abs((serviceMs ?? Number.NEGATIVE_INFINITY) - wallMs)
  if (serviceMs !== undefined && offMs <= clockAgreeMs) {
    const isNearer = !expected || offMs <= Math.abs(serviceMs - expected.nowMs) + dateBlurMs
    return isNearer || evenMs >= clockPatienceMs
  }
  return head !== undefined && Math.abs(wallMs - head.nowMs) <= clockToldMs
}

/** What says otherwise, as the beginning of a sentence. */
function contradiction({ wallMs, serviceMs, head }: ClockEvidence): string | undefined {
  if (serviceMs !== undefined) return offSentence(serviceMs - wallMs)
  if (head && head.nowMs > wallMs + clockToldMs)
    return `this machine's clock is ${spanText(wallMs - head.nowMs)} the last block of ${head.chain}`
  return undefined
}

/** How far this machine's clock is from the service's. @param offMs how far the service's is ahead */
export function offSentence(offMs: number): string {
  return `this machine's clock is ${spanText(-offMs)} the service's`
}

/** The hour that all who say anything agree on; `undefined` while the clock is doubted, or they do not agree. */
export function agreedHour(verdict: ClockVerdict): Hour | undefined {
  if (verdict.kind === 'doubted') return undefined
  const hour = hourAt(verdict.earliestMs)
  return hour === hourAt(verdict.latestMs) ? hour : undefined
}

/** A `Date` counts whole seconds, and was on its way. */
const dateBlurMs = 2_000

const setIt = 'set it right (is NTP running?); nothing is collected until then'
const believedSoon = `it is believed once it has gone evenly for ${clockPatienceMs / 1000} s and nothing says otherwise`

function doubted(why: DoubtedClock['why'], reason: string): DoubtedClock {
  return { kind: 'doubted', why, reason }
}

function textOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** `130 min ahead of`, by the sign. */
function spanText(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000)
  const [count, unit] =
    seconds < 120
      ? [seconds, 's']
      : seconds < 10_800
        ? [Math.round(seconds / 60), 'min']
        : seconds < 259_200
          ? [Math.round(seconds / 3_600), 'h']
          : [Math.round(seconds / 86_400), 'd']
  return `${count} ${unit} ${ms < 0 ? 'behind' : 'ahead of'}`
}
