import { describe, expect, it } from 'vitest'
import { OtlpReceiver, type ReceivedExport } from '../status/otlp/receiver.ts'
import { allDelivered, configured, hostYaml, startDaemon } from '../support/tidegauge.ts'

const secret = 'k3y-0f-the-collector'
const often = { OTEL_METRIC_EXPORT_INTERVAL: '150' }

/** Families that /metrics shows, by their names. */
async function exposed(url: string): Promise<Set<string>> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name))
}

const gaugeOf = ({ metrics }: ReceivedExport, name: string) =>
  metrics.find(metric => metric.name === name)?.gauge?.dataPoints

/** Four an hour: a full hour may pass meanwhile. */
const isDelivered = ({ metrics }: ReceivedExport) =>
  [4, 8].includes(
    metrics.find(({ name }) => name === 'tidegauge_metrics_delivered_total')?.sum?.dataPoints[0]?.asDouble ?? 0,
  )

function holdsAll({ metrics }: ReceivedExport, names: readonly string[]): boolean {
  const held = new Set(metrics.map(({ name }) => name))
  return names.every(name => held.has(name))
}

describe('metrics by OTLP', () => {
  it.each(['http/protobuf', 'http/json'])(
    'are those of /metrics, as %s, with what the variables say',
    async protocol => {
      const receiver = await OtlpReceiver.start()
      const { config } = configured(hostYaml)
      const daemon = await startDaemon(config, {
        ...often,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${secret}`,
        OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
        ...(protocol === 'http/json' && { OTEL_SERVICE_NAME: 'my-gauge' }),
      })
      await daemon.status(allDelivered)
      // Not measured yet in one of the two readings: what is not a number has no place in OTLP.
      const shown = [...(await exposed(daemon.url))].filter(name => !/^nodejs_(?:eventloop|gc)/.test(name))
      // An export that was under way is older than what is shown.
      const received = await receiver.export(each => isDelivered(each) && holdsAll(each, shown))
      expect(received.headers['x-api-key']).toBe(secret)
      expect(received.resource).toMatchObject({
        'service.name': protocol === 'http/json' ? 'my-gauge' : 'tidegauge',
        'deployment.environment': 'test',
      })
      expect(shown.length).toBeGreaterThan(20)
      expect(gaugeOf(received, 'tidegauge_ready')).toMatchObject([{ attributes: {}, asDouble: 1 }])
      const cpus = gaugeOf(received, 'tidegauge_metric_value')?.map(({ attributes }) => attributes['protocol'])
      expect(cpus).toEqual(Array(4).fill('this-machine'))
      const runs = received.metrics.find(({ name }) => name === 'tidegauge_collection_duration_seconds')
      const [point] = runs?.histogram?.dataPoints ?? []
      expect(runs?.unit).toBe('s')
      expect([1, 2]).toContain(point?.count)
      expect(point?.bucketCounts).toEqual([point?.count])
      expect(await daemon.kill('SIGTERM')).toBe(0)
      expect(daemon.log.join('\n')).not.toContain(secret)
    },
  )

  it('are sent a last time when the daemon stops', async () => {
    const receiver = await OtlpReceiver.start()
    const { config } = configured(hostYaml)
    // No interval ends meanwhile: the only export is that of the end.
    const daemon = await startDaemon(config, {
      OTEL_METRIC_EXPORT_INTERVAL: '3600000',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    })
    await daemon.status(allDelivered)
    expect(receiver.requests).toBe(0)
    expect(await daemon.kill('SIGTERM')).toBe(0)
    expect(isDelivered(await receiver.export(isDelivered))).toBe(true)
    expect(receiver.requests).toBe(1)
  })

  it('stop nothing where no collector answers, which is logged once, as is its return', async () => {
    const receiver = await OtlpReceiver.start()
    receiver.status = 401
    const { config } = configured(hostYaml)
    const daemon = await startDaemon(config, { ...often, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    await daemon.status(allDelivered)
    await receiver.had(4)
    receiver.status = 200
    const again = await daemon.logged('metrics are sent by OTLP again')
    expect(again).toMatchObject({ collector: receiver.url.slice('http://'.length), afterSeconds: expect.any(Number) })
    const failed = daemon.log.filter(line => line.includes('metrics cannot be sent by OTLP'))
    expect(failed.map(line => JSON.parse(line))).toMatchObject([{ level: 'warn', reason: 'it answered HTTP 401' }])
    // A retry is under way when it ends.
    receiver.status = 503
    await receiver.had(receiver.requests + 1)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('are off, with a line that says why, where a variable asks for what cannot be done', async () => {
    const { config } = configured(hostYaml)
    const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }
    const daemon = await startDaemon(config, variables)
    expect(await daemon.logged('metrics are not sent by OTLP')).toMatchObject({
      variable: 'OTEL_EXPORTER_OTLP_PROTOCOL',
      reason: '"grpc" is not spoken',
    })
    await daemon.status(allDelivered)
  })
})
