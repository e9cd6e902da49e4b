import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { collectorContract, type RecordedRun, type Recording, record, replay } from 'tidegauge/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Devchain } from '../../src/devchain/devchain.ts'
import { systemTime } from '../../src/edge/time.ts'
import { hourAt, hourText } from '../../src/model/hour.ts'
import type { HttpRead } from '../../src/runner/messages.ts'
import { Redactor } from '../../src/telemetry/redactor.ts'
import { ReadRecorder } from '../../src/testing/read-recorder.ts'

/** Reads everything that can be recorded: by every method of a chain, of an earlier hour, a price, and over HTTP. */
const everything = `import { address, defineCollector, hourText, secret, units, z } from 'tidegauge'
import { erc20Abi, parseAbiItem } from 'viem'
export default defineCollector({
  options: z.strictObject({ chain: z.string(), token: address, holder: address, url: z.string(), hook: secret, key: secret }),
  metrics: { Supply: {}, DayBefore: {}, Logs: {}, Since: {}, Worth: {}, Coins: {}, Slot: {}, First: {}, Second: {}, Text: {}, Hook: {}, Caught: {} },
  history: true,
  async collect({ options: { chain: name, token, holder, url, hook, key }, chain, price, http, hour }) {
    const supply = { address: token, abi: erc20Abi, functionName: 'totalSupply' } as const
    const event = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)')
    const on = chain(name)
    const counted = z.strictObject({ count: z.number(), echo: z.string() })
    const count = () => http.json(url + '/count?api_key=' + key, counted, { headers: { 'x-api-key': key } })
    const [a, b] = [count(), count()]
    const body = { query: 'tvl', apiKey: key, at: hour }
    return {
      Supply: on.read(supply).then(amount => units(amount, 18)),
      DayBefore: chain(name, { hoursBefore: 1 }).read(supply).then(amount => units(amount, 18)),
      Logs: on.logs({ address: token, event }).then(logs => logs.reduce((sum, { args }) => sum + units(args.value, 18), 0)),
      Since: on.logsSince(hourText(hour - 3_600_000), { address: token, event }).then(logs => logs.length),
      Worth: price('TIDE'),
      Coins: on.balance(holder).then(wei => units(wei, 18)),
      Slot: on.storage(token, 2n).then(slot => Number(BigInt(slot) / 10n ** 18n)),
      First: a.then(({ count }) => count),
      Second: b.then(({ count }) => count),
      Text: http.text(url + '/text', { body, isRead: true }).then(text => text.length),
      Hook: http.json(hook.replace('{hour}', String(hour)), counted).then(({ count }) => count),
      Caught: http.json(url + '/none', z.unknown()).then(() => 1, error => error.facts.status ?? 0),
    }
  },
})
`

const secrets = { TEST_KEY: 'key-0123456789abcdef', TEST_HOOK: '' }
const rpcKey = 'rpc-key-0123456789'
let scene: Devchain
let run: RecordedRun
let recording: Recording
let text: string
const stopped = new AbortController()
const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))

