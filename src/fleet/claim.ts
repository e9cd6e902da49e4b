import { touchMs, trustMs } from './limits.ts'

/**
 * A job as one daemon has claimed it. The engine counts each claim of a job, and knows a stale one by that. Of a job that
 * was deleted and made again it counts from 0: then `madeAtMs` differs.
 */
export interface JobAttempt {
  readonly id: string
  readonly retryCount: number
  /** When the job was made, by the database's clock, in milliseconds since 1970. */
  readonly madeAtMs: number
}

/** A daemon's claim of a job. Instants are of its steady clock, in milliseconds. */
export interface Claim {
  readonly attempt: JobAttempt
  /** When the latest accepted touch was sent. */
  readonly touchedAtMs: number
  /** Another daemon has the job, or it is gone: final. */
  readonly isLost: boolean
}

/** News of a claim. A touch without an answer changes nothing; time does. */
export type ClaimEvent =
  /** The engine accepted a touch, or a commit under the claim, that was sent at an instant. */
  | { readonly kind: 'touched'; readonly sentAtMs: number }
  /** The engine did not find the claim. */
  | { readonly kind: 'refused' }

/** A claim that was just fetched. @param sentAtMs when the request was sent */
export function newClaim(attempt: JobAttempt, sentAtMs: number): Claim {
  return { attempt, touchedAtMs: sentAtMs, isLost: false }
}

/** The claim after an event. An answer that comes late never makes it look older than it is. Pure. */
export function claimAfter(claim: Claim, event: ClaimEvent): Claim {
  if (claim.isLost) return claim
  if (event.kind === 'refused') return { ...claim, isLost: true }
  return { ...claim, touchedAtMs: Math.max(claim.touchedAtMs, event.sentAtMs) }
}

/**
 * Whether a daemon may act on its claim without asking: no other can have it. A process that was paused finds here that
 * it must ask. Pure.
 */
export function isTrusted(claim: Claim, nowMs: number): boolean {
  return !claim.isLost && nowMs - claim.touchedAtMs < trustMs
}

/** Milliseconds for which a claim is trusted from now on, unless it is touched; 0 when it is not. Pure. */
export function trustLeftMs(claim: Claim, nowMs: number): number {
  return isTrusted(claim, nowMs) ? claim.touchedAtMs + trustMs - nowMs : 0
}

/** Whether it is time to touch a claim. Pure. */
export function isTouchDue(claim: Claim, nowMs: number): boolean {
  return !claim.isLost && nowMs - claim.touchedAtMs >= touchMs
}
