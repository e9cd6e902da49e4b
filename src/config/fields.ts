import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { Fault } from '../model/fault.ts'
import { isHeaderName, isSecretHeader } from '../model/host.ts'
import { type Hour, parseHour } from '../model/hour.ts'
import { type ParsedText, parsed, refused, type TextParser } from './addresses.ts'
import { quoted } from './mistakes.ts'

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `500ms`, `60s`, `5m`, `2h`, `35d`: a whole number and one unit. The pattern is for editors; `duration` parses it. */
export const durationPattern = '^[1-9][0-9]{0,8}(ms|s|m|h|d)$'

/** A duration from `minMs` up to `maxMs`, in milliseconds. */
export function duration(maxMs: number, minMs = 1): TextParser<number> {
  return text => {
    const match = new RegExp(durationPattern).exec(text)
    if (!match) return refused(`${quoted(text)} is not a duration`, 'write a whole number and its unit: 500ms, 60s, 5m')
    const unit = match[1] as keyof typeof unitMs
    const ms = Number.parseInt(text, 10) * unitMs[unit]
    if (ms < minMs) return refused(`${quoted(text)} is too short`, `write at least ${durationText(minMs)}`)
    return ms <= maxMs ? parsed(ms) : refused(`${quoted(text)} is too long`, `write at most ${durationText(maxMs)}`)
  }
}

/** A duration up to `maxMs`, or `0s`, in milliseconds. */
export function durationOrNone(maxMs: number): TextParser<number> {
  const some = duration(maxMs)
  return text => (text === '0s' ? parsed(0) : some(text))
}

/** Text of a duration: in days from two days on, in hours from two hours on, else in minutes. */
function durationText(ms: number): string {
  const unit = ms >= 2 * unitMs.d ? 'd' : ms >= 2 * unitMs.h ? 'h' : 'm'
  return `${ms / unitMs[unit]}${unit}`
}

/** The limit of the wire schema. */
const idCharsMax = 200

/** Pattern of a slug, for the JSON Schema. */
export const slugPattern = '^[a-z0-9_-]+$'

/** An identifier as the service would store it, with three underscores in a row reduced to two. */
export function sanitised(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '-')
    .replace(/_{3,}/g, '__')
}

/** A slug: lowercase letters, digits, `-` and `_`. `___` separates a protocol id from a label, so a slug has none. */
export function slug(text: string): ParsedText<string> {
  const fix = /[a-z0-9]/i.test(text) ? `write ${sanitised(text)}` : 'write a slug like awesome-vault'
  if (!new RegExp(slugPattern).test(text)) {
    return refused(`${quoted(text)} is not a slug of lowercase letters, digits, - and _`, fix)
  }
  if (text.includes('___')) return refused(`${quoted(text)} holds ___, which separates an id from a label`, fix)
  if (text.length > idCharsMax) return refused(`an id has at most ${idCharsMax} characters`, 'write a shorter one')
  return parsed(text)
}

/** Default of a collector's own id: the base name of its `use`, without an extension. */
export function ownIdOf(use: string): string {
  const base = use.split(/[/\\]/).findLast(part => part !== '') ?? ''
  return base.replace(/\.[cm]?[jt]s$/, '')
}

/** A full UTC hour, as the first expected one of a collector. */
export function fullHour(text: string): ParsedText<Hour> {
  try {
    return parsed(parseHour(text))
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const known = text.length <= 40
    return refused(
      known ? error.message : 'this text is not an hour',
      error.fix ?? 'write it like 2026-11-20T13:00:00Z',
    )
  }
}

/** Patterns of an hour of the day, and of hours from one to the next, for the JSON Schema. */
export const dayHourPattern = '^([01][0-9]|2[0-3]):00$'
export const everyPattern = '^((1|2|3|4|6|8|12|24)h|1d)$'

