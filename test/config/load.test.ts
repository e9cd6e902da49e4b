import { chmodSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { jsonSchema } from '../../src/config/explain.ts'
import { hiddenPaths } from '../../src/config/include.ts'
import { loadConfig, parseConfig } from '../../src/config/load.ts'
import { formatMistakes, mistakesLine } from '../../src/config/mistakes.ts'
import { faultLine } from '../../src/model/fault.ts'
import { configFile, mistakesIn, protocolsText } from './file.ts'

const shipped = (name: string) => new URL(`../../config/${name}`, import.meta.url).pathname

describe('a configuration', () => {
  it('has every default', () => {
    const file = configFile(`service: embedded\n${protocolsText}`)
    expect(loadConfig(file)).toMatchObject({
      file,
      service: { kind: 'embedded' },
      data: { kind: 'folder', folder: join(dirname(dirname(file)), 'data', 'embedded') },
      fleet: {},
      collect: { deadlineMs: 60_000, catchUpMs: 7 * 24 * 3_600_000 },
      delivery: { timeoutMs: 30_000, inFlight: 4, pacePerSecond: 5 },
      outbox: { keepMs: 35 * 24 * 3_600_000 },
      status: { host: '127.0.0.1', port: 9464 },
      log: { level: 'info' },
      chains: [],
      protocols: [{ id: 'a', name: 'A', register: true, collectors: [{ id: 'a/host', options: {}, use: 'host' }] }],
    })
  })

  it('may have a heartbeat, whose address is kept elsewhere', () => {
    const file = configFile(`service: embedded\nheartbeat: { url: { file: beat } }\n${protocolsText}`)
    expect(loadConfig(file).heartbeat).toEqual({
      url: { kind: 'file', path: join(dirname(file), 'beat'), place: { file, line: 2, column: 14 } },
    })
  })

  it('may have receivers of notifications, whose secrets are kept elsewhere', () => {
    const file = configFile(`service: embedded
notify:
  - { webhook: { env: ALERT_URL } }
  - { slack: { file: slack } }
  - { telegram: { token: { env: TOKEN }, chat: -1001234567890 } }
  - { telegram: { token: { env: TOKEN }, chat: "@tides", url: "http://127.0.0.1:8081/" } }
  - { telegram: { token: { env: TOKEN }, chat: { file: chat } } }
${protocolsText}`)
    const { notify } = loadConfig(file)
    const nextTo = (name: string) => ({ kind: 'file', path: join(dirname(file), name) })
    const token = { kind: 'env', name: 'TOKEN' }
    expect(notify).toMatchObject([
      { kind: 'webhook', url: { kind: 'env', name: 'ALERT_URL', place: { line: 3, column: 7 } } },
      { kind: 'slack', url: nextTo('slack') },
      { kind: 'telegram', token, chat: { kind: 'text', text: '-1001234567890' }, url: 'https://api.telegram.org' },
      { kind: 'telegram', token, chat: { kind: 'text', text: '@tides' }, url: 'http://127.0.0.1:8081' },
      { kind: 'telegram', token, chat: nextTo('chat') },
    ])
    expect(hiddenPaths(loadConfig(file))).toEqual(expect.arrayContaining([nextTo('slack').path, nextTo('chat').path]))
  })

  it('may keep its outbox in a database that a fleet shares, whose address is kept elsewhere', () => {
    const file = configFile(`service: { url: "https://m.example.com", key: { env: KEY } }
data: { postgres: { file: database } }
fleet: { name: eu-1, lanes: [main, web, main] }
chains: { main: { id: 1, rpc: [./geth.ipc] } }
protocols: [{ id: a, name: A, collectors: [{ use: host, machine: eu-2 }] }]
`)
    const config = loadConfig(file)
    const path = join(dirname(file), 'database')
    expect(config).toMatchObject({
      data: {
        kind: 'postgres',
        address: { kind: 'file', path, place: { file, line: 2, column: 9 } },
        keptIn: join(dirname(file), '../data/kept'),
      },
      fleet: { name: 'eu-1', lanes: ['main', 'web'] },
      protocols: [{ collectors: [{ machine: 'eu-2' }] }],
    })
    expect(hiddenPaths(config)).toContain(path)
  })

  it('keeps data in the working directory when it came with an installed package', () => {
    const installed = '/srv/app/node_modules/tidegauge/config/local.yaml'
    const { data } = parseConfig(installed, readFileSync(shipped('local.yaml'), 'utf8'))
    expect(data).toMatchObject({ kind: 'folder', folder: resolve('data/embedded') })
  })

  it('has hours of the day for a collector, where not each hour is expected', () => {
    const own = (rhythm: string) =>
      `service: embedded\nprotocols: [{ id: a, name: A, collectors: [{ use: host, ${rhythm} }] }]`
    const atOf = (rhythm: string) => loadConfig(configFile(own(rhythm))).protocols[0]?.collectors[0]?.at
    expect([
      atOf('at: 08:00'),
      atOf('at: ["12:00", "00:00"]'),
      atOf('every: 24h'),
      atOf('every: 1d'),
      atOf('every: 8h, at: 02:00'),
    ]).toEqual([[8], [0, 12], [0], [0], [2, 10, 18]])
    const refused = (rhythm: string) => mistakesIn(configFile(own(rhythm))).message
    expect(refused('at: "08:30"')).toContain('"08:30" is not a full hour of the day')
    expect(refused('every: 5h')).toContain('"5h" does not divide a day into full hours')
  })

  it('has a deadline of its own for a collector', () => {
    const own = (deadline: string) =>
      `service: embedded\nprotocols: [{ id: a, name: A, collectors: [{ use: host, deadline: ${deadline} }, { use: x }] }]`
    const [protocol] = loadConfig(configFile(own('5m'))).protocols
    expect(protocol?.collectors.map(({ deadlineMs }) => deadlineMs)).toEqual([300_000, undefined])
    expect(mistakesIn(configFile(own('31m'))).message).toContain('"31m" is too long')
  })

  it('is frozen in every part', () => {
    const file = configFile(
      'service: embedded\nprotocols: [{ id: a, name: A, collectors: [{ use: x, options: { y: [1] } }] }]',
    )
    const config = loadConfig(file)
    const parts: unknown[] = [config]
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      if (typeof part !== 'object' || part === null) continue
      expect(part).toSatisfy(Object.isFrozen)
      parts.push(...Object.values(part))
    }
  })

  it('finds files next to itself, and leaves addresses as they are', () => {
    const text = `service: { url: "https://m.example.com/base//", key: { file: key } }
data: kept
chains: { main: { id: 1, rpc: [./geth.ipc, /abs/geth.ipc, "wss://n.example.com/KEY", { file: ../rpc }, { env: RPC }] } }
${protocolsText}`
    const file = configFile(text)
    const folder = dirname(file)
    expect(loadConfig(file)).toMatchObject({
      service: { url: 'https://m.example.com/base', key: { kind: 'file', path: join(folder, 'key') } },
      data: { kind: 'folder', folder: join(folder, 'kept') },
      chains: [
        {
          name: 'main',
          rpc: [
            { kind: 'url', url: join(folder, 'geth.ipc') },
            { kind: 'url', url: '/abs/geth.ipc' },
            { kind: 'url', url: 'wss://n.example.com/KEY' },
            { kind: 'file', path: join(dirname(folder), 'rpc') },
            { kind: 'env', name: 'RPC' },
          ],
        },
      ],
      protocols: [{ register: false }],
    })
  })

  it('takes the limits of a node next to its address, in each of its forms', () => {
    const text = `service: embedded
chains:
  main:
    id: 1
    settle: 0s
    rpc:
      - { url: ./geth.ipc, rate: 2.5 }
      - { url: "https://n.example.com", batch: 100 }
      - { file: rpc, rate: 25, batch: 1, logBlocks: 500 }
      - { env: RPC, rate: 1 }
collect: { catchUp: 30d }
${protocolsText}`
    const file = configFile(text)
    const config = loadConfig(file)
    expect(config.collect.catchUpMs).toBe(30 * 24 * 3_600_000)
    const chains = config.chains.map(chain => ({ ...chain, rpc: chain.rpc.map(({ place: _, ...ref }) => ref) }))
    expect(config.chains[0]?.rpc.map(({ place }) => [place.line, place.column])).toContainEqual([7, 9])
    expect(chains).toEqual([
      {
        name: 'main',
        id: 1,
        settleMs: 0,
        rpc: [
          { kind: 'url', url: join(dirname(file), 'geth.ipc'), callsPerSecondMax: 2.5 },
          { kind: 'url', url: 'https://n.example.com', batchCallsMax: 100 },
          {
            kind: 'file',
            path: join(dirname(file), 'rpc'),
            callsPerSecondMax: 25,
            batchCallsMax: 1,
            logBlocksMax: 500,
          },
          { kind: 'env', name: 'RPC', callsPerSecondMax: 1 },
        ],
      },
    ])
  })

  it.each([
    ['host', 'host'],
    ['./my/own.ts', 'own'],
    ['/abs/own.mjs', 'own'],
    ['tidegauge-extra', 'tidegauge-extra'],
    ['@acme/tides', 'tides'],
  ])('names the collector %s %s', (use, id) => {
    const text = `service: embedded\nprotocols: [{ id: a, name: A, collectors: [{ use: "${use}" }] }]`
    expect(loadConfig(configFile(text)).protocols[0]?.collectors[0]?.id).toBe(`a/${id}`)
  })

  it.each([
    ['"127.0.0.1:0"', '127.0.0.1', 0],
    ['"[::1]:9464"', '::1', 9464],
    ['localhost:80', 'localhost', 80],
    ['0.0.0.0:9464', '0.0.0.0', 9464],
  ])('listens on %s', (listen, host, port) => {
    const text = `service: embedded\nstatus: { listen: ${listen} }\n${protocolsText}`
    expect(loadConfig(configFile(text)).status).toEqual({ host, port, hosts: [], ready: 'late' })
  })

  it('answers to names when they are given, in whatever case they are written', () => {
    const text = `service: embedded\nstatus: { listen: "0.0.0.0:9464", hosts: [Tide.internal] }\n${protocolsText}`
    expect(loadConfig(configFile(text)).status.hosts).toEqual(['tide.internal'])
  })

  it('takes how strict readiness is', () => {
    const text = `service: embedded\nstatus: { ready: strict }\n${protocolsText}`
    expect(loadConfig(configFile(text)).status.ready).toBe('strict')
  })

  it('takes an address without quotes as text', () => {
    const vault = '0x83F20F44975D03b1b09e64809B757c47f942BEeA'
    const text = `service: embedded\nprotocols: [{ id: a, name: A, collectors: [{ use: x, options: { vault: ${vault} } }] }]`
    expect(loadConfig(configFile(text)).protocols[0]?.collectors[0]?.options).toEqual({ vault })
  })

  it('knows the place of each option, or of the nearest part that exists', () => {
    const text = `service: embedded
protocols:
  - id: a
    name: A
    collectors:
      - use: x
        options:
          pools: [main, side]
          limit: { high: 3 }
      - use: y
`
    const [x, y] = loadConfig(configFile(text)).protocols[0]?.collectors ?? []
    const at = (path: readonly PropertyKey[]) => {
      const place = x?.placeOf(path)
      return [place?.line, place?.column]
    }
    expect(at([])).toEqual([7, 9])
    expect(at(['pools', 1])).toEqual([8, 25])
    expect(at(['pools', 7])).toEqual([8, 11])
    expect(at(['limit', 'high'])).toEqual([9, 26])
    expect(at(['limit', 'low', 'deep'])).toEqual([9, 11])
    expect(at(['missing'])).toEqual([7, 9])
    expect(x?.placeOf(['limit', 'high'], 'key')).toMatchObject({ line: 9, column: 20 })
    expect(y?.placeOf(['missing'])).toMatchObject({ line: 10, column: 9 })
  })
})

