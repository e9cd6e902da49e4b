import pointer from 'jsonpointer'
import { type CollectContext, hourText, z } from 'tidegauge'
import { decimalNumber } from './fraction.ts'
import { type JsonRequest, readsPast } from './placeholders.ts'
import { similarWord } from './similar-word.ts'

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

/** Names in a map that are listed. */
const listedMax = 12

/** Mistake at a place of an answer. */
interface Misfit {
  readonly message: string
  /** Instruction for a person. */
  readonly fix: string
}

/**
 * The number at a pointer of an answer whose numbers are text, as it is written there.
 *
 * @param thousands separator that a number may have
 * @throws Error that says what is there
 */
export function decimalAt(json: unknown, path: string, thousands?: string): string {
  const jsonValue = withoutSeparators(valueAt(json, path), thousands)
  if (isDecimal(jsonValue)) return jsonValue
  const { message, fix } = notNumberAt(json, path)
  throw new Error(`${message}, but ${kindOf(jsonValue)}: ${fix}`)
}

/** A number in groups of digits without their separators; anything else as it is. */
function withoutSeparators(value: unknown, thousands: string | undefined): unknown {
  if (thousands === undefined || typeof value !== 'string') return value
  const [first = '', ...groups] = value.trim().split(thousands)
  const last = groups.pop() ?? ''
  // The last group is of three, those before it also of two, as in India. A comma in another place may be a decimal point.
  const isGrouped =
    /^-?\d{1,3}$/.test(first) && groups.every(each => /^\d{2,3}$/.test(each)) && /^\d{3}(\.\d+)?$/.test(last)
  return isGrouped ? [first, ...groups, last].join('') : value
}

/** Whether a part of an answer is a decimal number, with or without quotes. */
function isDecimal(found: unknown): found is string {
  return typeof found === 'string' && found.length <= decimalCharsMax && decimalNumber.test(found)
}

function notNumberAt(json: unknown, path: string): Misfit {
  const value = valueAt(json, path)
  const message = `there is no number at ${path || 'the root'}`
  if (value === undefined) return { message, fix: insteadOf(json, path) }
  if (typeof value === 'string' && /^-?[\d.]+e[+-]?\d{4,}$/i.test(value))
    return { message, fix: 'a number has an exponent of at most three digits: look what the source means by it' }
  if (typeof value === 'string') return { message, fix: textFix(value) }
  if (typeof value !== 'object') return { message, fix: 'let the pointer lead to a number' }
  if (value === null) return { message, fix: 'ask the source why, or let the pointer lead to another number' }
  return { message, fix: `let the pointer lead on to a number in it; ${contentsOf(value, path)}` }
}

