import { describe, expect, it } from 'vitest'
import { answerTimes } from '../../src/model/answer-times.ts'
import { retryAfterMsMax } from '../../src/model/limits.ts'

describe('Retry-After', () => {
  const nowMs = Date.UTC(2026, 10, 20, 13, 0, 0)
  it.each([
    ['120', nowMs + 120_000],
    [' 0 ', nowMs],
    ['0030', nowMs + 30_000],
    ['99999999999999999999', nowMs + retryAfterMsMax],
    ['Fri, 20 Nov 2026 13:05:00 GMT', nowMs + 300_000],
    ['Friday, 20-Nov-26 13:05:00 GMT', nowMs + 300_000],
    ['Fri, 20 Nov 2026 12:00:00 GMT', nowMs],
    ['Fri, 20 Nov 2099 12:00:00 GMT', nowMs + retryAfterMsMax],
    ['soon', undefined],
    ['-5', undefined],
    ['+5', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['120, 60', undefined],
    ['2026-11-20T13:05:00Z', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j is %s', (header, expected) => {
    const trip = { sentMs: nowMs - 50, receivedMs: nowMs }
    expect(answerTimes({ 'retry-after': header }, trip)).toEqual(
      expected === undefined ? {} : { notBeforeMs: expected },
    )
  })

  it('is the latest where there are several', () => {
    const headers = { 'retry-after': ['60', 'soon', '120'] }
    expect(answerTimes(headers, { sentMs: nowMs, receivedMs: nowMs })).toEqual({ notBeforeMs: nowMs + 120_000 })
  })

  it.each([
    ['ahead', 600_000, 599_900],
    ['behind', -600_000, -599_001],
  ])('as a date is by the clock of the server that answers, also where that is %s', (_, offMs, skewMs) => {
    const date = new Date(nowMs + offMs).toUTCString()
    const trip = { sentMs: nowMs, receivedMs: nowMs + 100 }
    const dated = answerTimes({ date, 'retry-after': new Date(nowMs + offMs + 60_000).toUTCString() }, trip)
    expect(dated).toEqual({ skewMs, notBeforeMs: nowMs + offMs + 60_000 - skewMs })
    expect(answerTimes({ date, 'retry-after': '60' }, trip)).toEqual({ skewMs, notBeforeMs: nowMs + 100 + 60_000 })
  })
})