describe('a file that cannot be read', () => {
  const messageOf = (file: string) => mistakesIn(file).mistakes.map(({ message }) => message)

  it('is missing, a folder or endless', () => {
    expect(messageOf('/no/such/tidegauge.yaml')).toEqual(['there is no such file'])
    expect(messageOf(tmpdir())).toEqual(['this is a folder, not a file'])
    expect(messageOf('/dev/zero')).toEqual(['the file has more than 262144 bytes'])
  })

  it.each(['\n', '\r\n', '\r'])('reports where it is not UTF-8, its lines ended by %j', ending => {
    const latin = configFile(new Uint8Array([...Buffer.from(`a: 1${ending}b: `), 0xe9, 0x0a]))
    expect(mistakesIn(latin).mistakes).toMatchObject([
      { message: 'the file is not UTF-8 text from here on', place: { line: 2, column: 4 } },
    ])
  })

  it.skipIf(process.getuid?.() === 0)('may not be read', () => {
    const file = configFile(protocolsText)
    chmodSync(file, 0)
    expect(messageOf(file)).toEqual(['the file may not be read'])
  })

  it('may begin with a byte order mark', () => {
    expect(loadConfig(configFile(`\ufeffservice: embedded\n${protocolsText}`)).service.kind).toBe('embedded')
  })

  it('may have the line ends of old Macs', () => {
    const text = `# first\nservice: embedded\n${protocolsText}`.replaceAll('\n', '\r')
    expect(loadConfig(configFile(text)).service.kind).toBe('embedded')
    const mistaken = mistakesIn(configFile(text.replace('embedded', 'embeded')))
    expect(mistaken.mistakes).toMatchObject([{ place: { line: 2, column: 10 } }])
  })

  it('may close a bracket at the beginning of a line', () => {
    const text = 'service: embedded\nprotocols: [\n  { id: a, name: A, collectors: [\n    { use: host }\n  ] }\n]\n'
    expect(loadConfig(configFile(text)).protocols.length).toBe(1)
  })

  it('may have the line ends of Windows', () => {
    const text = `service: embedded\nprotocols: 3\n`.replaceAll('\n', '\r\n')
    expect(mistakesIn(configFile(text)).mistakes).toMatchObject([{ place: { line: 2, column: 12 } }])
  })
})

