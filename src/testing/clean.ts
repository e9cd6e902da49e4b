import { isDeepStrictEqual } from 'node:util'
import { basicParts, isKeyOf, keysInAddress } from '../model/host.ts'
import { isRawNumber, isRecord, jsonOf, keepDigits, parsedJson } from '../model/json.ts'
import type { HttpRead, HttpReply } from '../runner/messages.ts'
import { Redactor } from '../telemetry/redactor.ts'
import type { RecordedAnswer, RecordedHttp } from './recording.ts'

type CleanRequest = Omit<RecordedHttp, 'answers'>

const redacted = '[redacted]'

/**
 * A request in the form in which it is recorded and compared: without the values of headers, known secrets, and what a
 * query or a body names as one (`api_key=…`), also where the request has them a second time.
 */
export function cleanRequest(httpRead: HttpRead, redactor: Redactor): CleanRequest {
  const address = cleanAddress(redactor.redact(httpRead.url))
  const body = httpRead.body === undefined ? {} : { body: cleanBody(httpRead.body, isForm(httpRead.headers), redactor) }
  const sentRedactor = new Redactor()
  sentRedactor.add(sentSecrets(httpRead))
  return withoutSecrets(
    { request: `${httpRead.method} ${address}`, headers: Object.keys(httpRead.headers).sort(), ...body },
    sentRedactor,
  )
}

/** A clean request without further secrets, such as those that other requests have sent. */
export function withoutSecrets({ request, headers, ...rest }: CleanRequest, redactor: Redactor): CleanRequest {
  const body = 'body' in rest ? { body: cleanJson(rest.body, redactor, () => false) } : {}
  return { request: redactor.redact(request), headers, ...body }
}

/** An answer in the form in which it is recorded: JSON as it is where nothing is lost by that. */
export function cleanAnswer(reply: HttpReply, format: HttpRead['as'], redactor: Redactor): RecordedAnswer {
  if (reply.kind === 'faulted')
    return {
      fault: jsonOf(JSON.stringify(cleanJson(reply.fault, redactor, () => false))) as Extract<
        RecordedAnswer,
        { fault: unknown }
      >['fault'],
    }
  const json = format === 'json' ? parsedJson(reply.text, undefined, keepDigits) : undefined
  const isSame = json !== undefined && isDeepStrictEqual(jsonOf(JSON.stringify(json), undefined, keepDigits), json)
  if (!isSame) return { text: cleanText(reply.text, redactor) }
  const redactedJson = cleanJson(json, redactor, isSession)
  const text = JSON.stringify(redactedJson)
  const isJson = redactor.redact(text) === text && JSON.stringify(jsonOf(text)) === text
  return isJson ? { json: redactedJson } : { text: redactor.redact(text) }
}

/** A text, in which JSON stays JSON: a number that is a secret becomes a string. */
function cleanText(text: string, redactor: Redactor): string {
  if (parsedJson(text) === undefined) return redactor.redact(text)
  const parts = /"(?:\\[\s\S]|[^"\\])*\\?(?:"|$)|-?\d[\d.eE+-]*/g
  const redactedText = text.replace(parts, part => {
    if (part.startsWith('"') || redactor.redact(part) === part) return part
    return JSON.stringify(redacted)
  })
  return redactor.redact(redactedText)
}

function cleanAddress(text: string): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  const { protocol, host, pathname, search, hash } = url
  const keys = new Set(keysInAddress(url))
  const path = pathname.split('/').map(part => (keys.has(part) ? shortened(part) : part))
  const query = search.split('&').map(pair => {
    const [name = '', value = ''] = pair.split(/=(.*)/s)
    return keys.has(value) ? `${name}=redacted` : pair
  })
  return `${protocol}//${host}${path.join('/')}${query.join('&')}${hash}`
}

/** A key in a path, cut: the beginning tells two of them apart. */
const shortened = (part: string) => `${part.slice(0, 4)}-redacted`

function cleanBody(body: string, isOfForm: boolean, redactor: Redactor): unknown {
  if (isOfForm) {
    const fields = new URLSearchParams(redactor.redact(body))
    for (const [name, value] of [...fields]) if (isKeyOf(name, value)) fields.set(name, 'redacted')
    return fields.toString()
  }
  const json = parsedJson(body)
  return json === undefined ? redactor.redact(body) : cleanJson(json, redactor, isKeyOf)
}

function cleanJson(value: unknown, redactor: Redactor, isHidden: (name: string, value: string) => boolean): unknown {
  if (typeof value === 'string') return redactor.redact(value)
  if (typeof value === 'number') return redactor.redact(String(value)) === String(value) ? value : redacted
  if (isRawNumber(value)) return redactor.redact(value.rawJSON) === value.rawJSON ? value : redacted
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(part => cleanJson(part, redactor, isHidden))
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      redactor.redact(name),
      typeof part === 'string' && isHidden(name, part) ? redacted : cleanJson(part, redactor, isHidden),
    ]),
  )
}

/** Whether an answer's field is what later requests sign in with. */
function isSession(name: string): boolean {
  return /^(access|refresh|id|session|bearer|auth)_?token$|^jwt$|password|secret|api_?key/i.test(name)
}

/** Headers whose values are no secrets, and words that answers are full of. */
const ordinaryHeaders = /^(accept|content|cache|if|sec-fetch)(-|$)|^(user-agent|origin|referer|pragma|connection|host)$/

/**
 * The values that a request is recorded without: those of its headers, and what its query or its body names as a key.
 * An answer may repeat them. Words such as `?token=bitcoin` are left out: an answer consists of them.
 */
export function sentSecrets({ url, headers, body }: HttpRead): string[] {
  const query = URL.canParse(url) ? [...new URL(url).searchParams] : []
  const fields = [...query, ...(body === undefined ? [] : namedIn(body, isForm(headers)))]
  return [
    ...Object.entries(headers).flatMap(([name, value]) => headerSecrets(name, value)),
    ...fields.filter(([name, value]) => isKeyOf(name, value) && !isWord(name, value)).map(([, value]) => value),
  ].filter(value => !isAddress(value))
}

/** Whether a body is that of a form, by the headers of its request. */
function isForm(headers: HttpRead['headers']): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '')
}

function headerSecrets(name: string, value: string): string[] {
  if (ordinaryHeaders.test(name)) return []
  if (name === 'cookie') return [value, ...value.split(/;\s*/).map(pair => pair.slice(pair.indexOf('=') + 1))]
  if (!/authorization$/.test(name)) return [value]
  const bare = value.replace(/^[\w-]+\s+/, '')
  return [value, bare, ...basicParts(value)]
}

function namedIn(body: string, isOfForm: boolean): (readonly [string, string])[] {
  if (isOfForm) return [...new URLSearchParams(body)]
  return namedTexts(parsedJson(body))
}

function namedTexts(value: unknown): (readonly [string, string])[] {
  if (Array.isArray(value)) return value.flatMap(namedTexts)
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([name, part]) => (typeof part === 'string' ? [[name, part]] : namedTexts(part)))
}

/** Whether a name that may mean a token of a chain, or the key of a map, has a plain word as its value. */
function isWord(name: string, value: string): boolean {
  return /^(tokens?|keys?)$/i.test(name) && /^[a-z]{1,15}$/i.test(value)
}

/** Whether a value is an address of a chain. */
function isAddress(value: string): boolean {
  return /^0x[0-9a-f]{40}$/i.test(value)
}
