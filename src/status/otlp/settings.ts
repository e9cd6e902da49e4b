import { secretPartsOf, shownHost } from '../../model/host.ts'

/** Environment of the process. */
type Environment = Readonly<Record<string, string | undefined>>

/** Interval of OpenTelemetry's SDKs between two exports, and time limit of one, in milliseconds. */
const [defaultIntervalMs, defaultTimeoutMs] = [60_000, 30_000]

/** Longest time that a timer takes. */
const timerMsMax = 2 ** 31 - 1

/** Settings in OpenTelemetry's standard variables. The SDK reads those for addresses, headers, certificates and compression. */
export type OtlpSettings =
  | { readonly kind: 'off' }
  /** A variable says what cannot be done. */
  | { readonly kind: 'mistaken'; readonly variable: string; readonly reason: string; readonly fix: string }
  | OtlpOn

/** Settings of an export. */
export interface OtlpOn {
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
