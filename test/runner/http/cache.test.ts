import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { cacheKey, createAnswerCache, sameTag } from '../../../src/runner/http/cache.ts'
import { fetchJson } from '../../../src/runner/http/json.ts'
import { edgeOf, ok, schema, source, to, trial } from '../http-trial.ts'
import { faultOf } from '../setup.ts'
import type { Answer } from '../source.ts'

const tagged = (etag: string, body = '{"value":1}', more = {}): Answer => ({ headers: { etag, ...more }, body })
const same: Answer = { status: 304 }
const asks = (asked: readonly { readonly headers: NodeJS.Dict<string | string[]> }[]) =>
  asked.map(({ headers }) => headers['if-none-match'])

describe('a source that tags its answers', () => {
  it.for(['"a"', 'W/"a"', '""'])('is asked by the tag %s, and its answer read anew by the schema', async etag => {
    const { source, get } = await trial({ '/': [tagged(etag), same, tagged('"b"', '{"value":2}'), same] })
    expect(await get('/')).toEqual({ value: 1 })
    expect(await get('/')).toEqual({ value: 1 })
    expect(await get('/')).toEqual({ value: 2 })
    expect(await get('/')).toEqual({ value: 2 })
    expect(asks(source.asked)).toEqual([undefined, etag, etag, '"b"'])
  })

  it('has its held answer refused by a schema that it does not fit', async () => {
    const tag = await source({ '/': [tagged('"a"'), same] })
    const edge = edgeOf()
    expect(await fetchJson(`${tag.url}/`, schema, edge)).toEqual({ value: 1 })
    const fault = await faultOf(fetchJson(`${tag.url}/`, z.object({ value: z.string() }), edge))
    expect(fault).toMatchObject({ code: 'http-unexpected', message: expect.stringContaining('found 1') })
    expect(asks(tag.asked)).toEqual([undefined, '"a"'])
  })

  it.for([
    ['an error', { status: 500 }, 'http-unreachable'],
    ['a cut connection', 'cut', 'http-unreachable'],
    ['a refusal', { status: 404 }, 'http-refused'],
  ] as const)('is never spoken for: %s is a failure, not the answer held', async ([, answer, code]) => {
    const { get } = await trial({ '/': [tagged('"a"'), answer] })
    expect(await get('/')).toEqual({ value: 1 })
    expect((await faultOf(get('/'))).code).toBe(code)
  })

  it('is asked with no tag for another address or with other headers', async () => {
    const { source, get } = await trial({ '/': tagged('"a"'), '/x': tagged('"a"') })
    await get('/')
    await get('/x')
    await get('/', { request: { headers: { authorization: 'other' } } })
    await get('/', { request: { headers: { Authorization: 'other' } } })
    expect(asks(source.asked)).toEqual([undefined, undefined, undefined, '"a"'])
  })

  it.for([
    ['it says no-store', tagged('"a"', undefined, { 'cache-control': 'private, No-Store' })],
    ['it has no tag', ok],
    ['its tag is no tag', tagged('unquoted')],
    ['it is no 200', { ...Object(tagged('"a"')), status: 203 }],
  ] as const)('is asked with no tag after an answer when %s', async ([, answer]) => {
    const { source, get } = await trial({ '/': [tagged('"before"'), answer, ok] })
    for (const _ of [1, 2, 3]) expect(await get('/')).toEqual({ value: 1 })
    expect(asks(source.asked)[1]).toBe('"before"')
    // One that is no 200 says nothing about the answer before it.
    expect(asks(source.asked)[2]).toBe(Object(answer).status === 203 ? '"before"' : undefined)
  })

  it('is asked with no tag once its 304 says no-store', async () => {
    const notToKeep = { status: 304, headers: { 'cache-control': 'no-store' } }
    const { source, get } = await trial({ '/': [tagged('"a"'), notToKeep, ok] })
    for (const _ of [1, 2, 3]) expect(await get('/')).toEqual({ value: 1 })
    expect(asks(source.asked)).toEqual([undefined, '"a"', undefined])
  })

  it('is asked again, with no tag, when its 304 names another tag', async () => {
    const { source, get } = await trial({
      '/': [tagged('"a"'), { status: 304, headers: { etag: '"b"' } }, tagged('"b"', '{"value":2}')],
    })
    expect(await get('/')).toEqual({ value: 1 })
    expect(await get('/')).toEqual({ value: 2 })
    expect(asks(source.asked)).toEqual([undefined, '"a"', undefined])
  })

  it('refuses with a 304 that nobody asked for', async () => {
    const { get } = await trial({ '/': same })
    expect(await faultOf(get('/'))).toMatchObject({ code: 'http-refused', facts: { status: 304 } })
  })

  it('is left to a caller that sends a tag itself, and asked afresh for one that wants no store', async () => {
    const { source, get } = await trial({ '/': [tagged('"a"'), same, tagged('"c"')] })
    await get('/')
    const own = { 'If-None-Match': '"own"' }
    expect(await faultOf(get('/', { request: { headers: own } }))).toMatchObject({ facts: { status: 304 } })
    const headers = { 'cache-control': 'no-store' }
    await get('/', { request: { headers } })
    await get('/', { request: { headers } })
    expect(asks(source.asked)).toEqual([undefined, '"own"', undefined, undefined])
  })

  it('is asked by the tag behind a redirect, too', async () => {
    const { source, get } = await trial({ '/': to('/x'), '/x': [tagged('"a"'), same] })
    expect(await get('/')).toEqual({ value: 1 })
    expect(await get('/')).toEqual({ value: 1 })
    expect(asks(source.asked)).toEqual([undefined, undefined, undefined, '"a"'])
  })
})

