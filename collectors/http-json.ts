import pointer from 'jsonpointer'
import { defineCollector, type Hour, headers, hourText, z } from 'tidegauge'

const jsonPointer = z.string().regex(/^(\/([^~/]|~[01])*)*$/, { error: 'must be a JSON pointer like /prices/0/usd' })

/** Placeholders of the hour in an address or a body: as text, in seconds and in milliseconds since 1970. */
const places: Readonly<Record<string, (hour: Hour) => string>> = {
  '{hour}': hourText,
  '{hourSeconds}': hour => String(hour / 1000),
  '{hourMs}': hour => String(hour),
}
const placePattern = /\{\w*hour\w*\}/gi

const options = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https address' })
    .refine(url => (url.match(placePattern) ?? []).every(place => place in places), {
      error: 'the hour is written {hour}, {hourSeconds} or {hourMs}',
    })
    .refine(url => !/^https?:\/\/[^/?#]*\{/i.test(url), { error: 'the hour cannot be a part of the host' })
    .describe('an address with {hour}, {hourSeconds} or {hourMs} in it is asked for past hours, too'),
  headers: headers.optional().describe('what is secret is { env: NAME } or { file: PATH }'),
  body: z
    .union([z.string().min(1), z.record(z.string(), z.unknown()), z.array(z.unknown())])
    .optional()
    .describe(
      'makes it a POST: JSON, or text as it is; {hour}, {hourSeconds} and {hourMs} stand for the hour in it, too',
    ),
  pointer: jsonPointer,
  label: z.string().max(16).default('Value'),
  unit: z.string().optional(),
  min: z.number().optional().describe('a value below is held for a person to look at'),
  max: z.number().optional().describe('a value above is held for a person to look at'),
  time: jsonPointer.optional().describe('where the answer says what instant the value is of'),
  maxAge: z.number().positive().default(3600).describe('seconds that instant may lie before the hour'),
})

/**
 * One number from any JSON answer, at a JSON pointer (RFC 6901: `/prices/0/usd`; an empty pointer is the whole answer).
 * A text that is a decimal number, as many price services answer, counts as that number. A source whose address or body
 * contains the hour can read the past; any other reads only the present.
 */
export default defineCollector({
  options,
  metrics: ({ label, unit, min, max }) => ({ [label]: { unit, min, max } }),
  history: holdsHour,
  async collect({ options, hour, http }) {
    const { url, headers, body, label, time } = options
    const answer = withoutErrors(body)
      .transform(json => ({ value: valueAt(json, options.pointer), time: valueAt(json, time ?? '') }))
      .pipe(z.object({ value: numberAt(options.pointer), time: timeAt(options, hour) }))
    const request = { headers, body: atHour(body, hour), isRead: true }
    return { [label]: (await http.json(inPlaces(url, hour), answer, request)).value }
  },
})

function holdsHour({ url, body }: Pick<z.output<typeof options>, 'url' | 'body'>): boolean {
  const written = url + (body === undefined ? '' : JSON.stringify(body))
  return Object.keys(places).some(place => written.includes(place))
}

function inPlaces(text: string, hour: Hour): string {
  return text.replace(placePattern, place => places[place]?.(hour) ?? place)
}

/** Fills the placeholders in every text of a body; the names of fields stay as they are. */
function atHour(body: unknown, hour: Hour): unknown {
  if (typeof body === 'string') return inPlaces(body, hour)
  if (Array.isArray(body)) return body.map(part => atHour(part, hour))
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.entries(body).map(([name, part]) => [name, atHour(part, hour)]))
}

/**
 * Checks a GraphQL answer. A server answers 200 with `errors` when a query failed, wholly or in part.
 * @throws Error when there are any
 */
function withoutErrors(body: unknown) {
  const isQuery = typeof body === 'object' && body !== null && 'query' in body
  return z.unknown().superRefine((json, context) => {
    const errors: unknown =
      isQuery && typeof json === 'object' && json !== null ? Reflect.get(json, 'errors') : undefined
    if (!Array.isArray(errors) || errors.length === 0) return
    const said = z.object({ message: z.string() }).safeParse(errors[0]).data?.message ?? 'without words'
    context.addIssue({
      code: 'custom',
      path: ['errors'],
      input: errors,
      message: `must be absent, but it says: ${said.slice(0, 200)}`,
    })
  })
}

function valueAt(json: unknown, path: string): unknown {
  if (path === '') return json
  return typeof json === 'object' && json !== null ? pointer.get(json, path) : undefined
}

function numberAt(path: string) {
  const decimal = z.string().regex(/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i)
  return z.union([z.number(), decimal.transform(Number)], { error: `there is no number at ${path || 'the root'}` })
}

/**
 * Instant the value is as of, by the answer's own field. A value of a past hour must not be later than the hour; a
 * value of "now" may be.
 */
function timeAt({ time, maxAge, ...asked }: z.output<typeof options>, hour: Hour) {
  if (time === undefined) return z.unknown()
  const latestMs = holdsHour(asked) ? hour : Number.POSITIVE_INFINITY
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
