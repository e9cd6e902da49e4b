import { type Listening, listen } from '../../edge/web-server.ts'
import { html } from '../page/html.ts'
import type { ServedAddress } from './guard.ts'
import { notReadyExposition } from './not-ready.ts'
import { guardedServer } from './server.ts'

/** Content of the page while the daemon cannot use its outbox. */
export interface WaitingDeps extends ServedAddress {
  /** 0: the system picks one. */
  readonly port: number
  /** The problem and what to do, in one line. */
  readonly reason: string
}

/**
 * Serves in place of the status server while there is no outbox to read: the process lives, and is not ready. `/livez`
 * answers 200; `/readyz` 503 with the reason; the page and `/status.json` 503 with the reason; `/metrics` a readiness
 * of 0.
 *
 * @throws Fault `address-unusable` when it cannot listen there
 */
export async function startWaiting(deps: WaitingDeps): Promise<Listening> {
  const { host, port, reason } = deps
  const server = guardedServer(deps)
  const reasons = [reason]
  server.get('/livez', async (_, reply) => reply.type('text/plain; charset=utf-8').send('live\n'))
  server.get('/readyz', async (_, reply) => reply.code(503).send({ ready: false, reasons }))
  server.get('/status.json', async (_, reply) => reply.code(503).send({ ready: { ok: false, reasons } }))
  server.get('/metrics', async (_, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(notReadyExposition),
  )
  server.get('/', async (_, reply) => reply.code(503).type('text/html; charset=utf-8').send(page(reason)))
  return listen(server, host, port)
}

function page(reason: string): string {
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="10">
<title>Tidegauge waits</title>
<h1>Tidegauge waits for its outbox</h1>
<p>${reason}</p>
<p>It continues as soon as the outbox can be used.</p>
</html>
`.toString()
}
