import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { fetchJson, httpAnswerBytesMax, parsedAnswer } from '../../../../src/runner/child/http.ts'
import { edgeOf, holdsNoSecret, source, trial } from '../../http-trial.ts'
import { faultOf } from '../../setup.ts'

describe('an answer that is not what was expected', () => {
  it.for([
    ['a web page', '<!DOCTYPE html><title>hidden', 'looks like a web page'],
    ['a web page after a mark', '\uFEFF\n <html>', 'looks like a web page'],
    ['XML', '<?xml version="1.0"?>', 'looks like XML'],
    ['nothing', '', 'the body is empty'],
    ['blanks', ' \n', 'the body is empty'],
    ['half of it', '{"value":', 'ends too early'],
    ['half a text', '{"value":"hidd', 'ends too early'],
    ['no JSON', 'hidden', 'something that is not JSON'],
    ['another type', '{"value":"n/a"}', 'value: expected number, found the text "n/a"'],
    ['null', '{"value":null}', 'value: expected number, found null'],
    ['a missing field', '{}', 'value: expected number, found nothing'],
    ['a list', '[1,2]', 'the answer: expected object, found a list of 2'],
  ] as const)('(%s) says so', async ([, body, message]) => {
    const { source, get } = await trial({ '/secret': { body } })
    const fault = await faultOf(get('/secret'))
    expect(fault.code).toBe('http-unexpected')
    expect(fault.message).toContain(message)
    expect(source.asked).toHaveLength(1)
    holdsNoSecret(fault)
  })

  it('is reported at up to three places, by their path', async () => {
    const prices = z.object({ usd: z.number().min(0, { error: 'must not be negative' }), at: z.iso.datetime() })
    const schema = z.strictObject({ prices: z.array(prices) })
    const text = JSON.stringify({
      prices: [{ usd: -1, at: 'x'.repeat(50) }, { usd: {}, at: true }, { usd: [] }],
      more: 1,
    })
    const { message } = await faultOf(parsedAnswer(text, schema, { host: 'api.test', secrets: [] }))
    expect(message).toBe(
      `api.test answers something else than expected: prices[0].usd: must not be negative, found -1; ` +
        `prices[0].at: must be an instant like 2026-11-20T13:00:00Z, found the text "${'x'.repeat(40)}…"; ` +
        `prices[1].usd: expected number, found an object; and 4 more`,
    )
  })

  it.for([
    [z.number().min(5), 'must be at least 5, found 3'],
    [z.enum(['a', 'b']), 'must be a or b, found 3'],
    [z.custom(() => false), 'is not a value that it may have, found 3'],
  ] as const)('is reported in plain words: %#', async ([schema, words]) => {
    const answer = parsedAnswer('{"x":3}', z.object({ x: schema }), { host: 'api.test', secrets: [] })
    expect((await faultOf(answer)).message).toContain(`x: ${words}`)
  })

  it('has its numbers as they are written, where they are asked for as text', async () => {
    const text = '{"wei":123456789012345678901234567890,"list":[-0.10,1E3,"7",true,null],"__proto__":1}'
    const api = await source({ '/': { body: text } })
    const edge = edgeOf({ request: { numbers: 'text' } })
    const schema = z.object({ wei: z.string().transform(BigInt), list: z.unknown() })
    const list = ['-0.10', '1E3', '7', true, null]
    expect(await fetchJson(`${api.url}/`, schema, edge)).toEqual({ wei: 123456789012345678901234567890n, list })
    expect((await faultOf(parsedAnswer('{"a":', z.any(), { host: 'a', secrets: [] }, 'text'))).message).toContain(
      'too early',
    )
  })

  it('is compared with the branch of a union that comes nearest', async () => {
    const schema = z.union([z.object({ error: z.string() }), z.object({ a: z.object({ b: z.number() }) })])
    const { message } = await faultOf(parsedAnswer('{"a":{"b":"x"}}', schema, { host: 'api.test', secrets: [] }))
    expect(message).toContain('a.b: expected number, found the text "x"')
  })

  it('is not repeated where it repeats the address or a header', async () => {
    const api = await source({
      '/': { body: '{"value":"bad key: hid/den"}' },
      '/h': { body: '{"value":"not token9"}' },
    })
    const schema = z.object({ value: z.number() })
    const edge = edgeOf({ request: { headers: { authorization: 'Bearer token9' } } })
    for (const path of ['/?key=hid%2Fden', '/h']) {
      const { message } = await faultOf(fetchJson(`${api.url}${path}`, schema, edge))
      expect(message).toContain('value: expected number, found what the request has, too')
      expect(message).not.toMatch(/hid|token9/)
    }
  })
})

