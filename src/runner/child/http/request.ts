import type { HttpRequest } from '../../../collector.ts'
import { Fault } from '../../../model/fault.ts'
import { cut } from '../thrown/thrown.ts'
import { httpRequestBytesMax } from './limits.ts'

/** A request in the form it is sent. */
export interface SentRequest {
  readonly method: 'GET' | 'POST'
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Absent for a GET. */
  readonly body?: string
  /** Whether it may be retried after a failure. */
  readonly isRead: boolean
}

const known: ReadonlySet<string> = new Set([
  'headers',
  'body',
  'method',
  'isRead',
  'statuses',
  'numbers',
] satisfies (keyof HttpRequest)[])

/**
 * Turns a collector's request into the form it is sent in.
 *
 * @param accept default of that header
 * @throws Fault `http-refused` for unknown or invalid fields
 */
export function sentRequest(request: HttpRequest = {}, accept: string): SentRequest {
  const unknown = Object.keys(request).filter(name => !known.has(name))
  if (unknown.length > 0) {
    throw refused(`knows no ${unknown.map(cut).join(', ')}`, `write of ${[...known].join(', ')}`)
  }
  const body = bodyOf(request.body)
  if (request.numbers !== undefined && request.numbers !== 'text')
    throw refused('gives numbers as numbers or as text', "leave numbers out, or write numbers: 'text'")
  const { method = body === undefined ? 'GET' : 'POST', isRead } = request
  if (method !== 'GET' && method !== 'POST') throw refused('sends only GET and POST', 'leave method out')
  if (method === 'GET' && body !== undefined) throw refused('sends no body with a GET', 'leave method out')
  const type = typeof request.body === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
  return {
    method,
    headers: { accept, ...(body !== undefined && { 'content-type': type }), ...lowerCase(request.headers ?? {}) },
    ...(body !== undefined && { body }),
    isRead: method === 'GET' || (isRead ?? isGraphqlRead(request.body)),
  }
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function bodyOf(body: unknown): string | undefined {
  if (body === undefined) return undefined
  const text = typeof body === 'string' ? body : jsonOf(body)
  if (text === undefined) throw refused('cannot write this body as JSON', 'turn big integers and dates into text first')
  if (Buffer.byteLength(text) > httpRequestBytesMax) {
    throw refused(`sends no body of more than ${httpRequestBytesMax / 1_048_576} MiB`, 'ask for less at a time')
  }
  return text
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** Whether a body is a GraphQL request that changes nothing. In doubt it is not. */
function isGraphqlRead(body: unknown): boolean {
  const query: unknown = typeof body === 'object' && body !== null && 'query' in body ? body.query : undefined
  return typeof query === 'string' && !/\bmutation\b/.test(query)
}

function refused(what: string, fix: string): Fault {
  return new Fault('http-refused', `http ${what}`, { fix })
}
