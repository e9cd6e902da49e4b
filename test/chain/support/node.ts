import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { z } from 'zod'

const call = z.object({ id: z.number(), method: z.string(), params: z.array(z.unknown()) })
export type Call = z.infer<typeof call>

/** An HTTP server in the place of a node. */
export interface FakeNode {
  /** With a path, as a provider's URL with its key has one. */
  readonly url: string
  readonly host: string
  /** The methods of each HTTP request so far. */
  readonly requests: string[][]
  stop(): Promise<void>
}

/** The server's reaction to one HTTP request. */
export type Behaviour = (calls: readonly Call[], response: ServerResponse, body: string) => void | Promise<void>

export async function startNode(behaviour: Behaviour, path = '/'): Promise<FakeNode> {
  const requests: string[][] = []
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    const calls = z.union([z.array(call), call.transform(one => [one])]).parse(JSON.parse(body))
    requests.push(calls.map(({ method }) => method))
    await behaviour(calls, response, body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('not listening')
  const host = `127.0.0.1:${address.port}`
  return {
    url: `http://${host}${path}`,
    host,
    requests,
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** An error a node answers. */
export class NodeError extends Error {
  readonly code: number
  readonly data: string | undefined

  constructor(code: number, message: string, data?: string) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** Answers each call by a function; batches as batches. */
export function answering(answer: (method: string, params: readonly unknown[]) => unknown): Behaviour {
  return (calls, response, body) => {
    const answers = calls.map(({ id, method, params }) => {
      try {
        return { jsonrpc: '2.0', id, result: answer(method, params) }
      } catch (error) {
        if (!(error instanceof NodeError)) throw error
        return { jsonrpc: '2.0', id, error: { code: error.code, message: error.message, data: error.data } }
      }
    })
    json(response, body.startsWith('[') ? answers : answers[0])
  }
}

/** Passes everything on to another node. */
export function forwardingTo(url: string): Behaviour {
  return async (_, response, body) => {
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(await answer.text())
  }
}

export function json(response: ServerResponse, answer: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(answer))
}
