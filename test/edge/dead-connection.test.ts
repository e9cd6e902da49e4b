import { createSecureServer } from 'node:http2'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { HttpExchange } from '../../src/edge/http-exchange.ts'
import { systemTime } from '../../src/edge/time.ts'
import { certificateFor } from '../support/certificate.ts'

/** Long enough for a handshake on a slow machine. */
const timeoutMs = 1_000
/** Requests until one is answered, at most: one finds out, the others are for a machine that is slow. */
const requestsMax = 5

async function portOf(server: Pick<Server, 'listen' | 'address'>): Promise<number> {
  await new Promise<void>(resolve => void server.listen(0, 'localhost', resolve))
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

/** An HTTP/2 server behind a gateway that forgets its connections and tells neither side. */
async function forgetfulServer() {
  const before = getCACertificates('default')
  const { key, cert } = certificateFor(['localhost'])
  setDefaultCACertificates([...before, cert])
  const server = createSecureServer({ key, cert }, (_, response) => response.end('{}'))
  const serverPort = await portOf(server)
  const [sockets, forgotten] = [new Set<Socket>(), new Set<Socket>()]
  const gateway = createServer(inner => {
    const outer = connect(serverPort, 'localhost')
    sockets.add(inner)
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      from.on('error', () => {})
      from.on('data', bytes => forgotten.has(inner) || to.write(bytes))
      from.on('close', () => to.destroy())
    }
  })
  const port = await portOf(gateway)
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    gateway.close()
    server.close()
    setDefaultCACertificates(before)
  })
  return {
    url: `https://localhost:${port}`,
    sockets,
    forget: () => sockets.forEach(socket => void forgotten.add(socket)),
  }
}

it('an HTTP/2 connection on which nothing comes any more is replaced, however busy it is kept', async () => {
  const { url, sockets, forget } = await forgetfulServer()
  const exchange = new HttpExchange({ url, timeoutMs, bytesMax: 1_000, connections: 2, time: systemTime })
  onTestFinished(() => exchange.close())
  const ask = () => exchange.ask({ method: 'POST', path: '/', headers: {}, body: '{}' })

  expect((await ask()).status).toBe(200)
  expect(sockets.size).toBe(1)
  forget()
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
