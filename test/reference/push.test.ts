import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { at, metric, startMs, startService } from './service.ts'

const minuteMs = 60_000

describe('a push', () => {
  it('is answered with the number of metrics, and nothing else when all is well', async () => {
    const { push } = await startService()
    const { status, body } = await push([metric('TVL', 1.5, { unit: 'USD' }), metric('Users', 7)])
    expect(status).toBe(200)
    expect(body).toEqual({ success: true, processed: 2, errors: [], warnings: [] })
  })

  it('may be empty', async () => {
    const { push } = await startService()
    expect((await push([])).body).toEqual({ success: true, processed: 0, errors: [], warnings: [] })
  })

  it('stores what was sent, with the start of the hour and the module `protocol` where they are omitted', async () => {
    const { push, get, key } = await startService()
    await push([metric('A', -0.1, { unit: '€', module: 'pool', timestamp: '2026-11-20T14:00:00.25+01:30' })])
    await push([metric('B', 1e308)])
    expect((await get('/api/metrics', key)).body).toEqual({
      success: true,
      metrics: [
        { id: 'vault___B', protocolId: 'vault', value: 1e308, module: 'protocol', timestamp: at('13:00') },
        {
          id: 'vault___A',
          protocolId: 'vault',
          value: -0.1,
          unit: '€',
          module: 'pool',
          timestamp: '2026-11-20T12:30:00.250Z',
        },
      ],
    })
  })

  it('may be 5 minutes ahead of the clock, and not a millisecond more', async () => {
    const { push, clock } = await startService()
    const ahead = (ms: number) => ({ timestamp: new Date(clock.ms + ms).toISOString() })
    expect((await push([metric('A', 1, ahead(5 * minuteMs))])).status).toBe(200)
    const { status, body } = await push([metric('A', 1), metric('B', 1, ahead(5 * minuteMs + 1))])
    expect(status).toBe(400)
    expect(body).toMatchObject({ errors: [{ index: 1, id: 'vault___B', field: 'timestamp' }] })
    clock.ms += 1
    expect((await push([metric('B', 1, ahead(5 * minuteMs))])).status).toBe(200)
  })

  it.each(['2026-11-20T13:00Z', '20261120T130000Z', '2026-11-20T14:00:00+01', '2026-W47-5T13Z'])(
    'takes the ISO 8601 timestamp %j',
    async timestamp => {
      const { push, store } = await startService()
      expect((await push([metric('A', 1, { timestamp })])).status).toBe(200)
      expect([...store.values.latest(store.protocols.find('vault')?.no ?? 0)].map(({ atMs }) => atMs)).toEqual([
        Date.UTC(2026, 10, 20, 13),
      ])
    },
  )

  it.each(['2026-02-29T13:00:00Z', '2026-11-20T13:00:00', '2026-11-20', 'now', '', '0000-01-01T00:00:00+00:01'])(
    'refuses the timestamp %j',
    async timestamp => {
      const { push } = await startService()
      const { status, body } = await push([metric('A', 1, { timestamp })])
      expect(status).toBe(400)
      expect(body).toMatchObject({ errors: [{ index: 0, id: 'vault___A', field: 'timestamp' }] })
    },
  )

  it('refuses more than 100 metrics, and takes 100', async () => {
    const { push } = await startService()
    const metrics = Array.from({ length: 101 }, (_, index) => metric(`L${index}`, index))
    expect((await push(metrics.slice(1))).body).toMatchObject({ processed: 100 })
    const { status, body } = await push(metrics)
    expect(status).toBe(400)
    expect(body).toEqual({
      success: false,
      error: 'the push holds 101 metrics: 100 are the most',
      errors: [{ field: 'metrics', message: 'holds 101 metrics: 100 are the most' }],
    })
  })

  it('names every mistake of every metric at once, and stores nothing of the push', async () => {
    const { push, get, key } = await startService()
    const { status, body } = await push([
      metric('Fine', 1),
      { id: 'vault__TVL', protocolId: 'vault', value: '5', timestamp: '2027-01-01T00:00:00Z' },
      { id: 'vault___', value: null },
      null,
      { ...metric('U', 1), unit: 5, module: '' },
      { ...metric('T', 1), timestamp: 1_763_643_600 },
    ])
    expect(status).toBe(400)
    expect(body).toMatchObject({
      success: false,
      error: expect.stringContaining('more'),
      errors: [
        { index: 1, id: 'vault__TVL', field: 'value', message: 'expected number, received string' },
        { index: 1, id: 'vault__TVL', field: 'id', message: expect.stringContaining('three underscores') },
        { index: 1, id: 'vault__TVL', field: 'timestamp', message: expect.stringContaining('5 minutes ahead') },
        { index: 2, id: 'vault___', field: 'value', message: 'expected number, received null' },
        { index: 2, id: 'vault___', field: 'protocolId', message: 'is missing' },
        { index: 3, field: 'metrics', message: 'expected object, received null' },
        { index: 4, id: 'vault___U', field: 'unit' },
        { index: 4, id: 'vault___U', field: 'module' },
        { index: 5, id: 'vault___T', field: 'timestamp', message: 'expected string, received number' },
      ],
    })
    expect((await get('/metrics/byProtocol/vault', key)).body).toEqual([])
  })

  it.each([
    ['no underscores', 'vaultTVL'],
    ['two underscores', 'vault__TVL'],
    ['no label', 'vault___'],
    ['another protocol', 'pool___TVL'],
    ['another case', 'Vault___TVL'],
  ])('refuses an id with %s', async (_what, id) => {
    const { push } = await startService()
    const { status, body } = await push([{ id, protocolId: 'vault', value: 1 }])
    expect(status).toBe(400)
    expect(body).toMatchObject({ errors: [{ index: 0, id, field: 'id' }] })
  })

  it('takes a label that itself holds three underscores', async () => {
    const { push } = await startService()
    expect((await push([metric('a___b', 1)])).status).toBe(200)
  })

  it.each(['1e999', '-1e999'])('refuses the value %s, which is no finite number', async value => {
    const { post, key } = await startService()
    const body = `{"metrics":[{"id":"vault___A","protocolId":"vault","value":${value}}]}`
    expect((await post('/api/metrics', body, key)).status).toBe(400)
  })

  it('refuses text that is not well-formed Unicode, which could not be stored as it is', async () => {
    const { push } = await startService()
    const { status, body } = await push([metric('A', 1, { unit: '\ud800' }), metric('\udc00', 1)])
    expect(status).toBe(400)
    expect(body).toMatchObject({
      errors: [
        { index: 0, field: 'unit' },
        { index: 1, field: 'id' },
      ],
    })
  })

  it('takes a unit of 100 characters outside the basic plane', async () => {
    const { push } = await startService()
    expect((await push([metric('A', 1, { unit: '🌊'.repeat(100) })])).status).toBe(200)
    expect((await push([metric('A', 1, { unit: '🌊'.repeat(101) })])).status).toBe(400)
  })

  it.each([
    ['a list', []],
    ['null', null],
    ['a number', 5],
    ['metrics missing', {}],
    ['metrics null', { metrics: null }],
    ['metrics as an object', { metrics: { 0: metric('A', 1) } }],
  ])('refuses a body that is %s', async (_what, body) => {
    const { post, key } = await startService()
    expect((await post('/api/metrics', body, key)).status).toBe(400)
  })
})

