import { describe, expect, it } from 'vitest'
import { otlpSecrets, otlpSettings } from '../../../src/status/otlp/otlp.ts'

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }
const on = { kind: 'on', protocol: 'http/protobuf', intervalMs: 60_000, timeoutMs: 30_000, host: 'collector:4318' }

describe('the settings of OTLP', () => {
  it.each([
    ['nothing', {}],
    ['an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }],
    ['the SDK switched off', { ...endpoint, OTEL_SDK_DISABLED: 'true' }],
    ['another exporter', { ...endpoint, OTEL_METRICS_EXPORTER: 'none' }],
  ])('are off with %s', (_, env) => {
    expect(otlpSettings(env)).toEqual({ kind: 'off' })
  })

  it.each([
    ['an endpoint', endpoint, {}],
    ['one of metrics', { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'https://o.example.com/x' }, { host: 'o.example.com' }],
    ['JSON', { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, { protocol: 'http/json' }],
    ['an interval', { ...endpoint, OTEL_METRIC_EXPORT_INTERVAL: '5000' }, { intervalMs: 5_000, timeoutMs: 5_000 }],
    ['a time limit', { ...endpoint, OTEL_METRIC_EXPORT_TIMEOUT: '700' }, { timeoutMs: 700 }],
    ['several exporters', { ...endpoint, OTEL_METRICS_EXPORTER: 'prometheus, otlp' }, {}],
  ])('are on with %s', (_, env, differences) => {
    expect(otlpSettings(env)).toEqual({ ...on, ...differences })
  })

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', 'ftp://x'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_METRIC_EXPORT_INTERVAL', '-1'],
    ['OTEL_METRIC_EXPORT_INTERVAL', '1e12'],
    ['OTEL_METRIC_EXPORT_TIMEOUT', '5s'],
  ])('name the variable that is wrong: %s=%s', (variable, value) => {
    expect(otlpSettings({ ...endpoint, [variable]: value })).toMatchObject({ kind: 'mistaken', variable })
  })

  it('know what is secret in the variables', () => {
    const secrets = otlpSecrets({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://user:long-password@o.example.com/k3y-0f-path-1234',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20token-of-mine,x-team=abcdefgh1',
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'x-key=other-key-here',
    })
    for (const one of ['long-password', 'k3y-0f-path-1234', 'token-of-mine', 'abcdefgh1', 'other-key-here'])
      expect(secrets).toContain(one)
    expect(secrets).not.toContain('o.example.com')
  })
})
