/**
 * A process that takes whatever is pushed, parses it and says yes, for the benchmark: `node sink.ts`. Prints
 * `{ url }`; answers each line with `{ metrics }`, the metrics (or log records, or lines) it has been given since the last.
 * A line `{ delayMs }` lets it answer pushes after so long, from now on.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'

let [delayMs, metrics] = [0, 0]

interface Push {
  readonly metrics: readonly { readonly id: string }[]
}

interface LogExport {
  readonly resourceLogs: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly unknown[] }[] }[]
}

/** By path: how many a body holds, and what is answered. */
const kinds: Readonly<Record<string, (body: string) => { count: number; status: number; answer: string }>> = {
  '/api/metrics': body => {
    const count = (JSON.parse(body) as Push).metrics.length
    return { count, status: 200, answer: `{"success":true,"processed":${count},"errors":[],"warnings":[]}` }
  },
  '/v1/logs': body => {
    const exported = JSON.parse(body) as LogExport
    const records = exported.resourceLogs.flatMap(({ scopeLogs }) =>
      scopeLogs.map(({ logRecords }) => logRecords.length),
    )
    return { count: records.reduce((sum, length) => sum + length, 0), status: 200, answer: '{"partialSuccess":{}}' }
  },
  '/api/validate-key': () => ({ count: 0, status: 200, answer: '{}' }),
  '/api/v2/write': body => ({ count: body.trimEnd().split('\n').length, status: 204, answer: '' }),
}

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const kind = kinds[request.url?.split('?')[0] ?? '']
  const { count, status, answer } = kind?.(Buffer.concat(chunks).toString()) ?? { count: 0, status: 404, answer: '' }
  metrics += count
  response.writeHead(status, { 'content-type': 'application/json' })
  if (delayMs === 0) response.end(answer)
  else exactlyAfter(delayMs, () => response.end(answer))
}

/** Calls a function after some milliseconds. A timer counts whole ones: it is early by 0.3 to late by 1.2. */
function exactlyAfter(ms: number, call: () => void): void {
  const dueMs = performance.now() + ms
  const look = () => void (performance.now() < dueMs ? setImmediate(look) : call())
  setTimeout(look, ms - 2)
}

const server = createServer((request, response) => void take(request, response)).listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
const lines = createInterface({ input: process.stdin })
lines.on('line', line => {
  const wanted = JSON.parse(line) as { readonly delayMs?: number }
  delayMs = wanted.delayMs ?? delayMs
  process.stdout.write(`${JSON.stringify({ metrics })}\n`)
  metrics = 0
})
await once(lines, 'close')
server.closeAllConnections()
server.close()
