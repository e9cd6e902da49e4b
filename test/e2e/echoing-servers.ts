import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listening } from '../support/listening.ts'

/** A server that should never be asked: it writes down who does. */
export async function startElsewhere(): Promise<{ readonly url: string; readonly requests: string[] }> {
  const requests: string[] = []
  const url = await listening((request, response) => {
    requests.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
    response.end('{}')
  })
  return { url, requests }
}

/** All a server could repeat of a request, spelled in every way that servers spell it. */
function echoOf(request: IncomingMessage): string {
  const { url = '', headers } = request
  const authorization = headers.authorization ?? ''
  const key = authorization.replace(/^\w+ /, '')
  const own = String(headers['x-api-key'] ?? '')
  return [url, authorization, key, own, encodeURIComponent(key), JSON.stringify({ authorization })].join(' | ')
}

/** Failure of a node. */
export type NodeMode = 'rpc error' | '401' | '429' | 'html' | 'redirect'

/** A node that always fails and repeats in its answer what it was asked with: path, query, credentials. */
export async function startNode(elsewhere: string) {
  const node = { url: '', mode: 'rpc error' as NodeMode, asked: new Set<string>() }
  node.url = await listening(async (request, response) => {
    const message = `node says no to ${echoOf(request)} of http://${request.headers.host}${request.url}`
    node.asked.add(echoOf(request))
    const asked = await text(request)
    if (request.method === 'GET') return json(response, 403, { error: message })
    const calls = JSON.parse(asked) as { id: number } | { id: number }[]
    const error = (id: number) => ({ jsonrpc: '2.0', id, error: { code: -32000, message, data: message } })
    const answers = Array.isArray(calls) ? calls.map(({ id }) => error(id)) : error(calls.id)
    const body = JSON.stringify(answers)
    if (node.mode === 'rpc error') response.end(body)
    if (node.mode === '401') response.writeHead(401, 'Refused').end(body)
    if (node.mode === '429') response.writeHead(429, { 'retry-after': '1' }).end(body)
    if (node.mode === 'html') response.end(`<html>${message}</html>`)
    if (node.mode === 'redirect') response.writeHead(307, { location: `${elsewhere}${request.url}` }).end(message)
  })
  return node
}

/** The service's answer to a push, or to a registration. */
export type ServiceMode = '400' | '401' | '500' | 'redirect' | 'errors and warnings'

/** A service that repeats the key in all it says, and does not always take it. */
export async function startEchoingService(elsewhere: string) {
  const service = { url: '', mode: '401' as ServiceMode, refused: new Set<string>(), keysSeen: new Set<string>() }
  const seen = (request: IncomingMessage) => {
    const key = (request.headers.authorization ?? '').replace(/^Bearer /, '')
    service.keysSeen.add(key)
    return key
  }
  service.url = await listening(async (request, response) => {
    const key = seen(request)
    const body = await text(request)
    const says = `service says ${echoOf(request)}; it has seen ${[...service.keysSeen].join(' and ')}`
    if (request.url === '/api/validate-key') return json(response, 200, { valid: says })
    if (service.refused.has(key)) return json(response, 401, { error: `refused: ${says}` })
    if (request.method === 'GET') return json(response, 503, { error: says })
    answerPush(service.mode, response, says, body, `${elsewhere}${request.url}?key=${encodeURIComponent(key)}`)
  })
  return service
}

function answerPush(mode: ServiceMode, response: ServerResponse, says: string, body: string, elsewhere: string): void {
  const { metrics = [] } = JSON.parse(body) as { metrics?: { id: string }[] }
  // The same one each time, alone, too.
  const refused = metrics.filter(({ id }) => id === 'vault___Low')
  const processed = metrics.length - refused.length
  const warnings = [`warning: ${says}`, { message: says, nested: { [says]: [says] } }]
  const errors = refused.map(({ id }) => ({
    id,
    index: metrics.findIndex(one => one.id === id),
    message: `error: ${says}`,
  }))
  if (mode === 'redirect') response.writeHead(307, { location: elsewhere }).end(says)
  else if (mode !== 'errors and warnings') json(response, Number(mode), { error: { message: `${mode}: ${says}` } })
  else json(response, 200, { success: errors.length === 0, processed, errors, warnings })
}

/** As PHP writes JSON: slashes are escaped, too. */
function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body).replaceAll('/', '\\/'))
}