/** A full hour of the day in UTC, 0 to 23. */
export function dayHour(text: string): ParsedText<number> {
  if (new RegExp(dayHourPattern).test(text)) return parsed(Number.parseInt(text, 10))
  return refused(`${quoted(text)} is not a full hour of the day`, 'write it like "00:00", in UTC')
}

/** Hours from one to the next, which divide a day. */
export function everyHours(text: string): ParsedText<number> {
  if (new RegExp(everyPattern).test(text)) return parsed(text === '1d' ? 24 : Number.parseInt(text, 10))
  return refused(`${quoted(text)} does not divide a day into full hours`, 'write 24h, 12h, 8h, 6h, 4h, 3h, 2h or 1h')
}

/** Pattern of an environment variable's name, for the JSON Schema. */
const environmentNamePattern = '^[A-Za-z_][A-Za-z0-9_]*$'

/**
 * The name of an environment variable. A mistake does not repeat it: it may be the secret itself, in the wrong place.
 */
export function environmentName(text: string): ParsedText<string> {
  const [, variable] = /^\$\{?([A-Za-z_]\w*)\}?$/.exec(text) ?? []
  if (variable !== undefined) return refused('a variable is named without a $', `write ${variable}`)
  return new RegExp(environmentNamePattern).test(text)
    ? parsed(text)
    : refused('this is not the name of an environment variable', 'write its name, like METRICS_KEY, not its value')
}

/** Pattern of the name of a daemon, for the JSON Schema. */
export const namePattern = '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'

/** The name of a daemon in a fleet, as a host is named. */
export function machineName(text: string): ParsedText<string> {
  return new RegExp(namePattern).test(text)
    ? parsed(text)
    : refused(`${quoted(text)} is not a name of letters, digits, ., - and _`, 'write a name like eu-1')
}

/** A lane: the name of a chain, `web`, or `machine/NAME`. */
export function laneText(text: string): ParsedText<string> {
  const [, machine] = /^machine\/(.*)$/.exec(text) ?? []
  if (machine === undefined) return displayText(text)
  const taken = machineName(machine)
  return taken.ok ? parsed(text) : taken
}

/** A path in the file system. A mistake does not repeat it. */
export function path(text: string): ParsedText<string> {
  if (text.trim() === '') return refused('the path is empty', 'write a path')
  if (text.startsWith('~'))
    return refused('~ is not expanded here', 'write the whole path, or one relative to this file')
  if (/^[a-z]+:\/\//i.test(text) && !isAbsolute(text)) return refused('a path, not a URL, is needed', 'write a path')
  return parsed(text)
}

/** Text for people: not blank, no control characters. */
export function displayText(text: string): ParsedText<string> {
  if (text.trim() === '') return refused('the text is empty', 'write a name')
  if (text.length > idCharsMax) return refused(`the text has more than ${idCharsMax} characters`, 'write a shorter one')
  if (/\p{Cc}/u.test(text)) return refused('the text holds a control character or a line break', 'write it on one line')
  return parsed(text)
}

/** Meaning of a key, for editors and messages: `examples` are as written in the file. */
interface Meaning {
  /** One sentence for editors. */
  readonly description: string
  /** Values as written in the file. */
  readonly examples?: readonly unknown[]
  /** Pattern of valid texts, for editors only. */
  readonly pattern?: string
}

/** Schema of a text that a parser of text-parsers.ts or addresses.ts takes. */
export function textField<T>(parser: TextParser<T>, meaning: Meaning) {
  const { description, examples, pattern } = meaning
  const text = z.string().meta({ description, ...(examples && { examples }), ...(pattern && { pattern }) })
  return text.transform((value, context) => {
    const taken = parser(value)
    if (taken.ok) return taken.value
    const { message, fix } = taken.mistake
    context.addIssue({ code: 'custom', message, params: { fix } })
    return z.NEVER
  })
}

/** Where a secret is kept: `{ file: … }` or `{ env: … }`, exactly one. */
export const secretRef = z
  .strictObject({
    file: textField(path, {
      description: 'File that holds the secret and nothing else; relative to this file.',
    }).optional(),
    env: textField(environmentName, {
      description: 'Environment variable that holds the secret.',
      pattern: environmentNamePattern,
    }).optional(),
  })
  .transform(({ file, env }, context) => {
    if (file !== undefined && env === undefined) return { kind: 'file' as const, path: file }
    if (env !== undefined && file === undefined) return { kind: 'env' as const, name: env }
    const message = file === undefined ? 'says neither file nor env' : 'says both file and env'
    context.addIssue({ code: 'custom', message, params: { fix: 'write one of { file: … } and { env: … }' } })
    return z.NEVER
  })

/** Where a secret is kept. @param name of a variable, for the examples */
export const secretAt = (description: string, name: string) =>
  secretRef.meta({
    description,
    examples: [{ env: name }, { file: `/run/secrets/${name.toLowerCase()}` }],
    minProperties: 1,
    maxProperties: 1,
  })

/** An API key, which is never written in the file. */
export const key = secretRef.meta({
  description: 'Where the API key is kept. It is read when needed, and never written in this file.',
  examples: [{ file: '/run/secrets/metrics_key' }, { env: 'METRICS_KEY' }],
  minProperties: 1,
  maxProperties: 1,
})

/** Headers that are set by the HTTP client. */
const ownNames = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const text = textField(
  value =>
    /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)
      ? parsed({ kind: 'text' as const, text: value })
      : refused('a header holds visible ASCII characters, and blanks between them', 'write it on one line'),
  { description: 'The value itself, if it is not a secret.' },
)

