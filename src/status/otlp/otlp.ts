import { Worker } from 'node:worker_threads'
import { programUrl } from '../../edge/program-files.ts'
import type { Time } from '../../edge/time.ts'
import { secretPartsOf, shownHost } from '../../model/host.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Family } from '../exposition/families.ts'

/** Time for which a stop waits for the last metrics to be sent. */
const flushMsMax = 2_000

interface OtlpDeps {
  readonly settings: OtlpOn
  /** All metrics, read at each export. */
  readonly families: () => Promise<readonly Family[]>
  readonly version: string
  /** Start of all counters, in milliseconds since 1970. */
  readonly startedAtMs: number
  readonly log: Log
  readonly time: Pick<Time, 'steadyMs' | 'sleep'>
}

/**
 * Sends the metrics of `/metrics` to an OpenTelemetry collector. The SDK runs in a thread of its own: its retries delay
 * neither the daemon nor its end. A collector that does not answer is logged once, and once when it answers again.
 */
export class OtlpExport {
  readonly #deps: OtlpDeps
  readonly #thread: Worker
  readonly #flushed = Promise.withResolvers<void>()
  #failedAtMs: number | undefined

  constructor(deps: OtlpDeps) {
    this.#deps = deps
    const { settings, version, startedAtMs } = deps
    const { protocol, intervalMs, timeoutMs } = settings
    const workerData: OtlpThreadInput = { protocol, intervalMs, timeoutMs, version, startedAtMs }
    this.#thread = new Worker(programUrl('otlp'), { workerData })
    this.#thread.unref()
    this.#thread.on('message', (message: FromThread) => this.#heard(message))
    this.#thread.once('error', ({ name }) => this.#exported(`the SDK failed (${name})`))
    this.#thread.once('exit', () => this.#flushed.resolve())
  }

  /** Sends the metrics of now, unless none could be sent before, and ends the thread, whatever it does by then. */
  async stop(): Promise<void> {
    if (this.#failedAtMs === undefined) {
      this.#post({ kind: 'flush' })
      const waiting = new AbortController()
      await Promise.race([this.#flushed.promise, this.#deps.time.sleep(flushMsMax, waiting.signal).catch(() => {})])
      waiting.abort(new Error('flushed'))
    }
    await this.#thread.terminate()
  }

  #heard(message: FromThread): void {
    if (message.kind === 'exported') this.#exported(message.failure)
    else if (message.kind === 'flushed') this.#flushed.resolve()
    else void this.#send()
  }

  async #send(): Promise<void> {
    // Metrics that cannot be read are reported where that is found; none are sent.
    this.#post({ kind: 'metrics', families: await this.#deps.families().catch(() => []) })
  }

  #post(message: ToThread): void {
    this.#thread.postMessage(message)
  }

  #exported(failure: string | undefined): void {
    const { settings, log, time } = this.#deps
    if (failure !== undefined && this.#failedAtMs === undefined) {
      this.#failedAtMs = time.steadyMs()
      log.warn({ collector: settings.host, reason: failure, fix }, 'metrics cannot be sent by OTLP: trying on')
    }
    if (failure === undefined && this.#failedAtMs !== undefined) {
      const afterSeconds = Math.round((time.steadyMs() - this.#failedAtMs) / 1000)
      this.#failedAtMs = undefined
      log.info({ collector: settings.host, afterSeconds }, 'metrics are sent by OTLP again')
    }
  }
}

const fix =
  'check OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS and the collector; nothing else depends on it'

type Environment = Readonly<Record<string, string | undefined>>

/** Interval of OpenTelemetry's SDKs between two exports, and time limit of one, in milliseconds. */
const [defaultIntervalMs, defaultTimeoutMs] = [60_000, 30_000]

/** Longest time that a timer takes. */
const timerMsMax = 2 ** 31 - 1

/** Settings in OpenTelemetry's standard variables. The SDK reads those for addresses, headers, certificates and compression. */
type OtlpSettings =
  | { readonly kind: 'off' }
  /** A variable says what cannot be done. */
  | { readonly kind: 'mistaken'; readonly variable: string; readonly reason: string; readonly fix: string }
  | OtlpOn

