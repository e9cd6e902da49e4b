import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { settingsOf } from '../../collectors/sql/postgres-address.ts'
import { loadConfig } from '../../src/config/load.ts'
import { readSecret, resolveAddress, resolveDatabase, resolveHeaders, secretsOf } from '../../src/config/secret.ts'
import { Fault, faultLine } from '../../src/model/fault.ts'
import { configFile, protocolsText } from './file.ts'

afterEach(() => vi.unstubAllEnvs())

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-secret-'))
afterAll(() => rmSync(folder, { recursive: true }))

function kept(text: string | Uint8Array) {
  const path = join(mkdtempSync(join(folder, 'x-')), 'key')
  writeFileSync(path, text)
  return { kind: 'file', path } as const
}

function faultOf(act: () => unknown): Fault {
  try {
    act()
  } catch (error) {
    if (error instanceof Fault) return error
  }
  throw new Error('no fault')
}

describe('a secret', () => {
  it('is read from a file or a variable, without the blanks around it', () => {
    vi.stubEnv('TIDEGAUGE_TEST_KEY', '  k-123\n')
    expect(readSecret(kept('k-123\r\n'))).toBe('k-123')
    expect(readSecret({ kind: 'env', name: 'TIDEGAUGE_TEST_KEY' })).toBe('k-123')
  })

  it('is read again each time', () => {
    const ref = kept('old')
    expect(readSecret(ref)).toBe('old')
    writeFileSync(ref.path, 'new')
    expect(readSecret(ref)).toBe('new')
  })

  it.each([
    ['empty', ' \n', 'is empty'],
    ['on two lines', 'hunter2\nhunter2', 'holds a blank'],
    ['with a blank', 'hunter2 hunter2', 'holds a blank'],
    ['with a control character', 'hunter2\u0007', 'holds a blank'],
    ['beyond ASCII', 'hunter2é', 'holds a blank'],
    ['not text', new Uint8Array([0xff, 0xfe]), 'holds a blank'],
    ['too long', 'hunter2'.repeat(10_000), 'has more than 65536 bytes'],
  ])('%s is refused, by its place and not by its value', (_, text, why) => {
    const ref = kept(text)
    const fault = faultOf(() => readSecret(ref))
    expect([fault.code, fault.facts]).toEqual(['secret-missing', { file: ref.path }])
    expect(fault.message).toContain(why)
    expect(faultLine(fault)).not.toContain('hunter2')
  })

  it('is missing', () => {
    mkdirSync(join(folder, 'sub'))
    expect(faultOf(() => readSecret({ kind: 'file', path: join(folder, 'none') })).message).toContain('does not exist')
    expect(faultOf(() => readSecret({ kind: 'file', path: join(folder, 'sub') })).message).toContain('is a folder')
    const unset = faultOf(() => readSecret({ kind: 'env', name: 'TIDEGAUGE_TEST_UNSET' }))
    expect([unset.message, unset.facts]).toEqual([
      "the secret's variable is not set",
      { variable: 'TIDEGAUGE_TEST_UNSET' },
    ])
  })
})

describe('the address of an endpoint', () => {
  const place = { file: '/t.yaml', line: 1, column: 1 }

  it('is written in the file, or read where it is kept', () => {
    vi.stubEnv('TIDEGAUGE_TEST_RPC', 'wss://n.example.com/v2/hunter2\n')
    const rpc = [
      { kind: 'url', url: 'http://127.0.0.1:8545', place },
      { kind: 'env', name: 'TIDEGAUGE_TEST_RPC', place },
      { ...kept('/data/geth.ipc'), place },
    ] as const
    expect(rpc.map(ref => resolveAddress('main', ref))).toEqual([
      'http://127.0.0.1:8545',
      'wss://n.example.com/v2/hunter2',
      '/data/geth.ipc',
    ])
  })

  it.each(['ftp://n/hunter2', 'hunter2', './hunter2.ipc', 'https:/hunter2', 'https://'])(
    '%s, kept elsewhere, is refused without being repeated',
    text => {
      const fault = faultOf(() => resolveAddress('main', { ...kept(text), place }))
      expect([fault.code, fault.facts['chain']]).toEqual(['config', 'main'])
      expect(faultLine(fault)).not.toContain('hunter2')
      expect(fault.cause).toBe(undefined)
    },
  )
})

describe('the headers of an endpoint', () => {
  it('may hold a blank, are read where they are kept, and are secrets as a whole and in part', () => {
    vi.stubEnv('TIDEGAUGE_TEST_TOKEN', 'Bearer token-0123456789\n')
    const text = `service: embedded
chains:
  main:
    id: 1
    rpc:
      - url: https://0123456789abcdef.rpc.example.com
        headers: { authorization: { env: TIDEGAUGE_TEST_TOKEN }, x-team: tides }
      - { env: RPC, headers: { x-key: { env: TIDEGAUGE_TEST_UNSET } } }
${protocolsText}`
    const config = loadConfig(configFile(text))
    const [first, second] = config.chains[0]?.rpc ?? []
    if (!first || !second) throw new Error('no endpoint')
    expect(resolveHeaders(first)).toEqual({ authorization: 'Bearer token-0123456789', 'x-team': 'tides' })
    expect(faultOf(() => resolveHeaders(second)).message).toBe("header x-key: the secret's variable is not set")
    const secrets = secretsOf(config)
    expect(secrets).toEqual(expect.arrayContaining(['Bearer token-0123456789', 'token-0123456789', '0123456789abcdef']))
    expect(secrets).not.toContain('tides')
  })
})