/** Headers of a request by name: a text, or where a secret is kept. */
export const headers = z
  .record(z.string(), z.union([text, secretRef]))
  .superRefine((all, context) => {
    for (const [name, value] of Object.entries(all)) {
      const wrong = mistakeIn(name, value.kind === 'text')
      if (wrong) context.addIssue({ code: 'custom', path: [name], message: wrong[0], params: { fix: wrong[1] } })
    }
  })
  .meta({
    description:
      'Headers of its requests. Secrets are kept elsewhere: authorization, cookie, and names with key, token or secret.',
    examples: [{ authorization: { env: 'RPC_TOKEN' } }],
  })

function mistakeIn(name: string, isText: boolean): readonly [message: string, fix: string] | undefined {
  if (!isHeaderName(name)) return ['this is not the name of a header', 'write it like authorization']
  if (ownNames.has(name.toLowerCase())) return ['this header is set by tidegauge itself', 'remove it']
  if (!isText || !isSecretHeader(name)) return undefined
  return [
    'a secret is never written in this file, only its place',
    'write { env: RPC_TOKEN } or { file: /run/secrets/rpc_token }',
  ]
}

/** Fields of an address that is written itself, or kept in a file or a variable. */
export const addressFields = {
  file: textField(path, {
    description: 'File that holds the address and nothing else; relative to this file.',
  }).optional(),
  env: textField(environmentName, {
    description: 'Environment variable that holds the address.',
    pattern: environmentNamePattern,
  }).optional(),
}

/** Where an address is, which one of the fields says; else a mistake is noted. */
export function addressOf(
  {
    url,
    file,
    env,
  }: { readonly url?: string | undefined; readonly file?: string | undefined; readonly env?: string | undefined },
  context: z.RefinementCtx,
) {
  const count = [url, file, env].filter(one => one !== undefined).length
  if (count === 1 && url !== undefined) return { kind: 'url' as const, url }
  if (count === 1 && file !== undefined) return { kind: 'file' as const, path: file }
  if (count === 1 && env !== undefined) return { kind: 'env' as const, name: env }
  const message = count === 0 ? 'says none of url, file and env' : 'says more than one of url, file and env'
  const fix = 'write one of { url: … }, { file: … } and { env: … }'
  context.addIssue({ code: 'custom', message, params: { fix } })
  return undefined
}