describe('the bytes of an answer', () => {
  const json = '{"value":1,"name":"é"}'
  const utf16 = Buffer.from(`\uFEFF${json}`, 'utf16le')

  it.for([
    ['a byte order mark', Buffer.from(`\uFEFF${json}`), {}],
    ['two of them', Buffer.from(`\uFEFF\uFEFF${json}`), {}],
    ['UTF-16, as the mark says', utf16, {}],
    ['UTF-16, the other way round', Buffer.from(utf16).swap16(), {}],
    ['Latin-1, as it says', Buffer.from(json, 'latin1'), { 'content-type': 'application/json; charset=ISO-8859-1' }],
    ['UTF-8, whatever it says', Buffer.from(json), { 'content-type': 'application/json; charset=ISO-8859-1' }],
    ['gzip', gzipSync(json), { 'content-encoding': 'gzip' }],
    ['x-gzip', gzipSync(json), { 'content-encoding': 'X-GZip' }],
    ['deflate', deflateSync(json), { 'content-encoding': 'deflate' }],
    ['brotli', brotliCompressSync(json), { 'content-encoding': 'br' }],
    ['no encoding', Buffer.from(json), { 'content-encoding': 'identity' }],
  ] as const)('are read: %s', async ([, body, headers]) => {
    const api = await source({ '/': { body, headers } })
    const schema = z.object({ value: z.number(), name: z.string() })
    expect(await fetchJson(`${api.url}/`, schema, edgeOf())).toEqual({ value: 1, name: 'é' })
    expect(api.asked[0]?.headers['accept-encoding']).toBe('identity')
  })

  it.for([
    ['no UTF-8', Buffer.from('{"value":"\xff"}', 'latin1'), {}, 'not UTF-8'],
    ['an unknown charset', Buffer.from('\xff', 'latin1'), { 'content-type': 'a/b; charset=hidden' }, 'not UTF-8'],
    ['no gzip', Buffer.from('{"value":1}'), { 'content-encoding': 'gzip' }, 'not gzip, as it says'],
    ['an unknown encoding', Buffer.from('x'), { 'content-encoding': 'hidden' }, 'content encoding that is not known'],
    ['two encodings', gzipSync('{}'), { 'content-encoding': 'gzip, gzip' }, 'content encoding that is not known'],
    ['a bomb', gzipSync(Buffer.alloc(httpAnswerBytesMax + 1)), { 'content-encoding': 'gzip' }, 'more than 8 MiB'],
  ] as const)('are refused: %s', async ([, body, headers, message]) => {
    const { source, get } = await trial({ '/secret': { body, headers } })
    const fault = await faultOf(get('/secret'))
    expect(fault).toMatchObject({ code: 'http-unexpected', message: expect.stringContaining(message) })
    expect(source.asked).toHaveLength(1)
    holdsNoSecret(fault)
  })

  it('are not read further than 8 MiB', async () => {
    const fits = `{"value":1}${' '.repeat(httpAnswerBytesMax - 11)}`
    const { get } = await trial({ '/fits': { body: fits }, '/': { body: `${fits} ` }, '/endless': 'endless' })
    expect(await get('/fits')).toEqual({ value: 1 })
    for (const path of ['/', '/endless']) expect((await faultOf(get(path))).message).toContain('more than 8 MiB')
  })
})
