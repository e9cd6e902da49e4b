import { retryAfterMsMax } from './limits.ts'
import { clockSkewMs, type RoundTrip } from './skew.ts'

/** Headers of an HTTP answer, names in lower case; one that came several times has several values. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** What an answer says of the clock and the wishes of whoever gave it. */
export interface AnswerTimes {
  /** How far its clock is ahead of this machine's; absent without a `Date`. */
  readonly skewMs?: number
  /** The instant before which it wants no further request: milliseconds since 1970 by this machine's clock. */
  readonly notBeforeMs?: number
}

/** Reads `Date` and `Retry-After`, of which the latest counts; a date in it is by the clock of whoever answered. Pure. */
export function answerTimes(headers: AnswerHeaders, trip: RoundTrip): AnswerTimes {
  const skewMs = clockSkewMs(valuesOf(headers, 'date')[0], trip)
  const aheadMs = skewMs ?? 0
  const instantsMs = valuesOf(headers, 'retry-after').flatMap(text => {
    return retryAfterInstantMs(text, trip.receivedMs + aheadMs) ?? []
  })
  return {
    ...(skewMs !== undefined && { skewMs }),
    ...(instantsMs.length > 0 && { notBeforeMs: Math.max(...instantsMs) - aheadMs }),
  }
}

function valuesOf(headers: AnswerHeaders, name: string): readonly string[] {
  return [headers[name] ?? []].flat()
}

/** Whole seconds, or an HTTP date; what lies further ahead than a day counts as a day. */
function retryAfterInstantMs(header: string, nowMs: number): number | undefined {
  const text = header.trim()
  if (/^\d+$/.test(text)) return nowMs + Math.min(Number(text) * 1000, retryAfterMsMax)
  const dateMs = /^[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(dateMs) ? undefined : Math.min(Math.max(nowMs, dateMs), nowMs + retryAfterMsMax)
}
