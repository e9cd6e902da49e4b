import { describe, expect, it } from 'vitest'
import { fetchJson } from '../../../../src/runner/child/http.ts'
import { isPublicAddress } from '../../../../src/runner/child/network.ts'
import { certificateFor } from '../../../support/certificate.ts'
import {
  edgeOf,
  holdsNoSecret,
  namesOf,
  nowMs,
  ok,
  schema,
  scriptedNetwork,
  source,
  to,
  trial,
} from '../../http-trial.ts'
import { faultOf } from '../../setup.ts'
import type { Answers } from '../../source.ts'

const names = namesOf({
  'api.test': [['127.0.0.2']],
  'other-api.test': [['127.0.0.4']],
  'node.test': [['127.0.0.1']],
  'other-node.test': [['127.0.0.3']],
  'mixed.test': [['127.0.0.2', '127.0.0.3']],
})
const openApi = (answers: Answers) => source(answers, { address: '127.0.0.2' })

/** Fetches in a world of names. */
const fetcher = (parts: Parameters<typeof edgeOf>[0] = {}) => {
  const edge = edgeOf({ network: scriptedNetwork({ lookup: names }), ...parts })
  return (url: string, more = {}) => fetchJson(url, schema, { ...edge, ...more })
}

describe('a redirect', () => {
  it('is followed three times', async () => {
    const { get } = await trial({ '/1': to('/2'), '/2': to('/3'), '/3': to('/4'), '/4': ok, '/0': to('/1') })
    expect(await get('/1')).toEqual({ value: 1 })
    const fault = await faultOf(get('/0'))
    expect(fault).toMatchObject({ code: 'http-refused', message: expect.stringContaining('3 times') })
  })

  it.for([301, 302, 303, 307, 308])('is one with status %i', async status => {
    const { get } = await trial({ '/': to('/x', status), '/x': ok })
    expect(await get('/')).toEqual({ value: 1 })
  })

  it.for([300, 304, 399])('is not followed with status %i', async status => {
    const { source, get } = await trial({ '/': to('/x', status), '/x': ok })
    expect(await faultOf(get('/'))).toMatchObject({ code: 'http-refused', facts: { status } })
    expect(source.asked).toHaveLength(1)
  })

  it.for(['file:///etc/passwd', 'javascript:1', 'http://'])('to %s is refused', async location => {
    const { get } = await trial({ '/': to(location) })
    expect((await faultOf(get('/'))).code).toBe('http-refused')
  })

  it('to an address with a name or password in it is refused', async () => {
    const { source: asked, get } = await trial({ '/': to('//me:hidden@127.0.0.1/') })
    const fault = await faultOf(get('/'))
    expect(fault.code).toBe('http-refused')
    expect(fault.message).toContain('name or password')
    expect(asked.asked).toHaveLength(1)
    holdsNoSecret(fault)
  })
})

describe('headers of the caller', () => {
  const headers = { Authorization: 'Bearer hidden', 'X-Api-Key': 'hidden' }

  it('go along inside the origin, to no other, and not back into it', async () => {
    const back: { url: string } = { url: '' }
    const other = await source({
      get '/'() {
        return to(`${back.url}/back`)
      },
    })
    const start = await source({ '/': to('/own'), '/own': to(`${other.url}/`), '/back': ok })
    back.url = start.url
    expect(await fetchJson(`${start.url}/`, schema, edgeOf({ request: { headers } }))).toEqual({ value: 1 })
    expect(other.asked[0]?.headers).not.toHaveProperty('authorization')
    expect(other.asked[0]?.headers).not.toHaveProperty('x-api-key')
    const sent = start.asked.map(each => [each.path, each.headers.authorization])
    expect(sent).toEqual([
      ['/', 'Bearer hidden'],
      ['/own', 'Bearer hidden'],
      ['/back', undefined],
    ])
  })
})

