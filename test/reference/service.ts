import { onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { startReference } from '../../src/reference/server.ts'
import type { Store } from '../../src/reference/store.ts'

/** The service's clock unless a test sets it: 2026-11-20T13:20:00Z. */
export const startMs = Date.UTC(2026, 10, 20, 13, 20)

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

export interface Service {
  readonly url: string
  readonly store: Store
  /** The service's clock. */
  readonly clock: { ms: number }
  /** Errors the service reported as its own. */
  readonly reported: Error[]
  /** A key that owns the protocol `vault`. */
  readonly key: string
  /** @param key `undefined` to send none */
  get(path: string, key?: string): Promise<Answer>
  /** A body that is no string or bytes is sent as JSON. */
  post(path: string, body: unknown, key?: string): Promise<Answer>
  push(metrics: readonly unknown[], key?: string): Promise<Answer>
}

/** A real service on a port of its own, on a file of its own or in memory, stopped when the test ends. */
export async function startService(file = ':memory:'): Promise<Service> {
  const clock = { ms: startMs }
  const reported: Error[] = []
  const time = { ...systemTime, nowMs: () => clock.ms }
  const report = (error: Error) => reported.push(error)
  const { url, store, stop } = await startReference({ file, host: '127.0.0.1', port: 0, time, report })
  onTestFinished(stop)
  const key = store.keys.create('owner')
  const owner = store.keys.find(key)
  if (owner) store.protocols.register({ id: 'vault', name: 'Vault', visibility: 'private' }, owner)

  const send = async (path: string, request: RequestInit, sender: string | undefined): Promise<Answer> => {
    const headers = { ...request.headers, ...(sender === undefined ? {} : { authorization: `Bearer ${sender}` }) }
    const response = await fetch(`${url}${path}`, { ...request, headers })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  const post = (path: string, body: unknown, sender?: string) => {
    const raw = typeof body === 'string' || body instanceof Uint8Array ? new Blob([asBytes(body)]) : undefined
    const headers = { 'content-type': 'application/json' }
    return send(path, { method: 'POST', headers, body: raw ?? JSON.stringify(body) }, sender)
  }
  return {
    url,
    store,
    clock,
    reported,
    key,
    get: (path, sender) => send(path, {}, sender),
    post,
    push: (metrics, sender = key) => post('/api/metrics', { metrics }, sender),
  }
}

function asBytes(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(typeof body === 'string' ? Buffer.from(body) : body)
}

/** A metric of the protocol `vault`, as it is submitted. */
export function metric(
  label: string,
  value: number,
  rest: { timestamp?: string; unit?: string; module?: string } = {},
) {
  return { id: `vault___${label}`, protocolId: 'vault', value, ...rest }
}

/** `HH:MM` or a date and that, as an instant of 2026-11-20 in UTC. */
export function at(text: string): string {
  return `${text.includes('T') ? text : `2026-11-20T${text}`}:00Z`
}
