import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourText } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { configured, faultOf, hour } from '../runner/setup.ts'
import { type Answer, type Source, startSource } from '../runner/source.ts'
import { chainOf } from '../support/reads.ts'
import { collectorContract } from './contract.ts'

let source: Source
beforeAll(async () => {
  source = await startSource({
    '/price': { body: '{"prices":[{"usd":1.5,"text":"2.5e3","a/b":{"m~n":7},"none":null,"word":"x"}]}' },
    '/number': { body: '42' },
    '/null': { body: 'null' },
    '/tvl': { body: '{"tvl":5}' },
    '/errors': { body: '{"data":5,"errors":[{"message":"indexing failed"}]}' },
    '/amounts': { body: '{"in":"1200000000000000000","out":"900000000000000000","list":[[1,5],[2,123]]}' },
    '/exact': {
      body: '{"minted":9223372036854775809123,"burnt":9223372036854775808999,"rate":0.12345678901234567891,"near":0.1234567890123456789,"tiny":-4.5E-19,"huge":1e400}',
    },
    '/batch': { body: '[{"data":{"tvl":1}},{"data":{"tvl":5},"errors":[{"message":"second failed"}]}]' },
    '/own-errors': { body: '{"data":5,"errors":[],"error":null,"items":{"errors":["of another"]}}' },
    '/rest-error': { body: '{"price":8,"errors":[{"message":"another coin"}],"error":"another coin"}' },
    '/refused': { body: '{"errors":[{"message":"no such query"}]}' },
    '/rpc-error': { body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such account"}}' },
    '/rpc': { body: '{"id":1,"error":null,"result":8}' },
    '/page': { body: '<html>' },
    '/gone': { status: 404 },
    '/silent': 'silent',
    '/away': { status: 302, headers: { location: 'http://127.0.0.2/hidden' } },
  })
})
afterAll(() => source?.stop())

/** One for all, with a chain that has nothing but blocks: a process costs more than all that is asked of it here. */
const demo = chainOf({
  block: async () => ({ number: 1234n, hash: '0x00', timestampSeconds: hour / 1000 }),
  read: async () => [],
  logs: async () => [],
})
const runner = new ProcessRunner({ chains: { demo }, deadlineMs: 60_000, time: systemTime, log: () => {} })
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
    const answers = [
      { headers: { etag: '"a"' }, body: '7' },
      { status: 503, headers: { 'retry-after': '3600' } },
    ]
    const { url, asked, stop } = await startSource({ '/once': answers })
    onTestFinished(stop)
    const options = { url: `${url}/once`, pointer: '' }
    const collect = () => runner.collect(configured('http-json', { options }), hour)
    expect((await collect()).readings).toEqual({ Value: 7 })
    expect((await faultOf(collect())).message).toContain('asks to wait until')
    expect(asked.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, undefined])
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

  it.for([
    [
      '/price',
      '/prices/0/usdd',
      'nothing',
      'at /prices/0 there are usd, text, a~1b, none, word (did you mean /prices/0/usd?)',
    ],
    ['/price', '/price/0/usd', 'nothing', 'at the root there is prices (did you mean /prices/0/usd?)'],
    ['/price', '/price/5/usd', 'nothing', 'at the root there is prices'],
    ['/price', '/prices/0/a~1b/M~0n', 'nothing', 'at /prices/0/a~1b there is m~0n (did you mean /prices/0/a~1b/m~0n?)'],
    ['/price', '/prices/4/usd', 'nothing', 'at /prices there are 0 to 0'],
    ['/price', '/prices/0/usd/now', 'nothing', '/prices/0/usd is the text "1.5" already'],
    ['/price', '/prices/0/none', 'null', 'ask the source why, or let the pointer lead to another number'],
    ['/price', '/prices', 'a list', 'let the pointer lead on to a number in it; at /prices there are 0 to 0'],
    ['/tvl', '', 'a map', 'let the pointer lead on to a number in it; at the root there is tvl'],
    ['/price', '/prices/0/word', 'the text "x"', 'a number is written like 1234.5, without separators and units'],
  ] as const)('says what to write instead: %s at %s', async ([path, pointer, found, fix]) => {
    const options = reading(path, pointer)
    const fault = await faultOf(runner.collect(configured('http-json', { options }), hour))
    expect(fault).toMatchObject({ code: 'http-unexpected', fix })
    const one = configured('http-json', {
      options: { url: source.url + path, values: { One: { pointer }, Two: { pointer: '' } } },
    })
    const several = await runner.collect(one, hour).catch(error => error)
    expect(JSON.stringify(several.failures?.['One'] ?? several.message)).toContain(
      JSON.stringify(`, but ${found}: ${fix}`).slice(1, -1),
    )
  })
})