describe('mistakes', () => {
  it('are printed like those of a compiler', () => {
    const file = configFile('service: embeded\nprotocols: 3\n')
    const error = mistakesIn(file)
    expect(formatMistakes(error.mistakes)).toBe(
      `${file}:1:10: service: must be embedded or a map, not text
    did you mean embedded?
${file}:2:12: protocols: must be a list, not the number 3
    write it like [{ id: awesome-vault, name: Awesome Vault, collectors: [{ use: host }] }]`,
    )
    expect(mistakesLine(error.mistakes)).toBe(
      `${file}:1:10: service: must be embedded or a map, not text: did you mean embedded?; ${file}:2:12: protocols: must be a list, not the number 3: write it like [{ id: awesome-vault, name: Awesome Vault, collectors: [{ use: host }] }]`,
    )
    expect(faultLine(error)).toContain('2 mistakes in the configuration, the first: ')
    expect(error.code).toBe('config')
  })

  it('name a file from here, where that is shorter', () => {
    const file = join(process.cwd(), 'config', 'none.yaml')
    expect(formatMistakes(mistakesIn(file).mistakes)).toMatch(/^config[/\\]none\.yaml:1:1: /)
  })

  it('are cut short when there are thousands', () => {
    const text = Array.from({ length: 200 }, (_, index) => `key${index}: 1\n`).join('')
    expect(
      formatMistakes(mistakesIn(configFile(text)).mistakes)
        .split('\n')
        .at(-1),
    ).toBe('and 152 more')
    expect(mistakesLine(mistakesIn(configFile(text)).mistakes)).toMatch(/; and 197 more: tidegauge check shows all$/)
  })
})