describe('a warning', () => {
  it('is given for a label longer than 16 characters, which is stored all the same', async () => {
    const { push, get, key } = await startService()
    const { body } = await push([metric('x'.repeat(16), 1), metric('🌊'.repeat(16), 1), metric('x'.repeat(17), 1)])
    expect(body).toEqual({
      success: true,
      processed: 3,
      errors: [],
      warnings: [
        {
          index: 2,
          id: `vault___${'x'.repeat(17)}`,
          field: 'id',
          message: 'label of 17 characters: 16 or fewer are advised',
        },
      ],
    })
    expect((await get('/metrics/byProtocol/vault', key)).body).toHaveLength(3)
  })

  it('is given for an update: the same id and instant, in whatever offset it is written', async () => {
    const { push, get, key } = await startService()
    await push([metric('A', 1), metric('B', 1, { timestamp: at('12:00') })])
    const { body } = await push([metric('A', 2, { timestamp: '2026-11-20T14:00:00+01:00' }), metric('B', 2)])
    expect(body).toEqual({
      success: true,
      processed: 2,
      errors: [],
      warnings: [{ index: 0, id: 'vault___A', message: 'existed with this timestamp: its value was updated' }],
    })
    expect((await get('/metrics/byProtocol/vault', key)).body).toMatchObject([{ value: 2 }, { value: 2 }])
  })

  it('is given for the second of two equals in one push, whose value stays', async () => {
    const { push, get, key } = await startService()
    const { body } = await push([metric('A', 1), metric('B', 5), metric('A', 2)])
    expect(body).toMatchObject({ processed: 3, warnings: [{ index: 2, id: 'vault___A' }] })
    expect((await get('/metrics/byProtocol/vault', key)).body).toMatchObject([{ value: 2 }, { value: 5 }])
  })
})