describe('from a public address', () => {
  it.for([
    'http://127.0.0.1:PORT/',
    'http://2130706433:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://0.0.0.0:PORT/',
    'http://node.test:PORT/',
    'http://mixed.test:PORT/',
  ])('no redirect leads to %s', async location => {
    const inner = await source({ '/': ok })
    const api = await openApi({ '/secret': to(location.replace('PORT', String(inner.port))) })
    const fault = await faultOf(fetcher()(`http://api.test:${api.port}/secret?key=hidden`))
    expect(fault.code).toBe('http-refused')
    expect(fault.message).toMatch(/^api\.test:\d+ redirects to .+, which is in a private network$/)
    expect(inner.asked).toEqual([])
    expect(api.asked).toHaveLength(1)
    holdsNoSecret(fault)
  })

  it('it leads to none over a connection that is already open', async () => {
    const inner = await source({ '/': ok })
    const api = await openApi({ '/': to(`http://node.test:${inner.port}/`) })
    const get = fetcher()
    expect(await get(`http://node.test:${inner.port}/`)).toEqual({ value: 1 })
    expect((await faultOf(get(`http://api.test:${api.port}/`))).code).toBe('http-refused')
    expect(inner.asked).toHaveLength(1)
  })

  it('it leads to none when the name of the source itself turns to one', async () => {
    const lookup = namesOf({ 'api.test': [['127.0.0.2'], ['127.0.0.1']] })
    const api = await openApi({
      '/': { ...Object(to('/x')), headers: { location: '/x', connection: 'close' } },
      '/x': ok,
    })
    const get = fetcher({ network: scriptedNetwork({ lookup }) })
    expect(await faultOf(get(`http://api.test:${api.port}/`))).toMatchObject({
      code: 'http-refused',
      facts: { address: '127.0.0.1' },
    })
  })

  it('it leads to none when the name was seen at both kinds of address', async () => {
    const lookup = namesOf({ 'api.test': [['127.0.0.2'], ['127.0.0.1']] })
    const closing = { connection: 'close' }
    const both = await source(
      { '/': { ...Object(ok), headers: closing }, '/2': { status: 302, headers: { ...closing, location: '/' } } },
      { address: '0.0.0.0' },
    )
    const get = fetcher({ network: scriptedNetwork({ lookup }) })
    expect(await get(`http://api.test:${both.port}/`)).toEqual({ value: 1 })
    expect((await faultOf(get(`http://api.test:${both.port}/2`))).code).toBe('http-refused')
  })

  it('it leads to none by way of another public one', async () => {
    const inner = await source({ '/': ok })
    const other = await source({ '/': to(`http://node.test:${inner.port}/`) }, { address: '127.0.0.4' })
    const api = await openApi({ '/': to(`http://other-api.test:${other.port}/`) })
    expect((await faultOf(fetcher()(`http://api.test:${api.port}/`))).code).toBe('http-refused')
    expect([other.asked.length, inner.asked.length]).toEqual([1, 0])
  })

  it('it leads to other public ones', async () => {
    const other = await source({ '/': ok }, { address: '127.0.0.4' })
    const api = await openApi({ '/': to('/x'), '/x': to(`http://other-api.test:${other.port}/`) })
    expect(await fetcher()(`http://api.test:${api.port}/`)).toEqual({ value: 1 })
    expect(await fetcher()(`http://127.0.0.2:${api.port}/`)).toEqual({ value: 1 })
  })
})

describe('from a private address that the operator wrote', () => {
  it('a redirect leads on within the host', async () => {
    const second = await source({ '/': ok })
    const node = await source({ '/': to('/x'), '/x': to(`http://node.test:${second.port}/`) })
    expect(await fetcher()(`http://node.test:${node.port}/`)).toEqual({ value: 1 })
  })

  it.for(['other-node.test', '127.0.0.3', 'localhost'])('it leads to no other private one: %s', async host => {
    const other = await source({ '/': ok }, { address: '127.0.0.3' })
    const node = await source({ '/': to(`http://${host}:${other.port}/`) })
    const get = fetcher({
      network: scriptedNetwork({
        lookup: namesOf({
          'node.test': [['127.0.0.1']],
          'other-node.test': [['127.0.0.3']],
          localhost: [['127.0.0.3']],
        }),
      }),
    })
    expect((await faultOf(get(`http://node.test:${node.port}/`))).code).toBe('http-refused')
    expect(other.asked).toEqual([])
  })

  it('it may lead out, and not back in', async () => {
    const node = await source({ '/out': to('/none'), '/back': ok })
    const api = await openApi({ '/': ok, '/back': to(`http://node.test:${node.port}/back`) })
    const start = await source({
      '/': to(`http://api.test:${api.port}/`),
      '/2': to(`http://api.test:${api.port}/back`),
    })
    const get = fetcher()
    expect(await get(`http://node.test:${start.port}/`)).toEqual({ value: 1 })
    expect((await faultOf(get(`http://node.test:${start.port}/2`))).code).toBe('http-refused')
    expect(node.asked).toEqual([])
  })
})

