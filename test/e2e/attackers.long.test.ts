import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Devchain } from '../../src/devchain/devchain.ts'
import { type Dice, dice } from '../../src/devchain/dice.ts'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourText, parseHour } from '../../src/model/hour.ts'
import { hourBack } from '../cli/stage.ts'
import { allAccepted, answering } from '../support/listening.ts'
import { repetitions } from '../support/soak.ts'
import { configured, levelCollector, type RunningDaemon, startDaemon, untilNextLook } from '../support/tidegauge.ts'
import { BadServer, picker } from './bad-answers.ts'

/** Seconds of each attack. */
const seconds = repetitions({ test: 5, soak: 60 })

/** Bytes of the daemon's process at its peak. */
const residentMax = 300 * 1_048_576

let chain: Devchain
beforeAll(async () => {
  chain = await Devchain.build({ nowMs: Date.now(), hours: 3 })
})
afterAll(() => chain?.stop())

/** A server of Node that does nothing else: what it takes to answer is the machine's. */
async function bareServer(): Promise<string> {
  const code = `const s = require('node:http').createServer((_, r) => r.end('live')).listen(0, '127.0.0.1', () => console.log(s.address().port))`
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = await once(child.stdout, 'data')
  return `http://127.0.0.1:${String(port).trim()}/`
}

/** Milliseconds until an answer came; a connection that is closed is made again. */
async function latencyOf(url: string): Promise<number> {
  const sinceMs = systemTime.steadyMs()
  for (;;) {
    const answered = await new Promise<boolean>(resolve => {
      get(url, { agent: false }, answer => {
        answer.resume().on('close', () => resolve(true))
      }).on('error', () => resolve(false))
    })
    if (answered) return systemTime.steadyMs() - sinceMs
    await untilNextLook()
  }
}

function peakOf({ pid }: RunningDaemon): number {
  return 1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

const balances = (chainName: string, asset: string, owners = '["0x70997970c51812dc3a010c7d01b50e0d17dc79c8"]') =>
  `{ use: balances, since: SINCE, options: { label: Coins, unit: ${asset.includes('price') ? 'USD' : 'ETH'}, of: { ${chainName}: { owners: ${owners}, assets: [${asset}] } } } }`

const events = `{ use: event-sum, since: SINCE, options: { chain: bad, address: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", event: "Swap(uint256 amount)", sum: amount, decimals: 6, label: Volume, unit: USD } }`

/** Sections of the configuration in which a server means harm, and the collectors that meet it. */
const servers: Readonly<
  Record<
    string,
    (url: string) => { readonly sections?: string; readonly collectors: string; readonly service?: string }
  >
> = {
  'a node': url => ({
    sections: `chains: { bad: { id: 1, rpc: ["${url}"] } }`,
    collectors: [balances('bad', '{ native: true }'), events].join(', '),
  }),
  'the service': url => ({ service: url, collectors: '{ use: ./level.ts }' }),
  'a source of prices': url => ({
    sections: `chains: { local: { id: 31337, rpc: ["${chain.url}"] } }
prices: { COIN: [{ url: "${url}/{hourSeconds}", pointer: /usd }] }`,
    collectors: balances('local', '{ native: true, price: COIN }'),
  }),
  'a source of a list': url => ({
    sections: `chains: { local: { id: 31337, rpc: ["${chain.url}"] } }
lists: { owners: { chain: local, url: "${url}/{hourSeconds}", pointer: /0 } }`,
    collectors: balances('local', '{ native: true }', '{ each: owners }'),
  }),
  'a receiver': url => ({
    sections: `notify: [{ webhook: { env: HOOK_A } }, { slack: { env: HOOK_B } }]
heartbeat: { url: { env: HOOK_C } }`,
    collectors: `{ use: http-json, since: SINCE, options: { url: "${url}", pointer: /value, label: Source } }, { use: ./level.ts }`,
  }),
  'a child': () => ({ collectors: '{ use: ./hostile.ts, since: SINCE }, { use: ./level.ts }' }),
  'a visitor': () => ({ collectors: '{ use: ./level.ts }' }),
}

/** Each hour does harm in another way. */
const hostile = `import { defineCollector, z } from 'tidegauge'
const long = 'a.'.repeat(200_000)
const ways = [
  ({ http }) => Promise.all(Array.from({ length: 50_000 }, (_, host) => http.json('http://h' + host + '.example.com/', z.any()))),
  ({ log }) => { for (let line = 0; line < 20_000; line += 1) log.info(long) },
  () => { throw Object.assign(new Error(long), { cause: new Error(long), stack: long }) },
  () => Object.fromEntries(Array.from({ length: 200_000 }, (_, label) => ['L' + label, label])),
  () => { const deep = []; let end = deep; for (let depth = 0; depth < 100_000; depth += 1) end.push(end = []); return { Level: deep } },
  () => { const all = []; for (;;) all.push('x'.repeat(1_000_000) + all.length) },
  () => { for (;;); },
  () => process.send && process.send('{}'.repeat(5_000_000)),
  () => { process.stdout.write(long.repeat(100)); process.stderr.write(long.repeat(100)); return {} },
  () => process.exit(7),
]
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Other: {} },
  history: true,
  collect: context => ways[(context.hour / 3_600_000) % ways.length](context),
})
`

/** Asks the status server for what a page never asks for, until the end. */
async function visit({ url }: RunningDaemon, chance: Dice, stop: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(url)
  const pick = picker(chance)
  const sockets = new Set<ReturnType<typeof connect>>()
  const request = (path: string, more = '', method = 'GET') =>
    `${method} ${path} HTTP/1.1\r\nhost: ${hostname}\r\n${more}\r\n`
  const open = () => {
    const socket = connect(Number(port), hostname)
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)))
    socket.write(
      pick([
        '',
        'GET / HT',
        request('/').repeat(500),
        request('/status.json').repeat(50),
        request('/metrics').repeat(50),
        request('/events'),
        request(`/history/${'a.'.repeat(4_000)}`),
        request('/', `x-long: ${'x'.repeat(60_000)}\r\n`),
        request('/', Array.from({ length: 3_000 }, (_, name) => `x${name}: 1\r\n`).join('')),
        request('/', 'content-length: 99999999\r\n', 'POST') + 'x'.repeat(100_000),
        `${request('/readyz', 'transfer-encoding: chunked\r\n')}ffffffff\r\n`,
      ]),
    )
    // Nothing is read of most.
    if (chance.roll() < 0.2) socket.resume()
  }
  while (!stop.aborted) {
    for (let left = pick([1, 1, 1, 60]); left > 0; left -= 1) open()
    if (sockets.size > 400) for (const old of [...sockets].slice(0, 50)) old.destroy()
    await untilNextLook()
  }
  for (const socket of sockets) socket.destroy()
}

