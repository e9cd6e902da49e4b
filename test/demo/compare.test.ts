import { describe, expect, it } from 'vitest'
import { type Hour, hourAfter, hourText, parseHour } from '../../src/model/hour.ts'
import { compare } from './compare.ts'
import type { Truth } from './truth.ts'

const hour = parseHour('2026-11-20T13:00:00Z')
const valueByHour = new Map<Hour, number>([
  [hour, 10.3],
  [hourAfter(hour, -1), 10.1],
  [hourAfter(hour, -24), 9],
])
const truth: Truth = {
  ids: ['demo___Price'],
  value: (id, at) => (id === 'demo___Price' ? Promise.resolve(valueByHour.get(at) ?? Number.NaN) : undefined),
}

const right = {
  id: 'demo___Price',
  label: 'Price',
  value: 10.3,
  change1h: 10.3 - 10.1,
  change24h: 10.3 - 9,
  hour: hourText(hour),
  curve: [10.1, 10.3],
} as const

const hours = { hours: [hourAfter(hour, -1), hour].map(hourText), rows: [] }

function shown(metric: object) {
  const metrics = [{ ...right, ...metric }]
  return { hours, protocols: [{ id: 'demo', name: 'Demo', readAt: '2026-11-20T13:05:00.000Z', metrics }] }
}

describe('what the service shows against the chain', () => {
  it('is equal when the value, both changes and the curve are', async () => {
    expect(await compare(shown({}), truth)).toEqual({ checked: 5, differences: [] })
  })

  it.each([
    ['value', { value: 10.300000000000002 }],
    ['change over 1 hour', { change1h: 0.2 }],
    ['change over 24 hours', { change24h: 0 }],
    ['change that is absent', { change24h: undefined }],
    ['value that is absent', { value: undefined }],
    ['hour of the curve', { curve: [10.1, 10.2] }],
    ['hole in the curve', { curve: [null, 10.3] }],
  ])('differs by one wrong %s, with both numbers', async (_, metric) => {
    const { differences } = await compare(shown(metric), truth)
    expect(differences).toEqual([expect.stringContaining('on the chain')])
  })

  it('differs when the value is of another hour', async () => {
    const { differences } = await compare(shown({ hour: hourText(hourAfter(hour, -1)) }), truth)
    expect(differences).not.toEqual([])
  })

  it('differs when a metric is shown that the chain does not know', async () => {
    expect((await compare(shown({ id: 'demo___Guess' }), truth)).differences).not.toEqual([])
  })

  it('differs when a metric is missing', async () => {
    const protocols = shown({}).protocols.map(protocol => ({ ...protocol, metrics: [] }))
    expect((await compare({ hours, protocols }, truth)).differences).toEqual(['demo___Price: not shown'])
  })

  it('differs when the values are not from the service', async () => {
    const protocols = shown({}).protocols.map(({ readAt: _, ...same }) => same)
    expect((await compare({ hours, protocols }, truth)).differences).toEqual(['demo: not read from the service'])
  })
})
