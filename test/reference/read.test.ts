import { describe, expect, it } from 'vitest'
import { at, metric, startService } from './service.ts'

const read = '/metrics/byProtocol/vault'

describe('reading a protocol', () => {
  it('gives the latest value of each metric by timestamp, in the order of ids', async () => {
    const { push, get, key } = await startService()
    await push([metric('B', 3, { timestamp: at('13:00'), unit: 'USD' }), metric('A', 1, { timestamp: at('11:00') })])
    await push([metric('B', 2, { timestamp: at('12:00'), unit: 'EUR' })])
    const { status, body } = await get(read, key)
    expect(status).toBe(200)
    expect(body).toEqual([
      { id: 'vault___A', value: 1, timestamp: at('11:00') },
      { id: 'vault___B', value: 3, unit: 'USD', change1h: 1, timestamp: at('13:00') },
    ])
  })

  it('is empty before the first push', async () => {
    const { get, key } = await startService()
    expect((await get(read, key)).body).toEqual([])
  })

  it('answers 404 for a protocol that is not registered, with and without a key', async () => {
    const { get, key } = await startService()
    for (const sender of [key, undefined]) {
      const { status, body } = await get('/metrics/byProtocol/pool', sender)
      expect(status).toBe(404)
      expect(body).toEqual({ success: false, error: 'no protocol "pool" is registered', errors: [] })
    }
  })

  it('of a private protocol is for its owner alone', async () => {
    const { get, key, store } = await startService()
    expect((await get(read)).status).toBe(401)
    expect((await get(read, 'tg_unknown')).status).toBe(401)
    expect((await get(read, store.keys.create('other'))).status).toBe(404)
    expect((await get(read, key)).status).toBe(200)
  })

  it('of a public protocol needs no key, but refuses one that is not valid', async () => {
    const { get, post, key, store } = await startService()
    await post('/api/register-protocol', { id: 'open', name: 'Open', public: true }, key)
    expect((await get('/metrics/byProtocol/open')).status).toBe(200)
    expect((await get('/metrics/byProtocol/open', store.keys.create('other'))).status).toBe(200)
    expect((await get('/metrics/byProtocol/open', 'tg_unknown')).status).toBe(401)
  })

  it('works for the longest id, and answers 404 for one that is longer than any', async () => {
    const { get, post, key } = await startService()
    const id = 'x'.repeat(200)
    await post('/api/register-protocol', { id, name: 'x' }, key)
    expect((await get(`/metrics/byProtocol/${id}`, key)).status).toBe(200)
    expect((await get(`/metrics/byProtocol/${'x'.repeat(5_000)}`, key)).status).toBe(404)
  })
})

describe('a change', () => {
  const cases: readonly [string, readonly (readonly [string, number])[], { change1h?: number; change24h?: number }][] =
    [
      ['is unknown for a single value', [['13:00', 5]], {}],
      [
        'is the difference to the value one hour before',
        [
          ['12:00', 2],
          ['13:00', 5],
        ],
        { change1h: 3 },
      ],
      [
        'is 0 only when the value is the same',
        [
          ['12:00', 5],
          ['13:00', 5],
        ],
        { change1h: 0 },
      ],
      [
        'is known for a base of 0',
        [
          ['12:00', 0],
          ['13:00', 5],
        ],
        { change1h: 5 },
      ],
      [
        'is unknown when the hour before is missing',
        [
          ['11:00', 2],
          ['13:00', 5],
        ],
        {},
      ],
      [
        'takes the newest value at or before the instant',
        [
          ['11:30', 1],
          ['11:50', 2],
          ['13:00', 5],
        ],
        { change1h: 3 },
      ],
      [
        'takes no value after the instant',
        [
          ['12:01', 2],
          ['13:00', 5],
        ],
        {},
      ],
      [
        'takes a value that is less than an hour older',
        [
          ['11:01', 2],
          ['13:00', 5],
        ],
        { change1h: 3 },
      ],
      [
        'counts from the latest value, not from the clock',
        [
          ['08:00', 2],
          ['09:00', 5],
        ],
        { change1h: 3 },
      ],
      [
        'over a day is reported, too',
        [
          ['2026-11-19T13:00', 2],
          ['12:00', 4],
          ['13:00', 5],
        ],
        { change1h: 1, change24h: 3 },
      ],
      [
        'over a day alone',
        [
          ['2026-11-19T12:30', 2],
          ['13:00', 5],
        ],
        { change24h: 3 },
      ],
      [
        'over a day is unknown when only older values exist',
        [
          ['2026-11-19T12:00', 2],
          ['13:00', 5],
        ],
        {},
      ],
      [
        'is unknown where it is too large for a number',
        [
          ['12:00', -1.7e308],
          ['13:00', 1.7e308],
        ],
        {},
      ],
    ]
  it.each(cases)('%s', async (_what, values, changes) => {
    const { push, get, key } = await startService()
    for (const [time, value] of values) await push([metric('A', value, { timestamp: at(time) })])
    await push([metric('Other', 100, { timestamp: at('12:00') })])
    const { body } = await get(read, key)
    const { value, ...rest } = (body as [{ value: number }])[0]
    expect(value).toBe(values.at(-1)?.[1])
    expect(rest).toEqual({ id: 'vault___A', timestamp: at(values.at(-1)?.[0] ?? ''), ...changes })
  })

  it('is worked out for each metric by its own latest timestamp', async () => {
    const { push, get, key } = await startService()
    for (const [label, time, value] of [
      ['A', '10:00', 1],
      ['A', '11:00', 2],
      ['B', '12:00', 5],
      ['B', '13:00', 9],
    ] as const) {
      await push([metric(label, value, { timestamp: at(time) })])
    }
    expect((await get(read, key)).body).toMatchObject([{ change1h: 1 }, { change1h: 4 }])
  })
})

