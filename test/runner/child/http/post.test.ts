import { describe, expect, it } from 'vitest'
import type { HttpRequest } from '../../../../src/collector.ts'
import { fetchBytes, fetchJson, fetchText, firstHop } from '../../../../src/runner/child/http.ts'
import { edgeOf, holdsNoSecret, ok, schema, source, to, trial } from '../../http-trial.ts'
import { faultOf } from '../../setup.ts'

const post = { body: { method: 'getSupply' } } satisfies HttpRequest

it.each([
  ['http://api.example.com/x', 'Authorization', true],
  ['http://203.0.113.7/x', 'x-auth', true],
  ['http://reader:word@api.example.com/x', 'accept', true],
  ['https://api.example.com/x', 'x-api-key', false],
  ['http://node.eth.svc/x', 'x-api-key', false],
  ['http://api.example.com/x', 'x-plain', false],
])('%s is refused with the header %s: %s', (url, name, isRefused) => {
  const hop = () => firstHop(url, { method: 'GET', headers: { [name.toLowerCase()]: 'swordfish' } })
  if (isRefused) expect(hop).toThrow(/^the header [\w-]+ would be sent to [\w.]+ unencrypted$/)
  else expect(hop).not.toThrow()
})

describe('a request with a body', () => {
  it.for([
    [{ method: 'getSupply' }, '{"method":"getSupply"}', 'application/json'],
    [[1, null], '[1,null]', 'application/json'],
    ['a,b\n1,2', 'a,b\n1,2', 'text/plain; charset=utf-8'],
    ['', '', 'text/plain; charset=utf-8'],
  ] as const)('is a POST of it: %j', async ([body, text, type]) => {
    const { source, get } = await trial({ '/': ok })
    expect(await get('/', { request: { body } })).toEqual({ value: 1 })
    expect(source.asked).toMatchObject([{ method: 'POST', body: text, headers: { 'content-type': type } }])
  })

  it('has the content type and the headers that its collector says', async () => {
    const { source, get } = await trial({ '/': ok })
    await get('/', { request: { body: '{}', headers: { 'Content-Type': 'application/x-own', 'X-Api-Key': 'hidden' } } })
    expect(source.asked[0]?.headers).toMatchObject({ 'content-type': 'application/x-own', 'x-api-key': 'hidden' })
  })

  it.for<[HttpRequest, number]>([
    [{ ...post }, 1],
    [{ ...post, isRead: true }, 3],
    [{ body: { query: '{ pool { tvl } }' } }, 3],
    [{ body: { query: 'mutation { vote }' } }, 1],
    [{ body: { query: '{ pool { tvl } }' }, isRead: false }, 1],
    [{ method: 'POST' }, 1],
    [{}, 3],
  ])('is sent again only where it is a read: %j is sent %i times', async ([request, times]) => {
    const { source, get } = await trial({ '/secret': { status: 503 } })
    const fault = await faultOf(get('/secret', { request }))
    expect(source.asked).toHaveLength(times)
    expect(fault.fix ?? '').toContain(times === 1 ? 'isRead: true' : '')
    holdsNoSecret(fault)
  })

  it.for<[HttpRequest, string]>([
    [{ body: 1n }, 'http cannot write this body as JSON'],
    [{ body: () => 1 }, 'http cannot write this body as JSON'],
    [{ body: 'x'.repeat(1_048_577) }, 'http sends no body of more than 1 MiB'],
    [{ body: 'x', method: 'GET' }, 'http sends no body with a GET'],
  ])('%# is refused where it cannot be sent', async ([request, message]) => {
    const { source, get } = await trial({ '/': ok })
    expect(await faultOf(get('/', { request }))).toMatchObject({ code: 'http-refused', message })
    expect(source.asked).toEqual([])
  })
})

describe('a redirect of a POST', () => {
  const request = { ...post, headers: { 'x-api-key': 'hidden' } }

  it.for([307, 308])('with %i goes along inside the origin, with its body', async status => {
    const { source, get } = await trial({ '/': to('/x', status), '/x': ok })
    expect(await get('/', { request })).toEqual({ value: 1 })
    const same = { method: 'POST', body: '{"method":"getSupply"}', headers: { 'x-api-key': 'hidden' } }
    expect(source.asked).toMatchObject([same, { ...same, path: '/x' }])
  })

  it.for([301, 302, 307, 308])('with %i to another origin is refused: nothing is carried there', async status => {
    const other = await source({ '/': ok })
    const { get } = await trial({ '/secret': to(`${other.url}/`, status) })
    const fault = await faultOf(get('/secret', { request }))
    expect(fault).toMatchObject({
      code: 'http-refused',
      message: expect.stringContaining(`redirects a POST (${status})`),
    })
    expect(other.asked).toEqual([])
    holdsNoSecret(fault)
  })

  it('with 303 is a GET without the body, and to another origin without the headers', async () => {
    const other = await source({ '/': ok })
    const { source: first, get } = await trial({ '/': to('/x', 303), '/x': to(`${other.url}/`, 303) })
    expect(await get('/', { request })).toEqual({ value: 1 })
    expect(first.asked[1]).toMatchObject({ method: 'GET', body: '', headers: { 'x-api-key': 'hidden' } })
    expect(other.asked[0]).toMatchObject({ method: 'GET', body: '' })
    for (const name of ['x-api-key', 'content-type']) expect(other.asked[0]?.headers).not.toHaveProperty(name)
  })
})

describe('http.bytes', () => {
  it('gives an answer that is no text as it is', async () => {
    const { source } = await trial({ '/bytes': { body: Buffer.from([0xff, 0x00, 0xc3, 0x28]) } })
    expect([...(await fetchBytes(`${source.url}/bytes`, edgeOf()))]).toEqual([0xff, 0x00, 0xc3, 0x28])
    expect((await faultOf(fetchText(`${source.url}/bytes`, edgeOf()))).message).toContain('not UTF-8 text')
  })
})

describe('http.text', () => {
  it('gives what is no JSON as text, within the same bounds', async () => {
    const { source } = await trial({ '/csv': { body: 'a,b\n1,2\n' }, '/gone': { status: 404 } })
    expect(await fetchText(`${source.url}/csv`, edgeOf())).toBe('a,b\n1,2\n')
    expect(source.asked[0]?.headers.accept).toBe('*/*')
    expect((await faultOf(fetchText(`${source.url}/gone`, edgeOf()))).code).toBe('http-refused')
    expect((await faultOf(fetchJson(`${source.url}/csv`, schema, edgeOf()))).code).toBe('http-unexpected')
  })
})
