import { describe, expect, it } from 'vitest'
import { canCollect, oldestCollected } from '../../src/intake/hour-clock.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import { anHour } from '../support/metrics.ts'

describe('a collector can be asked', () => {
  const [before, after] = [hourAfter(anHour, -1), hourAfter(anHour, 1)]
  it.each([
    ['for a past hour where it reads the past', before, anHour, true, true],
    ['for any hour where it reads the past, whatever the clock', before, undefined, true, true],
    ['for the current hour where it reads only "now"', anHour, anHour, false, true],
    ['for an hour that is yet to come, which it waits for', after, anHour, false, true],
    ['not for a past hour where it reads only "now"', before, anHour, false, false],
    ['not while the hour is unknown where it reads only "now"', anHour, undefined, false, false],
  ])('%s', (_, hour, now, history, expected) => {
    expect(canCollect(hour, now, { history })).toBe(expected)
  })

  it('for hours of the catch-up range, or for the current hour alone', () => {
    expect(oldestCollected(anHour, { history: true }, 5 * hourMs)).toBe(hourAfter(anHour, -5))
    expect(oldestCollected(anHour, { history: false }, 5 * hourMs)).toBe(anHour)
  })
})
