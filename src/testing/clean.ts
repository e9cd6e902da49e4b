import { isDeepStrictEqual } from 'node:util'
import { looksLikeKey } from '../model/host.ts'
import { jsonOf, parsedJson } from '../model/json.ts'
import type { HttpRead, HttpReply } from '../runner/messages.ts'
import { Redactor } from '../telemetry/redactor.ts'
import type { RecordedAnswer, RecordedHttp } from './recording.ts'
import { isForm, isKey, sentSecrets } from './sent-secrets.ts'

type CleanRequest = Omit<RecordedHttp, 'answers'>

const redacted = '[redacted]'

/**
 * A request in the form in which it is recorded and compared: without the values of headers, known secrets, and what a
 * query or a body names as one (`api_key=…`), also where the request has them a second time.
 */
export function cleanRequest(read: HttpRead, redactor: Redactor): CleanRequest {
  const address = cleanAddress(redactor.redact(read.url))
  const body = read.body === undefined ? {} : { body: cleanBody(read.body, isForm(read.headers), redactor) }
  const own = new Redactor()
  own.add(sentSecrets(read))
  return withoutSecrets(
    { request: `${read.method} ${address}`, headers: Object.keys(read.headers).sort(), ...body },
    own,
  )
}

/** A clean request without further secrets, such as those that other requests have sent. */
export function withoutSecrets({ request, headers, ...rest }: CleanRequest, redactor: Redactor): CleanRequest {
  const body = 'body' in rest ? { body: cleanJson(rest.body, redactor, () => false) } : {}
  return { request: redactor.redact(request), headers, ...body }
}

/** An answer in the form in which it is recorded: JSON as it is where nothing is lost by that. */
export function cleanAnswer(reply: HttpReply, as: HttpRead['as'], redactor: Redactor): RecordedAnswer {
  if (reply.kind === 'faulted')
    return {
      fault: jsonOf(JSON.stringify(cleanJson(reply.fault, redactor, () => false))) as Extract<
        RecordedAnswer,
        { fault: unknown }
      >['fault'],
    }
  const json = as === 'json' ? parsedJson(reply.text) : undefined
  const isSame = json !== undefined && isDeepStrictEqual(jsonOf(JSON.stringify(json)), json)
  if (!isSame) return { text: cleanText(reply.text, redactor) }
  const clean = cleanJson(json, redactor, isSession)
  const text = JSON.stringify(clean)
  return redactor.redact(text) === text ? { json: clean } : { text: redactor.redact(text) }
}

/** A text, in which JSON stays JSON: a number that is a secret becomes a string. */
function cleanText(text: string, redactor: Redactor): string {
  if (parsedJson(text) === undefined) return redactor.redact(text)
  const parts = /"(?:\\.|[^"\\])*"|-?\d[\d.eE+-]*/g
  const whole = text.replace(parts, part => {
    if (part.startsWith('"') || redactor.redact(part) === part) return part
    return JSON.stringify(redacted)
  })
  return redactor.redact(whole)
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

function cleanBody(body: string, isOfForm: boolean, redactor: Redactor): unknown {
  if (isOfForm) {
    const fields = new URLSearchParams(redactor.redact(body))
    for (const [name, value] of [...fields]) if (isKey(name, value)) fields.set(name, 'redacted')
    return fields.toString()
  }
  const json = parsedJson(body)
  return json === undefined ? redactor.redact(body) : cleanJson(json, redactor, isKey)
}

function cleanJson(value: unknown, redactor: Redactor, isHidden: (name: string, value: string) => boolean): unknown {
  if (typeof value === 'string') return redactor.redact(value)
  if (typeof value === 'number') return redactor.redact(String(value)) === String(value) ? value : redacted
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
