import { retryAfterMsMax } from './limits.ts'

/** Headers of an HTTP answer, names in lower case; one that came several times has several values. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Clock and retry-after of a server, from the headers of its answer. */
export interface AnswerTimes {
  /** Offset of its clock from this machine's, in milliseconds, positive when ahead; absent without a `Date`. */
  readonly skewMs?: number
  /** Its retry-after, in milliseconds since 1970 by this machine's clock; absent when it names none. */
  readonly notBeforeMs?: number
}

/** When a request was sent and its answer received, in milliseconds since 1970 by this machine's clock. */
interface RoundTrip {
  /** When the request was sent. */
  readonly sentMs: number
  /** When its answer was received. */
  readonly receivedMs: number
}

/** Reads `Date` and `Retry-After` (the latest one counts, and a date in it is by the server's clock). Pure. */
export function answerTimes(headers: AnswerHeaders, trip: RoundTrip): AnswerTimes {
  const { date, 'retry-after': retryAfter } = headers
  const skewMs = clockSkewMs(typeof date === 'object' ? date[0] : date, trip)
  const aheadMs = skewMs ?? 0
  const instantsMs = [retryAfter ?? []]
    .flat()
    .flatMap(text => retryAfterInstantMs(text, trip.receivedMs + aheadMs) ?? [])
  return {
    ...(skewMs !== undefined && { skewMs }),
    ...(instantsMs.length > 0 && { notBeforeMs: Math.max(...instantsMs) - aheadMs }),
  }
}

/** Reads whole seconds or an HTTP date; an instant more than a day ahead counts as a day ahead. */
function retryAfterInstantMs(header: string, nowMs: number): number | undefined {
  const text = header.trim()
  if (/^\d+$/.test(text)) return nowMs + Math.min(Number(text) * 1000, retryAfterMsMax)
  const dateMs = /^[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(dateMs) ? undefined : Math.min(Math.max(nowMs, dateMs), nowMs + retryAfterMsMax)
}

/** An HTTP date (RFC 9110, 5.6.7); `Date.parse` alone would accept any number. */
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

/**
 * Offset of another machine's clock from this one's, by the `Date` header of its answer, which counts whole seconds. Of
 * all offsets that explain the header, the smallest is returned. Pure.
 *
 * @returns milliseconds, negative when it is behind; `undefined` without a date
 */
export function clockSkewMs(dateHeader: string | undefined, { sentMs, receivedMs }: RoundTrip): number | undefined {
  const dateMs = dateHeader !== undefined && httpDate.test(dateHeader) ? Date.parse(dateHeader) : Number.NaN
  if (Number.isNaN(dateMs)) return undefined
  const [least, most] = [dateMs - receivedMs, dateMs + 999 - sentMs]
  if (least > most) return undefined
  return least > 0 ? least : Math.min(most, 0)
}
