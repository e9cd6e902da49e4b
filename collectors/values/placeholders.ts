import { type Hour, z } from 'tidegauge'

/** Meaning of the placeholders. */
export interface ReadMoment {
  readonly hour: Hour
  /** Number of the as-of block; absent without a chain. */
  readonly block?: bigint
}

/** The hour as text, in seconds and in milliseconds since 1970. */
const hourForms = {
  hour: (atMs: number) => `${new Date(atMs).toISOString().slice(0, 19)}Z`,
  hourSeconds: (atMs: number) => String(atMs / 1000),
  hourMs: (atMs: number) => String(atMs),
} as const

/** A placeholder: a form of the hour and the seconds that are taken from it, or the block. */
const place = /\{(?:(hour|hourSeconds|hourMs)(?:-(\d{1,9}))?|block)\}/g
/** A placeholder, or a misspelt one. */
const placeAlike = /\{\w*(?:hour|block)[^{}\s]*\}?/gi

const isPlace = (text: string) => text.replace(place, '') === ''

/** Options schema for the address of a source, with or without placeholders. */
export const sourceUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .refine(url => (url.match(placeAlike) ?? []).every(isPlace), {
    error: 'the hour is written {hour}, {hourSeconds} or {hourMs}, and the block {block}',
  })
  .refine(url => !/^https?:\/\/[^/?#]*\{/i.test(url), { error: 'the hour cannot be a part of the host' })
  .describe('an address with {hour}, {hourSeconds}, {hourMs} or {block} in it is asked for past hours, too')

/** Options schema for the body of a request. */
export const sourceBody = z.union([z.string().min(1), z.record(z.string(), z.unknown()), z.array(z.unknown())])

/** Parts of a request in which placeholders may stand. */
export interface JsonRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: unknown
}

/** The placeholders in the address, the headers and the body. */
function placesIn({ url, headers, body }: JsonRequest): readonly string[] {
  return (url + JSON.stringify([headers, body])).match(place) ?? []
}

/** Whether the request holds the number of the as-of block. */
export function asksBlock(asked: JsonRequest): boolean {
  return placesIn(asked).includes('{block}')
}

/** Whether past values can be asked for: the request says its hour or block. */
export function readsPast(asked: JsonRequest): boolean {
  return placesIn(asked).length > 0
}

/** Whether the request says its hour. */
export function asksHour(asked: JsonRequest): boolean {
  return placesIn(asked).some(name => name !== '{block}')
}

/** Fills the placeholders of a text. */
export function inPlaces(text: string, { hour, block }: ReadMoment): string {
  return text.replace(place, (_place, form?: keyof typeof hourForms, secondsBefore = '0') =>
    form === undefined ? String(block) : hourForms[form](hour - Number(secondsBefore) * 1000),
  )
}

/** Fills the placeholders in every text of a body; the names of fields stay as they are. */
export function inBody(body: unknown, moment: ReadMoment): unknown {
  return inTexts(body, text => inPlaces(text, moment))
}

/** A body with each of its texts replaced. */
export function inTexts(body: unknown, fill: (text: string) => string): unknown {
  if (typeof body === 'string') return fill(body)
  if (Array.isArray(body)) return body.map(part => inTexts(part, fill))
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.entries(body).map(([name, part]) => [name, inTexts(part, fill)]))
}
