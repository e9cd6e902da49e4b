import { basicParts, isKeyOf } from '../model/host.ts'
import { isRecord, parsedJson } from '../model/json.ts'
import type { HttpRead } from '../runner/messages.ts'

/** Headers whose values are no secrets, and words that answers are full of. */
const ordinaryHeaders = /^(accept|content|cache|if|sec-fetch)(-|$)|^(user-agent|origin|referer|pragma|connection|host)$/

/**
 * The values that a request is recorded without: those of its headers, and what its query or its body names as a key.
 * An answer may repeat them. Words such as `?token=bitcoin` are left out: an answer consists of them.
 */
export function sentSecrets({ url, headers, body }: HttpRead): string[] {
  const query = URL.canParse(url) ? [...new URL(url).searchParams] : []
  const named = [...query, ...(body === undefined ? [] : namedIn(body, isForm(headers)))]
  return [
    ...Object.entries(headers).flatMap(([name, value]) => headerSecrets(name, value)),
    ...named.filter(([name, value]) => isKeyOf(name, value) && !isWord(name, value)).map(([, value]) => value),
  ].filter(value => !isAddress(value))
}

/** Whether a body is that of a form, by the headers of its request. */
export function isForm(headers: HttpRead['headers']): boolean {
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
