import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourText } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { configured, faultOf, hour } from '../runner/setup.ts'
import { type Answer, type Source, startSource } from '../runner/source.ts'
import { collectorContract } from './contract.ts'

let source: Source
beforeAll(async () => {
  source = await startSource({
    '/price': { body: '{"prices":[{"usd":1.5,"text":"2.5e3","a/b":{"m~n":7},"none":null,"word":"x"}]}' },
    '/number': { body: '42' },
    '/null': { body: 'null' },
    '/tvl': { body: '{"tvl":5}' },
    '/errors': { body: '{"data":5,"errors":[{"message":"indexing failed"}]}' },
    '/page': { body: '<html>' },
    '/gone': { status: 404 },
    '/silent': 'silent',
    '/once': [
      { headers: { etag: '"a"' }, body: '7' },
      { status: 503, headers: { 'retry-after': '3600' } },
    ],
    '/away': { status: 302, headers: { location: 'http://127.0.0.2/hidden' } },
  })
})
afterAll(() => source?.stop())

/** One for all: a process costs more than all that is asked of it here. */
const runner = new ProcessRunner({ chains: {}, deadlineMs: 60_000, time: systemTime, log: () => {} })
afterAll(() => runner.stop())

const reading = (path: string, pointer: string, more = {}) => ({ url: source.url + path, pointer, ...more })

collectorContract('http-json', {
  use: 'http-json',
  options: () => reading('/price', '/prices/0/usd', { label: 'Usd', unit: 'USD', min: 0 }),
  hours: () => [hour],
  broken: () => [
    reading('/gone', '/prices/0/usd'),
    reading('/page', ''),
    reading('/null', ''),
    reading('/null', '/prices'),
    reading('/number', '/prices'),
    reading('/price', '/prices/1/usd'),
    reading('/price', '/prices/0/none'),
    reading('/price', '/prices/0/word'),
    reading('/price', '/prices'),
    reading('/price', ''),
  ],
  silent: () => reading('/silent', '/prices/0/usd'),
})

collectorContract('host', {
  use: 'host',
  options: () => ({}),
  hours: () => [hour],
  broken: () => [{ disk: '/no/such/folder' }],
})

describe('http-json', () => {
  it.for([
    ['/price', '/prices/0/usd', 1.5],
    ['/price', '/prices/0/text', 2500],
    ['/price', '/prices/0/a~1b/m~0n', 7],
    ['/number', '', 42],
  ] as const)('reads %s at %s', async ([path, pointer, value]) => {
    const { readings } = await runner.collect(configured('http-json', { options: reading(path, pointer) }), hour)
    expect(readings).toEqual({ Value: value })
  })

  it('asks the source each time, and has no value when it does not answer', async () => {
    const collect = () => runner.collect(configured('http-json', { options: reading('/once', '') }), hour)
    expect((await collect()).readings).toEqual({ Value: 7 })
    expect((await faultOf(collect())).message).toContain('asks to wait until')
    const tags = source.asked.filter(({ path }) => path === '/once').map(({ headers }) => headers['if-none-match'])
    expect(tags).toEqual([undefined, undefined])
  })

  it('follows no redirect to another private address', async () => {
    const fault = await faultOf(runner.collect(configured('http-json', { options: reading('/away', '') }), hour))
    expect(fault).toMatchObject({ code: 'http-refused', facts: { address: '127.0.0.2' } })
    expect(JSON.stringify({ ...fault, message: fault.message })).not.toContain('hidden')
  })

  it('says where there is no number, and names the host alone', async () => {
    const options = reading('/price?key=hidden', '/prices/0/word')
    const fault = await faultOf(runner.collect(configured('http-json', { options }), hour))
    expect(fault.code).toBe('http-unexpected')
    expect(fault.message).toContain('there is no number at /prices/0/word')
    expect(JSON.stringify(fault)).not.toContain('hidden')
  })
})

