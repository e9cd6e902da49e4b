import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Fault } from '../../src/model/fault.ts'
import { fetchJson } from '../../src/runner/http-json.ts'
import { httpAnswerBytesMax } from '../../src/runner/limits.ts'
import { systemTime, type Time } from '../../src/time.ts'
import { faultOf } from './setup.ts'
import { type Answer, type Source, startSource } from './source.ts'

const nowMs = Date.UTC(2026, 10, 20, 13)
const ok: Answer = { body: '{"value":1}' }
const schema = z.object({ value: z.number() })

interface Trial {
  readonly source: Source
  readonly slept: readonly number[]
  get(
    path: string,
    more?: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal },
  ): Promise<unknown>
}

/** A source, and fetches from it with a clock that stands still and waits that take no time. */
async function trial(answers: Readonly<Record<string, Answer | readonly Answer[]>>, leftMs = 60_000): Promise<Trial> {
  const source = await startSource(answers)
  onTestFinished(() => source.stop())
  const slept: number[] = []
  const time: Time = { ...systemTime, nowMs: () => nowMs, chance: () => 0.5, sleep: async ms => void slept.push(ms) }
  const edge = { time, deadlineAtMs: nowMs + leftMs, signal: new AbortController().signal, waitsFor }
  return {
    source,
    slept,
    get: (path, more) => fetchJson(`${source.url}${path}?key=hidden`, schema, { ...edge, ...more }),
  }
}

const waitsFor = <T>(_name: string, promise: Promise<T>) => promise

function holdsNoSecret({ message, facts, fix }: Fault): void {
  expect(JSON.stringify({ message, facts, fix })).not.toMatch(/hidden|\/secret/)
}

describe('http.json', () => {
  it('gives what the schema makes of the answer, and sends the headers', async () => {
    const { source, get } = await trial({ '/': ok })
    expect(await get('/', { headers: { 'x-own': 'yes' } })).toEqual({ value: 1 })
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
    expect(fault).toMatchObject({ code: 'http-unreachable', facts: { attempts: 3, error: 'UND_ERR_SOCKET' } })
    expect(source.asked).toHaveLength(3)
    holdsNoSecret(fault)
  })

  it.for([
    ['seconds', '7', 7_000],
    ['a date', 'Fri, 20 Nov 2026 13:00:09 GMT', 9_000],
  ] as const)('waits as long as Retry-After asks, in %s', async ([, header, ms]) => {
    const { slept, get } = await trial({ '/': [{ status: 429, headers: { 'retry-after': header } }, ok] })
    expect(await get('/')).toEqual({ value: 1 })
    expect(slept).toEqual([ms])
  })

  it('does not begin a wait that passes the deadline', async () => {
    const { source, slept, get } = await trial({ '/': [{ status: 503, headers: { 'retry-after': '61' } }, ok] })
    expect(await faultOf(get('/'))).toMatchObject({ code: 'http-unreachable', facts: { status: 503, attempts: 1 } })
    expect(source.asked).toHaveLength(1)
    expect(slept).toEqual([])
  })

  it.for([400, 401, 403, 404, 422])('takes a %i for a refusal, at once', async status => {
    const { source, get } = await trial({ '/secret': { status, body: 'hidden' } })
    const fault = await faultOf(get('/secret'))
    expect(fault).toMatchObject({ code: 'http-refused', facts: { status } })
    expect(source.asked).toHaveLength(1)
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

describe('a redirect', () => {
  it('is followed three times', async () => {
    const to = (location: string): Answer => ({ status: 302, headers: { location } })
    const { get } = await trial({ '/1': to('/2'), '/2': to('/3'), '/3': to('/4'), '/4': ok, '/0': to('/1') })
    expect(await get('/1')).toEqual({ value: 1 })
    expect(await faultOf(get('/0'))).toMatchObject({
      code: 'http-refused',
      message: expect.stringContaining('3 times'),
    })
  })

  it('takes headers to no other origin', async () => {
    const other = await startSource({ '/': ok })
    onTestFinished(() => other.stop())
    const { source, get } = await trial({ '/': { status: 307, headers: { location: `${other.url}/` } } })
    expect(await get('/', { headers: { authorization: 'Bearer hidden' } })).toEqual({ value: 1 })
    expect(source.asked[0]?.headers.authorization).toBe('Bearer hidden')
    expect(other.asked[0]?.headers).not.toHaveProperty('authorization')
  })

  it.for(['file:///etc/passwd', 'javascript:1', 'http://'])('to %s is refused', async location => {
    const { get } = await trial({ '/': { status: 301, headers: { location } } })
    expect((await faultOf(get('/'))).code).toBe('http-refused')
  })
})

describe('an answer that is not what was expected', () => {
  it.for([
    ['no JSON', '<html>', 'something that is not JSON'],
    ['nothing', '', 'something that is not JSON'],
    ['another type', '{"value":"1"}', 'value: Invalid input: expected number, received string'],
    ['a missing field', '{}', 'value: Invalid input: expected number, received undefined'],
    ['a list', '[]', 'the answer: Invalid input: expected object, received array'],
  ] as const)('(%s) says so', async ([, body, message]) => {
    const { source, get } = await trial({ '/secret': { body } })
    const fault = await faultOf(get('/secret'))
    expect(fault.code).toBe('http-unexpected')
    expect(fault.message).toContain(message)
    expect(source.asked).toHaveLength(1)
    holdsNoSecret(fault)
  })

  it('is not read further than 8 MiB', async () => {
    const fits = `{"value":1}${' '.repeat(httpAnswerBytesMax - 11)}`
    const { get } = await trial({ '/fits': { body: fits }, '/': { body: `${fits} ` } })
    expect(await get('/fits')).toEqual({ value: 1 })
    expect((await faultOf(get('/'))).message).toContain('more than 8 MiB')
  })
})

it.for(['nonsense', 'ftp://x/', '/path', ''])('an address %j is refused', async url => {
  const edge = { time: systemTime, deadlineAtMs: nowMs, signal: new AbortController().signal, waitsFor }
  expect((await faultOf(fetchJson(url, schema, edge))).code).toBe('http-refused')
})
