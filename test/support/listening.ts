import { createServer, type RequestListener } from 'node:http'
import { onTestFinished } from 'vitest'

/** Starts an HTTP server on loopback; it ends with the test. @returns its address, without a trailing slash */
export async function listening(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
}
