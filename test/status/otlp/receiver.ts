import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import protobuf from 'protobufjs'
import { onTestFinished } from 'vitest'
import { z } from 'zod'

const schema = protobuf.parse(readFileSync(fileURLToPath(new URL('metrics.proto', import.meta.url)), 'utf8'))
const requestType = schema.root.lookupType('ExportMetricsServiceRequest')

const attributes = z
  .array(z.object({ key: z.string(), value: z.object({ stringValue: z.string() }).loose() }).loose())
  .default([])
  .transform(list => Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue])))
const anyAttributes = z
  .array(z.object({ key: z.string(), value: z.looseObject({}) }))
  .default([])
  .transform(list => Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]])))
const instant = z.coerce.bigint()
const numberPoint = z.strictObject({
  attributes,
  startTimeUnixNano: instant,
  timeUnixNano: instant,
  asDouble: z.number(),
  flags: z.literal(0).optional(),
})
const cumulative = z.union([z.literal('AGGREGATION_TEMPORALITY_CUMULATIVE'), z.literal(2)])
const histogramPoint = z.strictObject({
  attributes,
  startTimeUnixNano: instant,
  timeUnixNano: instant,
  count: z.coerce.number(),
  sum: z.number(),
  bucketCounts: z.array(z.coerce.number()),
  explicitBounds: z.array(z.number()).default([]),
  flags: z.literal(0).optional(),
})
const metric = z.strictObject({
  name: z.string(),
  description: z.string(),
  unit: z.string().default(''),
  gauge: z.strictObject({ dataPoints: z.array(numberPoint) }).optional(),
  sum: z
    .strictObject({
      dataPoints: z.array(numberPoint),
      aggregationTemporality: cumulative,
      isMonotonic: z.literal(true),
    })
    .optional(),
  histogram: z.strictObject({ dataPoints: z.array(histogramPoint), aggregationTemporality: cumulative }).optional(),
})
const request = z.object({
  resourceMetrics: z.tuple([
    z
      .object({
        resource: z.object({ attributes: anyAttributes }).loose(),
        scopeMetrics: z.tuple([
          z
            .object({ scope: z.object({ name: z.string(), version: z.string() }).loose(), metrics: z.array(metric) })
            .loose(),
        ]),
      })
      .loose(),
  ]),
})

/** A metric as a collector receives it. */
export type ReceivedMetric = z.infer<typeof metric>

/** An export as a collector receives it. */
export interface ReceivedExport {
  readonly headers: IncomingHttpHeaders
  readonly resource: Readonly<Record<string, unknown>>
  readonly metrics: readonly ReceivedMetric[]
}

/** A receiver of OTLP over HTTP, protobuf and JSON, that takes nothing but its schema. Ends with the test. */
export class OtlpReceiver {
  readonly url: string
  /** Status of its answers from now on. */
  status = 200
  /** Requests so far, refused ones too. */
  requests = 0
  readonly #received: ReceivedExport[] = []
  readonly #waiting: (() => void)[] = []

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}`
  }

  static async start(): Promise<OtlpReceiver> {
    const server = createServer(async (incoming, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of incoming) chunks.push(chunk as Buffer)
      receiver.requests += 1
      const isJson = incoming.headers['content-type'] === 'application/json'
      const isKnown = isJson || incoming.headers['content-type'] === 'application/x-protobuf'
      const isAccepted = receiver.status === 200 && incoming.url === '/v1/metrics' && isKnown
      if (isAccepted) receiver.#take(incoming.headers, Buffer.concat(chunks), isJson)
      response.writeHead(isAccepted ? 200 : receiver.status, { 'content-type': incoming.headers['content-type'] })
      response.end(isJson ? '{}' : '')
      for (const wake of receiver.#waiting.splice(0)) wake()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const receiver = new OtlpReceiver((server.address() as AddressInfo).port)
    return receiver
  }

  /** The first export, also an earlier one, that fits. */
  async export(fits: (received: ReceivedExport) => boolean): Promise<ReceivedExport> {
    for (;;) {
      const found = this.#received.find(fits)
      if (found) return found
      await this.#next()
    }
  }

  /** Resolves when it has had so many requests. */
  async had(requests: number): Promise<void> {
    while (this.requests < requests) await this.#next()
  }

  #next(): Promise<void> {
    return new Promise(resolve => void this.#waiting.push(resolve))
  }

  #take(headers: IncomingHttpHeaders, body: Buffer, isJson: boolean): void {
    const decoded: unknown = isJson
      ? JSON.parse(body.toString())
      : requestType.toObject(requestType.decode(body), { longs: String, enums: String, defaults: false })
    const [{ resource, scopeMetrics }] = request.parse(decoded).resourceMetrics
    this.#received.push({ headers, resource: resource.attributes, metrics: scopeMetrics[0].metrics })
  }
}
