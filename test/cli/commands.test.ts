import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { adviseFile, withFile } from '../../src/model/advice.ts'
import { openStore } from '../../src/reference/store.ts'
import { openDatabase } from '../../src/sqlite/database.ts'
import { command } from '../support/command.ts'
import { temporaryFolder } from '../support/folder.ts'
import { answering, listening } from '../support/listening.ts'
import { configured, hostYaml } from '../support/tidegauge.ts'
import { hourBack, stage } from './stage.ts'

describe('the command line', () => {
  it('completes each command that takes a configuration with that of the person', async () => {
    const { stdout } = await command(['--help'])
    const names = [...stdout.matchAll(/^ {2}(\w+) /gm)].flatMap(([, name = '']) => name)
    adviseFile('own.yaml')
    const left = names.filter(name => !withFile(`tidegauge ${name}`).endsWith(' --config own.yaml'))
    adviseFile(undefined)
    expect(left).toEqual(['lists', 'fleet', 'notify', 'init', 'new', 'schema', 'service', 'devchain', 'help'])
  })

  it('says which configuration is used where none is named, apart from the result', async () => {
    const { stdout, stderr } = await command(['check', '--json'])
    expect(stderr).toContain('no configuration is named, and no tidegauge.yaml is here: config/local.yaml is used\n')
    expect(JSON.parse(stdout)).toBeTypeOf('object')
    const { config } = configured(hostYaml)
    expect((await command(['check', '--config', config])).stderr).not.toContain('is used')
    expect((await command(['check'], { TIDEGAUGE_CONFIG: config })).stderr).not.toContain('is used')
  })

  it.each([
    [['frob'], 2, "unknown command 'frob'"],
    [['toString'], 2, "unknown command 'toString'"],
    [['__proto__'], 2, "unknown command '__proto__'"],
    [['collect', '--frob'], 2, "unknown option '--frob'"],
    [['collect', '--hour', 'noon'], 2, 'is not an hour'],
    [['collect', '--hour', '2026-11-20T13:30:00Z'], 2, 'not a full hour'],
    [['collect', '--hour', '2999-01-01T00:00:00Z'], 2, 'lies in the future'],
    [['collect', '--only', 'absent'], 2, 'no protocol or collector is called "absent"'],
    [['show', 'absent'], 2, 'no protocol is called "absent"'],
    [['collect', '--only', 'hots'], 2, 'did you mean host?'],
    [['show', 'this-machin'], 2, 'did you mean this-machine?'],
    [['show', 'this-machine'], 1, 'start the daemon, which registers it: tidegauge run --config '],
    [['show'], 2, "missing required argument 'id'"],
    [['dead', 'ls', '--hour', 'noon'], 2, 'is not an hour'],
    [['held', 'ls', '--frob'], 2, "unknown option '--frob'"],
    [['check', '--config', '/nowhere/at/all.yaml'], 78, '/nowhere/at/all.yaml'],
    [['healthcheck'], 1, 'no daemon answers'],
    [['healthcheck', '--live'], 1, 'no daemon answers'],
    [['service', '--listen', 'here'], 2, 'is not host:port'],
    [['service', 'frobnicate'], 2, 'service has no command "frobnicate"'],
    [['dead', 'frobnicate'], 2, 'dead has no command "frobnicate", and no metric or protocol has that name'],
    [['dead', 'retyr'], 2, 'did you mean dead retry?'],
    [['held', 'relaese', 'x'], 2, 'did you mean held release?'],
    [['held', '--config', 'config/local.yaml', 'ls'], 2, 'write held ls first, and its options behind it'],
    [['dead', 'this-machine'], 1, 'nothing of this-machine is dead'],
    [['dead', 'ls', 'frobnicate'], 1, 'no metric or protocol is called "frobnicate"'],
    [['warnings', 'akc'], 2, 'did you mean warnings ack?'],
    [['collect', '--config', 'x', '--hour'], 2, "option '--hour <hour>' argument missing"],
    [['collect', 'now'], 2, "too many arguments for 'collect'"],
    [['gaps', '--from', '2026-11-20T13:00:00Z', '--to', '2026-11-19T13:00:00Z'], 2, 'lies after --to'],
  ])('%j ends with %i and says why, without a stack trace', async (args, expected, words) => {
    const { config } = configured(hostYaml.replace('127.0.0.1:0', '127.0.0.1:1'))
    const hasOwn =
      args.includes('--config') ||
      args[0] === 'service' ||
      args[0] === 'warnings' ||
      (expected === 2 && args.length === 1 && args[0] !== 'show')
    const { code, stderr } = await command(hasOwn ? args : [...args, '--config', config])
    expect(stderr).toContain(words)
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(code).toBe(expected)
  })

  it.each([
    ['a program that is no daemon', '{}'],
    ['a page', '<html></html>'],
  ])('healthcheck names %s that answers in the place of a daemon', async (_, body) => {
    const url = await listening((_, response) => void response.writeHead(404).end(body))
    const { config } = configured(hostYaml.replace('127.0.0.1:0', new URL(url).host))
    const { code, stderr } = await command(['healthcheck', '--config', config])
    expect([code, stderr]).toEqual([1, expect.stringContaining('another program answers at http://127.0.0.1:')])
    const { config: anyPort } = configured(hostYaml)
    expect((await command(['healthcheck', '--live', '--config', anyPort])).stderr).toContain('has port 0, any free one')
  })

  it('does not wait for a pipe without a writer', async () => {
    const { folder } = configured(hostYaml)
    const pipe = join(folder, 'pipe.yaml')
    execFileSync('mkfifo', [pipe])
    const { code, stderr } = await command(['check', '--config', pipe])
    expect(stderr).toContain('this is a pipe, not a file')
    expect(code).toBe(78)
  })

  it('shows what would be sent and leaves no trace with --dry-run', async () => {
    const { folder, config } = configured(hostYaml)
    const { code, stdout } = await command(['collect', '--dry-run', '--config', config])
    expect(code).toBe(0)
    expect(stdout).toContain('this-machine___Load')
    expect(stdout).toContain('4 metrics would be sent')
    expect(existsSync(join(folder, 'data'))).toBe(false)
  })

  it('says of each value why it is not there, what stands in its place, and what to do', async () => {
    const found = { a: '7 000', b: '€9', c: { usd: 1 }, d: true, e: '2e999', f: 4 }
    const url = await answering(() => ({ body: found }))
    const values = ['A', 'B', 'C', 'D', 'E', 'F', 'Gone', 'Lost'].map(
      label => `${label}: { pointer: /${label.length > 1 ? 'gone' : label.toLowerCase()} }`,
    )
    const yaml = `use: http-json\n        options: { url: "${url}/", values: { ${values.join(', ')} } }`
    const { config } = configured(hostYaml.replace('use: host', yaml))
    const { stdout } = await command(['collect', '--dry-run', '--config', config])
    const lines = stdout.split('\n').filter(line => line.startsWith('  '))
    expect(lines).toEqual([
      expect.stringMatching(/^ {2}A: .* at \/a, but the text "7 000": write thousands: " ", which/),
      expect.stringMatching(/^ {2}B: .* at \/b, but the text "€9": /),
      expect.stringMatching(/^ {2}C: .* at \/c, but a map: let the pointer lead on to a number in it/),
      expect.stringMatching(/^ {2}D: .* at \/d, but true/),
      expect.stringMatching(/^ {2}E: is Infinity.* – .*no number is larger than 1\.8e308/),
      expect.stringMatching(/^ {2}Gone, Lost: .* at \/gone, but nothing: at the root there are a, b, c, d, e, f$/),
    ])
    const json = JSON.parse((await command(['collect', '--dry-run', '--json', '--config', config])).stdout)
    expect(json.metrics).toHaveLength(1)
    expect(json.faults[0].values.map(({ labels }: { labels: string[] }) => labels)).toEqual([
      ...['A', 'B', 'C', 'D', 'E'].map(label => [label]),
      ['Gone', 'Lost'],
    ])
    const collected = await command(['collect', '--config', config])
    const explained = await command(['explain', 'this-machine___Lost', '--config', config])
    const status = await command(['status', '--config', config])
    for (const text of [explained, status].map(one => one.stdout)) expect(text).toMatch(/A: .*"7 000".*Gone, Lost: /)
    for (const { stdout: text } of [collected, explained, status]) {
      expect(text).not.toMatch(/await|http-json\.ts/)
    }
  })

  it('collects, queues and delivers one hour, and shows it', async () => {
    const { config } = configured(hostYaml)
    const collected = await command(['collect', '--json', '--config', config])
    expect(collected.code).toBe(0)
    const { hour, metrics, faults } = JSON.parse(collected.stdout) as {
      hour: string
      metrics: { timestamp: string }[]
      faults: unknown[]
    }
    expect(faults).toEqual([])
    expect(metrics.every(({ timestamp }) => timestamp === hour)).toBe(true)
    const status = await command(['status', '--json', '--config', config])
    expect(JSON.parse(status.stdout)).toMatchObject({ balance: { enqueued: 4, delivered: 4, due: 0 } })
    const shown = await command(['show', 'this-machine', '--config', config])
    expect(shown.stdout).toContain('Load')
    const flushed = await command(['flush', '--config', config])
    expect(flushed).toMatchObject({ code: 0, stdout: '0 delivered, 0 due\n' })
  })

  it('says that an outbox is of a newer version before anything is collected, and checks all the same', async () => {
    const { folder, config } = configured(hostYaml)
    openDatabase(join(folder, 'data', 'embedded', 'outbox.db'), { version: 99, sql: '' }).close()
    for (const args of [['collect'], ['collect', '--dry-run'], ['dead'], ['warnings']]) {
      const { code, stdout, stderr } = await command([...args, '--config', config])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain('cannot use the outbox')
    }
    const checked = await command(['check', '--config', config])
    expect(checked.stderr).toContain('units are not compared with those sent so far: cannot use the outbox')
    expect(checked.code).toBe(0)
  })

  it('says that a value collected before stands', async () => {
    const { folder, config } = configured(hostYaml.replace('use: host', 'use: ./own/given.js'), {
      'own/given.js': `import { readFileSync } from 'node:fs'
import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Given: {} },
  history: false,
  collect: () => ({ Given: Number(readFileSync(new URL('value', import.meta.url), 'utf8')) }),
})
`,
      'own/value': '42',
    })
    await command(['collect', '--config', config])
    writeFileSync(join(folder, 'config', 'own', 'value'), '99')
    const { stdout } = await command(['collect', '--config', config])
    expect(stdout).toMatch(/this-machine___Given +99 +collected before: 42 stands/)
  })

  it('says, with the mistakes of the file, that a daemon keeps the configuration it has', async () => {
    const { config } = configured(hostYaml.replace('use: host', 'uses: host'))
    const { code, stdout, stderr } = await command(['status', '--config', config])
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' })
    expect(stderr).toMatch(/^A daemon that runs already goes on with the configuration it has\.$/m)
    expect(stderr).toMatch(/tidegauge\.yaml:\d+:\d+: /)
  })

  it('never takes what was tried with the embedded service for delivered to a real one', async () => {
    const { config } = configured(hostYaml)
    expect(await command(['collect', '--config', config])).toMatchObject({ code: 0 })
    writeFileSync(config, hostYaml.replace('embedded', '{ url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }'))
    const status = await command(['status', '--json', '--config', config], { METRICS_KEY: 'some-key-or-other' })
    expect(JSON.parse(status.stdout)).toMatchObject({ balance: { enqueued: 0, delivered: 0 } })
  })

  it('does not ask a collector that reads only "now" for a past hour', async () => {
    const { config } = configured(hostYaml)
    const { code, stdout } = await command(['collect', '--hour', '2026-01-01T00:00:00Z', '--config', config])
    expect(code).toBe(1)
    expect(stdout).toContain('reads only "now"')
  })

  it('brings past hours, reads them again, compares a changed collector, and explains a value', async () => {
    const { config, run, give, service } = await stage({ metrics: { A: {} }, values: { A: 7 } })
    const from = hourBack(2)
    expect(await run('backfill', '--from', from, '--to', hourBack(1))).toMatchObject({ code: 0 })
    expect(await run('diff', '--sample', '50')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('no difference'),
    })
    give({ metrics: { A: {} }, values: { A: 8 } })
    const diff = await run('diff', '--collector', join(dirname(config), 'pool/given.js'))
    expect(diff).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/2 delivered hours of pool\/given, .*2 values not/),
    })
    expect(await run('explain', 'pool___A', from)).toMatchObject({
      stdout: expect.stringMatching(/^pool___A of \S+: 7, delivered\n[\s\S]*\nread again now: 8, not the stored 7\n/),
    })
    expect(await run('dead', 'ls')).toMatchObject({ code: 0 })
    service.shows = () => ({ status: 200, body: [] })
    expect(await run('doctor')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^✔ key: /m) })
  })

  it('begins a folder in which check and collect work at once', async () => {
    const folder = temporaryFolder()
    expect(await command(['init', folder])).toMatchObject({ code: 0 })
    const config = join(folder, 'tidegauge.yaml')
    expect(await command(['check', '--config', config])).toMatchObject({ code: 0 })
  })

  it('registers protocols, and says so when they were registered before', async () => {
    const { config } = configured(hostYaml)
    expect(await command(['register', '--config', config])).toMatchObject({
      code: 0,
      stdout: 'this-machine: registered\n',
    })
    expect(await command(['register', '--config', config])).toMatchObject({
      code: 0,
      stdout: 'this-machine: registered before\n',
    })
  })

  it('refuses two collectors of one protocol that give the same metric', async () => {
    const { config } = configured(`${hostYaml}      - use: host\n        id: again\n`)
    const { code, stderr } = await command(['check', '--config', config])
    expect(code).toBe(78)
    expect(stderr).toMatch(/tidegauge\.yaml:8:\d+: this-machine\/again gives the metric this-machine___Load/)
  })

  it('checks offline, and collects what needs no chain, without the address of a node', async () => {
    const chain = 'chains: { ethereum: { id: 1, rpc: [{ env: NO_SUCH_VARIABLE }] } }\n'
    const { config } = configured(hostYaml + chain)
    expect(await command(['check', '--config', config])).toMatchObject({ code: 0 })
    const { code, stderr } = await command(['collect', '--dry-run', '--config', config])
    expect(code).toBe(0)
    expect(stderr).toMatch(/"endpoint":"NO_SUCH_VARIABLE","reason":"[^"]*tidegauge\.yaml:8:\d+\)/)
  })

  it('makes a key of the reference service, printed once and listed without it', async () => {
    const { folder } = configured(hostYaml)
    const file = join(folder, 'service.db')
    const made = await command(['service', 'key', 'create', 'phone', '--file', file])
    expect(made).toMatchObject({ code: 0, stderr: '' })
    const key = made.stdout.trim()
    expect(key.length).toBeGreaterThan(30)
    const listed = await command(['service', 'key', 'ls', '--file', file])
    expect(listed.stdout).toContain('phone')
    expect(listed.stdout).not.toContain(key)
    const store = openStore(file, systemTime)
    onTestFinished(() => store.close())
    expect(store.keys.find(key)?.name).toBe('phone')
  })
})