function textFix(text: string): string {
  const separator = /[,' _]/.exec(text.trim())?.[0]
  if (separator === undefined || withoutSeparators(text, separator) === text)
    return 'a number is written like 1234.5, without separators and units'
  // In half of the world 12,345 is a little more than twelve.
  const isClear = separator !== ',' || /,.*[,.]/.test(text)
  return isClear
    ? `write thousands: ${JSON.stringify(separator)}, which is between its digits`
    : 'write thousands: "," where the comma stands between thousands; where it is a decimal point, let the pointer lead to another number'
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'a map'
  if (typeof value !== 'string') return String(value)
  return `the text ${JSON.stringify(value.length > shownCharsMax ? `${value.slice(0, shownCharsMax)}…` : value)}`
}

/** Instruction for a pointer that leads nowhere: the names at the last part of it that there is. */
function insteadOf(json: unknown, path: string): string {
  const tokens = path.match(/\/[^/]*/g) ?? []
  const missingIndex = tokens.findIndex((_, index) => valueAt(json, tokens.slice(0, index + 1).join('')) === undefined)
  const parentPath = tokens.slice(0, missingIndex).join('')
  const container = valueAt(json, parentPath)
  if (typeof container !== 'object' || container === null)
    return `${parentPath || 'the root'} is ${kindOf(container)} already`
  const wanted = (tokens[missingIndex] ?? '').slice(1)
  const suggestion = Array.isArray(container) ? undefined : similarWord(wanted, Object.keys(container).map(escaped))
  const meant = suggestion && [parentPath, `/${suggestion}`, ...tokens.slice(missingIndex + 1)].join('')
  const isThere = meant !== undefined && valueAt(json, meant) !== undefined
  return `${contentsOf(container, parentPath)}${isThere ? ` (did you mean ${meant}?)` : ''}`
}

function contentsOf(container: object, path: string): string {
  const shownPath = path || 'the root'
  if (Array.isArray(container)) {
    return container.length === 0
      ? `the list at ${shownPath} is empty`
      : `at ${shownPath} there are 0 to ${container.length - 1}`
  }
  const names = Object.keys(container).map(escaped)
  if (names.length === 0) return `the map at ${shownPath} is empty`
  const more = names.length > listedMax ? `, and ${names.length - listedMax} more` : ''
  return `at ${shownPath} there ${names.length === 1 ? 'is' : 'are'} ${names.slice(0, listedMax).map(shown).join(', ')}${more}`
}

/** A name as a pointer has it. */
const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')

const shown = (name: string) => (name.length > shownCharsMax ? `${name.slice(0, shownCharsMax)}…` : name)

type RunClock = Pick<CollectContext<unknown>, 'hour' | 'nowMs'>

/** A source whose answer is checked before anything is taken out of it. */
export interface JsonSource extends JsonRequest {
  /** Where the answer says which instant it is of; unchecked when absent. */
  readonly time?: string | undefined
  /** Seconds that instant may lie before the hour. Default: 3,600. */
  readonly maxAge?: number | undefined
  /** Where a number must stand. Default: anywhere. */
  readonly pointer?: string | undefined
  /** Pointers at which something else stands than must. Default: none. */
  readonly unmet?: ((json: unknown) => readonly string[]) | undefined
}

/** Seconds that the instant of an answer may lie before the hour, where nothing else is written. */
const maxAgeUsual = 3_600

/** Option of a source with `time`. */
export const maxAgeOption = z
  .number()
  .positive()
  .optional()
  .describe(`seconds that instant may lie before the hour; ${maxAgeUsual}, where nothing else is written`)

/** The mistake of an age without the instant that it is of. */
export function ageMistakes({ time, maxAge }: { readonly time?: unknown; readonly maxAge?: unknown }) {
  return maxAge !== undefined && time === undefined
    ? [{ path: ['maxAge'], message: 'belongs to time, the pointer to the instant that the answer is of' }]
    : []
}

/** Schema of a source's answer; it parses to `{ json }`. */
export function answerOf(source: JsonSource, run: RunClock) {
  const { time = '', pointer: valuePointer } = source
  return withoutFailure
    .superRefine((json, context) => {
      const input = valuePointer === undefined ? undefined : valueAt(json, valuePointer)
      if (valuePointer === undefined || isDecimal(input)) return
      const { message, fix } = notNumberAt(json, valuePointer)
      context.addIssue({ code: 'custom', input, message, params: { fix } })
    })
    .superRefine((json, context) => {
      for (const path of source.unmet?.(json) ?? [])
        context.addIssue({
          code: 'custom',
          input: valueAt(json, path),
          message: `what require asks for must stand at ${path}`,
        })
    })
    .superRefine((json, context) => {
      const misfit = timeMisfit(json, source, run)
      if (!misfit) return
      const { message, fix } = misfit
      context.addIssue({ code: 'custom', path: ['time'], input: valueAt(json, time), message, params: { fix } })
    })
    .transform(json => ({ json }))
}

/** Milliseconds that a source's clock may be ahead of this machine's. */
const aheadMsMax = 60_000

/**
 * Checks the instant that the value is as of, by the answer's own field. A value of a past hour must not be later than the
 * hour; a value of "now" may be, but not later than now.
 */
function timeMisfit(
  json: unknown,
  { time, maxAge = maxAgeUsual, ...source }: JsonSource,
  { hour, nowMs }: RunClock,
): Misfit | undefined {
  if (time === undefined) return undefined
  const latestMs = readsPast(source) ? hour : Math.max(hour, nowMs()) + aheadMsMax
  const value = valueAt(json, time)
  const statedMs = instantMs(value)
  if (statedMs >= hour - maxAge * 1000 && statedMs <= latestMs) return undefined
  const requirement =
    !readsPast(source) && statedMs > latestMs
      ? `the time at ${time} must not lie in the future`
      : `the time at ${time} must be ${hourText(hour)} or up to ${maxAge} s before`
  if (value === undefined) return { message: requirement, fix: insteadOf(json, time) }
  if (Number.isNaN(statedMs))
    return {
      message: requirement,
      fix: 'write time: with the pointer to a count since 1970, or to a date and time like 2026-11-20T13:00:00Z',
    }
  return {
    message: `${requirement}, and is ${new Date(statedMs).toISOString().replace('.000Z', 'Z')}`,
    fix: 'compare the time with the hour; for an older value write a larger maxAge',
  }
}

/** Largest instant of a date, in milliseconds before or after 1970. */
const instantMsMax = 8.64e15

/**
 * Reads an instant: a count since 1970, or a date and time with its offset. The magnitude of a count tells whether it
 * is of seconds, milliseconds, microseconds or nanoseconds: as the next larger unit it would be after the year 5000.
 *
 * @returns milliseconds since 1970; NaN for anything else
 */
function instantMs(time: unknown): number {
  if (typeof time !== 'string') return Number.NaN
  if (/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/i.test(time)) return Date.parse(time)
  const count = decimalNumber.test(time) ? Number(time) : Number.NaN
  const perMs = [1e-3, 1, 1e3, 1e6].find(each => count < 1e14 * each)
  const ms = perMs === undefined ? Number.NaN : count / perMs
  return Math.abs(ms) <= instantMsMax ? ms : Number.NaN
}
