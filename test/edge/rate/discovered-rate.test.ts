import { describe, expect, it } from 'vitest'
import { nodeRate } from '../../../src/chain/endpoint/endpoint.ts'
import { type DiscoveredRate, lowered, type RefusedBurst, risen } from '../../../src/edge/rate/discovered-rate.ts'
import { type AdmittedRequest, SentCalls } from '../../../src/edge/rate/sent-calls.ts'

const refusal: RefusedBurst = { count: 60, inSecond: 60, answeredMax: 300, isAfterAnswer: true, nowMs: 10_000 }
const found: DiscoveredRate = { perSecond: 100, isCut: false, sinceMs: 0, doublesMs: 3_000 }

describe('a refusal', () => {
  it('halves what the node had in the second before it, or took in one request', () => {
    expect(lowered(undefined, { ...refusal, inSecond: 400 }, 13_000, nodeRate).perSecond).toBe(200)
    expect(lowered(undefined, { ...refusal, count: 1, inSecond: 1 }, 13_000, nodeRate).perSecond).toBe(150)
    expect(lowered(found, { ...refusal, nowMs: 0 }, 13_000, nodeRate).perSecond).toBe(50)
    expect(lowered(undefined, { ...refusal, inSecond: 1, answeredMax: 0 }, 13_000, nodeRate).perSecond).toBe(5)
  })

  it('makes requests smaller only where the request alone can be why', () => {
    const alone = { ...refusal, answeredMax: 0 }
    expect(lowered(undefined, alone, 13_000, nodeRate)).toMatchObject({ perSecond: 30, isCut: true })
    expect(lowered(undefined, { ...alone, inSecond: 120 }, 13_000, nodeRate).isCut).toBe(false)
    expect(lowered(undefined, { ...alone, answeredMax: 60 }, 13_000, nodeRate).isCut).toBe(false)
    const cut = { ...found, isCut: true }
    expect(lowered({ ...cut, sinceMs: 10_000 }, { ...alone, inSecond: 120 }, 13_000, nodeRate).isCut).toBe(true)
    expect(lowered(cut, { ...alone, inSecond: 120, nowMs: 60_000 }, 61_000, nodeRate).isCut, 'it was no limit').toBe(
      false,
    )
  })

  it('on the way up makes the way up slower, unless nothing was answered between', () => {
    const soon = { ...refusal, nowMs: 3_000 }
    expect(lowered(found, soon, 4_000, nodeRate).doublesMs).toBe(6_000)
    expect(lowered(found, { ...soon, isAfterAnswer: false }, 4_000, nodeRate).doublesMs).toBe(3_000)
    expect(lowered({ ...found, doublesMs: 48_000 }, soon, 4_000, nodeRate).doublesMs).toBe(60_000)
    expect(lowered({ ...found, doublesMs: 6_000 }, { ...soon, nowMs: 60_000 }, 61_000, nodeRate).doublesMs).toBe(3_000)
  })
})

it('a found rate doubles, ever faster, until there is none; not during the wait that was asked for', () => {
  const at = (ms: number) => risen(found, ms)
  expect([-5_000, 3_000, 6_000, 9_000].map(at)).toEqual([100, 200, 1_600, Number.POSITIVE_INFINITY])
})

describe('calls that were sent', () => {
  function sent(...requests: readonly AdmittedRequest[]): SentCalls {
    const calls = new SentCalls()
    for (const request of requests) calls.add(request)
    return calls
  }
  const request = (sentMs: number, count: number, endedMs = sentMs): AdmittedRequest => ({
    count,
    sentMs,
    endedMs,
  })

  it('count for a second from when they were answered, as far as that may be their way to the node', () => {
    const waitMs = (one: AdmittedRequest, nowMs: number) => sent(one).waitMs(7, 10, nowMs, -1)
    expect(waitMs(request(0, 7, 100), 100)).toBe(1_001)
    expect(waitMs(request(0, 7, 4_000), 1_100)).toBe(401)
    expect(waitMs({ sentMs: 0, count: 7 }, 400)).toBe(601)
    expect(waitMs({ sentMs: 0, count: 7 }, 1_001)).toBe(500)
    expect(waitMs(request(0, 3, 100), 100)).toBe(0)
  })

  it('that are more than the rate of a second wait for all before, and are waited for longer', () => {
    expect(sent(request(0, 1)).waitMs(100, 10, 0, -1)).toBe(1_001)
    expect(sent().waitMs(100, 10, 0, -1)).toBe(0)
    expect(sent(request(0, 100)).waitMs(1, 10, 0, -1)).toBe(10_000)
    // Sent while another rate held.
    expect(sent(request(0, 100)).waitMs(1, 10, 0, 0)).toBe(1_001)
  })

  it('tell what the node had in the second up to one', () => {
    const refused: AdmittedRequest = { sentMs: 2_500, count: 9, endedMs: 6_000 }
    const calls = sent(request(0, 5), request(999, 5), request(1_000, 5), request(2_400, 2), refused)
    expect(calls.inSecondOf(refused)).toBe(11)
  })
})
