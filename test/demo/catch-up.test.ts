import { describe, expect, it } from 'vitest'
import { hourAfter, hoursFrom, hourText, parseHour } from '../../src/model/hour.ts'
import type { StatusJson } from '../../src/status/json.ts'
import type { CellState, HourCell } from '../../src/status/snapshot.ts'
import { catchUp, isShown, troubles } from './catch-up.ts'
import type { DemoProtocol } from './protocols.ts'

const last = parseHour('2026-11-20T13:00:00Z')
const hours = hoursFrom(hourAfter(last, -2), last).map(hourText)
const protocols: DemoProtocol[] = [
  { id: 'pool', name: 'Pool', collectors: [{ use: 'uniswap-v2-pool', options: {}, history: true }] },
  { id: 'here', name: 'Here', collectors: [{ use: 'host', options: {}, history: false }] },
]

function status(pool: readonly CellState[], host: CellState, due = 0): StatusJson {
  const row = (protocolId: string, use: string, states: readonly CellState[]) => ({
    collector: `${protocolId}/${use}`,
    protocolId,
    cells: states.map((state): HourCell => ({ state, attempts: 1, ...(state === 'gap' ? { fault } : {}) })),
  })
  const fault = { code: 'collector-threw', message: 'it broke', facts: {} } as const
  return {
    format: 1,
    version: '0.1.0',
    now: '2026-11-20T13:05:00.000Z',
    startedAt: '2026-11-20T13:04:00.000Z',
    ready: { ok: true, reasons: [] },
    configuration: { file: '/demo/tidegauge.yaml', inForceSince: '2026-11-20T13:04:00.000Z' },
    service: { host: 'embedded (127.0.0.1:1)', waiting: 'the service does not answer', gates: [] },
    balance: { enqueued: 10 + due, delivered: 10, dead: 0, held: 0, due, dropped: 0 },
    backlog: { byProtocol: [] },
    protocols: [],
    hours: {
      hours,
      rows: [row('pool', 'uniswap-v2-pool', pool), row('here', 'host', ['unexpected', 'unexpected', host])],
    },
    week: { from: '2026-11-13T14:00:00Z', to: '2026-11-20T13:00:00Z', rows: [] },
    warnings: [],
    endpoints: [],
  }
}

describe('catching up', () => {
  it('is done when every hour of the past is delivered, and the current one of what has no past', () => {
    const done = status(['delivered', 'delivered', 'delivered'], 'delivered')
    expect(catchUp(done, protocols)).toEqual({ hours: 3, hoursDone: 3, delivered: 10, isDone: true, lost: [] })
  })

  it.each<[string, StatusJson, number]>([
    ['an hour is not known to the daemon yet', status(['unexpected', 'delivered', 'delivered'], 'delivered'), 2],
    ['an hour is collected and not delivered', status(['delivered', 'collected', 'delivered'], 'delivered'), 2],
    ['the collector without a past has not run', status(['delivered', 'delivered', 'delivered'], 'due'), 2],
    ['a metric is due', status(['delivered', 'delivered', 'delivered'], 'delivered', 1), 3],
  ])('is not done while %s', (_, seen, hoursDone) => {
    expect(catchUp(seen, protocols)).toMatchObject({ isDone: false, hoursDone, lost: [] })
  })

  it('names hours that are lost, with the reason', () => {
    const lost = ['pool/uniswap-v2-pool 2026-11-20T12:00:00Z: gap, it broke']
    expect(catchUp(status(['delivered', 'gap', 'delivered'], 'delivered'), protocols).lost).toEqual(lost)
  })

  it('is not done before the daemon knows any collector', () => {
    const { hours, ...same } = status([], 'due')
    expect(catchUp({ ...same, hours: { ...hours, rows: [] } }, protocols).isDone).toBe(false)
  })

  it('standing still is explained by what delivery waits for and by the faults', () => {
    expect(troubles(status(['gap', 'gap', 'delivered'], 'due'))).toEqual([
      'the service does not answer',
      'pool/uniswap-v2-pool: it broke',
    ])
  })

  it('is shown once every widget was read afterwards, and no new hour is on its way', () => {
    const doneMs = Date.parse('2026-11-20T13:05:00.000Z')
    const read = (readAt: string | undefined, newest: CellState = 'delivered') => ({
      ...status(['delivered', 'delivered', newest], 'delivered'),
      protocols: [{ id: 'pool', name: 'Pool', metrics: [], ...(readAt && { readAt }) }],
    })
    expect(isShown(read('2026-11-20T13:05:00.000Z'), protocols, doneMs)).toBe(true)
    expect(isShown(read('2026-11-20T13:04:59.999Z'), protocols, doneMs)).toBe(false)
    expect(isShown(read(undefined), protocols, doneMs)).toBe(false)
    expect(isShown(read('2026-11-20T13:05:01.000Z', 'due'), protocols, doneMs)).toBe(false)
  })
})