describe('the daemon stays small and answers while harm is meant by', () => {
  it.each(Object.keys(servers))('%s', async name => {
    const chance = dice(name.length * 7_919)
    const bad = await BadServer.start(chance)
    onTestFinished(() => bad.stop())
    const good = await answering((request, body) =>
      request.method === 'POST' ? allAccepted((JSON.parse(body) as { metrics: unknown[] }).metrics) : { body: [] },
    )
    const { sections = '', collectors = '', service = good } = servers[name]?.(bad.url) ?? {}
    const since = hourText(hourAfter(parseHour(hourBack(0)), -11))
    const { config } = configured(
      `service: { url: "${service}", key: { file: ./key } }
status: { listen: "127.0.0.1:0" }
${sections}
protocols: [{ id: pool, name: Pool, collectors: [${collectors.replaceAll('SINCE', `"${since}"`)}] }]
`,
      { 'level.ts': levelCollector, 'hostile.ts': hostile, key: 'key-0' },
    )
    const hook = `${bad.url}/hook`
    const daemon = await startDaemon(config, { HOOK_A: hook, HOOK_B: hook, HOOK_C: hook })
    const bare = await bareServer()
    const over = new AbortController()
    const visiting = name === 'a visitor' ? visit(daemon, chance, over.signal) : undefined
    const worst = { daemon: 0, bare: 0 }
    const endMs = systemTime.steadyMs() + 1000 * seconds
    for (let round = 0; systemTime.steadyMs() < endMs; round += 1) {
      const [own, machine] = await Promise.all([latencyOf(`${daemon.url}/livez`), latencyOf(bare)])
      worst.daemon = Math.max(worst.daemon, own)
      worst.bare = Math.max(worst.bare, machine)
      // A key that changes has all that failed asked again at once; the page reads the widgets.
      if (round % 20 === 0) writeFileSync(join(dirname(config), 'key'), `key-${round}`)
      if (round % 20 === 10)
        void fetch(`${daemon.url}/`).then(
          answer => answer.text(),
          () => {},
        )
      await untilNextLook()
    }
    over.abort(new Error('over'))
    await visiting
    const peak = peakOf(daemon)
    expect(worst.daemon).toBeLessThan(1_000 + 3 * worst.bare)
    expect(peak).toBeLessThan(residentMax)
    const isServer = name !== 'a child' && name !== 'a visitor'
    expect(bad.answered > 0, 'it was asked').toBe(isServer)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})