describe('listing what a key stored', () => {
  it('gives every value, by protocol and newest first, a page at a time', async () => {
    const { push, post, get, key } = await startService()
    await post('/api/register-protocol', { id: 'another', name: 'x' }, key)
    for (const hour of ['11:00', '12:00', '13:00']) {
      await push([metric('A', 1, { timestamp: at(hour) }), metric('B', 2, { timestamp: at(hour) })])
      await push([{ id: 'another___A', protocolId: 'another', value: 3, timestamp: at(hour) }])
    }
    const whole = (await get('/api/metrics', key)).body as { metrics: { id: string; timestamp: string }[] }
    expect(whole).not.toHaveProperty('next')
    expect(whole.metrics.map(({ id, timestamp }) => `${id} ${timestamp.slice(11, 16)}`)).toEqual([
      ...['13:00', '12:00', '11:00'].map(hour => `another___A ${hour}`),
      ...['13:00', '12:00', '11:00'].flatMap(hour => [`vault___B ${hour}`, `vault___A ${hour}`]),
    ])
    for (const limit of [1, 2, 3, 8, 9]) {
      const pages: unknown[] = []
      let after: string | undefined = ''
      while (after !== undefined) {
        const query = `limit=${limit}${after === '' ? '' : `&after=${after}`}`
        const page = (await get(`/api/metrics?${query}`, key)).body as { metrics: unknown[]; next?: string }
        expect(page.metrics.length).toBeGreaterThan(0)
        pages.push(...page.metrics)
        after = page.next
      }
      expect(pages).toEqual(whole.metrics)
    }
  })

  it('can be for one protocol', async () => {
    const { push, get, key } = await startService()
    await push([metric('A', 1)])
    expect((await get('/api/metrics?protocolId=vault', key)).body).toMatchObject({ metrics: [{ id: 'vault___A' }] })
    expect((await get('/api/metrics?protocolId=pool', key)).body).toEqual({ success: true, metrics: [] })
  })

  it('shows a key only what it stored itself', async () => {
    const { push, get, key, store } = await startService()
    store.protocols.setVisibility('vault', 'public')
    const other = store.keys.create('other')
    await push([metric('A', 1), metric('B', 1)], key)
    await push([metric('B', 2)], other)
    expect((await get('/api/metrics', key)).body).toMatchObject({ metrics: [{ id: 'vault___A' }] })
    expect((await get('/api/metrics', other)).body).toMatchObject({ metrics: [{ id: 'vault___B', value: 2 }] })
    expect((await get('/api/metrics')).status).toBe(401)
  })

  it.each(['limit=0', 'limit=10001', 'limit=many', 'after=x', 'after=1.2', 'limit=1&limit=2'])(
    'refuses the query %s',
    async query => {
      const { get, key } = await startService()
      expect((await get(`/api/metrics?${query}`, key)).status).toBe(400)
    },
  )
})
