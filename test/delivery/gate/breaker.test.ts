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
import type { DestinationState } from '../../../src/outbox/contract/delivery-store.ts'

const nowMs = Date.UTC(2026, 10, 20, 13)
const closed: DestinationState = { notBeforeMs: 0, probeAtMs: 0, failures: 0 }
const down: Stop = { kind: 'transient', reason: '503' }

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
      waiting: expect.stringMatching(/^The service answers 503\. Nothing is lost; next try 13:0\d:\d\d UTC\./),
      lastPush: { atMs: nowMs, verdict: 'transient' },
    })
    expect(probeAt(state, nowMs + pauseMs - 1)).toBe(nowMs + pauseMs)
    expect(probeAt(state, nowMs + pauseMs)).toBe(0)
  })

  it.each<[Stop, string]>([
    [
      { kind: 'transient', reason: '502' },
      'The service answers 502. Nothing is lost; next try 13:00:02 UTC. The service is at fault: if that goes on, ask who runs it.',
    ],
    [
      { kind: 'transient', reason: '503: down for repair.' },
      'The service answers 503: down for repair. Nothing is lost; next try 13:00:02 UTC. The service is at fault: if that goes on, ask who runs it.',
    ],
    [
      { kind: 'transient', reason: 'no answer in time' },
      'Delivery waits (no answer in time). Nothing is lost; next try 13:00:02 UTC. tidegauge doctor says what to do.',
    ],
    [
      { kind: 'transient', reason: 'the secret is not there', isKeyMissing: true },
      'The key of the service cannot be read: the secret is not there. Nothing is lost; delivery goes on at once when it is there.',
    ],
    [
      { kind: 'systemic', reason: 'the service rejects every metric; all are kept: 400: odd.' },
      'the service rejects every metric; all are kept: 400: odd. Nothing is lost; next try 13:00:02 UTC. Compare them with what the service says (tidegauge due ls), or ask who runs it.',
    ],
    [
      { kind: 'key-refused', reason: '401' },
      'The service refuses the key (401). Nothing is lost; put a valid key in its place, and delivery goes on at once.',
    ],
    [
      { kind: 'key-refused', reason: '401', isUnchanged: true },
      'The service refuses the key (401), and it has not changed since. Nothing is lost; put a valid key in its place, and delivery goes on at once.',
    ],
    [
      { kind: 'misdirected', reason: '302' },
      'The address does not answer like the service (302). Nothing is lost; check service.url.',
    ],
  ])('says of %j what happens next and what to do', (stop, sentence) => {
    expect(afterFlush(closed, { stop, left: [] }, nowMs, 0).waiting).toBe(sentence)
    expect(afterFlush(closed, { stop, left: ['a', 'b'] }, nowMs, 0).waiting).toBe(
      `${sentence}${sentence.endsWith('.') ? '' : ';'} a; b`,
    )
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
    ['another skew', waits, { left: ['a is refused'], skewMs: 60_001 }, { ...waits, skewMs: 60_001 }],
  ])('is remembered where there is something to tell: %s', (_, state, end, expected) => {
    expect(afterRest(state, end)).toEqual(expected)
  })
})
