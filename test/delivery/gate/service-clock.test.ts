import { describe, expect, it } from 'vitest'
import { ServiceClock } from '../../../src/delivery/gate.ts'
import { futureMsMax } from '../../../src/model/limits.ts'
import { anHour } from '../../support/metrics.ts'
import { answered } from '../support/answers.ts'

const minuteMs = 60_000
const clockOf = (skewMs?: number) => {
  const clock = new ServiceClock()
  if (skewMs !== undefined) clock.observe({ ...answered(200), skewMs })
  return clock
}

describe('the latest hour the service takes', () => {
  it.each([
    ['in time, as the hour begins', 0, 0, 0],
    ['in time, before the hour', 0, -minuteMs, 0],
    ['in time, four and a half minutes before the hour', 0, -270_000, 0],
    ['in time, a moment earlier', 0, -270_001, -1],
    ['in time, long before the hour', 0, -6 * minuteMs, -1],
    ['this machine 10 min ahead, as the hour begins here', -10 * minuteMs, 0, -1],
    ['this machine 10 min ahead, 4 min later', -10 * minuteMs, 4 * minuteMs, -1],
    ['this machine 10 min ahead, 6 min later', -10 * minuteMs, 6 * minuteMs, 0],
    ['this machine an hour behind', 60 * minuteMs, -60 * minuteMs, 0],
    ['this machine set back by a day', 24 * 60 * minuteMs, -24 * 60 * minuteMs, 0],
  ])('%s', (_, skewMs, sinceMs, hours) => {
    expect(clockOf(skewMs).latestHour(anHour + sinceMs)).toBe(anHour + hours * 60 * minuteMs)
  })

  it('is this machine’s while the service’s clock was not seen', () => {
    const clock = clockOf()
    clock.observe(answered(200))
    clock.observe({ kind: 'unanswered', reason: 'no answer' })
    expect(clock.skewMs).toBeUndefined()
    expect(clock.latestHour(anHour)).toBe(anHour)
  })

  it('keeps what was seen last when an answer does not show it', () => {
    const clock = clockOf(-5_000)
    clock.observe(answered(503))
    expect(clock.skewMs).toBe(-5_000)
    clock.observe({ ...answered(200), skewMs: 0 })
    expect(clock.skewMs).toBe(0)
  })

  it('does not change as this machine’s clock is set right', () => {
    const clock = clockOf()
    clock.machineWasSet(10 * minuteMs)
    expect(clock.skewMs).toBeUndefined()
    clock.observe({ ...answered(200), skewMs: 10 * minuteMs })
    clock.machineWasSet(10 * minuteMs)
    expect(clock.skewMs).toBe(0)
  })

  it('is never one the service may still refuse: its clock is known no better than to some seconds', () => {
    // By the header it is 10 min behind; it may be one second more, and a slow answer hides as much as it took.
    const clock = clockOf(-10 * minuteMs)
    const trulyBehindMs = 10 * minuteMs + 999 + 5_000
    for (let sinceMs = 0; sinceMs <= 10 * minuteMs; sinceMs += 250) {
      const isTaken = clock.latestHour(anHour + sinceMs) >= anHour
      const aheadOfServiceMs = trulyBehindMs - sinceMs
      if (isTaken) expect(aheadOfServiceMs).toBeLessThanOrEqual(futureMsMax)
    }
  })
})
