import { backoffMs, isYetToCome } from '../../model/backoff.ts'
import { breakerCapMs } from '../../model/limits.ts'
import type { DestinationState } from '../../outbox/contract/destination.ts'
import { breakerBaseMs, serviceRetryAfterMsMax } from './limits.ts'
import { cappedSentences, stopSentence } from './sentences.ts'
import type { Stop } from './stop.ts'

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
  const { stop, left, skewMs } = end
  const verdict = stop?.kind ?? (left.length > 0 ? 'partly-refused' : 'delivered')
  const failures = stop ? state.failures + 1 : 0
  const notBeforeMs = retryAfterAt(state, nowMs)
  // At least half of the pause, so that a service that is down is spared.
  const pauseMs = backoffMs({ baseMs: breakerBaseMs, capMs: breakerCapMs }, failures, 0.5 + chance / 2)
  const probeAtMs = stop ? nowMs + pauseMs : 0
  return {
    notBeforeMs,
    probeAtMs,
    failures,
    ...waitingOf([...(stop ? [stopSentence(stop, Math.max(notBeforeMs, probeAtMs), notBeforeMs > 0)] : []), ...left]),
    ...skewOf(skewMs),
    lastPush: { atMs: nowMs, verdict },
  }
}

/**
 * The state after an answered push, in a flush that goes on: the breaker is closed, and a reason why pushes waited is
 * over, whatever it was. Sentences about metrics that are left out without a failure stay. Pure.
 *
 * @param isAccepted whether a metric was delivered
 */
export function afterAnswer(state: DestinationState, isAccepted: boolean, nowMs: number): DestinationState {
  const { waiting, ...rest } = state
  return {
    ...rest,
    probeAtMs: 0,
    failures: 0,
    ...(waiting !== undefined && rest.failures === 0 && { waiting }),
    ...(isAccepted && { lastPush: { atMs: nowMs, verdict: 'delivered' } }),
  }
}

/**
 * The state after a flush that sent nothing, without a failure; `undefined` when the change is not worth a write. Pure.
 */
export function afterRest(
  state: DestinationState,
  { left, skewMs }: Omit<FlushEnd, 'stop'>,
): DestinationState | undefined {
  const { waiting, ...rest } = state
  const now = waitingOf(left)
  // Status reads the skew from here; a change of less than a minute is not worth a commit.
  const isSkewNew = Math.abs((skewMs ?? rest.skewMs ?? 0) - (rest.skewMs ?? 0)) > 60_000
  if (!isSkewNew && (rest.failures > 0 || now.waiting === waiting)) return undefined
  return { ...rest, ...now, ...skewOf(skewMs) }
}

function waitingOf(sentences: readonly string[]): { readonly waiting?: string } {
  if (sentences.length === 0) return {}
  return { waiting: cappedSentences(sentences).join('; ').replaceAll('.; ', '. ') }
}

function skewOf(skewMs: number | undefined): { readonly skewMs?: number } {
  return skewMs === undefined ? {} : { skewMs }
}