describe('writing', () => {
  it('is refused with 404 for a protocol that is not registered, naming every metric', async () => {
    const { push, get, key } = await startService()
    const [one, two] = ['A', 'B'].map(label => ({ id: `pool___${label}`, protocolId: 'pool', value: 1 }))
    const { status, body } = await push([metric('A', 1), one, two])
    expect(status).toBe(404)
    expect(body).toMatchObject({
      success: false,
      error: expect.stringContaining('"pool"'),
      errors: [
        { index: 1, id: 'pool___A', field: 'protocolId' },
        { index: 2, id: 'pool___B', field: 'protocolId' },
      ],
    })
    expect((await get('/metrics/byProtocol/vault', key)).body).toEqual([])
  })

  it('is for the owner alone, until the protocol is public', async () => {
    const { push, store } = await startService()
    const other = store.keys.create('other')
    expect((await push([metric('A', 1)], other)).status).toBe(404)
    store.protocols.setVisibility('vault', 'public')
    expect((await push([metric('A', 1)], other)).status).toBe(200)
    store.protocols.setVisibility('vault', 'private')
    expect((await push([metric('A', 1)], other)).status).toBe(404)
  })

  it('needs a key, also for a public protocol', async () => {
    const { post, store } = await startService()
    store.protocols.setVisibility('vault', 'public')
    expect((await post('/api/metrics', { metrics: [metric('A', 1)] })).status).toBe(401)
  })
})

describe('whatever is pushed', () => {
  const label = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
  const value = fc.double({ noDefaultInfinity: true, noNaN: true })
  const instant = fc.integer({ min: startMs - 1_000_000, max: startMs }).map(ms => new Date(ms).toISOString())
  const pushes = fc.array(fc.array(fc.record({ label, value, timestamp: instant }), { maxLength: 8 }), { maxLength: 5 })

  it('is read back as the latest by timestamp, not by arrival', async () => {
    const { post, push, get, key } = await startService()
    let count = 0
    await fc.assert(
      fc.asyncProperty(pushes, async batches => {
        const protocolId = `p${count++}`
        await post('/api/register-protocol', { id: protocolId, name: 'x' }, key)
        const newest = new Map<string, { id: string; value: number; timestamp: string }>()
        for (const batch of batches) {
          const metrics = batch.map(({ label, ...rest }) => ({ id: `${protocolId}___${label}`, protocolId, ...rest }))
          expect((await push(metrics)).status).toBe(200)
          for (const { id, value, timestamp } of metrics) {
            if ((newest.get(id)?.timestamp ?? '') <= timestamp) newest.set(id, { id, value: value + 0, timestamp })
          }
        }
        const { body } = await get(`/metrics/byProtocol/${protocolId}`, key)
        const read = body as { id: string; value: number; timestamp: string }[]
        const text = ({ timestamp }: { timestamp: string }) => timestamp.replace('.000Z', 'Z')
        expect(new Map(read.map(({ id, value, timestamp }) => [id, { id, value, timestamp }]))).toEqual(
          new Map([...newest].map(([id, entry]) => [id, { ...entry, timestamp: text(entry) }])),
        )
      }),
      { numRuns: 40 },
    )
  })
})
