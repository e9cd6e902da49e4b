import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
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

/** A server that answers each request with JSON. @param answer of a request and its body; `status` is 200 by default */
export async function answering(
  answer: (request: IncomingMessage, body: string) => Promise<JsonReply> | JsonReply,
): Promise<string> {
  return listening(async (request, response) => {
    const { status = 200, headers, body } = await answer(request, await text(request))
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  })
}

interface JsonReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

/** The answer of a service that accepts a whole push. */
export const allAccepted = (metrics: readonly unknown[]) => ({
  body: { success: true, processed: metrics.length, errors: [], warnings: [] },
})
