import { isDeepStrictEqual } from 'node:util'
import { isKeyOf, keysInAddress } from '../model/host.ts'
import { jsonOf, parsedJson } from '../model/json.ts'
import type { HttpRead, HttpReply } from '../runner/messages.ts'
import { Redactor } from '../telemetry/redactor.ts'
import type { RecordedAnswer, RecordedHttp } from './recording.ts'
import { isForm, sentSecrets } from './sent-secrets.ts'

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
