import { faultFromRecord, isPermanent } from '../../model/fault.ts'
import { type Hour, hourText } from '../../model/hour.ts'
import { overdueMs } from '../../model/limits.ts'
import type { Lateness } from '../../outbox/contract/status-store.ts'
import type { Readiness } from '../../status/snapshot.ts'

/** Longest text of a ping, in characters; older servers of the Healthchecks.io convention keep 10 kB. */
const summaryCharsMax = 8_000

/** Report of an hour: that its collecting begins, or its result. */
export interface Ping {
  readonly kind: 'start' | 'success' | 'fail'
  readonly hour: Hour
  /** Why it failed, and what waits for a person, a sentence each. */
  readonly sentences: readonly string[]
}

/** An hour that is not reported yet. */
export interface OpenHour {
  readonly hour: Hour
  /** Lateness as of the hour itself. */
  readonly lateness: Lateness
  /** Readiness as of the hour itself, at an instant when nothing is still caught up. */
  readonly ready: Readiness
  readonly nowMs: number
  /** When the loops were started, in milliseconds since 1970. */
  readonly startedAtMs: number
}

/**
 * The result of an hour, as soon as it is known: all is collected and delivered; all that is left fails until something
 * is changed; or a quarter of an hour has passed since its turn, or since a start after it. It is what readiness says of
 * that hour, so that the two agree: what waits for a person's decision is no failure, unless it turns readiness red. Pure.
 *
 * @returns `undefined` while it is open
 */
export function resultOf({ hour, lateness, ready, nowMs, startedAtMs }: OpenHour): Ping | undefined {
  const { late, missing, due } = lateness
  const isFinal =
    missing.length === 0 && !due && late.every(({ fault }) => fault && isPermanent(faultFromRecord(fault)))
  // The start lies in the future if the clock was set back since.
  const sinceMs = startedAtMs > nowMs ? hour : Math.max(hour, startedAtMs)
  if (!isFinal && nowMs - sinceMs < overdueMs) return undefined
  return { kind: ready.ok ? 'success' : 'fail', hour, sentences: [...ready.reasons, ...(ready.warnings ?? [])] }
}

/** Text of a ping: the hour, and its sentences. */
export function pingText({ hour, sentences }: Ping): string {
  const text = [hourText(hour), ...sentences].join('\n')
  return text.length > summaryCharsMax ? `${text.slice(0, summaryCharsMax)}…` : text
}

const endings = { start: '/start', success: '', fail: '/fail' } as const

/** Address of a ping: the check's, with `/start` or `/fail` after its path. Secret. */
export function pingUrl(check: string, kind: Ping['kind']): string {
  const url = new URL(check)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${endings[kind]}`
  return url.href
}
