import { afterEach, describe, expect, it } from 'vitest'
import { setEgress } from '../../src/edge/egress.ts'
import { fetchJson } from '../../src/runner/child/http.ts'
import { startProxy } from '../support/proxy.ts'
import { edgeOf, holdsNoSecret, ok, schema, source, to } from './http-trial.ts'
import { faultOf } from './setup.ts'

afterEach(() => setEgress())

/** A source that only the proxy reaches, under two names. */
async function stage() {
  const started = await source({
    '/ok': ok,
    '/name': to('http://other.example.test/ok'),
    '/inner': to('http://10.0.0.5/secret'),
    '/self': to('/ok'),
    '/machine': to('http://127.0.0.1:9/secret'),
  })
  const port = Number(new URL(started.url).port)
  const proxy = await startProxy({
    // A way is open with any 2xx.
    status: 204,
    reaches: { 'api.example.test:80': port, 'other.example.test:80': port, '10.0.0.5:80': port },
  })
  setEgress(() => ({ proxy: proxy.url, except: [] }))
  const edge = edgeOf()
  return { proxy, get: (path: string) => fetchJson(`http://api.example.test${path}?key=hidden`, schema, edge) }
}

describe('behind a proxy, a source', () => {
  it('is read, and may lead to another name, which the proxy looks up', async () => {
    const { proxy, get } = await stage()
    expect(await get('/ok')).toEqual({ value: 1 })
    expect(await get('/name')).toEqual({ value: 1 })
    expect(new Set(proxy.asked)).toEqual(new Set(['api.example.test:80', 'other.example.test:80']))
  })

  it('at a private address may lead to itself', async () => {
    await stage()
    expect(await fetchJson('http://10.0.0.5/self?key=hidden', schema, edgeOf())).toEqual({ value: 1 })
  })

  it.each(['/inner', '/machine'])('leads to no address of a private network or of this machine: %s', async path => {
    const { proxy, get } = await stage()
    const fault = await faultOf(get(path))
    expect(fault).toMatchObject({ code: 'http-refused', message: expect.stringContaining('in a private network') })
    expect(proxy.asked).toEqual(['api.example.test:80'])
  })

  it('that the proxy does not reach is asked again, and its fault names both', async () => {
    const { proxy } = await stage()
    const fault = await faultOf(fetchJson('http://gone.example.test/?key=hidden', schema, edgeOf()))
    expect(fault).toMatchObject({
      code: 'http-unreachable',
      message: `gone.example.test does not answer: the proxy 127.0.0.1:${proxy.port} does not reach gone.example.test:80 (502)`,
      fix: 'check that this host runs; a host that needs no proxy belongs under proxy.except',
    })
    holdsNoSecret(fault)
    expect(proxy.asked).toHaveLength(3)
  })
})
