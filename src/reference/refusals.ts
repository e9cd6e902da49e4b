import type { WebReply, WebRequest, WebServer } from '../edge/web-server.ts'
import { requestBytesMax } from './limits.ts'
import { ServiceRefusal } from './routes/refusal.ts'

/** Called with errors of the service itself (status 500 or 503): they never hold a request's body or key. */
export type Report = (error: Error) => void

/** Error handler: refusals, framework errors and database errors are all answered with the same JSON. */
export function errorAnswer(report: Report) {
  return (error: Error & { code?: string; statusCode?: number }, _request: WebRequest, reply: WebReply): void => {
    const refusal = error instanceof ServiceRefusal ? error : refusalOf(error)
    if (refusal.statusCode >= 500) report(error)
    if (refusal.statusCode === 401) reply.header('www-authenticate', 'Bearer')
    if (refusal.statusCode === 503) reply.header('retry-after', '1')
    reply.code(refusal.statusCode).send(refusal.body)
  }
}

function refusalOf({
  code = '',
  statusCode = 500,
  message,
}: Error & { code?: string; statusCode?: number }): ServiceRefusal {
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new ServiceRefusal(413, `the body is larger than ${requestBytesMax} bytes`)
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new ServiceRefusal(415, 'the body must be sent as application/json')
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return new ServiceRefusal(404, 'no protocol has an id that long')
  if (code.startsWith('FST_ERR_') && statusCode < 500) return new ServiceRefusal(statusCode, message)
  if (code.startsWith('SQLITE_BUSY'))
    return new ServiceRefusal(503, 'another process is writing to the store: try again')
  if (code.startsWith('SQLITE_FULL')) return new ServiceRefusal(503, 'the disk of the service is full: try again later')
  return new ServiceRefusal(500, 'the service failed: try again later')
}

/**
 * Answers unknown paths (404) and known paths with another method (405) in the same JSON. Call it before adding routes.
 */
export function answerUnknownRoutes(server: WebServer): void {
  const methodsByPath = new Map<string, Set<string>>()
  server.addHook('onRoute', ({ url, method }) => {
    const methods = methodsByPath.get(url) ?? new Set()
    for (const each of [method].flat()) methods.add(each)
    methodsByPath.set(url, methods)
  })
  server.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const methods = [...methodsByPath].find(([pattern]) => matches(pattern, path))?.[1]
    if (methods) reply.header('allow', [...methods].join(', '))
    const refusal = methods
      ? new ServiceRefusal(405, `${request.method} is not possible here: use ${[...methods].join(' or ')}`)
      : new ServiceRefusal(404, 'there is nothing at this path; /openapi.json lists what there is')
    reply.code(refusal.statusCode).send(refusal.body)
  })
}

function matches(pattern: string, path: string): boolean {
  const [patternParts, parts] = [pattern.split('/'), path.split('/')]
  if (patternParts.length !== parts.length) return false
  return patternParts.every((part, place) => (part.startsWith(':') ? parts[place] !== '' : part === parts[place]))
}
