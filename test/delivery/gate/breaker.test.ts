import { describe, expect, it } from 'vitest'
import {
  afterFlush,
  afterRest,
  breakerBaseMs,
  probeAt,
  retryAfterAt,
  serviceRetryAfterMsMax,
} from '../../../src/delivery/breaker.ts'
import type { Stop } from '../../../src/delivery/isolate/state.ts'
import { breakerCapMs, hourMs } from '../../../src/model/limits.ts'
import type { Cure } from '../../../src/model/waiting.ts'
import type { DestinationState } from '../../../src/outbox/contract/delivery-store.ts'

const nowMs = Date.UTC(2026, 10, 20, 13)
const closed: DestinationState = { notBeforeMs: 0, probeAtMs: 0, failures: 0 }
const down: Stop = { kind: 'transient', reason: '503', status: 503 }

describe('the breaker', () => {
  it.each([
    [1, 0, breakerBaseMs / 2],
    [1, 1, breakerBaseMs],
    [2, 0, breakerBaseMs],
    [2, 1, 2 * breakerBaseMs],
    [5, 0.5, 0.75 * 16 * breakerBaseMs],
    [20, 0, breakerCapMs / 2],
    [20, 1, breakerCapMs],
  ])('opens after failure %i in a row, by chance %d for %i ms', (failures, chance, pauseMs) => {
    const state = afterFlush({ ...closed, failures: failures - 1 }, { stop: down, left: [] }, nowMs, chance)
    expect(state).toEqual({
      notBeforeMs: 0,
      probeAtMs: nowMs + pauseMs,
      failures,
      waiting: 'The service answers 503',
      cure: 'service',
      lastPush: { atMs: nowMs, verdict: 'transient', status: 503 },
    })
    expect(probeAt(state, nowMs + pauseMs - 1)).toBe(nowMs + pauseMs)
    expect(probeAt(state, nowMs + pauseMs)).toBe(0)
  })

  it.each<[Stop, string, Cure]>([
    [{ kind: 'transient', reason: '502', status: 502 }, 'The service answers 502', 'service'],
    [{ kind: 'transient', reason: '429: slow down.', status: 429 }, 'The service answers 429: slow down', 'service'],
    [{ kind: 'transient', reason: '408', status: 408 }, 'The service answers 408', 'doctor'],
    [{ kind: 'transient', reason: 'success is false', status: 200 }, 'Delivery waits (success is false)', 'doctor'],
    [
      { kind: 'transient', reason: '5 of 7', isKeyMissing: true },
      'The key of the service cannot be read: 5 of 7',
      'key',
    ],
    [{ kind: 'transient', reason: '500 of them' }, 'Delivery waits (500 of them)', 'doctor'],
    [{ kind: 'systemic', reason: 'all are rejected.' }, 'all are rejected', 'metrics'],
    [{ kind: 'key-refused', reason: '401' }, 'The service refuses the key (401)', 'new-key'],
    [
      { kind: 'misdirected', reason: '302', status: 302 },
      'The address does not answer like the service (302)',
      'address',
    ],
  ])('keeps of %j the fact, and what ends it', (stop, waiting, cure) => {
    expect(afterFlush(closed, { stop, left: [] }, nowMs, 0)).toMatchObject({ waiting, cure })
    expect(afterFlush(closed, { stop, left: ['a.', 'b'] }, nowMs, 0).waiting).toBe(`${waiting}; a; b`)
  })

  it('closes after a flush that did not fail, also where something is left out', () => {
    const open = { ...closed, failures: 7, probeAtMs: nowMs - 1, waiting: '503', skewMs: 5 }
    expect(afterFlush(open, { left: [], skewMs: 9 }, nowMs, 0)).toEqual({
      ...closed,
      skewMs: 9,
      lastPush: { atMs: nowMs, verdict: 'delivered' },
    })
    expect(afterFlush(open, { left: ['a is refused'] }, nowMs, 0)).toEqual({
      ...closed,
      waiting: 'a is refused',
      lastPush: { atMs: nowMs, verdict: 'partly-refused' },
    })
  })

  it.each([
    ['a failure that asks for nothing', { stop: down, left: [] }],
    ['a refused key', { stop: { kind: 'key-refused', reason: '401' } as const, left: [] }],
    ['an answer of something else', { stop: { kind: 'misdirected', reason: '404' } as const, left: [] }],
    ['a delivery that went well', { left: [] }],
  ])('keeps a retry-after through %s, until it is over', (_, end) => {
    const waits = { ...closed, notBeforeMs: nowMs + hourMs }
    expect(afterFlush(waits, end, nowMs, 0).notBeforeMs).toBe(nowMs + hourMs)
    expect(afterFlush(waits, end, nowMs + hourMs, 0).notBeforeMs).toBe(0)
  })

  it('believes no instant further ahead than a wait can be: it is of a clock that was set wrong', () => {
    expect(retryAfterAt({ ...closed, notBeforeMs: nowMs + serviceRetryAfterMsMax }, nowMs)).toBe(
      nowMs + serviceRetryAfterMsMax,
    )
    expect(retryAfterAt({ ...closed, notBeforeMs: nowMs + serviceRetryAfterMsMax + 1 }, nowMs)).toBe(0)
    expect(probeAt({ ...closed, probeAtMs: nowMs + breakerCapMs }, nowMs)).toBe(nowMs + breakerCapMs)
    expect(probeAt({ ...closed, probeAtMs: nowMs + breakerCapMs + 1 }, nowMs)).toBe(0)
  })
})

describe('a flush that sent nothing', () => {
  const waits = { ...closed, waiting: 'a is refused', skewMs: 0 }

  it.each([
    ['nothing new', waits, { left: ['a is refused'], skewMs: 60_000 }, undefined],
    ['another reason', waits, { left: ['b is refused'], skewMs: 1 }, { ...waits, waiting: 'b is refused', skewMs: 1 }],
    ['no reason any more', waits, { left: [], skewMs: 1 }, { ...closed, skewMs: 1 }],
    ['a reason after a failure, whose own stands', { ...waits, failures: 1 }, { left: [], skewMs: 1 }, undefined],
    [
      'another skew after a failure, whose reason stands',
      { ...waits, failures: 1, cure: 'doctor' as const },
      { left: [], skewMs: 60_001 },
      { ...waits, failures: 1, cure: 'doctor' as const, skewMs: 60_001 },
    ],
    ['another skew', waits, { left: ['a is refused'], skewMs: 60_001 }, { ...waits, skewMs: 60_001 }],
  ])('is remembered where there is something to tell: %s', (_, state, end, expected) => {
    expect(afterRest(state, end)).toEqual(expected)
  })
})
