import { backoffMs, isYetToCome } from '../model/backoff.ts'
import { offSentence } from '../model/clock.ts'
import { type Hour, hourText } from '../model/hour.ts'
import { breakerCapMs, hourMs } from '../model/limits.ts'
import { isOfPage } from '../model/verdict.ts'
import type { Cure } from '../model/waiting.ts'
import type { DestinationState } from '../outbox/contract/delivery-store.ts'
import type { Stop } from './isolate/state.ts'

/** Longest `Retry-After` of the service that is believed: a longer one, as of a page of maintenance, would silence a day. */
export const serviceRetryAfterMsMax = hourMs

/** Pause after a failed flush, doubled with each further one in a row up to `breakerCapMs`; half of it at least. */
export const breakerBaseMs = 5_000

/** The end of a flush, as the gate remembers it. */
export interface FlushEnd {
  /** Why it ended early; absent when every metric had its turn. */
  readonly stop?: Stop
  /** Why metrics are left out without a failure, one sentence each. */
  readonly left: readonly string[]
  /**
   * Offset of the service's clock from this machine's, in milliseconds, positive when ahead; absent until an answer
   * showed it.
   */
  readonly skewMs?: number
}

/** The retry-after instant, in milliseconds since 1970; 0 when it is over or there is none. */
export function retryAfterAt({ notBeforeMs }: Pick<DestinationState, 'notBeforeMs'>, nowMs: number): number {
  return isYetToCome(notBeforeMs, nowMs, serviceRetryAfterMsMax) ? notBeforeMs : 0
}

/** The instant at which an open breaker admits a probe, in milliseconds since 1970; 0 when it is closed. */
export function probeAt({ probeAtMs }: DestinationState, nowMs: number): number {
  return isYetToCome(probeAtMs, nowMs, breakerCapMs) ? probeAtMs : 0
}

/**
 * The state after a flush that sent, or tried to send: the breaker opens after a failure, for longer each time, and
 * closes otherwise. A retry-after in the future outlives both. Pure.
 *
 * @param chance a number from 0 up to 1, for the length of the pause
 */
export function afterFlush(state: DestinationState, end: FlushEnd, nowMs: number, chance: number): DestinationState {
  const { stop, left: remarks, skewMs } = end
  const verdict = stop?.kind ?? (remarks.length > 0 ? 'partly-refused' : 'delivered')
  const failures = stop ? state.failures + 1 : 0
  const notBeforeMs = retryAfterAt(state, nowMs)
  // At least half of the pause, so that a service that is down is spared.
  const pauseMs = backoffMs({ baseMs: breakerBaseMs, capMs: breakerCapMs }, failures, 0.5 + chance / 2)
  const probeAtMs = stop ? nowMs + pauseMs : 0
  return {
    notBeforeMs,
    probeAtMs,
    failures,
    ...waitingOf([...(stop ? [stopFact(stop)] : []), ...remarks]),
    ...(stop && { cure: cureOf(stop) }),
    ...skewOf(skewMs),
    lastPush: { atMs: nowMs, verdict, ...(stop?.status !== undefined && { status: stop.status }) },
  }
}

/**
 * The state after an answered push, in a flush that goes on: the breaker is closed, and a reason why pushes waited is
 * over, whatever it was. Sentences about metrics that are left out without a failure stay. Pure.
 *
 * @param isAccepted whether a metric was delivered
 */
export function afterAnswer(
  state: DestinationState,
  { isAccepted, skewMs }: { readonly isAccepted: boolean } & Pick<FlushEnd, 'skewMs'>,
  nowMs: number,
): DestinationState {
  const { waiting: waitReason, cure: _, ...baseState } = state
  return {
    ...baseState,
    probeAtMs: 0,
    failures: 0,
    ...(waitReason !== undefined && baseState.failures === 0 && { waiting: waitReason }),
    ...skewOf(skewMs),
    ...(isAccepted && { lastPush: { atMs: nowMs, verdict: 'delivered' } }),
  }
}

/**
 * The state after a flush that sent nothing, without a failure; `undefined` when the change is not worth a write. Pure.
 */
export function afterRest(
  state: DestinationState,
  { left: remarks, skewMs }: Omit<FlushEnd, 'stop'>,
): DestinationState | undefined {
  const { waiting: waitReason, cure, ...baseState } = state
  // The reason of a failure stands until something was answered.
  const now =
    baseState.failures > 0
      ? { ...(waitReason !== undefined && { waiting: waitReason }), ...(cure && { cure }) }
      : waitingOf(remarks)
  if (!isSkewNew(state, skewMs) && now.waiting === waitReason) return undefined
  return { ...baseState, ...now, ...skewOf(skewMs) }
}

/** Whether the service's clock is to be stored, where status reads it: less than a minute is not worth a commit. */
export function isSkewNew(state: Pick<DestinationState, 'skewMs'>, skewMs = state.skewMs ?? 0): boolean {
  return Math.abs(skewMs - (state.skewMs ?? 0)) > 60_000
}

function waitingOf(sentences: readonly string[]): { readonly waiting?: string } {
  if (sentences.length === 0) return {}
  return { waiting: cappedSentences(sentences.map(text => text.replace(/\.$/, ''))).join('; ') }
}

function skewOf(skewMs: number | undefined): { readonly skewMs?: number } {
  return skewMs === undefined ? {} : { skewMs }
}

/** Sentences of one destination that are shown; the rest is counted. */
const sentencesMax = 3

/** The fact why a flush ended, as a sentence without its full stop. */
function stopFact({ kind, reason, status, isKeyMissing, isUnchanged }: Stop): string {
  switch (kind) {
    case 'key-refused':
      if (isOfPage(reason)) return `The address does not answer like the service (${reason})`
      return `The service refuses the key (${reason})${isUnchanged ? ', and it has not changed since' : ''}`
    case 'misdirected':
      return `The address does not answer like the service (${reason})`
    case 'transient':
      if (isKeyMissing) return `The key of the service cannot be read: ${reason}`
      return status === undefined || status < 400 ? `Delivery waits (${reason})` : `The service answers ${reason}`
    default:
      return reason
  }
}

/** The way in which the failure of a flush ends. */
function cureOf({ kind, reason, status = 0, isKeyMissing, isNoResult }: Stop): Cure {
  switch (kind) {
    case 'key-refused':
      return isOfPage(reason) ? 'address' : 'new-key'
    case 'misdirected':
      return 'address'
    case 'systemic':
      return 'metrics'
    default:
      if (isKeyMissing) return 'key'
      if (isNoResult) return 'address'
      return status === 429 || status >= 500 ? 'service' : 'doctor'
  }
}

/** Why the newest hour is not sent yet: the service would take it for the future. */
export function aheadSentence(hour: Hour, skewMs: number): string {
  const reason =
    skewMs < 0
      ? `${offSentence(Math.min(skewMs, -60_000))}: set it right`
      : 'this machine’s clock was set back: set it right'
  return `metrics of ${hourText(hour)} lie in the future and wait for it: ${reason}`
}

/** Some sentences, and how many more there are. */
function cappedSentences(sentences: readonly string[]): readonly string[] {
  const more = sentences.length - sentencesMax
  return more > 0 ? [...sentences.slice(0, sentencesMax), `and ${more} more like it`] : sentences
}