describe('the shipped files', () => {
  it.each(['local.yaml', 'production.example.yaml'])('%s has no mistake and names its schema', name => {
    const firstLine = readFileSync(shipped(name), 'utf8').split('\n')[0]
    expect(loadConfig(shipped(name)).protocols.length).toBeGreaterThan(0)
    expect(firstLine).toBe('# yaml-language-server: $schema=./tidegauge.schema.json')
  })

  it('the example shows every key there is, each with its default', () => {
    const example = readFileSync(shipped('production.example.yaml'), 'utf8')
    const keys: { name: string; preset: unknown }[] = []
    JSON.stringify(jsonSchema(), (_, part) => {
      for (const [name, schema] of Object.entries<{ default?: unknown }>(part?.properties ?? {})) {
        keys.push({ name, preset: schema.default })
      }
      return part
    })
    expect(keys.length).toBeGreaterThan(25)
    for (const { name, preset } of keys) {
      expect(example).toMatch(new RegExp(`\\b${name}:`))
      if (typeof preset === 'string' || typeof preset === 'number') {
        expect(example).toMatch(new RegExp(`\\b${name}: "?${preset}"?\n`))
      }
    }
  })

  it('every key has a description', () => {
    const blank: string[] = []
    JSON.stringify(jsonSchema(), (_, part) => {
      for (const [name, schema] of Object.entries<{ description?: string }>(part?.properties ?? {})) {
        if (!schema.description) blank.push(name)
      }
      return part
    })
    expect(blank).toEqual([])
  })
})
