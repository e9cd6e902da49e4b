import pointer from 'jsonpointer'
import { type Hour, hourText, z } from 'tidegauge'
import { type JsonRequest, readsPast } from './placeholders.ts'

/** The form of a pointer, for a mistake. */
export const pointerRules = 'must be a JSON pointer like /prices/0/usd'

/** Options schema for a JSON pointer (RFC 6901). */
export const jsonPointer = z.string({ error: pointerRules }).regex(/^(\/([^~/]|~[01])*)*$/, { error: pointerRules })

/** Schema of an answer without errors of its own, which GraphQL and JSON-RPC servers give with status 200. */
function withoutErrors(body: unknown) {
  const field = typeof body !== 'object' || body === null ? '' : errorFieldOf(body)
  return z.unknown().superRefine((json, context) => {
    const stated: unknown = typeof json === 'object' && json !== null ? Reflect.get(json, field) : undefined
    const [first] = [stated].flat()
    if (first === undefined || first === null) return
    const said = z.object({ message: z.string() }).safeParse(first).data?.message ?? 'without words'
    context.addIssue({
      code: 'custom',
      path: [field],
      input: stated,
      message: `must be absent, but it says: ${said.slice(0, 200)}`,
    })
  })
}

/** Where the answer to a body says that it failed: `errors` to a GraphQL query, `error` to a JSON-RPC call. */
function errorFieldOf(body: object): string {
  if ('query' in body) return 'errors'
  return 'jsonrpc' in body ? 'error' : ''
}

/** The part of an answer at a JSON pointer, in which -1 is the last of a list; `undefined` where there is none. */
export function valueAt(json: unknown, path: string): unknown {
  return (path.match(/\/[^/]*/g) ?? []).reduce<unknown>((part, token) => {
    if (typeof part !== 'object' || part === null) return undefined
    return token === '/-1' && Array.isArray(part) ? part.at(-1) : pointer.get(part, token)
  }, json)
}

/** A decimal number as text. */
export const decimalText = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i

/** Schema of what stands at a pointer: a number, or a text that is a decimal number. Parses to it as it is. */
export function decimalAt(path: string) {
  const error = `there is no number at ${path || 'the root'}`
  return z.union([z.number(), z.string().regex(decimalText, { error })], { error })
}

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
export function answerOf(source: JsonSource, hour: Hour) {
  const { body, time = '', pointer: at } = source
  return withoutErrors(body)
    .transform(json => ({ json, time: valueAt(json, time), value: valueAt(json, at ?? '') }))
    .pipe(
      z.object({
        json: z.unknown(),
        time: timeAt(source, hour),
        value: at === undefined ? z.unknown() : decimalAt(at),
      }),
    )
}

/**
 * Instant the value is as of, by the answer's own field. A value of a past hour must not be later than the hour; a
 * value of "now" may be.
 */
function timeAt({ time, maxAge, ...asked }: JsonSource, hour: Hour) {
  if (time === undefined) return z.unknown()
  const latestMs = readsPast(asked) ? hour : Number.POSITIVE_INFINITY
  const error = `the time at ${time} must be ${hourText(hour)} or up to ${maxAge} s before`
  return z.unknown().refine(
    stated => {
      const statedMs = instantMs(stated)
      return statedMs >= hour - maxAge * 1000 && statedMs <= latestMs
    },
    { error },
  )
}

/**
 * Reads an instant: seconds or milliseconds since 1970, or a date and time with its offset.
 * @returns milliseconds since 1970; NaN for anything else
 */
function instantMs(stated: unknown): number {
  if (typeof stated === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/i.test(stated)) return Date.parse(stated)
  const number = typeof stated === 'string' && /^\d+(\.\d+)?$/.test(stated) ? Number(stated) : stated
  if (typeof number !== 'number') return Number.NaN
  // As seconds, a larger number would be after the year 5000.
  return number < 1e11 ? number * 1000 : number
}
