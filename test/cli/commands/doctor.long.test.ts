import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { AppContext } from '../../../src/app/context.ts'
import { dataFindings } from '../../../src/cli/doctor/here.ts'
import type { Config } from '../../../src/config/config.ts'
import { Anvil } from '../../../src/devchain/anvil.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { openNotReady } from '../../../src/status/server/starting.ts'
import { command } from '../../support/command.ts'
import { type FaultyRpc, type RpcFault, startFaultyRpc } from '../../support/faulty-rpc.ts'
import { freePort } from '../../support/free-port.ts'
import { listening } from '../../support/listening.ts'
import { receiver } from '../../support/receiver.ts'
import { configured, startDaemon } from '../../support/tidegauge.ts'

const key = 'a-key-that-nobody-may-see'
const rpcKey = 'k3y-0f-the-provider-4711'

/** Failures of the service, by path: the status it answers with. */
interface Wrong {
  readonly statuses?: Readonly<Record<string, number>>
  /** Paths that are answered with a login page, by their beginning. */
  readonly page?: string
  /** Whether a gateway refuses all, in its own words. */
  readonly isRefusing?: true
  /** Lead of its clock. */
  readonly aheadMs?: number
}

let anvil: Anvil
let node: FaultyRpc
let other: FaultyRpc

/** A chain of two days, whose last block is a few seconds old. */
beforeAll(async () => {
  const nowSeconds = Math.floor(Date.now() / 1_000)
  anvil = await Anvil.start(nowSeconds - 48 * 3_600)
  await anvil.rpc('anvil_mine', hex(48 * 60), hex(60))
  node = await startFaultyRpc(anvil.url, `/v2/${rpcKey}`)
  other = await startFaultyRpc(anvil.url)
})

afterAll(async () => {
  await Promise.all([node.stop(), other.stop()])
  await anvil.stop()
})

/** Its options have events, too, which are no signatures. */
const ownCollector = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.looseObject({ address: z.string() }),
  metrics: { Own: {} },
  history: true,
  async collect({ options, chain }) {
    const event = { type: 'event', name: 'Paid', inputs: [] }
    return { Own: (await chain('local').logs({ address: options.address, event })).length }
  },
})
`

const hex = (count: number) => `0x${count.toString(16)}`

/** The answer to a push of which everything is accepted. */
function taken(body: string): string {
  const processed: number = JSON.parse(body).metrics.length
  return JSON.stringify({ success: true, processed, errors: [], warnings: [] })
}

async function stage(
  { statuses = {}, page, isRefusing, aheadMs = 0 }: Wrong = {},
  rpc = [node.url],
  chainId = 31_337,
  port = 0,
) {
  const url = await listening(async (request, response) => {
    const path = request.url ?? ''
    const body = await text(request)
    const status = Object.entries(statuses).find(([start]) => path.startsWith(start))?.[1] ?? 200
    const date = new Date(Date.now() + aheadMs).toUTCString()
    if (isRefusing) {
      response.writeHead(403, { date, 'content-type': 'text/plain' }).end('no such tenant')
      return
    }
    const isPage = page !== undefined && path.startsWith(page)
    response
      .writeHead(status, { date, 'content-type': isPage ? 'text/html' : 'application/json' })
      .end(isPage ? '<title>Sign in</title>' : request.method === 'POST' ? taken(body) : '[]')
  })
  const yaml = `service: { url: "${url}", key: { env: METRICS_KEY } }
status: { listen: "127.0.0.1:${port}" }
chains:
  local: { id: ${chainId}, rpc: [${rpc.join(', ')}] }
protocols:
  - id: pool
    name: Pool
    collectors:
      - use: ./one.js
`
  const { folder, config } = configured(yaml, { 'one.js': collector })
  const run = (...args: string[]) => command(['doctor', ...args, '--config', config], { METRICS_KEY: key })
  return { folder, config, url, run }
}

const collector = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({ options: z.strictObject({}), metrics: { One: {} }, history: true, collect: () => ({ One: 1 }) })
`

