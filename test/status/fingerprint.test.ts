import { expect, it } from 'vitest'
import { fingerprint } from '../../src/status/observe.ts'
import { richSnapshot } from '../support/snapshot.ts'

const calls = { answered: 1, error: 0, limited: 0, unanswered: 0 }

it('the fingerprint differs with the state and the minute, and not with what the page does not show', () => {
  const same = fingerprint(richSnapshot)
  const { nowMs, endpoints, balance } = richSnapshot
  expect(fingerprint({ ...richSnapshot, nowMs: nowMs + 1_000 })).toBe(same)
  expect(fingerprint({ ...richSnapshot, endpoints: endpoints.map(one => ({ ...one, calls })) })).toBe(same)
  expect(fingerprint({ ...richSnapshot, nowMs: nowMs + 60_000 })).not.toBe(same)
  expect(fingerprint({ ...richSnapshot, balance: { ...balance, due: 15 } })).not.toBe(same)
  expect(fingerprint({ ...richSnapshot, endpoints: endpoints.slice(1) })).not.toBe(same)
})
