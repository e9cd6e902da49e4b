import { isUtf8 } from 'node:buffer'
import swagger from '@fastify/swagger'
import { jsonSchemaTransform, jsonSchemaTransformObject, type ZodTypeProvider } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import type { Time } from '../edge/time.ts'
import { listen, type WebReply, type WebRequest, type WebServer, webServer } from '../edge/web-server.ts'
import { JsonBeyondBounds, jsonOf } from '../model/json.ts'
import { addRoutes, invalid, ServiceRefusal } from './routes.ts'
import { openStore, type Store } from './store.ts'

/** File and address of the service. */
interface ReferenceOptions {
  /** Created if missing, with its folder; `:memory:` for a temporary one. Several processes may share it. */
  readonly file: string
  readonly host: string
  /** 0: the system picks one. */
  readonly port: number
  readonly time: Time
  /** Called with errors of answers 500 and 503. */
  readonly report?: Report
}

/** A listening service. */
interface Reference {
  /** `http://host:port`, without a trailing slash. */
  readonly url: string
  /** To create keys and set visibility; closed by `stop`. */
  readonly store: Store
  /** Stops the service; resolves when every connection and the file are closed. */
  stop(): Promise<void>
}

/**
 * Starts the reference service.
 *
 * @throws errors of `openStore`; Fault `address-unusable` when it cannot listen there
 */
export async function startReference({ file, host, port, time, report }: ReferenceOptions): Promise<Reference> {
  const store = openStore(file, time)
  try {
    const server = await referenceServer(store, time, report ?? (() => {}))
    const { url, stop } = await listen(server, host, port)
    return {
      url,
      store,
      async stop() {
        await stop()
        store.close()
      },
    }
  } catch (error) {
    store.close()
    throw error
  }
}

/** Creates a server with the six endpoints of the interface and `/openapi.json`; it does not listen yet. */
export async function referenceServer(store: Store, time: Time, report: Report): Promise<WebServer> {
  const frameworkErrors = errorAnswer(report)
  const routerOptions = { maxParamLength: pathIdBytesMax }
  const server = webServer({ bodyLimit: requestBytesMax, routerOptions, frameworkErrors })
  server.decorateRequest('caller', null)
  server.setErrorHandler(errorAnswer(report))
  readJsonOnly(server)
  checkBySchema(server)
  answerUnknownRoutes(server)
  await publishOpenApi(server)
  addRoutes({ server: server.withTypeProvider<ZodTypeProvider>(), store, time })
  return server
}

function readJsonOnly(server: WebServer): void {
  server.removeAllContentTypeParsers()
  const parseAs = 'buffer'
  server.addContentTypeParser('application/json', { parseAs }, async (_request: WebRequest, body: Buffer) =>
    parseJsonBody(body),
  )
}

/** zod validates requests; the compiler checks answers against their schemas. */
function checkBySchema(server: WebServer): void {
  server.setValidatorCompiler<z.ZodType>(({ schema, httpPart }) => {
    const error: z.core.$ZodErrorMap = ({ input }) => (input === undefined ? 'is missing' : undefined)
    return (value: unknown) => {
      const parsed = schema.safeParse(value, { error })
      return parsed.success ? { value: parsed.data } : { error: invalid(httpPart ?? 'request', parsed.error) }
    }
  })
  server.setSerializerCompiler(() => value => JSON.stringify(value))
}

/** Publishes `/openapi.json`, generated from the validating schemas. Await it before adding routes. */
async function publishOpenApi(server: WebServer): Promise<void> {
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Protocol metrics service, reference implementation',
        version: '1.0.0',
        description: 'Stores named numeric metrics grouped under protocols; a widget reads the latest of each.',
      },
      servers: [{ url: '/' }],
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'Authorization: Bearer <API_KEY>' },
        },
      },
    },
    transform: jsonSchemaTransform,
    transformObject: document => withoutUnused(jsonSchemaTransformObject(document)),
  })
  let text: string | undefined
  server.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
    text ??= JSON.stringify(server.swagger())
    return reply.type('application/json').send(text)
  })
}

/** Removes unused components: named schemas of other parts of the program. */
function withoutUnused(document: ReturnType<typeof jsonSchemaTransformObject>): typeof document {
  if (!('components' in document)) return document
  const { components, ...otherParts } = document
  const schemas: Record<string, unknown> = { ...components?.schemas }
  const names = new Set<string>()
  const follow = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (names.has(name)) continue
      names.add(name)
      follow(schemas[name])
    }
  }
  follow(otherParts)
  const kept = Object.fromEntries(Object.entries(schemas).filter(([name]) => names.has(name)))
  return { ...document, components: { ...components, schemas: kept } } as typeof document
}

/** Text that may contain the key `__proto__`, plain or escaped. */
const suspicious = /__proto__|\\u/

/**
 * Parses a request's body as JSON.
 *
 * @throws Refusal 400 for bytes that are not UTF-8, text that is not JSON, and objects with a key `__proto__`
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ServiceRefusal(400, 'the body is not valid UTF-8')
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  try {
    return jsonOf(text, undefined, suspicious.test(text) ? refusePrototype : undefined)
  } catch (error) {
    throw error instanceof ServiceRefusal
      ? error
      : new ServiceRefusal(400, `the body is not JSON: ${whereItBreaks(error)}`)
  }
}

function refusePrototype(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new ServiceRefusal(400, 'the body holds an object with the key __proto__')
  return value
}

/** The parser's message without the part of the body it quotes. */
function whereItBreaks(error: unknown): string {
  if (error instanceof JsonBeyondBounds) return error.message
  const message = error instanceof Error ? error.message : ''
  const place = message.indexOf('at position ')
  if (place >= 0) return message.slice(place)
  return message.includes('end of JSON') ? 'it ends too early' : 'syntax error'
}

/** Called with errors of the service itself (status 500 or 503): they never hold a request's body or key. */
type Report = (error: Error) => void

/** Error handler: refusals, framework errors and database errors are all answered with the same JSON. */
function errorAnswer(report: Report) {
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
function answerUnknownRoutes(server: WebServer): void {
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

/** Longest body of a request, in bytes: more than 100 metrics with every text at its longest. */
export const requestBytesMax = 1_048_576

/** Longest protocol id in a path, in bytes, percent-encoded. */
const pathIdBytesMax = 1_000
