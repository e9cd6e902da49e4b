import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { metric, startService } from './service.ts'

const schemaObject = z.record(z.string(), z.unknown())
const response = z.object({
  description: z.string().min(1),
  content: z.object({ 'application/json': z.object({ schema: schemaObject }) }),
})
const parameter = z.object({
  name: z.string(),
  in: z.enum(['query', 'path']),
  required: z.boolean(),
  description: z.string().min(1),
  schema: schemaObject,
})
const operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  security: z.array(schemaObject),
  parameters: z.array(parameter).optional(),
  requestBody: z.object({ required: z.literal(true), content: response.shape.content }).optional(),
  responses: z.record(z.string().regex(/^[2-5]\d\d$/), response),
})
const document = z.object({
  openapi: z.literal('3.1.0'),
  info: z.object({ title: z.string(), version: z.string() }).loose(),
  servers: z.array(z.object({ url: z.string() })),
  paths: z.record(z.string().startsWith('/'), z.partialRecord(z.enum(['get', 'post']), operation)),
  components: z.object({
    securitySchemes: z.object({ apiKey: z.object({ type: z.literal('http'), scheme: z.literal('bearer') }).loose() }),
    schemas: z.record(z.string(), schemaObject),
  }),
})

const required = [{ apiKey: [] }]
const optional = [{}, { apiKey: [] }]
const endpoints = [
  ['post', '/api/register-protocol', required, ['200', '400', '401', '413', '415', '500', '503']],
  ['post', '/api/metrics', required, ['200', '400', '401', '404', '413', '415', '500', '503']],
  ['get', '/api/metrics', required, ['200', '400', '401', '500', '503']],
  ['get', '/metrics/byProtocol/{protocolId}', optional, ['200', '400', '401', '404', '500', '503']],
  ['get', '/api/validate-protocol', required, ['200', '400', '401', '500', '503']],
  ['get', '/api/validate-key', required, ['200', '401', '500', '503']],
] as const

async function published() {
  const service = await startService()
  const { status, headers, body } = await service.get('/openapi.json')
  expect(status).toBe(200)
  expect(headers.get('content-type')).toMatch(/^application\/json/)
  return { ...service, openapi: document.parse(body), raw: body }
}

/** The JSON Schema a published schema stands for, as zod reads it back: an independent check of what it allows. */
function schemaOf(openapi: z.infer<typeof document>, name: string) {
  const text = JSON.stringify({ $ref: `#/$defs/${name}`, $defs: openapi.components.schemas })
  return z.fromJSONSchema(JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')))
}

describe('the OpenAPI document', () => {
  it('has the six endpoints with their security and every answer, and no other', async () => {
    const { openapi } = await published()
    const found = Object.entries(openapi.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, each]) => [
        method,
        path,
        each?.security,
        Object.keys(each?.responses ?? {}),
      ]),
    )
    expect(found).toHaveLength(endpoints.length)
    expect(found).toEqual(expect.arrayContaining(endpoints.map(each => [...each])))
  })

  it('names every operation once', async () => {
    const { openapi } = await published()
    const ids = Object.values(openapi.paths).flatMap(each => Object.values(each).map(of => of?.operationId))
    expect(new Set(ids).size).toBe(endpoints.length)
  })

  it('declares every parameter of a path, and the id to validate as required', async () => {
    const { openapi } = await published()
    for (const [path, operations] of Object.entries(openapi.paths)) {
      for (const each of Object.values(operations)) {
        const names = each?.parameters?.filter(({ in: place, required }) => place === 'path' && required)
        expect(names?.map(({ name }) => name) ?? []).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
      }
    }
    expect(openapi.paths['/api/validate-protocol']?.get?.parameters).toMatchObject([{ name: 'id', required: true }])
  })

  it('refers only to schemas it has, and has only schemas it refers to', async () => {
    const { openapi, raw } = await published()
    const names = [...JSON.stringify(raw).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
      ([, name]) => name,
    )
    expect([...new Set(names)].sort()).toEqual(Object.keys(openapi.components.schemas).sort())
    expect([...JSON.stringify(raw).matchAll(/"\$ref":"(?!#\/components\/schemas\/)/g)]).toEqual([])
  })

  it('describes a push as the interface does', async () => {
    const { openapi } = await published()
    const { schemas } = openapi.components
    expect(schemas['PushInput']).toMatchObject({
      required: ['metrics'],
      properties: { metrics: { maxItems: 100, items: { $ref: '#/components/schemas/SubmittedMetricInput' } } },
    })
    expect(schemas['SubmittedMetricInput']).toMatchObject({
      required: ['id', 'value', 'protocolId'],
      properties: { value: { type: 'number' }, timestamp: { type: 'string', format: 'date-time' } },
    })
  })

  it('fits what the service takes and answers', async () => {
    const { openapi, post, push, get, key } = await published()
    const registration = { id: 'pool', name: 'Pool', logo: 'https://example.com/x.png', chains: ['a'], public: true }
    expect(schemaOf(openapi, 'ProtocolRegistrationInput').safeParse(registration).success).toBe(true)
    expect(schemaOf(openapi, 'ProtocolRegistrationInput').safeParse({ id: 'pool' }).success).toBe(false)
    const fits = (name: string, body: unknown) =>
      expect(schemaOf(openapi, name).safeParse(body), name).toMatchObject({ success: true })
    fits('Registered', (await post('/api/register-protocol', registration, key)).body)
    fits('PushAnswer', (await push([metric('A', 1), metric('A', 2), metric('x'.repeat(20), 1)])).body)
    fits('Refused', (await push([{ id: 5 }])).body)
    fits('Refused', (await get('/nope')).body)
    fits('StoredMetrics', (await get('/api/metrics?limit=1', key)).body)
    fits('Availability', (await get('/api/validate-protocol?id=x', key)).body)
    fits('KeyValidity', (await get('/api/validate-key', key)).body)
    for (const each of (await get('/metrics/byProtocol/vault', key)).body as unknown[]) fits('Metric', each)
  })
})
