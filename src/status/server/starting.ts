import type { IncomingMessage, ServerResponse } from 'node:http'
import { OpenPort } from '../../edge/open-port.ts'
import { systemTime } from '../../edge/time.ts'
import { withFile } from '../../model/advice.ts'
import { familyText, readyFamily } from '../exposition/families.ts'
import { startingPage } from '../page/starting.ts'
import type { ReadinessCause } from '../snapshot.ts'
import { isAllowed, patience, type ServedAddress, securityHeaders } from './guard.ts'

/** Address of the status server. `port` 0: the system picks one. */
type BoundAddress = ServedAddress & { readonly port: number }

/**
 * Opens the port of the status server while the daemon starts.
 *
 * @returns `undefined` when it cannot listen there, or there are several addresses: the status server tries again
 */
export async function openEarly(address: BoundAddress, reason: string | StartProgress): Promise<OpenPort | undefined> {
  if (address.host === 'localhost') return undefined
  return openNotReady(address, reason).catch(() => undefined)
}

/** A daemon that is merely starting, and how far it is. */
export class StartProgress {
  readonly since = new Date(systemTime.nowMs()).toISOString()
  #reached = ''

  /** @param sentence how far it is, without a full stop */
  reach(sentence: string): void {
    this.#reached = `, ${sentence}`
  }

  get reason(): string {
    return `Tidegauge is starting${this.#reached}.`
  }
}

/**
 * Answers in place of the status server while there is no outbox to read: the process lives, and is not ready. `/livez` is
 * 200; `/readyz`, `/status.json` and the page are 503 with the reason; `/metrics` has a readiness of 0.
 *
 * @param reason why it is not ready, as a sentence; or how far a start is
 * @param causes of the reason; absent where nothing is wrong
 * @throws the system's error when it cannot listen there
 */
export function openNotReady(
  address: BoundAddress,
  reason: string | StartProgress,
  causes?: readonly ReadinessCause[],
): Promise<OpenPort> {
  const { host, port } = address
  const state = (): NotReady =>
    typeof reason === 'string'
      ? { reasons: [withFile(reason)], causes }
      : { reasons: [reason.reason], startsSince: reason.since }
  return OpenPort.open({ host, port, ...patience }, (request, response) => answer(address, state(), request, response))
}

/** Its own state; `startsSince` is an instant as text. */
interface NotReady {
  readonly reasons: readonly string[]
  readonly causes?: readonly ReadinessCause[] | undefined
  readonly startsSince?: string
}

function answer(address: ServedAddress, said: NotReady, request: IncomingMessage, response: ServerResponse): void {
  const { status, type, body } = notReadyReply(address, said, request)
  response.writeHead(status, { ...securityHeaders, 'content-type': `${type}; charset=utf-8` })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** The answer to a request while there is no outbox to read. */
export function notReadyReply(
  address: ServedAddress,
  { reasons, causes, startsSince }: NotReady,
  { url, method = '', headers }: IncomingMessage,
) {
  const textReply = (status: number, text: string) => ({ status, type: 'text/plain', body: `${text}\n` })
  const jsonReply = (body: unknown) => ({ status: 503, type: 'application/json', body: JSON.stringify(body) })
  if (!isAllowed(address, headers))
    return textReply(403, 'this server does not answer to that name, nor to pages of others')
  if (method !== 'GET' && method !== 'HEAD') return textReply(405, 'only GET and HEAD are answered')
  switch (url?.split('?', 1)[0]) {
    case '/livez':
      return textReply(200, 'live')
    case '/readyz':
      return jsonReply({ ready: false, reasons, causes })
    case '/status.json':
      return jsonReply({ ready: { ok: false, reasons, causes }, startsSince })
    case '/metrics':
      return { status: 200, type: 'text/plain; version=0.0.4', body: familyText(readyFamily(false)) }
    default:
      return { status: 503, type: 'text/html', body: startingPage(reasons.join(' ')) }
  }
}
