import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { type Hour, hourAfter } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { configured, hour } from '../runner/setup.ts'
import { type Source, startSource } from '../runner/source.ts'
import { type PrometheusServer, prometheusPlace, startPrometheus } from '../support/prometheus.ts'
import { collectorContract } from './contract.ts'

const runner = new ProcessRunner({ chains: {}, deadlineMs: 60_000, time: systemTime, log: () => {} })
afterAll(() => runner.stop())

const byLabel = (queries: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(queries).map(([label, query]) => [label, { query }]))
const collected = (url: string, queries: Readonly<Record<string, string>>, at = hour) =>
  runner.collect(configured('prometheus', { options: { url, values: byLabel(queries) } }), at)

/** The values and, where there is none, the words. */
async function said(url: string, queries: Readonly<Record<string, string>>, at = hour) {
  const { readings, failures } = await collected(url, queries, at)
  return {
    ...readings,
    ...Object.fromEntries(Object.entries(failures).map(([label, { message }]) => [label, message])),
  }
}

const earlier = hourAfter(hour, -5)
const secondsBefore = (at: Hour, seconds: number) => at / 1000 - seconds

describe.skipIf(prometheusPlace.kind === 'missing')(
  'prometheus, of a real server (needs the program prometheus)',
  () => {
    let server: PrometheusServer
    beforeAll(async () => {
      if (prometheusPlace.kind === 'missing') return
      server = await startPrometheus(prometheusPlace.path, [
        '# TYPE tvl gauge',
        `tvl{pool="a"} 1.5 ${secondsBefore(earlier, 60)}`,
        `tvl{pool="a"} 3 ${secondsBefore(hour, 60)}`,
        `tvl{pool="a"} 99 ${secondsBefore(hour, -1)}`,
        `tvl{pool="b"} 4e6 ${secondsBefore(hour, 299)}`,
        `tvl{pool="old"} 7 ${secondsBefore(hour, 301)}`,
        '# TYPE odd gauge',
        `odd NaN ${secondsBefore(hour, 1)}`,
        `huge +Inf ${secondsBefore(hour, 1)}`,
      ])
    })
    afterAll(() => server?.stop())

    collectorContract('prometheus', {
      use: 'prometheus',
      options: () => ({ url: server.url, values: { TVL: { query: 'sum(tvl)', unit: 'USD', min: 0 } } }),
      hours: () => [hour, earlier],
      broken: () => [
        { url: server.url, values: byLabel({ TVL: 'tvl' }) },
        { url: `${server.url}/elsewhere`, values: byLabel({ TVL: 'sum(tvl)' }) },
      ],
    })

    it('evaluates each query at the hour, and each fails alone', async () => {
      const queries = { All: 'sum(tvl)', One: 'tvl{pool="a"}', Scalar: 'scalar(tvl{pool="b"}) / 2', Time: 'time()' }
      expect(await said(server.url, { ...queries, Wrong: 'sum(' })).toEqual({
        All: 4_000_003,
        One: 3,
        Scalar: 2_000_000,
        Time: hour / 1000,
        Wrong: expect.stringMatching(/^127\.0\.0\.1:\d+ refuses the query: .*parse error: unclosed left parenthesis/),
      })
      expect(await said(server.url, queries, earlier)).toMatchObject({ All: 1.5, One: 1.5, Time: earlier / 1000 })
    })

    it.for([
      ['tvl', 'the query gives 2 samples: add them with sum(), or select one by its labels'],
      ['tvl{pool="c"}', 'the query gives no sample at the hour: the server looks back 5 minutes'],
      ['tvl{pool="old"}', 'the query gives no sample at the hour'],
      ['odd', 'the query gives NaN, which is not a number: let the query give one'],
      ['huge', 'the query gives +Inf, which is not a number: let the query give one'],
      ['-huge', 'the query gives -Inf, which is not a number: let the query give one'],
      ['tvl[5m]', 'the query gives samples of a range: make one of them'],
      ['"text"', 'the query gives a string, and not a number: write one that gives a scalar or a vector'],
      ['tvl{pool="a"} + on() tvl', 'refuses the query: found duplicate series'],
    ] as const)('%s is no value', async ([query, message]) => {
      expect(await said(server.url, { Value: query })).toEqual({ Value: expect.stringContaining(message) })
    })
  },
)

