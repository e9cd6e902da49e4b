import { type Backoff, backoffMs } from '../model/backoff.ts'
import type { Fault } from '../model/fault.ts'
import { type Hour, hourAt } from '../model/hour.ts'
import { recollectBaseMs, recollectCapMs } from '../model/limits.ts'
import type { CollectionOutcome, DueHour, EnqueueMode } from '../outbox/contract/hours.ts'
import type { Collected } from './validate.ts'

/** Why an hour is collected. It says what a failure means, and what becomes of values that the hour has already. */
export type Purpose =
  /** It is expected, and due. */
  | { readonly kind: 'due' }
  /** Its block or its logs were replaced. @property oldest the oldest hour that is tried until it can be read */
  | { readonly kind: 'replaced'; readonly oldest: Hour }
  /** A backfill was asked for it. @property mode whether differing values are corrected */
  | { readonly kind: 'backfill'; readonly mode: EnqueueMode }

/** The purpose of hours that are due. */
export const due: Purpose = { kind: 'due' }

/** Effect of a reading on its hour. */
export type HourOutcome =
  /** The values that it has are stored; `failure` says why others lack. */
  | ({ readonly kind: 'stored' } & Pick<CollectionOutcome, 'mode' | 'unexpected' | 'failure'>)
  /** It cannot be had now: only a backfill, or a start within the hour, tries it again. */
  | { readonly kind: 'gap'; readonly fault: Fault }
  /** Its values stay as they are, and are not looked at again. */
  | { readonly kind: 'given-up'; readonly fault: Fault }
  /** Nothing is stored: it stays as it is, and may be tried again. */
  | { readonly kind: 'left'; readonly fault: Fault }

/** Attempts after which a past hour whose state no endpoint has becomes a gap. */
const stateMissingAttemptsMax = 3

/** First wait while a chain has no block past the hour yet: short, since a block is due any second. */
const chainBehindBaseMs = 1_000

const chainBehindCapMs = 30_000

const ordinary: Backoff = { baseMs: recollectBaseMs, capMs: recollectCapMs }
const chainBehind: Backoff = { baseMs: chainBehindBaseMs, capMs: chainBehindCapMs }

/** The instant at which a reading of an hour ended, and a random number from 0 up to 1. */
interface EndedAt {
  readonly nowMs: number
  readonly chance: number
}

/**
 * Decides what becomes of an hour that was read. Pure.
 *
 * @param hour as it was before this attempt
 */
export function outcomeOf(
  hour: Omit<DueHour, 'collector'>,
  { acceptedValues, fault }: Pick<Collected, 'acceptedValues' | 'fault'>,
  purpose: Purpose,
  { nowMs, chance }: EndedAt,
): HourOutcome {
  switch (purpose.kind) {
    case 'due': {
      if (!fault) return { kind: 'stored' }
      if (isGap(fault, hour, nowMs)) return { kind: 'gap', fault }
      const nextAttemptMs = nowMs + retryDelayMs(fault, hour.attempts + 1, chance)
      return { kind: 'stored', failure: { fault, nextAttemptMs } }
    }
    case 'replaced':
      if (!fault) return { kind: 'stored', mode: 'correct' }
      return { kind: hour.hour >= purpose.oldest ? 'left' : 'given-up', fault }
    case 'backfill': {
      const { mode } = purpose
      if (!fault) return { kind: 'stored', mode, unexpected: true }
      // It lies before the first block: there is nothing to list.
      if (acceptedValues.length === 0 && fault.code === 'chain-before-first-block') return { kind: 'left', fault }
      // Values of an incomplete hour are kept. The hour was not expected, so that its rest is not retried.
      return { kind: 'stored', mode, unexpected: true, failure: { fault, nextAttemptMs: nowMs } }
    }
  }
}

/**
 * Wait before a failed hour is retried, in milliseconds; at least half of the backoff, to spare a dead node.
 *
 * @param attempt the failed attempt, counted from 1
 */
function retryDelayMs(fault: Fault, attempt: number, chance: number): number {
  return backoffMs(fault.code === 'chain-behind' ? chainBehind : ordinary, attempt, 0.5 + chance / 2)
}

/**
 * Whether a failed hour is a gap. Before the first block that is so at once; where state is missing only of past hours, and
 * not at the first attempt: a node that has just started may lack recent state for a while.
 */
function isGap({ code }: Fault, { hour, attempts, fault }: Omit<DueHour, 'collector'>, nowMs: number): boolean {
  if (code !== 'chain-state-missing') return code === 'chain-before-first-block'
  if (hour >= hourAt(nowMs) || attempts + 1 < stateMissingAttemptsMax) return false
  return fault?.code === code
}
