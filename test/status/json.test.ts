import { expect, it } from 'vitest'
import { statusJson } from '../../src/status/json.ts'
import { emptySnapshot, richSnapshot } from '../support/snapshot.ts'

it('hours and instants are written out, under the name without the unit', () => {
  const json = statusJson(richSnapshot)
  expect(json).toMatchObject({ now: '2026-11-20T13:04:05.250Z', startedAt: '2026-11-01T13:04:05.250Z' })
  expect(json.service).toMatchObject({ lastPush: { at: '2026-11-20T13:02:05.250Z' } })
  expect(json.protocols[0]).toMatchObject({ readAt: '2026-11-20T13:03:41.250Z' })
  expect(json.protocols[0]?.metrics[0]).toMatchObject({ hour: '2026-11-20T13:00:00Z' })
  expect(json.fleet?.daemons[1]).toMatchObject({ seenAt: '2026-11-20T12:52:05.250Z', isAway: true })
  expect(json.fleet?.idleLanes[0]).toMatchObject({ lane: 'base', oldest: '2026-11-20T12:00:00Z' })
  expect(json.hours.hours.at(0)).toBe('2026-11-18T14:00:00Z')
  expect(json.hours.hours.at(-1)).toBe('2026-11-20T13:00:00Z')
  expect(json.warnings[1]).toMatchObject({ firstSeen: '2026-11-20T13:01:05.250Z', count: 1 })
})

it('nothing of the snapshot is lost, and no time is left as a number', () => {
  const text = JSON.stringify(statusJson(richSnapshot))
  expect(text).not.toMatch(/Ms"/)
  expect(text).not.toMatch(/\b17\d{11}\b/)
  expect(JSON.parse(text)).toMatchObject({
    version: richSnapshot.version,
    ready: richSnapshot.ready,
    balance: richSnapshot.balance,
    hours: { rows: richSnapshot.hours.rows },
  })
})

it('what is not known is absent', () => {
  expect(statusJson(emptySnapshot).service).toEqual({ host: 'embedded (127.0.0.1:40123)', gates: [] })
  expect(statusJson(emptySnapshot)).not.toHaveProperty('fleet')
  const never = statusJson(richSnapshot).protocols[2]?.metrics[1]
  expect(never).not.toHaveProperty('value')
  expect(never).not.toHaveProperty('hour')
})