describe('the answers held', () => {
  const kept = (etag: string) => ({ etag, cacheControl: undefined })

  it('are few: the least recently used go', () => {
    const cache = createAnswerCache({ entriesMax: 2, bytesMax: 100 })
    cache.put('a', '1', kept('"a"'))
    cache.put('b', '2', kept('"b"'))
    cache.get('a')
    cache.put('c', '3', kept('"c"'))
    expect(['a', 'b', 'c'].map(key => cache.get(key)?.text)).toEqual(['1', undefined, '3'])
  })

  it('are small in all, in bytes; one that is too large alone is not held', () => {
    const cache = createAnswerCache({ entriesMax: 9, bytesMax: 10 })
    cache.put('a', 'éé', kept('"a"'))
    cache.put('b', '123456', kept('"b"'))
    expect(cache.get('a')?.text).toBe('éé')
    cache.put('c', '1', kept('"c"'))
    expect(['a', 'b', 'c'].map(key => cache.get(key)?.text)).toEqual(['éé', undefined, '1'])
    cache.put('c', '12345678901', kept('"c"'))
    expect(cache.get('c')).toBeUndefined()
    // What was replaced is not counted any more.
    for (const text of ['123456', '654321', '123123']) cache.put('d', text, kept('"d"'))
    expect(['a', 'd'].map(key => cache.get(key)?.text)).toEqual(['éé', '123123'])
  })

  it('are found by address and headers alone, whatever the order, and no secret is kept for it', () => {
    const url = new URL('http://x/?key=hidden')
    const key = cacheKey(url, { a: '1', b: '2' })
    expect(key).toBe(cacheKey(new URL('http://x/?key=hidden#part'), { b: '2', a: '1' }))
    expect(key).not.toBe(cacheKey(url, { a: '1', b: '3' }))
    expect(key).not.toBe(cacheKey(new URL('http://x/?key=other'), { a: '1', b: '2' }))
    expect(key).not.toContain('hidden')
  })
})

it.for([
  ['"a"', '"a"', true],
  ['W/"a"', '"a"', true],
  ['"a"', '"b"', false],
] as const)('tags %s and %s mean the same: %s', ([a, b, same]) => expect(sameTag(a, b)).toBe(same))
