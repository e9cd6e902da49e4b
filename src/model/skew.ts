/** When a request was sent and its answer received, in milliseconds since 1970 by this machine's clock. */
export interface RoundTrip {
  /** When the request was sent. */
  readonly sentMs: number
  /** When its answer was received. */
  readonly receivedMs: number
}

/** An HTTP date (RFC 9110, 5.6.7); `Date.parse` alone would accept any number. */
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

/** The last date that was read: a date stays the same for a second, and to read one takes as long as to read its answer. */
let latest = { text: '', instantMs: Number.NaN }

function instantOf(text: string): number {
  if (text !== latest.text) latest = { text, instantMs: httpDate.test(text) ? Date.parse(text) : Number.NaN }
  return latest.instantMs
}

/**
 * Offset of another machine's clock from this one's, by the `Date` header of its answer, which counts whole seconds. Of
 * all offsets that explain the header, the smallest is returned. Pure.
 *
 * @returns milliseconds, negative when it is behind; `undefined` without a date
 */
export function clockSkewMs(dateHeader: string | undefined, { sentMs, receivedMs }: RoundTrip): number | undefined {
  const dateMs = dateHeader === undefined ? Number.NaN : instantOf(dateHeader)
  if (Number.isNaN(dateMs)) return undefined
  const [least, most] = [dateMs - receivedMs, dateMs + 999 - sentMs]
  if (least > most) return undefined
  return least > 0 ? least : Math.min(most, 0)
}
