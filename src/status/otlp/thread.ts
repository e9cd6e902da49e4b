/** Entry of the thread that sends the daemon's metrics by OTLP, with OpenTelemetry's SDK. */
import '../../edge/process-settings.ts'
import { parentPort, workerData } from 'node:worker_threads'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  type CollectionResult,
  MeterProvider,
  type MetricProducer,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics'
import { systemTime } from '../../edge/time.ts'
import type { Family } from '../exposition/families.ts'
import { instantOf, metricDataOf } from './metric-data.ts'
import type { FromThread, OtlpThreadInput, ToThread } from './otlp.ts'

const { protocol, intervalMs, timeoutMs, version, startedAtMs } = workerData as OtlpThreadInput

const own = resourceFromAttributes({ 'service.name': 'tidegauge', 'service.version': version })
const resource = defaultResource()
  .merge(own)
  .merge(detectResources({ detectors: [envDetector] }))

/** Metrics that the daemon's thread gives. */
class DaemonMetrics implements MetricProducer {
  async collect(): Promise<CollectionResult> {
    const families = await asked()
    const instants = { start: instantOf(startedAtMs), now: instantOf(systemTime.nowMs()) }
    const scopeMetrics = [{ scope: { name: 'tidegauge', version }, metrics: metricDataOf(families, instants) }]
    return { resourceMetrics: { resource, scopeMetrics }, errors: [] }
  }
}

/** Readings under way; the daemon answers in their order. */
const readings: ((families: readonly Family[]) => void)[] = []

// It also keeps the thread alive.
parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'flush') void flush()
  else readings.shift()?.(message.families)
})

function asked(): Promise<readonly Family[]> {
  const { promise, resolve } = Promise.withResolvers<readonly Family[]>()
  readings.push(resolve)
  say({ kind: 'read' })
  return promise
}

function say(message: FromThread): void {
  parentPort?.postMessage(message)
}

/** The SDK's exporter, with the result of each export reported. */
function reported(exporter: PushMetricExporter): PushMetricExporter {
  return {
    export: (metrics, done) =>
      exporter.export(metrics, result => {
        say({ kind: 'exported', ...(result.code !== 0 && { failure: reasonOf(result.error) }) })
        done(result)
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  }
}

/** Why an export failed, without the collector's words: they may hold a secret. */
function reasonOf(error: Error | undefined): string {
  const code = error && 'code' in error ? error.code : undefined
  if (typeof code === 'number') return `it answered HTTP ${code}`
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code)) return `no answer (${code})`
  return error?.message === 'Request timed out' ? 'no answer in time' : 'it failed again and again (HTTP 429 or 5xx)'
}

async function start(): Promise<MeterProvider> {
  const { OTLPMetricExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-metrics-otlp-http')
      : await import('@opentelemetry/exporter-metrics-otlp-proto')
  const reader = new PeriodicExportingMetricReader({
    exporter: reported(new OTLPMetricExporter()),
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: timeoutMs,
    metricProducers: [new DaemonMetrics()],
  })
  return new MeterProvider({ resource, readers: [reader] })
}

async function flush(): Promise<void> {
  // Its failure is reported like that of any export.
  await (await started).forceFlush().catch(() => {})
  say({ kind: 'flushed' })
}

// No top-level await: the bundle is CommonJS.
const started = start()