describe('http-json with headers and a body', () => {
  const variable = 'TIDEGAUGE_TEST_SOURCE_KEY'
  const query = '{ pool(id: 1) { tvl at({hourSeconds}) } }'
  const body = { query, variables: { since: '{hour}', list: [1, 'from {hourMs}'] } }

  it('posts them, with the hour in all texts of the body and the secret in its header', async () => {
    process.env[variable] = 'Bearer of-the-source'
    onTestFinished(() => void delete process.env[variable])
    const headers = { 'x-own': 'yes', Authorization: { env: variable } }
    const own = configured('http-json', { options: reading('/number', '', { headers, body }) })
    expect(await runner.describe(own)).toMatchObject({ kind: 'usable', history: true })
    expect((await runner.collect(own, hour)).readings).toEqual({ Value: 42 })
    const asked = source.asked.at(-1)
    expect(asked).toMatchObject({ method: 'POST', headers: { 'x-own': 'yes', authorization: 'Bearer of-the-source' } })
    expect(JSON.parse(asked?.body ?? '')).toEqual({
      query: `{ pool(id: 1) { tvl at(${hour / 1000}) } }`,
      variables: { since: hourText(hour), list: [1, `from ${hour}`] },
    })
    delete process.env[variable]
    expect((await faultOf(runner.collect(own, hour))).message).toMatch(/^options\.headers\.Authorization: /)
  })

  it('fails where the answer to a query has errors, and says the first', async () => {
    const collect = (more: object) =>
      runner.collect(configured('http-json', { options: reading('/errors', '/data', more) }), hour)
    const fault = await faultOf(collect({ body: { query: '{ tvl }' } }))
    expect(fault.message).toContain('errors: must be absent, but it says: indexing failed')
    expect((await collect({ body: { method: 'eth_call' } })).readings).toEqual({ Value: 5 })
    expect((await collect({ body: 'text' })).readings).toEqual({ Value: 5 })
  })

  it.for(['Authorization', 'x-api-key', 'Cookie', 'X-Auth-Token', 'my-secret'])(
    'takes no literal as %s',
    async name => {
      const headers = { [name]: 'in-the-clear' }
      const described = await runner.describe(configured('http-json', { options: reading('/number', '', { headers }) }))
      const message = 'must be { env: NAME } or { file: PATH }: a secret is kept elsewhere, and never written here'
      expect(described).toEqual({ kind: 'mistaken', mistakes: [{ path: ['headers', name], message }] })
    },
  )
})

const earlier = hourAfter(hour, -1000)
/** What the source with a past says the value was: one for each hour. */
const priceAt = (atMs: number) => atMs / 3_600_000 / 1000

/** Knows the past. `/deaf` answers with now whatever it is asked; `/late` and `/early` with the instant beside the hour. */
function answerOfPast(target: string): Answer {
  const { pathname, searchParams } = new URL(target, 'http://x')
  const at = searchParams.get('at') ?? ''
  const askedMs = /^\d{13}$/.test(at) ? Number(at) : /^\d+$/.test(at) ? Number(at) * 1000 : Date.parse(at)
  if (Number.isNaN(askedMs)) return { status: 400 }
  if (pathname === '/silent/history') return 'silent'
  const besideMs = { '/late': 1000, '/early': -1000, '/deaf': hour - askedMs }[pathname] ?? 0
  const atMs = askedMs + besideMs
  const time = { ms: atMs, seconds: atMs / 1000, text: String(atMs / 1000), iso: new Date(atMs).toISOString() }
  if (pathname === '/deaf/history') return { body: JSON.stringify({ time: hourText(hour), price: 1, volume: 2 }) }
  return { body: JSON.stringify({ time: time.iso, price: priceAt(atMs), volume: 2, all: { ...time, none: null } }) }
}