/** The lines of findings that are not as they should be. */
const bad = (stdout: string) => stdout.split('\n').filter(line => /^[!✖]/.test(line))
/** Findings of every test: a chain without Multicall3, no daemon, and a last block that ages on a slow machine. */
const usual = [/has no Multicall3/, /^! daemon: none runs on this outbox → tidegauge run/, /chain 31337, block 2880, /]
const unusual = (stdout: string) => bad(stdout).filter(line => !usual.some(pattern => pattern.test(line)))

async function misbehaving<T>(faults: readonly RpcFault[], work: () => Promise<T>): Promise<T> {
  node.misbehave(...faults)
  try {
    return await work()
  } finally {
    node.misbehave()
  }
}

describe('doctor', () => {
  it('says which addresses of reports cannot be used, and sends nothing to the others', async () => {
    const { url, posts } = await receiver()
    const { config, run } = await stage()
    const reports = `heartbeat: { url: { env: HEARTBEAT_URL } }\nnotify: [{ slack: { env: SLACK_URL } }, { webhook: { env: ALERT_URL } }]\n`
    writeFileSync(config, `${readFileSync(config, 'utf8')}${reports}`)
    vi.stubEnv('HEARTBEAT_URL', `${url}/check`)
    vi.stubEnv('ALERT_URL', 'http://alerts.example.com/hunter2')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { code, stdout } = await run()
    expect(unusual(stdout)).toEqual([
      expect.stringMatching(
        /^! configuration: .*: the slack address of notify\[0\]: the variable SLACK_URL is not set/,
      ),
      expect.stringMatching(/^! configuration: .*: the webhook address of notify\[1\]: .* only for loopback addresses/),
    ])
    expect(stdout).not.toContain('hunter2')
    expect(code).toBe(0)
    expect(posts).toEqual([])
  })

  it('says why a daemon that answers has no outbox, and not that none runs; `status` too', async () => {
    const bound = { host: '127.0.0.1', port: await freePort() }
    const reason = 'the data folder is gone – mount it again'
    const early = await openNotReady(bound, reason)
    onTestFinished(() => early.stop())
    const { config, run } = await stage({}, [node.url], 31_337, bound.port)
    const { code, stdout } = await run()
    expect(unusual(stdout)).toEqual([`✖ daemon: one answers at 127.0.0.1:${bound.port}, and cannot work: ${reason}`])
    expect(code).toBe(1)
    const status = await command(['status', '--config', config], { METRICS_KEY: key })
    expect(status.stdout).toContain(`NOT READY\n  the daemon cannot work: ${reason}\n\n`)
    expect(status.stdout).toContain(`daemon  one answers at 127.0.0.1:${bound.port}, without this outbox\n`)
    expect(status.code).toBe(1)
  })

  it('says of everything that it is well, a line each, and shows no secret', async () => {
    const { run } = await stage()
    const { code, stdout, stderr } = await run()
    expect(unusual(stdout)).toEqual([])
    for (const sentence of [
      /^✔ configuration: .*tidegauge\.yaml is in order: 1 collector$/m,
      /^✔ service: 127\.0\.0\.1:\d+ answers$/m,
      /^✔ clock: /m,
      /^✔ key: the service accepts the key$/m,
      /^✔ protocol pool: is registered; the first push shows whether it is ours$/m,
      /^[✔!] local 127\.0\.0\.1:\d+: .*chain 31337, block 2880, \d+ \w+ old/m,
      /^✔ local .*: has the state of all blocks/m,
      /^✔ local .*: answers 1,000 blocks of logs in one request$/m,
      /^✔ disk: .* free for /m,
      /^✔ files: no other user may read the data folder$/m,
      /^✔ outbox: is not there yet/m,
      /^nothing stops delivery or the next hour; [23] warnings: see ! above$/m,
    ]) {
      expect(stdout).toMatch(sentence)
    }
    expect(code).toBe(0)
    expect(stdout + stderr).not.toContain(key)
    expect(stdout + stderr).not.toContain(rpcKey)
  })

  it('says which event sums have no contract, or an event that is not seen, as the first dry run does', async () => {
    const nowSeconds = Math.floor(Date.now() / 1_000)
    const emitting = await Anvil.start(nowSeconds - 7_200)
    onTestFinished(() => emitting.stop())
    const [token, absent] = [`0x${'c0'.repeat(20)}`, `0x${'0d'.repeat(20)}`]
    // Emits a log without data for each call: PUSH32 topic, PUSH1 0, PUSH1 0, LOG1.
    const transfer = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
    await emitting.rpc('anvil_setCode', token, `0x7f${transfer}60006000a1`)
    await emitting.rpc('anvil_mine', hex(121), hex(60))
    const [from] = await emitting.rpc<string[]>('eth_accounts')
    for (const _ of ['one', 'two']) {
      await emitting.rpc('eth_sendTransaction', { from, to: token, gas: '0x186a0' })
      await emitting.rpc('evm_mine')
    }
    const { config, run } = await stage({}, [emitting.url])
    const sum = (label: string, address: string, event: string) =>
      `      - { id: ${label}, use: event-sum, options: { chain: local, count: true, label: ${label}, address: "${address}", event: "${event}" } }\n`
    const sums = [
      sum('seen', token, 'Transfer(address,address,uint256)'),
      sum('unseen', token, 'Paid(address indexed who, uint128 amount)'),
      sum('several', token, 'Transfer(address,address,uint256)').replace(
        /(count: true), (.*) (event: .*) } }/,
        '$2 events: [{ $1, event: "Paid(uint8 kind)" }, { $1, $3 }, { $1, event: "Paid(uint8 kind)", where: { kind: 1 } }] } }',
      ),
      sum('absent', absent, 'Transfer(address,address,uint256)'),
      `      - { use: ./own.ts, options: { address: "${token}", events: [{ event: paid }] } }\n`,
    ]
    writeFileSync(join(dirname(config), 'own.ts'), ownCollector)
    writeFileSync(config, readFileSync(config, 'utf8').replace(/ +- use: .*\n/, sums.join('')))
    const quiet = (event: string) =>
      new RegExp(`no event ${event} of ${token} in the last \\d+ blocks; it emitted Transfer ×2`)
    const unseen = quiet('"Paid\\(address indexed who, uint128 amount\\)"')
    const { code, stdout } = await run()
    expect(unusual(stdout)).toEqual([
      expect.stringMatching(/^! pool\/absent: 0x0d0d.* has no events: no contract there at that hour → check address/),
      expect.stringMatching(new RegExp(`^! pool/unseen: ${unseen.source} → check its address and event`)),
      expect.stringMatching(/^! pool\/several: no event "Paid\(uint8 kind\)" of 0x\w+ in the last/),
      expect.stringMatching(new RegExp(`^! pool/own: ${quiet('with topic 0x\\w{64}').source}`)),
    ])
    expect(code).toBe(0)
    const dry = await command(['collect', '--dry-run', '--config', config], { METRICS_KEY: key })
    expect(dry.stderr).toMatch(new RegExp(`warning: pool___unseen: ${unseen.source}`))
    expect(dry.stderr).toMatch(/warning: pool___Own: no event with topic /)
    // One of its events is there: only some of what it adds up is not.
    expect(dry.stderr).toMatch(/warning: pool\/several: no event "Paid\(uint8 kind\)" of /)
    expect(dry.stderr).not.toContain('pool___seen')
    expect(dry.stdout).toContain('not collected: pool/absent: ')
  })

  it('asks each off-chain source that collectors, prices and lists name, a line a host', async () => {
    const api = await listening((request, response) => {
      const isFine = !request.url?.startsWith('/odd')
      response.writeHead(200, { 'content-type': 'application/json' }).end(isFine ? '{"pool":{"tvl":7}}' : '{"pool":1}')
    })
    const refusing = await listening((_request, response) => void response.writeHead(403).end('no'))
    const unused = await freePort()
    const { config, run } = await stage()
    const use = (entry: string) => `      - { ${entry} }\n`
    const json = (id: string, url: string, more = '') =>
      use(`id: ${id}, use: http-json, options: { url: ${url}, pointer: /pool/tvl, label: ${id}${more} }`)
    const entries = [
      json('plain', `"${api}/tvl"`),
      json('graph', '{ env: GRAPH_URL }', ', body: { query: "{ pool { tvl } }" }'),
      use(`use: prometheus, options: { url: "${refusing}", values: { Up: { query: "sum(up)" } } }`),
      use('use: sql, options: { postgres: { env: SALES_URL }, query: "SELECT 1 AS n", values: { n: {} } }'),
      use('id: file, use: sql, options: { path: ./sales.db, query: "SELECT 1 AS m", values: { m: {} } }'),
    ]
    const source = (url: string) => `{ url: "${url}/at/{hourSeconds}", pointer: /pool/tvl }`
    const lists = `lists: { team: { chain: local, url: "${refusing}/team/{hourSeconds}", pointer: /pool/tvl } }\n`
    const prices = `prices: { TEA: [${source(`http://127.0.0.1:${unused}`)}, ${source(api)}], JAM: [${source(`${api}/odd`)}] }\n`
    const text = readFileSync(config, 'utf8').replace(/ +- use: .*\n/, entries.join(''))
    writeFileSync(config, prices + lists + text)
    vi.stubEnv('GRAPH_URL', `${api}/graph/k3y-in-the-path-0815`)
    vi.stubEnv('SALES_URL', `postgres://till:s3cr3t-of-till@127.0.0.1:${unused}/shop`)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { code, stdout } = await run()
    const [host, wrong] = [new URL(api).host, new URL(refusing).host]
    const lines = stdout.split('\n').filter(line => /^. source /.test(line))
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^✖ source ${host}: price JAM: .* → `)),
      expect.stringMatching(new RegExp(`^✖ source ${wrong}: pool/prometheus: .*403.*; and 1 more → `)),
      expect.stringMatching(new RegExp(`^✖ source 127\\.0\\.0\\.1:${unused}: pool/sql: .*; and 1 more → `)),
      expect.stringMatching(/^✖ source \.\/sales\.db: pool\/file: .* → /),
    ])
    expect(stdout).not.toMatch(/k3y-in-the-path-0815|s3cr3t-of-till/)
    expect(code).toBe(1)

    writeFileSync(config, `prices: { TEA: [${source(`http://127.0.0.1:${unused}`)}, ${source(api)}] }\n${text}`)
    writeFileSync(config, readFileSync(config, 'utf8').replace(/ +- \{ (use: (prometheus|sql)|id: file).*\n/g, ''))
    const well = await run()
    expect(well.stdout).toContain(`✔ source ${host}: answers pool/plain; pool/graph; price TEA, source 2\n`)
    expect(unusual(well.stdout)).toEqual([
      expect.stringMatching(
        new RegExp(`^! source 127.*:${unused}: price TEA, source 1: .*; the price has other sources`),
      ),
      expect.stringMatching(/^! price TEA, source 2: answers the same \(7\) for two hours that are a day apart/),
    ])
    expect(well.code).toBe(0)
  })

  it('asks the sources of the prices of tokens for one that is wanted, else for one that has a name', async () => {
    const wanted = `0xAB${'01'.repeat(19)}`
    const asked: string[] = []
    const coins = await listening((request, response) => {
      asked.push(request.url ?? '')
      // Another price in each hour: a source that ignores the hour is warned of.
      const price = Number(request.url?.split('/')[1])
      const prices = request.url?.endsWith(wanted.toLowerCase()) ? { [wanted.toLowerCase()]: price } : {}
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(prices))
    })
    const refusing = await listening((_request, response) => void response.writeHead(403).end('no'))
    const { config, run } = await stage()
    const text = readFileSync(config, 'utf8')
    const sourceAt = (url: string, more = '') =>
      `{ url: "${url}/{hourSeconds}/{tokens}", token: "{address}", pointer: "/{token}"${more} }`
    const from = async (options: string, ...sources: string[]) => {
      const entry = `      - { use: balances, options: { of: { local: { owners: ["0x${'02'.repeat(20)}"], assets: [${options}] } } } }\n`
      const heads = `prices: { ONE: [{ fixed: 1 }] }\ntokenPrices: { local: [${sources.join(', ')}] }\n`
      writeFileSync(config, heads + text.replace(/ +- use: .*\n/, entry))
      return (await run()).stdout.split('\n').filter(line => / source /.test(line))
    }
    const [host, wrong] = [new URL(coins).host, new URL(refusing).host]
    const named = `{ "0x${'03'.repeat(20)}": ONE }`
    const isWanted = `{ token: "${wanted}", price: token }`
    expect(await from(isWanted, named, sourceAt(coins), sourceAt(refusing, ', agreeWithin: "2%"'))).toEqual([
      `✔ source ${host}: answers prices of tokens of local, source 1`,
      expect.stringMatching(`^✖ source ${wrong}: prices of tokens of local, source 2: ${wrong} refuses `),
    ])
    const isNamed = `{ token: "0x${'03'.repeat(20)}", price: token }`
    expect(await from(isNamed, named, sourceAt(coins))).toEqual([
      expect.stringMatching(`^! source ${host}: prices of tokens of local: .*; the price has other sources`),
    ])
    const tokens = asked.map(target => target.slice(-40))
    expect([...new Set(tokens)]).toEqual([wanted.slice(2).toLowerCase(), '03'.repeat(20)])
    expect(await from(`{ native: true, price: ONE }`, sourceAt(coins))).toEqual([
      `✔ source ${host}: not asked: the configuration names no token that it would be asked for`,
    ])
  })

  it('asks whether each receiver can be reached, and sends none a message', async () => {
    const alerts = await receiver()
    const bots = await listening((request, response) => {
      const url = request.url ?? ''
      const known = url === '/bot77:SECRET-of-the-bot/getChat?chat_id=-100'
      const body = known ? { ok: true } : { ok: false, description: 'Bad Request: chat not found' }
      response.writeHead(known && request.method === 'GET' ? 200 : 400).end(JSON.stringify(body))
    })
    const { config, run } = await stage()
    const chat = (id: string) => `{ telegram: { token: { env: BOT_TOKEN }, chat: "${id}", url: "${bots}" } }`
    const receivers = `{ webhook: { env: ALERT_URL } }, { slack: { env: SLACK_URL } }, ${chat('-100')}, ${chat('-7')}`
    writeFileSync(
      config,
      `${readFileSync(config, 'utf8')}heartbeat: { url: { env: BEAT_URL } }\nnotify: [${receivers}]\n`,
    )
    vi.stubEnv('BEAT_URL', `${alerts.url}/beat-4711`)
    vi.stubEnv('ALERT_URL', `${alerts.url}/alert-4711`)
    vi.stubEnv('SLACK_URL', `http://127.0.0.1:${await freePort()}/services/4711`)
    vi.stubEnv('BOT_TOKEN', '77:SECRET-of-the-bot')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { code, stdout } = await run()
    for (const sentence of [
      /^✔ heartbeat: 127\.0\.0\.1:\d+ answers/m,
      /^✔ webhook ALERT_URL: 127\.0\.0\.1:\d+ answers; tidegauge notify test .*sends it a message/m,
      /^! slack SLACK_URL: 127\.0\.0\.1:\d+ does not answer: nothing listens there/m,
      /^✔ telegram BOT_TOKEN -100: the bot sees the chat/m,
      /^! telegram BOT_TOKEN -7: the bot does not see the chat: it answered 400.*chat not found.* → check the token/m,
    ]) {
      expect(stdout).toMatch(sentence)
    }
    expect(stdout).not.toMatch(/4711|SECRET-of-the-bot/)
    expect([code, alerts.posts]).toEqual([0, []])
  })

  it('says that the service takes no push, though it answers', async () => {
    const { config, run } = await stage({ statuses: { '/api/metrics': 500 } })
    const collected = await command(['collect', '--config', config], { METRICS_KEY: key })
    expect(collected.code).toBe(1)
    expect(collected.stderr).toMatch(/The service answers 500.* no daemon runs.*: tidegauge flush .*, or tidegauge run/)
    expect(collected.stderr).not.toContain('next try')
    const { stdout: status } = await command(['status', '--config', config], { METRICS_KEY: key })
    expect(status).toMatch(/^service .*: not accepted \(500\)$/m)
    expect(status).not.toMatch(/next (try|attempt)/)
    const { code, stdout } = await run()
    expect(unusual(stdout)).toEqual([
      expect.stringMatching(
        /^✖ pushes: The service answers 500[^;]*; last tried at [\d:]{8} UTC, and no daemon runs that tries again → if that goes on, ask who runs the service; tidegauge flush.* tries now; tidegauge due ls/,
      ),
    ])
    expect(code).toBe(1)
  })

  it.each<[string, Wrong, RegExp[], number]>([
    [
      'a refused key',
      { statuses: { '/api/validate-key': 401 } },
      [/^✖ key: the service refuses the key \(401\) → put/],
      1,
    ],
    ['a redirect', { statuses: { '/api/validate-key': 302 } }, [/^✖ service: .* redirects \(302\)/], 1],
    [
      'another server',
      { statuses: { '/api/validate-key': 404 } },
      [/^✖ service: .* does not know \/api\/validate-key/],
      1,
    ],
    [
      'a failing service',
      { statuses: { '/api/validate-key': 503 } },
      [/^✖ service: .* answers with an error \(503\)/],
      1,
    ],
    [
      'a service that asks to wait',
      { statuses: { '/api/validate-key': 429 } },
      [/^! service: .* asks to wait \(429\) → nothing is to be done/],
      0,
    ],
    [
      'an unknown protocol',
      { statuses: { '/metrics': 404 } },
      [
        /^✖ protocol pool: is not registered, or of another key → tidegauge register --config \S+ pool; if it is taken, give the key that owns it, or choose another id$/,
      ],
      1,
    ],
    [
      'a login page',
      { page: '/' },
      [/^✖ service: the address does not answer .*\(200: text\/html, "Sign in"\) → check/],
      1,
    ],
    [
      'a page for a protocol',
      { page: '/metrics' },
      [/^✖ protocol pool: the address .*Sign in.* → check service.url/],
      1,
    ],
    [
      'a forbidden key',
      { statuses: { '/api/validate-key': 403 } },
      [/^✖ key: the service refuses the key \(403\) → put/],
      1,
    ],
    [
      'a gateway that refuses',
      { isRefusing: true },
      [/^✖ key: the service, or what is before it, refuses .*\(403: text\/plain.* → check service.headers/],
      1,
    ],
    [
      'an odd question',
      { statuses: { '/api/validate-key': 400 } },
      [/^✖ service: .* \(400.*\), which says nothing about the key → check service.url, and ask who runs it$/],
      1,
    ],
    ['a foreign protocol', { statuses: { '/metrics': 403 } }, [/^✖ protocol pool: belongs to another key \(403\)/], 1],
    ['a wrong clock', { aheadMs: 2 * hourMs }, [/^✖ clock: this machine's clock is .*behind the service's → set/], 1],
  ])('tells %s, and what to do', async (_, wrong, expected, ending) => {
    const { run } = await stage(wrong)
    const { code, stdout } = await run()
    const lines = unusual(stdout)
    expect(lines).toHaveLength(expected.length)
    for (const [place, pattern] of expected.entries()) expect(lines[place]).toMatch(pattern)
    expect(code).toBe(ending)
  })

  it('takes no page for an answer to a registration', async () => {
    const { config } = await stage({ page: '/' })
    const { code, stdout } = await command(['register', '--config', config], { METRICS_KEY: key })
    expect([code, stdout]).toEqual([
      1,
      'pool: the address does not answer like the service (200: text/html, "Sign in"): check service.url\n',
    ])
  })

  it('says to write http:// where TLS is not spoken', async () => {
    const { config } = await stage()
    const written = readFileSync(config, 'utf8').replaceAll('http://', 'https://')
    writeFileSync(config, written)
    const { code, stdout } = await command(['doctor', '--config', config], { METRICS_KEY: key })
    expect(unusual(stdout)).toEqual([
      expect.stringMatching(/^✖ service: .* does not speak TLS.* → write http:\/\/ in service\.url/),
      expect.stringMatching(/^✖ local .*: does not answer: it does not speak TLS.* → write http:\/\/ in the address/),
    ])
    expect(stdout).not.toContain(rpcKey)
    expect(code).toBe(1)
  })

  it('tells a service that is not there', async () => {
    const { config } = await stage()
    const dead = readFileSync(config, 'utf8').replace(/url: "[^"]+"/, 'url: "http://127.0.0.1:9"')
    writeFileSync(config, dead)
    const { code, stdout } = await command(['doctor', '--config', config], { METRICS_KEY: key })
    expect(unusual(stdout)).toEqual([
      expect.stringMatching(/^✖ service: 127\.0\.0\.1:9 does not answer: .* → check service\.url/),
    ])
    expect(code).toBe(1)
  })

  it('tells a key that is not set, with its place', async () => {
    const { config } = await stage()
    const { code, stdout } = await command(['doctor', '--config', config], { METRICS_KEY: '' })
    expect(unusual(stdout)).toEqual([
      expect.stringMatching(/^! configuration: .*tidegauge\.yaml:1:\d+: the key of the service/),
      expect.stringMatching(/^✖ key: .*METRICS_KEY/),
    ])
    expect(code).toBe(1)
  })

  it.each<[string, RpcFault[], RegExp[], number]>([
    [
      'another chain',
      [{ kind: 'chain-id', id: 5 }],
      [/^✖ local .*: serves chain 5, not 31337 → put a node of the chain that is meant under rpc:/],
      1,
    ],
    ['a dead node', [{ kind: 'reset' }], [/^✖ local .* → look into the log of the server.*; a second endpoint/], 1],
    ['a web page', [{ kind: 'html' }], [/^✖ local .* → check that this address under rpc: is of a JSON-RPC/], 1],
    ['a refused key', [{ kind: 'status', status: 401 }], [/^✖ local .*401 → check the key in the address/], 1],
    [
      'a node that is behind',
      [{ kind: 'lagging', blocks: 200 }],
      [/^✖ local .*: is behind: chain 31337, block 2680, .* the last hour cannot be read → /],
      1,
    ],
    [
      'a node that may be behind',
      [{ kind: 'lagging', blocks: 10 }],
      [/^! local .*: may be behind: chain 31337, block 2870, 1\d min old/],
      0,
    ],
    [
      'a pruned node',
      [{ kind: 'no-state', before: 2_000n }],
      [/^! local .*: has only the state of its last blocks: .*state.* → .*archive/],
      0,
    ],
    [
      'a node pruned further back',
      [{ kind: 'no-state', before: 1_000n }],
      [/^! local .*: has only the state of the last 24 hours: /],
      0,
    ],
    [
      'a node without state',
      [{ kind: 'no-state', before: 10_000n }],
      [/^✖ local .*: does not even have the state of its last block/],
      1,
    ],
    [
      'a node that calls at its latest block',
      [{ kind: 'calls-latest' }],
      [/^✖ local .*: its reads are not certain to be of the block that was asked for: read at timestamp .* → put an/],
      1,
    ],
  ])('tells of an endpoint: %s', async (_, faults, expected, ending) => {
    const { run } = await stage()
    const { code, stdout } = await misbehaving(faults, () => run())
    const lines = unusual(stdout)
    expect(lines).toHaveLength(expected.length)
    for (const [place, pattern] of expected.entries()) expect(lines[place]).toMatch(pattern)
    expect(stdout).not.toContain(rpcKey)
    expect(code).toBe(ending)
  })

  it('judges no node by a clock that is wrong', async () => {
    const { run } = await stage({ aheadMs: -3 * hourMs })
    const { stdout } = await misbehaving([{ kind: 'lagging', blocks: 200 }], () => run())
    expect(unusual(stdout)).toEqual([
      expect.stringMatching(/^✖ clock: this machine's clock is 3 h ahead of /),
      expect.stringMatching(/^! local .*: chain 31337, .* whether it is behind cannot be judged → see clock above$/),
    ])
  })

  it('names an endpoint by its variable and by its host, as other commands do', async () => {
    const { run } = await stage({}, ['{ env: RPC_OF_LOCAL }'])
    vi.stubEnv('RPC_OF_LOCAL', node.url)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { stdout } = await run()
    expect(stdout).toMatch(
      new RegExp(`^. local RPC_OF_LOCAL \\(${new URL(node.url).host}\\): .*chain 31337, block `, 'm'),
    )
    expect(stdout).not.toContain(rpcKey)
  })

  it('says of an outbox that a broken disk hides where to look', async () => {
    const config = { data: { kind: 'folder', folder: '/proc/of-nobody' } } as Config
    const hidden = Promise.resolve({ bytes: 0, hidden: 'disk I/O error' })
    expect(await dataFindings({ config } as AppContext, hidden)).toEqual([
      expect.objectContaining({ subject: 'disk', outcome: 'failed' }),
      { subject: 'outbox', outcome: 'warning', found: expect.any(String), fix: 'see disk above' },
    ])
  })

  it('only warns of a dead endpoint while another one of the chain is well', async () => {
    const { run } = await stage({}, [node.url, other.url])
    const { code, stdout } = await misbehaving([{ kind: 'reset' }], () => run())
    expect(unusual(stdout)).toEqual([expect.stringMatching(/^! local .*→ look into the log of the server/)])
    expect(code).toBe(0)
  })

  it('tells of an outbox of a newer version, whose pages are sound', async () => {
    const { folder, config, run } = await stage()
    await command(['collect', '--config', config], { METRICS_KEY: key })
    const database = new Database(join(folder, 'data', 'outbox.db'))
    database.pragma('user_version = 9999')
    database.close()
    const { code, stdout } = await run()
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^✖ outbox: .*schema version 9999.* → run tidegauge /m)])
  })

  it('tells of files that others may read, and of a damaged outbox', async () => {
    const { folder, config, run } = await stage()
    await command(['collect', '--config', config], { METRICS_KEY: key })
    const data = join(folder, 'data')
    chmodSync(data, 0o755)
    chmodSync(join(data, 'outbox.db'), 0o644)
    const file = join(data, 'outbox.db')
    const bytes = readFileSync(file)
    bytes.fill(0x5a, 4_096)
    writeFileSync(file, bytes)
    const { code, stdout } = await run()
    expect(unusual(stdout)).toContainEqual(
      expect.stringMatching(/^! files: other users may read .*data, .*outbox\.db.* → chmod 700 /),
    )
    expect(unusual(stdout)).toContainEqual(expect.stringMatching(/^✖ outbox: is damaged: /))
    expect(code).toBe(1)
  })

  it('compares the configuration with the one that runs', async () => {
    const { config, run } = await stage({}, [node.url], 31_337, await freePort())
    const daemon = await startDaemon(config, { METRICS_KEY: key })
    const { stdout } = await run()
    expect(stdout).toMatch(/^✔ in force: the daemon runs on this configuration, as of /m)
    expect(stdout).toMatch(/^✔ daemon: runs \(pid \d+, since .*\), and nothing is late$/m)
    writeFileSync(config, readFileSync(config, 'utf8').replace('pool', 'pool: ['))
    await daemon.logged(/refused/)
    writeFileSync(config, readFileSync(config, 'utf8').replace('pool: [', 'pool'))
    const refused = (await run()).stdout
    expect(refused).toMatch(/^✖ in force: the daemon refused the configuration of .*yaml/m)
    expect(refused).not.toMatch(/^! daemon: is not ready/m)
    await daemon.kill('SIGTERM')
  })

  it('prints the same as JSON', async () => {
    const { run } = await stage({ statuses: { '/api/validate-key': 401 } })
    const { code, stdout } = await run('--json')
    const { ok, findings } = JSON.parse(stdout)
    expect(ok).toBe(false)
    expect(findings).toContainEqual({
      subject: 'key',
      outcome: 'failed',
      found: 'the service refuses the key (401)',
      fix: expect.stringMatching(/^put a valid key in /),
    })
    expect(code).toBe(1)
  })
})