interface OtlpOn {
  readonly kind: 'on'
  readonly protocol: 'http/protobuf' | 'http/json'
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Host and port of the collector. */
  readonly host: string
}

/**
 * The settings in an environment. It is on where `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` is
 * set, unless `OTEL_SDK_DISABLED` or `OTEL_METRICS_EXPORTER` say otherwise. Pure.
 */
export function otlpSettings(env: Environment): OtlpSettings {
  const [variable, url] = first(env, 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT')
  const exporters = (env['OTEL_METRICS_EXPORTER'] || 'otlp').split(',').map(name => name.trim())
  if (url === '' || env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || !exporters.includes('otlp'))
    return { kind: 'off' }
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    return mistaken(variable, 'it is not an http(s) URL', 'such as http://127.0.0.1:4318')
  }
  const [protocolVariable, protocol] = first(env, 'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol !== '' && protocol !== 'http/protobuf' && protocol !== 'http/json') {
    return mistaken(
      protocolVariable,
      `"${protocol}" is not spoken`,
      'http/protobuf or http/json, on port 4318 of most collectors',
    )
  }
  const intervalMs = milliseconds(env['OTEL_METRIC_EXPORT_INTERVAL'], defaultIntervalMs)
  const timeoutMs = milliseconds(env['OTEL_METRIC_EXPORT_TIMEOUT'], defaultTimeoutMs)
  if (intervalMs === undefined) return mistaken('OTEL_METRIC_EXPORT_INTERVAL', ...notMilliseconds)
  if (timeoutMs === undefined) return mistaken('OTEL_METRIC_EXPORT_TIMEOUT', ...notMilliseconds)
  return {
    kind: 'on',
    protocol: protocol || 'http/protobuf',
    intervalMs,
    timeoutMs: Math.min(timeoutMs, intervalMs),
    host: shownHost(new URL(url)),
  }
}

const notMilliseconds = ['it is not a whole number of milliseconds', 'such as 60000'] as const

/** Secrets in the variables: values of headers, and parts of the addresses. */
export function otlpSecrets(env: Environment): string[] {
  const names = ['', 'METRICS_'].map(signal => `OTEL_EXPORTER_OTLP_${signal}`)
  const addresses = names.flatMap(name => env[`${name}ENDPOINT`] || [])
  const headers = names.flatMap(name => (env[`${name}HEADERS`] ?? '').split(','))
  const values = headers.map(header => header.slice(header.indexOf('=') + 1).trim()).filter(value => value !== '')
  return [...addresses, ...values, ...values.map(decoded)].flatMap(secret => secretPartsOf(secret))
}

function mistaken(variable: string, reason: string, fix: string): OtlpSettings {
  return { kind: 'mistaken', variable, reason, fix }
}

/** The first variable that is set, and its value; empty when none is. */
function first(env: Environment, ...names: readonly string[]): readonly [name: string, value: string] {
  const name = names.find(each => (env[each] ?? '').trim() !== '') ?? ''
  return [name, (env[name] ?? '').trim()]
}

function milliseconds(text: string | undefined, otherwise: number): number | undefined {
  if ((text ?? '').trim() === '') return otherwise
  const ms = Number(text)
  return Number.isInteger(ms) && ms > 0 && ms <= timerMsMax ? ms : undefined
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** Input of the thread that sends metrics. */
export interface OtlpThreadInput extends Pick<OtlpOn, 'protocol' | 'intervalMs' | 'timeoutMs'> {
  readonly version: string
  /** Start of all counters, in milliseconds since 1970. */
  readonly startedAtMs: number
}

/** Message of the thread: it wants the metrics of now, an export has ended, or the last one has, which was asked for. */
export type FromThread =
  | { readonly kind: 'read' }
  | { readonly kind: 'exported'; readonly failure?: string }
  | { readonly kind: 'flushed' }

/** Message to the thread: the metrics that it has asked for, or to send those of now. */
export type ToThread = { readonly kind: 'metrics'; readonly families: readonly Family[] } | { readonly kind: 'flush' }
