import swagger from '@fastify/swagger'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { WebServer } from '../edge/web-server.ts'

/** Publishes `/openapi.json`, generated from the validating schemas. Await it before adding routes. */
export async function publishOpenApi(server: WebServer): Promise<void> {
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
  const { components, ...rest } = document
  const schemas: Record<string, unknown> = { ...components?.schemas }
  const used = new Set<string>()
  const follow = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue
      used.add(name)
      follow(schemas[name])
    }
  }
  follow(rest)
  const kept = Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
  return { ...document, components: { ...components, schemas: kept } } as typeof document
}