describe('http-json with the hour in its address', () => {
  let past: Source
  beforeAll(async () => {
    past = await startSource(answerOfPast)
  })
  afterAll(() => past?.stop())
  const options = (path: string, more = {}) => ({ url: `${past.url}${path}`, pointer: '/price', ...more })
  const collected = (own: Record<string, unknown>, at = earlier) =>
    runner.collect(configured('http-json', { options: own }), at)

  collectorContract('http-json, with a past', {
    use: 'http-json',
    options: () => options('/?at={hour}', { time: '/time' }),
    hours: () => [hour, earlier],
    broken: () => [
      options('/?at={hour}', { time: '/none' }),
      options('/?at={hour}', { time: '/all/none' }),
      options('/?at={hour}', { time: '/all' }),
      options('/late?at={hour}', { time: '/time' }),
      options('/early?at={hour}', { time: '/time', maxAge: 0.5 }),
    ],
    silent: () => options('/silent/history?at={hour}'),
  })

  it.for([
    ['{hour}', '2026-10-09T21:00:00Z'],
    ['{hourSeconds}', '1791579600'],
    ['{hourMs}', '1791579600000'],
    ['{hour}&again={hour}', '2026-10-09T21:00:00Z&again=2026-10-09T21:00:00Z'],
  ] as const)('asks for %s', async ([place, text]) => {
    expect(await collected(options(`/?at=${place}`))).toMatchObject({ readings: { Value: priceAt(earlier) } })
    expect(past.asked.at(-1)?.target).toBe(`/?at=${text}`)
  })

  it.for(['/time', '/all/ms', '/all/seconds', '/all/text', '/all/iso'])('compares the time at %s', async time => {
    expect((await collected(options('/?at={hour}', { time }))).readings).toEqual({ Value: priceAt(earlier) })
    for (const path of ['/late', '/deaf']) {
      const fault = await faultOf(collected(options(`${path}?at={hour}`, { time })))
      expect(fault.code).toBe('http-unexpected')
      expect(fault.message).toContain(`time: the time at ${time} must be ${hourText(earlier)} or up to 3600 s before`)
    }
  })

  it('takes a value that is a little older, as far as maxAge says', async () => {
    const early = (maxAge: number) => collected(options('/early?at={hour}', { time: '/time', maxAge }))
    expect((await early(1)).readings).toEqual({ Value: priceAt(earlier - 1000) })
    expect((await faultOf(early(0.999))).code).toBe('http-unexpected')
  })

  it('has a past only with such an address', async () => {
    const describe = (own: Record<string, unknown>) => runner.describe(configured('http-json', { options: own }))
    expect(await describe(options('/?at={hourMs}'))).toMatchObject({ kind: 'usable', history: true })
    expect(await describe(options('/'))).toMatchObject({ kind: 'usable', history: false })
    expect(await describe(options('/?filter={}'))).toMatchObject({ kind: 'usable', history: false })
  })

  it('without one, refuses what is too old, and not what is newer than the hour', async () => {
    const stated = (atMs: number) => options(`/?at=${atMs}`, { time: '/time' })
    expect((await collected(stated(hour + 60_000), hour)).readings).toEqual({ Value: priceAt(hour + 60_000) })
    expect((await faultOf(collected(stated(earlier), hour))).code).toBe('http-unexpected')
  })

  it.for([
    ['http://api.test/?at={hours}', 'the hour is written {hour}, {hourSeconds} or {hourMs}'],
    ['http://{hour}.test/', 'the hour cannot be a part of the host'],
    ['ftp://api.test/{hour}', 'must be an http or https address'],
  ] as const)('calls %s a mistake', async ([url, message]) => {
    const own = { url, pointer: '/price' }
    expect(await runner.describe(configured('http-json', { options: own }))).toMatchObject({
      kind: 'mistaken',
      mistakes: [{ path: ['url'], message }],
    })
  })

  describe('the collector in collectors/README.md', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
    const configFile = join(folder, 'tidegauge.yaml')
    const readme = readFileSync(new URL('../../collectors/README.md', import.meta.url), 'utf8')
    const examples = [...readme.matchAll(/```ts\n(import[\s\S]*?)```/g)].map(([, code = '']) => code)
    const exampleWith = (words: string) => examples.find(code => code.includes(words)) ?? ''
    writeFileSync(join(folder, 'own.ts'), exampleWith('/history?'))
    writeFileSync(join(folder, 'keyed.ts'), exampleWith('secret'))

    it('with a secret sends it to its source', async () => {
      writeFileSync(join(folder, 'key'), 'key-of-the-source\n')
      const own = { api: `${source.url}/tvl`, apiKey: { file: 'key' } }
      const used = configured('./keyed.ts', { file: configFile, options: own })
      expect((await runner.collect(used, hour)).readings).toEqual({ TVL: 5 })
      expect(source.asked.at(-1)?.headers).toMatchObject({ 'x-api-key': 'key-of-the-source' })
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    collectorContract('of one’s own', {
      use: './own.ts',
      configFile,
      options: () => ({ api: past.url, asset: 'awesome' }),
      hours: () => [hour, earlier],
      broken: () => [{ api: `${source.url}/price`, asset: 'awesome' }],
      silent: () => ({ api: `${past.url}/silent`, asset: 'awesome' }),
    })

    it('takes no value of another hour', async () => {
      const own = configured('./own.ts', { file: configFile, options: { api: `${past.url}/deaf`, asset: 'awesome' } })
      expect((await runner.collect(own, hour)).readings).toEqual({ Price: 1, Volume: 2 })
      const fault = await faultOf(runner.collect(own, earlier))
      expect(fault.message).toContain(`time: must be ${hourText(earlier)}, found the text "${hourText(hour)}"`)
    })
  })
})
