import { isDeepStrictEqual } from 'node:util'
import { isSecretHeader } from '../model/header-name.ts'
import { looksLikeKey } from '../model/host.ts'
import { parsedJson } from '../model/json.ts'
import { secretCharsMin } from '../model/secret-parts.ts'
import type { HttpRead, HttpReply } from '../runner/messages.ts'
import type { Redactor } from '../telemetry/redactor.ts'
import type { RecordedAnswer, RecordedHttp } from './recording.ts'

const redacted = '[redacted]'

/**
 * A request in the form in which it is recorded and compared: without the values of headers, known secrets, and what a
 * query or a body names as one (`api_key=…`).
 */
export function cleanRequest(read: HttpRead, redactor: Redactor): Omit<RecordedHttp, 'answers'> {
  const address = cleanAddress(redactor.redact(read.url))
  const body = read.body === undefined ? {} : { body: cleanBody(read.body, redactor) }
  return { request: `${read.method} ${address}`, headers: [...read.headers], ...body }
}

/** An answer in the form in which it is recorded: JSON as it is where nothing is lost by that. */
export function cleanAnswer(reply: HttpReply, as: HttpRead['as'], redactor: Redactor): RecordedAnswer {
  if (reply.kind === 'faulted') return { fault: JSON.parse(redactor.redact(JSON.stringify(reply.fault))) }
  const json = as === 'json' ? parsedJson(reply.text) : undefined
  const isSame = json !== undefined && isDeepStrictEqual(JSON.parse(JSON.stringify(json)), json)
  if (!isSame) return { text: redactor.redact(reply.text) }
  const clean = cleanJson(json, redactor, isSession)
  const text = JSON.stringify(clean)
  return redactor.redact(text) === text ? { json: clean } : { text: redactor.redact(text) }
}

function cleanAddress(text: string): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  url.pathname = url.pathname.split('/').map(shortened).join('/')
  for (const [name, value] of [...url.searchParams]) if (isKey(name, value)) url.searchParams.set(name, 'redacted')
  return url.href
}

/** A part of a path that looks like a key, cut: the beginning tells two of them apart. */
function shortened(part: string): string {
  return looksLikeKey(part) && !/^0x/i.test(part) ? `${part.slice(0, 4)}-redacted` : part
}

function cleanBody(body: string, redactor: Redactor): unknown {
  const json = parsedJson(body)
  return json === undefined ? redactor.redact(body) : cleanJson(json, redactor, isKey)
}

function cleanJson(value: unknown, redactor: Redactor, isHidden: (name: string, value: string) => boolean): unknown {
  if (typeof value === 'string') return redactor.redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(part => cleanJson(part, redactor, isHidden))
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      redactor.redact(name),
      typeof part === 'string' && isHidden(name, part) ? redacted : cleanJson(part, redactor, isHidden),
    ]),
  )
}

/** Whether a name says that the value is a secret. The address of a token, and its symbol, are none. */
function isKey(name: string, value: string): boolean {
  if (/^0x[0-9a-f]*$/i.test(value) || value.length < secretCharsMin) return false
  return isSecretHeader(name) || /^(app_?id|sig|signature|auth|pass)$/i.test(name)
}

/** Whether an answer's field is what later requests sign in with. */
function isSession(name: string): boolean {
  return /^(access|refresh|id|session|bearer|auth)_?token$|^jwt$|password|secret|api_?key/i.test(name)
}
