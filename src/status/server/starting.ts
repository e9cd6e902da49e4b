import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { OpenPort } from '../../edge/open-port.ts'
import { isAllowed, type ServedAddress, securityHeaders } from './guard.ts'
import { patience } from './limits.ts'
import { notReadyExposition } from './not-ready.ts'

/**
 * Opens the port of the status server while the daemon starts: the process lives, and is not ready. `/livez` answers 200;
 * `/readyz`, `/status.json` and the page 503 with that reason; `/metrics` a readiness of 0.
 *
 * @param reason why it is not ready, as a sentence
 * @returns `undefined` when it cannot listen there, or there are several addresses: the status server tries again
 */
export async function openEarly(
  bound: ServedAddress & { readonly port: number },
  reason = 'Tidegauge is starting.',
): Promise<OpenPort | undefined> {
  const { host, port } = bound
  if (host === 'localhost') return undefined
  return OpenPort.open({ host, port, ...patience }, (request, response) =>
    answer({ ...bound, reason }, request, response),
  ).catch(() => undefined)
}

function answer(bound: EarlyAnswers, { url, method, headers }: IncomingMessage, response: ServerResponse): void {
  const { status, type, body } = replyTo(bound, method, headers, url?.replace(/\?.*$/, ''))
  response.writeHead(status, { ...securityHeaders, 'content-type': type })
  response.end(method === 'HEAD' ? undefined : body)
}

/** The address, and why the daemon is not ready. */
interface EarlyAnswers extends ServedAddress {
  readonly reason: string
}

interface EarlyReply {
  readonly status: number
  readonly type: string
  readonly body: string
}

function replyTo(bound: EarlyAnswers, method = '', headers: IncomingHttpHeaders, path?: string): EarlyReply {
  const { reason } = bound
  if (!isAllowed(bound, headers)) return plain(403, 'this server does not answer to that name, nor to pages of others')
  if (method !== 'GET' && method !== 'HEAD') return plain(405, 'only GET and HEAD are answered')
  const type = 'application/json; charset=utf-8'
  if (path === '/livez') return plain(200, 'live')
  if (path === '/readyz') return { status: 503, type, body: JSON.stringify({ ready: false, reasons: [reason] }) }
  if (path === '/status.json') {
    return { status: 503, type, body: JSON.stringify({ ready: { ok: false, reasons: [reason] } }) }
  }
  if (path === '/metrics')
    return { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body: notReadyExposition }
  return plain(503, reason)
}

function plain(status: number, text: string): EarlyReply {
  return { status, type: 'text/plain; charset=utf-8', body: `${text}\n` }
}