describe('http-json with several values', () => {
  const values = {
    Usd: { pointer: '/prices/0/usd', unit: 'USD', min: 0 },
    Text: { pointer: '/prices/0/text' },
    Word: { pointer: '/prices/0/word' },
  }
  const own = () => configured('http-json', { options: { url: `${source.url}/price`, values } })

  it('asks once, and fails those alone that are not in the answer', async () => {
    expect(await runner.describe(own())).toMatchObject({
      kind: 'usable',
      metrics: { Usd: { unit: 'USD', min: 0 }, Text: {}, Word: {} },
    })
    const before = source.asked.length
    const { readings, failures } = await runner.collect(own(), hour)
    expect(source.asked).toHaveLength(before + 1)
    expect(readings).toEqual({ Usd: 1.5, Text: 2500 })
    expect(failures['Word']?.message).toMatch(
      /^in the answer of 127\.0\.0\.1:\d+ there is no number at \/prices\/0\/word, but the text "x": a number is written like 1234.5/,
    )
  })

  it('asks for the block of the hour, in the address and in the body, and has a past then', async () => {
    const options = {
      url: `${source.url}/price?block={block}`,
      headers: { 'x-height': '{block}' },
      body: { query: '{ pool(block: { number: {block} }) { tvl } }' },
      chain: 'demo',
      values: { Usd: { pointer: '/prices/0/usd' } },
    }
    const asks = configured('http-json', { options })
    expect(await runner.describe(asks)).toMatchObject({ kind: 'usable', history: true })
    expect((await runner.collect(asks, hour)).readings).toEqual({ Usd: 1.5 })
    expect(source.asked.at(-1)).toMatchObject({
      target: '/price?block=1234',
      headers: { 'x-height': '1234', 'user-agent': 'tidegauge' },
      body: JSON.stringify({ query: '{ pool(block: { number: 1234 }) { tvl } }' }),
    })
  })

  it('computes with amounts in smallest units, exactly, and rounds once', async () => {
    const values = {
      In: { pointer: '/in', decimals: 18, private: true },
      Out: { pointer: '/out', decimals: 18, private: true },
      Balance: { difference: ['In', 'Out'], unit: 'ETH', min: 0 },
      Share: { ratio: ['Out', 'In'] },
      Gone: { pointer: '/gone', private: true },
      Lost: { sum: ['In', 'Gone'] },
      Last: { pointer: '/list/-1/1', decimals: 2 },
    }
    const exact = configured('http-json', { options: { url: `${source.url}/amounts`, values } })
    expect(await runner.describe(exact)).toMatchObject({ metrics: { Balance: { unit: 'ETH', min: 0 }, Lost: {} } })
    const { readings, failures } = await runner.collect(exact, hour)
    expect(readings).toMatchObject({ Balance: 0.3, Share: 0.75, Last: 1.23 })
    expect(failures).toEqual({
      Lost: expect.objectContaining({ message: expect.stringContaining('there is no number at /gone') }),
    })
  })

  it('takes each number as it is written, beyond what a double holds', async () => {
    const values = {
      Minted: { pointer: '/minted', decimals: 2, private: true },
      Burnt: { pointer: '/burnt', decimals: 2, private: true },
      Left: { difference: ['Minted', 'Burnt'] },
      Rate: { pointer: '/rate', private: true },
      Near: { pointer: '/near', private: true },
      Gap: { difference: ['Rate', 'Near'] },
      Tiny: { pointer: '/tiny' },
      Huge: { pointer: '/huge' },
    }
    const exact = configured('http-json', { options: { url: `${source.url}/exact`, values } })
    const { readings, failures } = await runner.collect(exact, hour)
    expect(readings).toMatchObject({ Left: 1.24, Gap: 1e-20, Tiny: -4.5e-19 })
    expect(Object.keys(failures)).toEqual(['Huge'])
  })

  it('says why a JSON-RPC call failed, in the words of the server', async () => {
    const asks = (path: string) =>
      runner.collect(
        configured('http-json', {
          options: { url: source.url + path, body: { jsonrpc: '2.0', id: 1, method: 'a' }, pointer: '/result' },
        }),
        hour,
      )
    expect((await faultOf(asks('/rpc-error'))).message).toContain('error: must be absent, but it says: no such account')
    expect((await asks('/rpc')).readings).toEqual({ Value: 8 })
  })

  it('tells mistakes at their place', async () => {
    const url = 'http://api.test/'
    for (const [options, path, message] of [
      [{ url }, ['pointer'], 'must be a JSON pointer like /prices/0/usd'],
      [{ url, values, pointer: '/a' }, ['pointer'], 'belongs to one value: with values, it stands at each of them'],
      [{ url, values, unit: 'USD' }, ['unit'], 'belongs to one value'],
      [{ url, values: {} }, ['values'], 'must hold a value'],
      [{ url, values: { A: { pointer: 'a' } } }, ['values', 'A', 'pointer'], 'must be a JSON pointer'],
      [{ url, values: { A: {} } }, ['values', 'A', 'pointer'], 'must be a JSON pointer'],
      [
        { url, values: { 'Total Value': { pointer: '/a' } } },
        ['values', 'Total Value'],
        'without "___": write TotalValue',
      ],
      [
        { url, values: { 'A Label of Many Words': { pointer: '/a' } } },
        ['values', 'A Label of Many Words'],
        'write ALabelofManyWord',
      ],
      [{ url, pointer: '/a', label: 'a___b' }, ['label'], 'must be a label of letters, digits, "-", "_" and "."'],
      [{ url: `${url}{block}`, values }, ['chain'], 'must name the chain that {block} is of'],
      [{ url, values, chain: 'demo' }, ['chain'], 'is of no use: {block} is neither in url nor in headers nor in body'],
      [{ url: `${url}{blocks}`, values }, ['url'], 'the block {block}'],
      [{ url: `${url}{block-1}`, values }, ['url'], 'the hour is written {hour}, {hourSeconds}'],
      [{ url, values: { A: { pointer: '/a', decimals: 1.5 } } }, ['values', 'A', 'decimals'], 'must be a whole number'],
      [{ url, values: { A: { pointer: '/a', sum: [1, 2] } } }, ['values', 'A'], 'must have one of pointer, sum,'],
      [{ url, values: { A: { sum: [1, 'b'] } } }, ['values', 'A', 'sum'], 'there is no value "b": add it'],
      [{ url, values: { A: { sum: [1, 'A'] } } }, ['values', 'A'], 'needs itself: A → A'],
      [{ url, values: { A: { sum: [1, 2], decimals: 6 } } }, ['values', 'A', 'decimals'], 'belongs to a pointer'],
    ] as const) {
      expect(await runner.describe(configured('http-json', { options })), JSON.stringify(options)).toMatchObject({
        kind: 'mistaken',
        mistakes: [{ path, message: expect.stringContaining(message) }],
      })
    }
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

  it.for([
    [
      'a query as JSON',
      '/errors',
      { body: { query: '{ tvl }' } },
      'errors: must be absent, but it says: indexing failed',
    ],
    ['a query as text', '/errors', { body: '{"query":"{ tvl }"}' }, 'indexing failed'],
    ['a query in the address', '/errors?query={tvl}', {}, 'indexing failed'],
    ['a persisted query', '/errors', { body: { extensions: { persistedQuery: { version: 1 } } } }, 'indexing failed'],
    ['several queries', '/batch', { body: [{ query: 'a' }, { query: 'b' }], pointer: '/0/data/tvl' }, 'second failed'],
    ['a query without data', '/refused', { pointer: '/data' }, 'no such query'],
  ] as const)('fails where the answer to %s has errors, and says the first', async ([, path, more, words]) => {
    const fault = await faultOf(
      runner.collect(configured('http-json', { options: reading(path, '/data', more) }), hour),
    )
    expect(fault.message).toContain(words)
  })

  it.for([
    ['/own-errors', '/data', 5],
    ['/rest-error', '/price', 8],
  ] as const)('takes %s, which states no failure of the whole', async ([path, pointer, value]) => {
    const { readings } = await runner.collect(configured('http-json', { options: reading(path, pointer) }), hour)
    expect(readings).toEqual({ Value: value })
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
/** Values of the source with a past: one for each hour. */
const priceAt = (atMs: number) => atMs / 3_600_000 / 1000

/** Knows the past. `/deaf` answers with now whatever it is asked; `/late` and `/early` with an instant next to the hour. */
function answerOfPast(target: string): Answer {
  const { pathname, searchParams } = new URL(target, 'http://x')
  const at = searchParams.get('at') ?? ''
  const askedMs = /^\d{13}$/.test(at) ? Number(at) : /^\d+$/.test(at) ? Number(at) * 1000 : Date.parse(at)
  if (Number.isNaN(askedMs)) return { status: 400 }
  if (pathname === '/silent/history') return 'silent'
  const offMs = { '/late': 1000, '/early': -1000, '/deaf': hour - askedMs }[pathname] ?? 0
  const atMs = askedMs + offMs
  const time = {
    ms: atMs,
    seconds: atMs / 1000,
    text: String(atMs / 1000),
    us: atMs * 1e3,
    ns: `${atMs}000000`,
    iso: new Date(atMs).toISOString(),
  }
  if (pathname === '/deaf/history') return { body: JSON.stringify({ time: hourText(hour), price: 1, volume: 2 }) }
  return {
    body: JSON.stringify({
      time: time.iso,
      price: priceAt(atMs),
      volume: 2,
      all: { ...time, none: null, sentinel: -1e18 },
    }),
  }
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
  })

  it.for([
    ['{hour}', '2026-10-09T21:00:00Z'],
    ['{hourSeconds}', '1791579600'],
    ['{hourMs}', '1791579600000'],
    ['{hour}&again={hour}', '2026-10-09T21:00:00Z&again=2026-10-09T21:00:00Z'],
    ['{hour}&from={hourSeconds-1800}', '2026-10-09T21:00:00Z&from=1791577800'],
    ['{hour}&from={hour-60}&{hourMs-1}', '2026-10-09T21:00:00Z&from=2026-10-09T20:59:00Z&1791579599000'],
  ] as const)('asks for %s', async ([place, text]) => {
    expect(await collected(options(`/?at=${place}`))).toMatchObject({ readings: { Value: priceAt(earlier) } })
    expect(past.asked.at(-1)?.target).toBe(`/?at=${text}`)
    expect(await runner.describe(configured('http-json', { options: options(`/?at=${place}`) }))).toMatchObject({
      history: true,
    })
  })

  it.for(['/time', '/all/ms', '/all/seconds', '/all/us', '/all/ns', '/all/text', '/all/iso'])(
    'compares the time at %s',
    async time => {
      expect((await collected(options('/?at={hour}', { time }))).readings).toEqual({ Value: priceAt(earlier) })
      for (const path of ['/late', '/deaf']) {
        const fault = await faultOf(collected(options(`${path}?at={hour}`, { time })))
        expect(fault.code).toBe('http-unexpected')
        expect(fault.message).toMatch(
          `time: the time at ${time} must be ${hourText(earlier)} or up to 3600 s before, and is 2026-`,
        )
      }
    },
  )

  it('says what is there where the time leads to nothing, and to no time', async () => {
    const nothing = await faultOf(collected(options('/?at={hour}', { time: '/all/milli' })))
    expect([nothing.message, nothing.fix]).toEqual([
      expect.stringContaining('found nothing'),
      expect.stringMatching(/^at \/all there are ms, seconds, /),
    ])
    const sentinel = await faultOf(collected(options('/?at={hour}', { time: '/all/sentinel' })))
    expect(sentinel.fix).toContain('a count since 1970')
    const { fix } = await faultOf(collected(options('/?at={hour}', { time: '/all' })))
    expect(fix).toBe(
      'write time: with the pointer to a count since 1970, or to a date and time like 2026-11-20T13:00:00Z',
    )
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
    for (const time of ['/time', '/all/ns']) {
      const future = { ...stated(Math.max(hour, Date.now()) + 90_000), time }
      expect((await faultOf(collected(future, hour))).message).toContain(
        `the time at ${time} must not lie in the future`,
      )
    }
  })

  it.for([
    ['http://api.test/?at={hours}', 'the hour is written {hour}, {hourSeconds} or {hourMs}, and the block {block}'],
    ['http://api.test/?at={hour', 'the hour is written {hour}, {hourSeconds} or {hourMs}, and the block {block}'],
    ['http://api.test/?to={hourSeconds+60}', 'the hour is written {hour}, {hourSeconds} or {hourMs}, and the block'],
    ['http://api.test/?to={Hour}', 'the hour is written {hour}, {hourSeconds} or {hourMs}, and the block {block}'],
    ['http://{hour}.test/', 'the hour cannot be a part of the host'],
    ['ftp://api.test/{hour}', 'must be an http or https address'],
  ] as const)('calls %s a mistake', async ([url, message]) => {
    const own = { url, pointer: '/price' }
    expect(await runner.describe(configured('http-json', { options: own }))).toMatchObject({
      kind: 'mistaken',
      mistakes: [{ path: ['url'], message: expect.stringContaining(message) }],
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