describe('the secrets of a configuration', () => {
  it('are all keys, all RPC addresses and their telling parts, without those that cannot be read', () => {
    vi.stubEnv('TIDEGAUGE_TEST_KEY', 'service-key-1')
    vi.stubEnv('TIDEGAUGE_TEST_RPC', 'https://me:pass%40word1@n.example.com/v2/0123456789abcdef?token=token-value')
    vi.stubEnv('TIDEGAUGE_TEST_ODD', 'no-address-at-all')
    vi.stubEnv('TIDEGAUGE_TEST_HEARTBEAT', 'https://hc.example.com/ping/uuid-of-the-check')
    const text = `service: { url: https://m.example.com, key: { env: TIDEGAUGE_TEST_KEY } }
chains:
  main: { id: 1, rpc: [{ env: TIDEGAUGE_TEST_RPC }, { env: TIDEGAUGE_TEST_UNSET }, { env: TIDEGAUGE_TEST_ODD }] }
  side: { id: 2, rpc: [https://s.example.com/secret-path/, /data/geth.ipc] }
${protocolsText}    key: { file: ${kept('protocol-key-1').path} }
heartbeat: { url: { env: TIDEGAUGE_TEST_HEARTBEAT } }
notify: [{ telegram: { token: { file: ${kept('123456:token-of-the-bot').path} }, chat: 1 } }]
`
    const secrets = secretsOf(loadConfig(configFile(text)))
    expect(secrets).toEqual(
      expect.arrayContaining([
        'service-key-1',
        'protocol-key-1',
        'uuid-of-the-check',
        'token-of-the-bot',
        'https://me:pass%40word1@n.example.com/v2/0123456789abcdef?token=token-value',
        '/v2/0123456789abcdef',
        '0123456789abcdef',
        'token-value',
        'pass@word1',
        'no-address-at-all',
        'https://s.example.com/secret-path',
        '/secret-path',
      ]),
    )
    expect(secrets).not.toContain('/data/geth.ipc')
    expect(secrets.map(secret => secret.length)).toEqual(secrets.map(({ length }) => length).sort((a, b) => b - a))
  })
})

describe('the address of a database', () => {
  const file = (text: string) => resolveDatabase(kept(text))

  it('is parsed, its password without percent-encoding', () => {
    expect(file('postgres://tides:pass%20word@db.example.com/seas?sslmode=verify-full')).toEqual({
      ...{ host: 'db.example.com', port: 5432, database: 'seas', user: 'tides', password: 'pass word' },
      tls: 'checked',
    })
  })

  it.each([
    ['db.example.com/seas', 'checked'],
    ['10.1.2.3/seas', 'checked'],
    ['0.0.0.0/seas', 'checked'],
    ['[fd00::5]/seas', 'checked'],
    ['localhost.example.com/seas', 'checked'],
    ['127.0.0.9:6432/seas', 'none'],
    ['[::1]/seas', 'none'],
    ['localhost/seas', 'none'],
    ['db.example.com/seas?sslmode=disable', 'none'],
    ['db.example.com/seas?sslmode=no-verify', 'unchecked'],
    ['localhost/seas?sslmode=require', 'checked'],
  ])('%s without more has TLS: %s', (place, tls) => {
    const address = `postgres://tides:word@${place}`
    expect(file(address).tls).toBe(tls)
    // The collector `sql` reads an address on its own.
    const ssl = { checked: { rejectUnauthorized: true }, unchecked: { rejectUnauthorized: false }, none: false }[tls]
    expect(settingsOf(address).ssl).toEqual(ssl)
  })

  it.each([
    ['of another kind', 'mysql://tides:hunter2hunter2@db/tides'],
    ['without a host', 'postgres:///hunter2hunter2'],
    ['with a password that is not encoded', 'postgres://tides:hunter2%hunter2@db/tides'],
    ['with a password that holds the beginning of a fragment', 'postgres://tides:hunter2hunter2@db/tides#more'],
    ['that is a path', '/run/postgresql/hunter2hunter2'],
  ])('%s is refused, and not repeated', (_, text) => {
    const fault = faultOf(() => file(text))
    expect([fault.code, fault.message]).toEqual(['config', expect.stringMatching(/^the secret (is not|must)/)])
    expect(faultLine(fault)).not.toContain('hunter2')
  })

  it('is a secret, as its password is', () => {
    vi.stubEnv('DATABASE_URL', 'postgres://tides:p%40ss%20word@db.example.com/tides')
    const config = loadConfig(
      configFile(`service: { url: "https://m.example.com", key: { env: KEY } }
data: { postgres: { env: DATABASE_URL } }
${protocolsText}`),
    )
    expect(secretsOf(config)).toEqual([
      'postgres://tides:p%40ss%20word@db.example.com/tides',
      'p%40ss%20word',
      'p@ss word',
    ])
  })
})
