import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { HttpExchange } from '../../src/edge/http-exchange.ts'
import { systemTime } from '../../src/edge/time.ts'
import { certificateFor } from '../support/certificate.ts'
import { relayTo } from '../support/relay.ts'

/** Long enough for a handshake on a slow machine. */
const timeoutMs = 1_000
/** Requests until one is answered, at most: one finds out, the others are for a machine that is slow. */
const requestsMax = 5

/** An HTTP/2 server on loopback that clients of this process trust. @returns its port */
async function startServer(): Promise<number> {
  const before = getCACertificates('default')
  const { key, cert } = certificateFor(['localhost'])
  setDefaultCACertificates([...before, cert])
  const server = createSecureServer({ key, cert }, (_, response) => response.end('{}')).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
    setDefaultCACertificates(before)
  })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

it('an HTTP/2 connection on which nothing comes any more is replaced, however busy it is kept', async () => {
  const relay = await relayTo({ port: await startServer() })
  const url = `https://localhost:${relay.port}`
  const exchange = new HttpExchange({ url, timeoutMs, connections: 2, time: systemTime })
  onTestFinished(() => exchange.close())
  const ask = () => exchange.ask({ method: 'POST', path: '/', headers: {}, body: '{}', bytesMax: 1_000 })

  expect((await ask()).status).toBe(200)
  expect(relay.opened).toBe(1)
  relay.forget()
  const outcomes: (number | string)[] = []
  while (outcomes.at(-1) !== 200 && outcomes.length < requestsMax) {
    outcomes.push(
      await ask().then(
        ({ status }) => status,
        error => `${error}`,
      ),
    )
  }
  expect(outcomes.at(-1), outcomes.join('\n')).toBe(200)
  expect(outcomes[0]).not.toBe(200)
})
