import { expect, it } from 'vitest'
import { endpoint, listenAddress, serviceUrl } from '../../../src/config/addresses.ts'
import { duration, environmentName, slug } from '../../../src/config/fields.ts'

it.each([
  ['500ms', 500],
  ['60s', 60_000],
  ['5m', 300_000],
  ['2h', 7_200_000],
  ['1d', 86_400_000],
])('%s is a duration', (text, ms) => expect(duration(86_400_000)(text)).toEqual({ ok: true, value: ms }))

it.each(['60', '0s', '1.5s', '1e3s', '-1s', '5 m', '5M', '5min', '1h30m', '01s', '', ' 5s', '5s\n', '7201s'])(
  '%j is no duration',
  text => expect(duration(7_200_000)(text).ok).toBe(false),
)

it.each([
  ['23h', 'write at least 24h'],
  ['10d', 'write at most 9d'],
])('%s is out of bounds: %s', (text, fix) =>
  expect(duration(9 * 86_400_000, 86_400_000)(text)).toMatchObject({ ok: false, mistake: { fix } }),
)

it.each([
  ['https://metrics.example.com', 'https://metrics.example.com'],
  ['https://Metrics.Example.com:443/', 'https://metrics.example.com'],
  ['https://metrics.example.com/base/', 'https://metrics.example.com/base'],
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['http://127.9.9.9', 'http://127.9.9.9'],
  ['http://[::1]:8080/', 'http://[::1]:8080'],
  ['http://localhost:1', 'http://localhost:1'],
])('%s is an address of the service', (text, url) => expect(serviceUrl(text)).toEqual({ ok: true, value: url }))

it.each([
  'http://example.com',
  'http://128.0.0.1',
  'http://10.0.0.1',
  'http://127.0.0.1.example.com',
  'http://localhost.example.com',
  'http://127.0.0.1@example.com',
  'http://[::ffff:10.0.0.1]',
  'http://0.0.0.0',
  'https://me@example.com',
  'https://@example.com',
  'https://example.com/?key=hunter2',
  'https://example.com/?',
  'https://example.com/#x',
  'https:example.com',
  'https:/example.com',
  'https:\\\\example.com',
  'https://exam ple.com',
  'https://example.com\t',
  'https://',
  'ftp://example.com',
  'example.com',
  '',
])('%j is no address of the service, and is not repeated', text => {
  const taken = serviceUrl(text)
  expect(taken.ok).toBe(false)
  if (!taken.ok) expect(`${taken.mistake.message} ${taken.mistake.fix}`).not.toContain('hunter2')
})

it.each([
  'http://10.0.0.1:8545',
  'https://n.example.com/v2/key',
  'ws://n:8546',
  'wss://me:pass@n.example.com',
  '/data/geth.ipc',
  './geth.ipc',
  '../node/geth.sock',
  'geth.ipc',
])('%s is an endpoint', text => expect(endpoint(text)).toEqual({ ok: true, value: text }))

it.each(['', 'n.example.com', 'localhost:8545', 'ftp://n', 'file:///x', 'https://', '/a\nb', 'sk_hunter2'])(
  '%j is no endpoint',
  text => expect(endpoint(text).ok).toBe(false),
)

it.each([
  '1:30',
  '1.2:30',
  '0x7f:1',
  '',
  ':9464',
  '9464',
  '127.0.0.1',
  '127.0.0.1:',
  '::1:9464',
  '[::1]',
  '[zz]:1',
  'a b:1',
  'a:99999',
  'a:1:2',
])('%j is no place to listen', text => expect(listenAddress(text).ok).toBe(false))

it.each(['', 'A', 'a b', 'a___b', 'é', 'a.b', 'a'.repeat(201)])('%j is no slug', text =>
  expect(slug(text).ok).toBe(false),
)
it.each(['a', 'a-b_c__d', '0'])('%s is a slug', text => expect(slug(text)).toEqual({ ok: true, value: text }))
it.each(['', '1A', 'a-b', 'a b', '$A'])('%j names no variable', text => expect(environmentName(text).ok).toBe(false))
