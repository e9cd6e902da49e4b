/** The same with OpenTelemetry's logs SDK, in memory: `node opentelemetry.ts URL METRICS at-once|by-the-hour`. Prints `Sent`. */
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { bench, metricsOf } from '../metrics.ts'
import { type Pace, send } from './send.ts'

const [url = '', metrics = '0', pace] = process.argv.slice(2)

const exporter = new OTLPLogExporter({ url: `${url}/v1/logs`, headers: { authorization: 'Bearer bench-key' } })
// It drops what does not fit its queue, so the queue takes all.
const processor = new BatchLogRecordProcessor({ exporter, maxExportBatchSize: 100, maxQueueSize: Number(metrics) + 1 })
const provider = new LoggerProvider({ processors: [processor] })
const logger = provider.getLogger('bench')

function take(number: number): void {
  for (const { id, protocolId, hour, value, unit = '' } of metricsOf(bench, number)) {
    logger.emit({ timestamp: hour, body: id, attributes: { value, protocolId, unit } })
  }
}

await send({ take, flush: () => provider.forceFlush() }, Number(metrics), pace as Pace)
await provider.shutdown()