/** A source that counts, repeats what it was asked, and gives a session. */
async function source(): Promise<string> {
  let count = 0
  const server = createServer((request, response) => {
    if (request.url === '/none') response.statusCode = 404
    if (request.url === '/text') return void response.end('five!')
    count += 1
    response.end(JSON.stringify({ count, echo: `${request.url} ${request.headers['x-api-key'] ?? ''}` }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  stopped.signal.addEventListener('abort', () => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

beforeAll(async () => {
  scene = await Devchain.build({ nowMs: systemTime.nowMs(), hours: 2 })
  const url = await source()
  Object.assign(process.env, { ...secrets, TEST_HOOK: `${url}/hooks/hook-0123456789/{hour}?token=hook-9876543210` })
  const { tide, feed, treasury } = scene.addresses
  writeFileSync(join(folder, 'all.ts'), everything)
  writeFileSync(
    join(folder, 'tidegauge.yaml'),
    `service: embedded
chains: { local: { id: ${scene.chainId}, rpc: ["${scene.url}/?key=${rpcKey}"] } }
prices: { TIDE: [{ chain: local, feed: "${feed}", maxAge: 90000 }] }
protocols: [{ id: p, name: P, collectors: [{ use: host }] }]
`,
  )
  const options = {
    chain: 'local',
    token: tide,
    holder: treasury,
    url,
    hook: { env: 'TEST_HOOK' },
    key: { env: 'TEST_KEY' },
  }
  run = { use: './all.ts', configFile: join(folder, 'tidegauge.yaml'), options, hour: scene.hours.at(-1) ?? 0 }
  recording = await record(run)
  text = JSON.stringify(recording, null, 2)
  // From here on there is no chain, no source and no secret.
  stopped.abort()
  await scene.stop()
  for (const name of Object.keys(secrets)) delete process.env[name]
})
afterAll(async () => {
  await scene?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Replays the recording, changed. */
const again = (change: (copy: Recording) => unknown = () => {}) => {
  const copy: Recording = JSON.parse(text)
  change(copy)
  return replay({ ...run, recording: copy })
}

describe('a recording', () => {
  it('is replayed offline, with the values that were recorded', async () => {
    const values = await again()
    expect(values).toMatchObject({ Text: 5, Hook: expect.any(Number), Caught: 404 })
    expect([values['First'], values['Second'], values['Hook']].toSorted()).toEqual([1, 2, 3])
    expect(values['Supply']).toBeGreaterThan(0)
    expect(values['DayBefore']).toBeGreaterThan(0)
    expect(values['Worth']).toBeGreaterThan(0)
    expect(Object.values(values).every(Number.isFinite)).toBe(true)
    expect(await again()).toEqual(values)
  })

  it('holds no secret, not where a source repeats one either', () => {
    for (const secret of [secrets.TEST_KEY, rpcKey, 'hook-0123456789', 'hook-9876543210'])
      expect(text).not.toContain(secret)
    expect(text).toContain('[redacted]')
    expect(text).toContain('x-api-key')
  })

  it('is readable: names of functions, numbers, and JSON as it is', () => {
    expect(recording.reads).toContainEqual(
      expect.objectContaining({
        chain: 'local',
        read: expect.objectContaining({ name: 'totalSupply()' }),
        number: expect.stringMatching(/^\d+$/),
      }),
    )
    expect(recording.http.map(({ request }) => request)).toContainEqual(expect.stringMatching(/^POST .*\/text$/))
    expect(recording.hour).toBe(hourText(scene.hours.at(-1) as never))
  })

  it('is the same whatever its order', async () => {
    const values = await again()
    expect(await again(copy => copy.reads.reverse() && copy.http.reverse())).toEqual(values)
  })

  it.each([
    ['a read', 'totalSupply() of', copy => copy.reads.splice(0, 100)],
    ['the logs', 'logs of', copy => Object.assign(copy, { reads: copy.reads.filter(read => !('logs' in read)) })],
    ['a price', 'the price TIDE', copy => Object.assign(copy, { prices: {} })],
    ['a request', 'POST http', copy => Object.assign(copy, { http: copy.http.filter(({ body }) => !body) })],
    [
      'a caught request',
      '/none',
      copy => Object.assign(copy, { http: copy.http.filter(({ request }) => !request.endsWith('/none')) }),
    ],
  ] as [string, string, (copy: Recording) => unknown][])('without %s fails, and names it', async (_, words, change) => {
    await expect(again(change)).rejects.toThrow(words)
    await expect(again(change)).rejects.toThrow('record the run again')
  })

  it('has the answers of equal requests in the order of asking, and no more of them', async () => {
    const lessOne = (copy: Recording) => copy.http.flatMap(({ answers }) => (answers.length > 1 ? [answers] : []))
    expect(lessOne(recording)).toHaveLength(1)
    const twice = (copy: Recording) => lessOne(copy).forEach(answers => void answers.reverse())
    const [there, back] = [await again(), await again(twice)]
    expect([back['First'], back['Second']]).toEqual([there['Second'], there['First']])
    // With one answer, it is that of every such request.
    const once = await again(copy => lessOne(copy).forEach(answers => void answers.splice(1)))
    expect([once['First'], once['Second']]).toEqual([there['First'], there['First']])
  })

  it('of another hour, another form or another kind is refused', async () => {
    await expect(replay({ ...run, hour: scene.hours[0] ?? 0, recording })).rejects.toThrow(/is of .*, not of/)
    await expect(again(copy => Object.assign(copy, { recording: 2 }))).rejects.toThrow('it has form 2')
    await expect(replay({ ...run, recording: [] })).rejects.toThrow('it is not a recording')
  })

  it('is not made where a label has no value, or an option is wrong', async () => {
    Object.assign(process.env, { TEST_KEY: 'k-1', TEST_HOOK: 'https://example.com/hook-0123456789' })
    await expect(record(run)).rejects.toThrow('a secret of less than 6 characters')
    await expect(record({ ...run, options: { chain: 'local' } })).rejects.toThrow('options.token')
    for (const name of Object.keys(secrets)) delete process.env[name]
    await expect(record(run)).rejects.toThrow('is not set')
    await expect(record({ ...run, configFile: 'none.yaml' })).rejects.toThrow('none.yaml')
  })
})

collectorContract('without reads', {
  use: 'price',
  options: { sources: [{ fixed: 2 }] },
  hours: ['2026-11-20T13:00:00Z'],
})

it('answers keep all digits of their numbers, and no session of a source', async () => {
  const run = { token: 'a', hour: hourAt(0) }
  const recorder = new ReadRecorder(run.hour, {}, new Redactor())
  const texts = ['{"a":1.50,"jwt":"s"}', '{"a":[12345678901234567891],"jwt":"s"}', '{"a":0.12345678901234567890}']
  for (const [place, text] of texts.entries()) {
    const request = { as: 'json', method: 'GET', url: `https://example.com/${place}`, headers: {} } as const
    await recorder.http(run, { ...request, place: 0, answer: { kind: 'http', text } })
  }
  const { http } = recorder.recording({})
  expect(http.flatMap(({ answers }) => answers)).toEqual([
    { json: { a: 1.5, jwt: '[redacted]' } },
    { text: '{"a":[12345678901234567891],"jwt":"[redacted]"}' },
    { text: '{"a":0.12345678901234567890}' },
  ])
})

it('answers of equal requests are recorded in the order of asking, not of answering; equal ones once', async () => {
  const run = { token: 'a', hour: hourAt(0) }
  const asked = (path: string, place: number, text: string): HttpRead => {
    const request = { as: 'text', method: 'GET', url: `https://example.com/${path}`, headers: {} } as const
    return { ...request, place, answer: { kind: 'http', text } }
  }
  const recorder = new ReadRecorder(run.hour, {}, new Redactor())
  for (const read of [asked('x', 1, 'second'), asked('x', 0, 'first'), asked('y', 2, 'one'), asked('y', 3, 'one')]) {
    await recorder.http(run, read)
  }
  const { http } = recorder.recording({})
  expect(http.map(({ answers }) => answers)).toEqual([[{ text: 'first' }, { text: 'second' }], [{ text: 'one' }]])
})