describe('prometheus, of the answers that its API describes', () => {
  let source: Source
  const vector = (more: object, value: unknown = [hour / 1000, '2']) => ({
    body: JSON.stringify({
      status: 'success',
      data: { resultType: 'vector', result: [{ metric: {}, value }] },
      ...more,
    }),
  })
  const histogram = [{ metric: {}, histogram: [hour / 1000, { count: '2', sum: '3', buckets: [] }] }]
  beforeAll(async () => {
    source = await startSource({
      '/api/v1/query': vector({}),
      '/behind/proxy/api/v1/query': vector({ infos: ['metric might not be a counter'], warnings: [] }),
      '/part/api/v1/query': vector({ warnings: ['store 2 is down', 'x'.repeat(300)] }),
      '/deaf/api/v1/query': vector({}, [hour / 1000 + 60.5, '2']),
      '/histogram/api/v1/query': vector({ data: { resultType: 'vector', result: histogram } }),
      '/page/api/v1/query': { status: 400, body: '<html>' },
      '/denied/api/v1/query': { status: 401, body: '{"status":"error","error":"of no use"}' },
      '/slow/api/v1/query': [
        { status: 503, body: '{"status":"error","errorType":"timeout","error":"query timed out"}' },
        vector({}),
      ],
    })
  })
  afterAll(() => source?.stop())

  it('asks as its API describes, with headers, and keeps what the address has of its own', async () => {
    const variable = 'TIDEGAUGE_TEST_PROMETHEUS'
    process.env[variable] = 'Bearer of-the-server'
    onTestFinished(() => void delete process.env[variable])
    const options = {
      url: `${source.url}/behind/proxy/?partial_response=false`,
      headers: { authorization: { env: variable }, 'x-scope-orgid': 'own' },
      values: byLabel({ Value: 'sum(rate(a{b="c&d"}[1h])) + 1' }),
    }
    expect((await runner.collect(configured('prometheus', { options }), hour)).readings).toEqual({ Value: 2 })
    const { method, path, target, headers } = source.asked.at(-1) ?? {}
    expect({ method, path }).toEqual({ method: 'GET', path: '/behind/proxy/api/v1/query' })
    expect([...new URLSearchParams(target?.split('?')[1])]).toEqual([
      ['partial_response', 'false'],
      ['query', 'sum(rate(a{b="c&d"}[1h])) + 1'],
      ['time', String(hour / 1000)],
    ])
    expect(headers).toMatchObject({ authorization: 'Bearer of-the-server', 'x-scope-orgid': 'own' })
  })

  it.for([
    ['/part', /^the answer has warnings: store 2 is down; x{200}: look into the server/],
    ['/deaf', /^the answer is of 2026-11-20T13:01:00\.500Z, and not of 2026-11-20T13:00:00Z: look whether a cache/],
    ['/histogram', /^the query gives a histogram: take a number of it with histogram_quantile\(\)$/],
    ['/page', /answers what looks like a web page, not JSON$/],
    ['/denied', /refuses the request: \{"status":"error"/],
  ] as const)('%s has no value', async ([path, message]) => {
    expect(await said(source.url + path, { Value: 'a' })).toEqual({ Value: expect.stringMatching(message) })
  })

  it('asks again where the server could not answer in time', async () => {
    expect(await said(`${source.url}/slow`, { Value: 'a' })).toEqual({ Value: 2 })
  })

  it('tells mistakes at their place', async () => {
    const values = byLabel({ Value: 'a' })
    for (const [options, path, message] of [
      [{ values }, ['url'], 'must be an http or https address'],
      [{ url: 'http://p.test/api/v1/query', values }, ['url'], 'must be the address of the server: /api/v1/query is'],
      [{ url: 'http://p.test', values: {} }, ['values'], 'must hold a value'],
      [{ url: 'http://p.test', values: { Value: {} } }, ['values', 'Value', 'query'], 'must be a PromQL expression'],
      [{ url: 'http://p.test', values: byLabel({ Value: ' ' }) }, ['values', 'Value', 'query'], 'must be a PromQL'],
      [{ url: 'http://p.test', query: 'a', values }, ['query'], 'unknown option "query"'],
    ] as const) {
      expect(await runner.describe(configured('prometheus', { options })), JSON.stringify(options)).toMatchObject({
        kind: 'mistaken',
        mistakes: [{ path, message: expect.stringContaining(message) }],
      })
    }
  })
})
