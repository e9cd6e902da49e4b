import { once } from 'node:events'
import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { requestBytesMax } from '../../src/reference/server.ts'
import { metric, startService } from './service.ts'

describe('the service', () => {
  it.each(['/', '/api', '/api/metrics/', '/metrics/byProtocol', '/metrics/byProtocol/', '/API/METRICS', '/nope?x=1'])(
    'answers 404 in JSON at the unknown path %s',
    async path => {
      const { get, key } = await startService()
      const { status, body } = await get(path, key)
      expect(status).toBe(404)
      expect(body).toMatchObject({ success: false, error: expect.any(String), errors: [] })
    },
  )

  it.each([
    ['PUT', '/api/metrics', 'GET, HEAD, POST'],
    ['DELETE', '/metrics/byProtocol/vault', 'GET, HEAD'],
    ['GET', '/api/register-protocol', 'POST'],
    ['POST', '/api/validate-key', 'GET, HEAD'],
    ['PATCH', '/openapi.json', 'GET, HEAD'],
  ])('answers 405 in JSON to %s %s, and says what is allowed', async (method, path, allow) => {
    const { url, key } = await startService()
    const response = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${key}` } })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')?.split(', ').sort().join(', ')).toBe(allow)
    expect(await response.json()).toMatchObject({ success: false, errors: [] })
  })

  it('answers 400 to a path that is no text', async () => {
    const { get } = await startService()
    const { status, body } = await get('/metrics/byProtocol/%ff')
    expect(status).toBe(400)
    expect(body).toMatchObject({ success: false, errors: [] })
  })

  it('answers 413 to a body over the limit, and takes one at the limit', async () => {
    const { post, key } = await startService()
    const body = (bytes: number) => JSON.stringify({ metrics: [metric('A', 1)] }).padEnd(bytes)
    expect((await post('/api/metrics', body(requestBytesMax), key)).status).toBe(200)
    const { status, body: answer } = await post('/api/metrics', body(requestBytesMax + 1), key)
    expect(status).toBe(413)
    expect(answer).toMatchObject({ success: false, error: `the body is larger than ${requestBytesMax} bytes` })
  })

  it.each(['/api/metrics', '/api/register-protocol'])('refuses a wrong key at %s before the body comes', async path => {
    const { url } = await startService()
    const { hostname, port } = new URL(url)
    const headers = { authorization: 'Bearer tg_wrong', 'content-type': 'application/json', 'content-length': '1000' }
    const call = request({ hostname, port, path, method: 'POST', headers })
    call.on('error', () => {})
    call.flushHeaders()
    const [response] = await once(call, 'response')
    expect(response.statusCode).toBe(401)
    call.destroy()
  })

  it('answers 413 to a body of unknown length once it is over the limit', async () => {
    const { url, key } = await startService()
    let sent = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 65_536
        if (sent > 2 * requestBytesMax) controller.close()
        else controller.enqueue(new Uint8Array(65_536).fill(0x20))
      },
    })
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`${url}/api/metrics`, { method: 'POST', headers, body, duplex: 'half' })
    expect(response.status).toBe(413)
  })

  it('holds 100 metrics with every text at its longest', async () => {
    const { post, push, key } = await startService()
    const protocolId = 'p'.repeat(200)
    await post('/api/register-protocol', { id: protocolId, name: 'x' }, key)
    const metrics = Array.from({ length: 100 }, (_, index) => ({
      id: `${protocolId}___${'🌊'.repeat(94)}${String(index).padStart(3)}`,
      protocolId,
      value: -Number.MIN_VALUE,
      unit: '🌊'.repeat(100),
      module: '🌊'.repeat(100),
    }))
    expect((await push(metrics)).body).toMatchObject({ processed: 100 })
    const escaped = JSON.stringify({ metrics }).replace(
      /[\ud800-\udfff]/g,
      unit => `\\u${unit.charCodeAt(0).toString(16)}`,
    )
    expect((await post('/api/metrics', escaped, key)).status).toBe(200)
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx'])(
    'answers 415 to a body sent as %s',
    async type => {
      const { url, key } = await startService()
      const headers = { authorization: `Bearer ${key}`, 'content-type': type }
      const response = await fetch(`${url}/api/metrics`, { method: 'POST', headers, body: '{"metrics":[]}' })
      expect(response.status).toBe(415)
      expect(await response.json()).toMatchObject({ success: false, errors: [] })
    },
  )

  it('takes a body sent as application/json with a charset', async () => {
    const { url, key } = await startService()
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json; charset=utf-8' }
    const response = await fetch(`${url}/api/metrics`, { method: 'POST', headers, body: '{"metrics":[]}' })
    expect(response.status).toBe(200)
  })

  it('answers 400 to a push without a body', async () => {
    const { url, key } = await startService()
    const response = await fetch(`${url}/api/metrics`, { method: 'POST', headers: { authorization: `Bearer ${key}` } })
    expect(response.status).toBe(400)
  })

  it('answers 500 in JSON when it fails itself, and reports the error without saying it to the client', async () => {
    const { get, key, store, reported } = await startService()
    store.close()
    const { status, body } = await get('/api/validate-key', key)
    expect(status).toBe(500)
    expect(body).toEqual({ success: false, error: 'the service failed: try again later', errors: [] })
    expect(reported).toHaveLength(1)
    expect(reported[0]?.message).not.toContain(key)
  })
})
