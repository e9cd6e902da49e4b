import { describe, expect, it } from 'vitest'
import { systemTime } from '../../../../src/edge/time.ts'
import { fetchJson, httpTryMsMax } from '../../../../src/runner/child/http.ts'
import { VirtualTime } from '../../../support/virtual-time.ts'
import { edgeOf, holdsNoSecret, nowMs, ok, schema, source, stillTime, trial } from '../../http-trial.ts'
import { faultOf } from '../../setup.ts'
import type { Answers } from '../../source.ts'

describe('http.json', () => {
  it('gives what the schema makes of the answer, and sends the headers', async () => {
    const { source, get } = await trial({ '/': ok })
    expect(await get('/', { request: { headers: { 'x-own': 'yes' } } })).toEqual({ value: 1 })
    expect(source.asked[0]?.headers).toMatchObject({ 'x-own': 'yes', accept: 'application/json' })
  })

  it.for([408, 425, 429, 500, 502, 503])('tries a %i again, with backoff', async status => {
    const { source, slept, get } = await trial({ '/': [{ status }, { status }, ok] })
    expect(await get('/')).toEqual({ value: 1 })
    expect(source.asked).toHaveLength(3)
    expect(slept).toEqual([250, 500])
  })

  it('tries a connection that was cut again, three times at most', async () => {
    const { source, get } = await trial({ '/secret': 'cut' })
    const fault = await faultOf(get('/secret'))
    expect(fault).toMatchObject({ code: 'http-unreachable', facts: { attempts: 3 } })
    expect(source.asked).toHaveLength(3)
    holdsNoSecret(fault)
  })

  it.for([
    ['seconds', '7', 7_000],
    ['a date', 'Fri, 20 Nov 2026 13:00:09 GMT', 9_000],
    ['two headers: the later', ['3', '8'], 8_000],
  ] as const)('waits as long as Retry-After asks, in %s', async ([, header, ms]) => {
    const headers = {
      date: 'Fri, 20 Nov 2026 13:00:00 GMT',
      'retry-after': typeof header === 'string' ? header : [...header],
    }
    const { slept, get } = await trial({ '/': [{ status: 429, headers }, ok] })
    expect(await get('/')).toEqual({ value: 1 })
    expect(slept).toEqual([ms])
  })

  it("takes a date in Retry-After by the source's own clock", async () => {
    const headers = { date: 'Fri, 20 Nov 2026 12:00:00 GMT', 'retry-after': 'Fri, 20 Nov 2026 12:00:09 GMT' }
    const { slept, get } = await trial({ '/': [{ status: 503, headers }, ok] })
    expect(await get('/')).toEqual({ value: 1 })
    expect(slept[0]).toBeGreaterThanOrEqual(8_001)
    expect(slept[0]).toBeLessThanOrEqual(9_000)
  })

  it('is never early, however the backoff is drawn', async () => {
    const time = new VirtualTime(nowMs, () => 0)
    const answers = [
      { status: 429, headers: { 'retry-after': '7' } },
      { status: 503, headers: { 'retry-after': '5' } },
      ok,
    ]
    const { get } = await trial({ '/': answers })
    expect(await get('/', { time })).toEqual({ value: 1 })
    expect(time.nowMs()).toBe(nowMs + 12_000)
  })

  it.for([
    ['60', 'until 2026-11-20T13:01:00Z, past'],
    ['999999', 'until 2026-11-21T13:00:00Z or longer, past'],
  ] as const)(
    'fails at once and says until when, where Retry-After (%s) passes the deadline',
    async ([after, message]) => {
      const { source, slept, get } = await trial({
        '/secret': [{ status: 503, headers: { 'retry-after': after } }, ok],
      })
      const fault = await faultOf(get('/secret'))
      expect(fault).toMatchObject({ code: 'http-unreachable', facts: { status: 503, attempts: 1 } })
      expect(fault.message).toContain(`asks to wait ${message}`)
      expect(source.asked).toHaveLength(1)
      expect(slept).toEqual([])
      holdsNoSecret(fault)
    },
  )

  it('begins no wait that passes the deadline', async () => {
    const { source, get } = await trial({ '/': { status: 503 } }, 250)
    expect(await faultOf(get('/'))).toMatchObject({ code: 'http-unreachable', facts: { attempts: 1 } })
    expect(source.asked).toHaveLength(1)
  })

  it('gives one try a time of its own, and tries again', async () => {
    const { source, get } = await trial({ '/': ['silent', ok] })
    const tries: { ms: number; controller: AbortController }[] = []
    const timeout = (ms: number) => {
      const controller = new AbortController()
      tries.push({ ms, controller })
      return controller.signal
    }
    const attempt = get('/', { time: { ...stillTime(), timeout } })
    await expect.poll(() => source.asked.length).toBe(1)
    tries[0]?.controller.abort(new DOMException('late', 'TimeoutError'))
    expect(await attempt).toEqual({ value: 1 })
    expect(tries.map(({ ms }) => ms)).toEqual([httpTryMsMax, httpTryMsMax])
  })

  it.for<[about: string, Answers, message: RegExp, fix: RegExp]>([
    [
      'a connection that is cut',
      { '/secret': 'cut' },
      /: it breaks connections off, UND_ERR_SOCKET$/,
      /^look into.*https:/,
    ],
    [
      'an error, and what it says',
      { '/secret': { status: 500, body: '{"error":"no\n room"}' } },
      /answers an error: \{"error":"no room"\}$/,
      /^look into the log of the source/,
    ],
    [
      'the title of an error page',
      { '/secret': { status: 502, body: '<html><title>Bad\nGateway</title><p>x' } },
      /answers an error: Bad Gateway$/,
      /ask who runs it$/,
    ],
    ['an error without words', { '/secret': { status: 503 } }, /answers an error$/, /ask who runs it$/],
    ['an error without an end', { '/secret': { status: 500, body: 'ab'.repeat(9e5) } }, /: (ab){60}…$/, /^look/],
    ['a limit', { '/secret': { status: 429, body: 'slow down' } }, /an error: slow down$/, /^ask it less often/],
    [
      'plain HTTP where TLS is spoken',
      { '/secret': { status: 400, body: 'Client sent an HTTP request to an HTTPS server.' } },
      /refuses the request: Client sent/,
      /^write https:/,
    ],
    ['a refusal', { '/secret': { status: 400, body: 'no such coin' } }, /refuses the request: no such coin$/, /^check/],
    ['a refusal that repeats a key', { '/secret': { status: 403, body: 'not hidden' } }, /refuses the request$/, /key/],
    [
      'a circle',
      { '/secret': { status: 302, headers: { location: '/secret' } } },
      /redirects more than 3 times/,
      /^write/,
    ],
    [
      'no address',
      { '/secret': { status: 302, headers: { location: 'ftp://a/' } } },
      /is not http or https$/,
      /^check/,
    ],
    ['an encoding', { '/secret': { headers: { 'content-encoding': 'zz' }, body: '1' } }, /content encoding/, /^check/],
  ])('says of %s what to do', async ([, answers, message, fix]) => {
    const { get } = await trial(answers)
    const fault = await faultOf(get('/secret'))
    expect(fault.message).toMatch(message)
    expect(fault.fix).toMatch(fix)
    holdsNoSecret(fault)
  })

  it('says of a server that speaks no TLS that its address begins with http', async () => {
    const { url } = await source({ '/': ok })
    const fault = await faultOf(fetchJson(url.replace('http:', 'https:'), schema, edgeOf()))
    expect(fault.message).toContain('does not answer: it does not speak TLS')
    expect(fault.fix).toContain('write http:// in the address')
  })

  it.for([400, 401, 403, 404, 422])('takes a %i for a refusal, at once', async status => {
    const { source, get } = await trial({ '/secret': { status, body: 'hidden' } })
    const fault = await faultOf(get('/secret'))
    expect(fault).toMatchObject({ code: 'http-refused', facts: { status } })
    expect(source.asked).toHaveLength(1)
    holdsNoSecret(fault)
  })

  it('reads what comes with a status that its collector names', async () => {
    const { get, source } = await trial({ '/': { status: 422, body: '{"value":7}' }, '/other': { status: 400 } })
    const request = { statuses: [422] }
    expect(await get('/', { request })).toEqual({ value: 7 })
    expect(await faultOf(get('/other', { request }))).toMatchObject({ code: 'http-refused', facts: { status: 400 } })
    expect(source.asked).toHaveLength(2)
  })

  it('does not read what comes with a refusal', async () => {
    const { get } = await trial({ '/': { status: 404, body: ' '.repeat(9 * 1_048_576) } })
    expect(await faultOf(get('/'))).toMatchObject({ code: 'http-refused', facts: { status: 404 } })
  })

  it('sends a name and a password in the address as a header', async () => {
    const { source } = await trial({ '/': ok })
    const url = source.url.replace('//', '//me:p%40ss@')
    expect(await fetchJson(`${url}/`, schema, edgeOf())).toEqual({ value: 1 })
    expect(source.asked[0]?.headers.authorization).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`)
  })

  it('takes a header that cannot be sent for a refusal, and does not repeat it', async () => {
    const { source, get } = await trial({ '/secret': ok })
    const fault = await faultOf(get('/secret', { request: { headers: { 'x-key': 'hidden\nkey' } } }))
    expect(fault.code).toBe('http-refused')
    expect(source.asked).toEqual([])
    holdsNoSecret(fault)
  })

  it('ends by its signal', async () => {
    const { source, get } = await trial({ '/': 'silent' })
    const controller = new AbortController()
    const attempt = get('/', { signal: controller.signal })
    await expect.poll(() => source.asked.length).toBe(1)
    controller.abort(new Error('enough'))
    await expect(attempt).rejects.toThrow('enough')
  })
})

it.for(['nonsense', 'ftp://x/', '/path', ''])('an address %j is refused', async url => {
  expect((await faultOf(fetchJson(url, schema, edgeOf({ time: systemTime })))).code).toBe('http-refused')
})
