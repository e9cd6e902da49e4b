import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import type { Time } from '../edge/time.ts'
import { type WebRequest, type WebServer, webServer } from '../edge/web-server.ts'
import { parseJsonBody } from './json-body.ts'
import { pathIdBytesMax, requestBytesMax } from './limits.ts'
import { publishOpenApi } from './openapi.ts'
import { answerUnknownRoutes, errorAnswer, type Report } from './refusals.ts'
import { listMetrics } from './routes/list-metrics.ts'
import { pushMetrics } from './routes/push-metrics.ts'
import { readProtocol } from './routes/read-protocol.ts'
import { invalid } from './routes/refusal.ts'
import { registerProtocol } from './routes/register-protocol.ts'
import { validateKey } from './routes/validate-key.ts'
import { validateProtocol } from './routes/validate-protocol.ts'
import type { Store } from './store/store.ts'

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
  const api = { server: server.withTypeProvider<ZodTypeProvider>(), store, time }
  const routes = [registerProtocol, pushMetrics, listMetrics, readProtocol, validateProtocol, validateKey]
  routes.forEach(route => {
    route(api)
  })
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
