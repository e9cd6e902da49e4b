import pointer from 'jsonpointer'
import { type CollectContext, hourText, z } from 'tidegauge'
import { decimalNumber } from './fraction.ts'
import { type JsonRequest, readsPast } from './placeholders.ts'

/** The form of a pointer, for a mistake. */
export const pointerRules = 'must be a JSON pointer like /prices/0/usd'

/** Options schema for a JSON pointer (RFC 6901). */
export const jsonPointer = z.string({ error: pointerRules }).regex(/^(\/([^~/]|~[01])*)*$/, { error: pointerRules })

/** Schema of an answer that states no failure of its own, as GraphQL and JSON-RPC servers do with status 200. */
const withoutFailure = z.unknown().superRefine((json, context) => {
  for (const [place, each] of [json].flat().entries()) {
    const failure = failureIn(each)
    if (!failure) continue
    const [field, input] = failure
    const said = z.object({ message: z.string() }).safeParse([input].flat()[0]).data?.message ?? 'without words'
    const message = `must be absent, but it says: ${said.slice(0, 200)}`
    const path = Array.isArray(json) ? [place, field] : [field]
    return context.addIssue({ code: 'custom', path, input, message })
  }
})

/**
 * The field in which an answer states that it failed, and what stands there: `errors` of GraphQL with or without `data`, or
 * `error` of JSON-RPC. The answer's shape decides: a query may be sent as JSON, as text, in the address or by its hash.
 */
function failureIn(answer: unknown): readonly [field: string, stated: object] | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined
  const names = Object.keys(answer)
  const isGraphql = names.includes('data') || names.every(name => name === 'errors' || name === 'extensions')
  const field = isGraphql ? 'errors' : names.includes('jsonrpc') ? 'error' : ''
  const stated: unknown = Reflect.get(answer, field)
  const isStated = typeof stated === 'object' && stated !== null && Object.keys(stated).length > 0
  return isStated ? [field, stated] : undefined
}

/** The part of an answer at a JSON pointer, in which -1 is the last of a list; `undefined` where there is none. */
export function valueAt(json: unknown, path: string): unknown {
  return (path.match(/\/[^/]*/g) ?? []).reduce<unknown>((part, token) => {
    if (typeof part !== 'object' || part === null) return undefined
    return token === '/-1' && Array.isArray(part) ? part.at(-1) : pointer.get(part, token)
  }, json)
}

/** Characters of a number in an answer: a longer one would only take long to calculate with. */
const decimalCharsMax = 20_000

/** Characters of a text in place of a number that are shown. */
const shownCharsMax = 40

/** The value in place of a number, in words, and an instruction. */
function insteadOfNumber(found: unknown): string {
  if (found === undefined) return 'nothing: compare the pointer with the answer'
  if (typeof found === 'object' && found !== null) {
    return `${Array.isArray(found) ? 'a list' : 'a map'}: let the pointer lead on to a number in it`
  }
  if (typeof found !== 'string') return String(found)
  const text = found.length > shownCharsMax ? `${found.slice(0, shownCharsMax)}…` : found
  return `the text ${JSON.stringify(text)}: a number is written like 1234.5, without separators and units`
}

/**
 * Schema of what stands at a pointer of an answer whose numbers are text, as they are asked for: a decimal number, with
 * or without quotes. Parses to it as it is written.
 */
export function decimalAt(path: string) {
  const error = ({ input }: { readonly input?: unknown }) =>
    `there is no number at ${path || 'the root'}, but ${insteadOfNumber(input)}`
  return z.string({ error }).max(decimalCharsMax, { error }).regex(decimalNumber, { error })
}

type RunClock = Pick<CollectContext<unknown>, 'hour' | 'nowMs'>

/** A source whose answer is checked before anything is taken out of it. */
export interface JsonSource extends JsonRequest {
  /** Where the answer says which instant it is of; unchecked when absent. */
  readonly time?: string | undefined
  /** Seconds that instant may lie before the hour. */
  readonly maxAge: number
  /** Where a number must stand. Default: anywhere. */
  readonly pointer?: string | undefined
}

/** Schema of a source's answer; it parses to `{ json }`. */
export function answerOf(source: JsonSource, run: RunClock) {
  const { time = '', pointer: at } = source
  return withoutFailure
    .transform(json => ({ json, time: valueAt(json, time), value: valueAt(json, at ?? '') }))
    .pipe(
      z.object({
        json: z.unknown(),
        time: timeAt(source, run),
        value: at === undefined ? z.unknown() : decimalAt(at),
      }),
    )
}

/** Milliseconds that a source's clock may be ahead of this machine's. */
const aheadMsMax = 60_000

/**
 * Instant the value is as of, by the answer's own field. A value of a past hour must not be later than the hour; a
 * value of "now" may be, but not later than now.
 */
function timeAt({ time, maxAge, ...asked }: JsonSource, { hour, nowMs }: RunClock) {
  if (time === undefined) return z.unknown()
  const latestMs = readsPast(asked) ? hour : Math.max(hour, nowMs()) + aheadMsMax
  const wanted = `the time at ${time} must be ${hourText(hour)} or up to ${maxAge} s before`
  const error = ({ input }: { readonly input?: unknown }) =>
    !readsPast(asked) && instantMs(input) > latestMs ? `the time at ${time} must not lie in the future` : wanted
  return z.unknown().refine(
    stated => {
      const statedMs = instantMs(stated)
      return statedMs >= hour - maxAge * 1000 && statedMs <= latestMs
    },
    { error },
  )
}

/**
 * Reads an instant: a count since 1970, or a date and time with its offset. The magnitude of a count tells whether it
 * is of seconds, milliseconds, microseconds or nanoseconds: as the next larger unit it would be after the year 5000.
 *
 * @returns milliseconds since 1970; NaN for anything else
 */
function instantMs(stated: unknown): number {
  if (typeof stated !== 'string') return Number.NaN
  if (/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/i.test(stated)) return Date.parse(stated)
  const count = decimalNumber.test(stated) ? Number(stated) : Number.NaN
  const perMs = [1e-3, 1, 1e3, 1e6].find(each => count < 1e14 * each)
  return perMs === undefined ? Number.NaN : count / perMs
}
