import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Claim, type ClaimEvent, claimAfter, isTouchDue, isTrusted, newClaim } from '../../src/fleet/job-engine.ts'
import { heartbeatSeconds, touchMs, trustMs } from '../../src/fleet/limits.ts'

const attempt = { id: '0', retryCount: 3, madeAtMs: 0 }
const after = (events: readonly ClaimEvent[], from: Claim = newClaim(attempt, 1_000)) => events.reduce(claimAfter, from)
const touched = (sentAtMs: number): ClaimEvent => ({ kind: 'touched', sentAtMs })
const refused: ClaimEvent = { kind: 'refused' }

describe('a claim', () => {
  it.each<[what: string, events: readonly ClaimEvent[], nowMs: number, trusted: boolean, touchDue: boolean]>([
    ['at first', [], 1_000, true, false],
    ['until a touch is due', [], 1_000 + touchMs - 1, true, false],
    ['when a touch is due', [], 1_000 + touchMs, true, true],
    ['at the end of its trust', [], 1_000 + trustMs - 1, true, true],
    ['after its trust', [], 1_000 + trustMs, false, true],
    ['after a pause of a minute', [touched(3_000)], 63_000, false, true],
    ['after a touch', [touched(5_000)], 5_000 + trustMs - 1, true, true],
    ['after an answer that came late', [touched(5_000), touched(2_000)], 5_000 + trustMs - 1, true, true],
    ['after a pause and a touch that was accepted', [touched(63_000)], 64_000, true, false],
    ['once refused', [refused], 1_001, false, false],
    ['once refused, whatever comes', [refused, touched(2_000)], 2_001, false, false],
  ])('%s', (_, events, nowMs, trusted, touchDue) => {
    const claim = after(events)
    expect(isTrusted(claim, nowMs)).toBe(trusted)
    expect(isTouchDue(claim, nowMs)).toBe(touchDue)
  })

  it('is never trusted while the engine may give it to another daemon', () => {
    const event = fc.oneof(fc.integer({ min: 0, max: 100_000 }).map(touched), fc.constant<ClaimEvent>(refused))
    fc.assert(
      fc.property(fc.array(event), fc.integer({ min: 0, max: 200_000 }), (events, nowMs) => {
        const latestMs = Math.max(1_000, ...events.map(one => (one.kind === 'touched' ? one.sentAtMs : 0)))
        const mayBeTaken = events.includes(refused) || nowMs - latestMs >= heartbeatSeconds * 1_000
        if (mayBeTaken) expect(isTrusted(after(events), nowMs)).toBe(false)
      }),
    )
  })
})
