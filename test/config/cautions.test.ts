import { chmodSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { cautionsOf, tooFewHosts } from '../../src/config/cautions.ts'
import { secretsWritten } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { destinationsOf } from '../../src/delivery/destination.ts'
import { configFile } from './file.ts'

afterEach(() => vi.unstubAllEnvs())

const text = `service: { url: https://m.example.com, key: { env: TIDEGAUGE_TEST_KEY } }
chains:
  ethereum: { id: 1, rpc: [http://127.0.0.1:8545, { env: TIDEGAUGE_TEST_RPC }, { file: secrets/rpc }] }
protocols:
  - id: a
    name: A
    chains: [ehtereum, ethereum, other]
    key: { file: secrets/key }
    collectors: [{ use: host }]
heartbeat: { url: { env: TIDEGAUGE_TEST_HEARTBEAT } }
notify:
  - { slack: { env: TIDEGAUGE_TEST_SLACK } }
  - { telegram: { token: { env: TIDEGAUGE_TEST_TOKEN }, chat: { env: TIDEGAUGE_TEST_CHAT } } }
`

function trial() {
  const file = configFile(text)
  mkdirSync(join(dirname(file), 'secrets'))
  const keep = (name: string, secret: string, mode = 0o600) => {
    const path = join(dirname(file), 'secrets', name)
    writeFileSync(path, secret)
    chmodSync(path, mode)
  }
  const cautions = () =>
    cautionsOf(loadConfig(file)).map(({ place, message, fix }) =>
      `${place.line}:${place.column}: ${message} → ${fix}`.replaceAll(dirname(file), ''),
    )
  return { keep, cautions }
}

it('secrets that cannot be used are reported with their places, in the order of the file', () => {
  const { keep, cautions } = trial()
  vi.stubEnv('TIDEGAUGE_TEST_RPC', 'hunter2')
  vi.stubEnv('TIDEGAUGE_TEST_HEARTBEAT', 'http://hc.example.com/hunter2')
  keep('rpc', ' \n')
  expect(cautions()).toEqual([
    '1:40: the key of the service: the variable TIDEGAUGE_TEST_KEY is not set → set it where tidegauge is started',
    '3:51: the address of a node of ethereum: the secret does not contain an RPC address → keep an http(s):// or ws(s):// address there, or the absolute path of an IPC socket',
    '3:80: the address of a node of ethereum: the file /secrets/rpc is empty → put the secret there, and nothing else',
    '5:5: chains: no chain is called "ehtereum" → did you mean ethereum?',
    '8:5: the key of a: the file /secrets/key does not exist → put the secret there, readable for this process',
    '10:14: the address of the heartbeat: the secret is not an address to post to: http:// is only for loopback addresses: the message would be sent unencrypted → keep an https:// address there',
    '12:7: the slack address of notify[0]: the variable TIDEGAUGE_TEST_SLACK is not set → set it where tidegauge is started',
    '13:19: the token of notify[1]: the variable TIDEGAUGE_TEST_TOKEN is not set → set it where tidegauge is started',
    '13:19: the chat of notify[1]: the variable TIDEGAUGE_TEST_CHAT is not set → set it where tidegauge is started',
  ])
})

it('a secret’s file that others may read is reported, one for its owner alone is not', () => {
  const { keep, cautions } = trial()
  vi.stubEnv('TIDEGAUGE_TEST_KEY', 'key')
  vi.stubEnv('TIDEGAUGE_TEST_HEARTBEAT', 'https://hc.example.com/check?create=1')
  vi.stubEnv('TIDEGAUGE_TEST_SLACK', 'https://hooks.example.com/x')
  for (const name of ['TOKEN', 'CHAT']) vi.stubEnv(`TIDEGAUGE_TEST_${name}`, '1:x')
  vi.stubEnv('TIDEGAUGE_TEST_RPC', 'https://n.example.com')
  keep('rpc', 'https://n.example.com/k')
  keep('key', 'hunter2', 0o644)
  expect(cautions().filter(line => !line.includes('ehtereum'))).toEqual([
    '8:5: the key of a: others may read its file /secrets/key (mode 644) → chmod 600 /secrets/key',
  ])
})

it('a literal key in an address is reported, and not repeated', () => {
  const file = configFile(`service: embedded
chains: { c: { id: 1, rpc: ["https://n.example.com/v3/Ab1_Cd2-Ef3_Gh4-Ij5", "https://n.example.com/rpc"] } }
protocols:
  - id: a
    name: A
    collectors:
      - use: http-json
        options: { url: "https://e.example.com/x?access=swordfish", pointer: /a }
`)
  const cautions = cautionsOf(loadConfig(file)).map(({ place, message, fix }) => `${place.line}: ${message} → ${fix}`)
  expect(cautions).toEqual([
    '2: a node of c: an address holds what looks like a key, which is a secret → keep the address elsewhere: { env: NAME } or { file: PATH }',
    '8: a/http-json: an address holds what looks like a key, which is a secret → send it in a header that is kept elsewhere, { env: NAME }, where the source takes one',
  ])
})

it('a key that is sent unencrypted to the public network is reported', () => {
  vi.stubEnv('TIDEGAUGE_TEST_RPC', 'http://n.example.com/v3/Ab1_Cd2-Ef3_Gh4-Ij5')
  const file = configFile(`service: embedded
chains:
  a: { id: 1, rpc: [http://n.example.com:8545, http://127.0.0.1:8545, { env: TIDEGAUGE_TEST_RPC }] }
  b: { id: 2, rpc: [{ url: "ws://n.example.com", headers: { x-of: { env: TIDEGAUGE_TEST_RPC } } }] }
protocols: [{ id: a, name: A, collectors: [{ use: host }] }]
`)
  expect(cautionsOf(loadConfig(file)).map(({ place, message, fix }) => `${place.line}: ${message} → ${fix}`)).toEqual([
    '3: a node of a: its key is sent unencrypted, as the address begins with http:// → write https://',
    '4: a node of b: its key is sent unencrypted, as the address begins with ws:// → write wss://',
  ])
})

it('a secret of a source that is sent unencrypted to the public network is reported, once for an address', () => {
  const file = configFile(`service: embedded
protocols:
  - id: a
    name: A
    collectors:
      - { use: http-json, options: { url: "http://api.example.com/x", headers: { x-key: { env: HOME }, x-id: { env: HOME } } } }
      - { use: http-json, id: https, options: { url: "https://api.example.com/x", headers: { x-key: { env: HOME } } } }
      - { use: http-json, id: near, options: { url: "http://10.0.0.7/x", headers: { x-key: { env: HOME } } } }
      - { use: http-json, id: deep, options: { url: "https://a.example.com", more: [{ url: "http://b.example.com", key: { env: HOME } }] } }
`)
  const config = loadConfig(file)
  const described = config.protocols.flatMap(({ collectors }) =>
    collectors.map(collector => ({ collector, description: { secrets: secretsWritten(collector.options, file) } })),
  )
  expect(cautionsOf(config, described).map(({ place, message, fix }) => `${place.line}: ${message} → ${fix}`)).toEqual([
    '6: a/http-json: a secret is sent unencrypted, as the address begins with http:// → write https://',
    '9: a/deep: a secret is sent unencrypted, as the address begins with http:// → write https://',
  ])
})

it.each([
  ['24.12.0', false],
  ['24.18.0', false],
  ['24.18.1', true],
  ['24.21.0', true],
  ['25.9.9', false],
  ['26.5.0', false],
  ['26.5.1', true],
  ['27.0.0', true],
])('a Node with published holes is reported: %s is safe: %s', (node, isSafe) => {
  const config = loadConfig(
    configFile('service: embedded\nprotocols: [{ id: a, name: A, collectors: [{ use: host }] }]'),
  )
  const messages = cautionsOf(config, [], { node }).map(({ message }) => message)
  expect(messages).toEqual(
    isSafe ? [] : [`Node ${node} has published holes in the permissions that confine collectors`],
  )
})

it.each([
  ["'swordfish'", 'quotes'],
  ['METRICS_KEY=swordfish', 'a name and "="'],
])('a key as %s, and a variable in an address, are reported', (key, stray) => {
  vi.stubEnv('TIDEGAUGE_TEST_KEY', key)
  const file = configFile(`service: { url: "https://m.example.com", key: { env: TIDEGAUGE_TEST_KEY } }
protocols:
  - { id: a, name: A, collectors: [{ use: http-json, options: { url: "https://\${HOST}/x", pointer: /a } }] }
`)
  expect(cautionsOf(loadConfig(file)).map(({ message }) => message)).toEqual([
    `the key of the service: the variable TIDEGAUGE_TEST_KEY holds ${stray}, which are sent with it`,
    'a/http-json: variables are not expanded in an address',
  ])
})

it.each([
  'service: { url: "https://$HOST" }',
  'service: { url: "https://$HOST_2/x" }',
  'service: embedded\nchains: { c: { id: 1, rpc: ["wss://n.example.com/$KEY"] } }',
])('a variable in an address is refused: %s', text => {
  const file = configFile(`${text}\nprotocols: [{ id: a, name: A, collectors: [{ use: host }] }]`)
  expect(() => loadConfig(file)).toThrow(/variables are not expanded here/)
})

it('a key whose file was replaced under a mount of the file alone is reported', () => {
  const path = join(dirname(configFile('')), 'key')
  writeFileSync(path, 'swordfish')
  const descriptor = openSync(path, 'r')
  // As a mount shows it: a file without a name.
  rmSync(path)
  const file = `/proc/self/fd/${descriptor}`
  const config = loadConfig(
    configFile(`service: { url: "https://m.example.com", key: { file: ${file} } }
protocols: [{ id: a, name: A, collectors: [{ use: host }] }]`),
  )
  const messages = cautionsOf(config).map(({ message }) => message)
  expect(messages.join()).toContain(`its file ${file} was replaced where it is mounted from`)
  expect(destinationsOf(config, undefined, () => '')[0]?.staleKey?.()).toContain('mount the folder of the file')
})

it('a file in the place of the data, and a first hour that is far ahead, are reported', () => {
  const file = configFile(`service: embedded
data: ./tidegauge.yaml
protocols:
  - id: a
    name: A
    collectors:
      - { use: host, since: 2062-11-29T00:00:00Z }
      - { use: host, id: near, since: 2026-11-30T12:00:00Z }
`)
  const nowMs = Date.UTC(2026, 10, 29, 12)
  const cautions = cautionsOf(loadConfig(file), [], { nowMs }).map(({ place, message, fix }) =>
    `${place.line}: ${message} → ${fix}`.replaceAll(`${dirname(file)}/`, ''),
  )
  expect(cautions).toEqual([
    '2: data: tidegauge.yaml is a file, and a folder is needed → name another folder, or move the file away',
    '7: a/host: its first hour, 2062-11-29T00:00:00Z, is 13148 days from now: until then it is not collected → correct the hour where it is not meant',
  ])
})

it('endpoints of fewer hosts than must agree are counted by the addresses that are kept elsewhere', () => {
  const nodes = '[http://a.test/1, { env: TIDEGAUGE_TEST_RPC }]'
  const config = loadConfig(
    configFile(`service: embedded
chains: { c: { id: 1, agree: 2, rpc: ${nodes} } }
protocols: [{ id: a, name: A, collectors: [{ use: host }] }]
`),
  )
  const messages = () => tooFewHosts(config).map(({ place, message }) => `${place.line}: ${message}`)
  expect(messages()).toEqual([])
  vi.stubEnv('TIDEGAUGE_TEST_RPC', 'http://b.test/1')
  expect(messages()).toEqual([])
  vi.stubEnv('TIDEGAUGE_TEST_RPC', 'http://a.test/2')
  expect(messages()).toEqual(['2: chains.c.agree: 2 hosts must agree, and rpc has 1'])
})
