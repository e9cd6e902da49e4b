import { isUtf8 } from 'node:buffer'
import { JsonBeyondBounds, jsonOf } from '../model/json.ts'
import { ServiceRefusal } from './routes/refusal.ts'

/** Text that may contain the key `__proto__`, plain or escaped. */
const suspicious = /__proto__|\\u/

/**
 * Parses a request's body as JSON.
 *
 * @throws Refusal 400 for bytes that are not UTF-8, text that is not JSON, and objects with a key `__proto__`
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ServiceRefusal(400, 'the body is not valid UTF-8')
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  try {
    return jsonOf(text, undefined, suspicious.test(text) ? refusePrototype : undefined)
  } catch (error) {
    throw error instanceof ServiceRefusal
      ? error
      : new ServiceRefusal(400, `the body is not JSON: ${whereItBreaks(error)}`)
  }
}

function refusePrototype(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new ServiceRefusal(400, 'the body holds an object with the key __proto__')
  return value
}

/** The parser's message without the part of the body it quotes. */
function whereItBreaks(error: unknown): string {
  if (error instanceof JsonBeyondBounds) return error.message
  const message = error instanceof Error ? error.message : ''
  return /at position \d+.*$/.exec(message)?.[0] ?? (/end of JSON/.test(message) ? 'it ends too early' : 'syntax error')
}