describe('over TLS', () => {
  const certificate = certificateFor(['api.test', 'other-api.test'])
  const network = () => scriptedNetwork({ lookup: names, ca: certificate.cert })

  it('a redirect leads to https', async () => {
    const other = await source({ '/': ok }, { address: '127.0.0.4', certificate })
    const api = await source(
      { '/': to(`https://other-api.test:${other.port}/`) },
      { address: '127.0.0.2', certificate },
    )
    expect(await fetcher({ network: network() })(`https://api.test:${api.port}/`)).toEqual({ value: 1 })
  })

  it('a redirect to http is refused, to the same host too', async () => {
    const plain = await openApi({ '/': ok })
    const api = await source({ '/': to(`http://api.test:${plain.port}/`) }, { address: '127.0.0.2', certificate })
    const fault = await faultOf(fetcher({ network: network() })(`https://api.test:${api.port}/`))
    expect(fault).toMatchObject({ code: 'http-refused', message: expect.stringContaining('from https to http') })
    expect(plain.asked).toEqual([])
  })

  it('a redirect into a private network is refused', async () => {
    const inner = await source({ '/': ok }, { certificate })
    const api = await source({ '/': to(`https://node.test:${inner.port}/`) }, { address: '127.0.0.2', certificate })
    expect((await faultOf(fetcher({ network: network() })(`https://api.test:${api.port}/`))).code).toBe('http-refused')
    expect(inner.asked).toEqual([])
  })

  it('a certificate that is not accepted is reported, and not tried again', async () => {
    const slept: number[] = []
    const api = await source({ '/': ok }, { address: '127.0.0.2', certificate })
    const edge = edgeOf({ network: scriptedNetwork({ lookup: names }) })
    const time = { ...edge.time, sleep: async (ms: number) => void slept.push(ms), nowMs: () => nowMs }
    const fault = await faultOf(fetchJson(`https://api.test:${api.port}/`, schema, { ...edge, time }))
    expect(fault).toMatchObject({ code: 'http-unreachable', message: expect.stringContaining('certificate') })
    expect(slept).toEqual([])
  })
})

describe('an address', () => {
  it.for([
    ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.0.1', '169.254.169.254'],
    ...['172.16.0.1', '172.31.255.255', '192.168.1.1', '198.18.0.1', '224.0.0.1', '255.255.255.255'],
    ...['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd12::1', 'fec0::1', 'ff02::1', '2002:7f00:1::', '2001::1'],
    ...[
      '::ffff:10.0.0.1',
      '::ffff:7f00:1',
      '::ffff:169.254.1.1',
      '::ffff:c0a8:101',
      '::127.0.0.1',
      '64:ff9b::10.0.0.1',
    ],
    ...['', 'localhost', '10.0.0', '1.2.3.4.5'],
  ])('%s is not public', address => expect(isPublicAddress(address)).toBe(false))

  it.for([
    ...['1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '172.15.0.1', '172.32.0.1'],
    ...['192.167.0.1', '192.169.0.1', '169.253.0.1', '223.255.255.255', '2606:4700::1111', '2a00::1', '2001:db9::1'],
    ...['::ffff:1.1.1.1', '64:ff9b::1.1.1.1'],
  ])('%s is', address => expect(isPublicAddress(address)).toBe(true))
})
