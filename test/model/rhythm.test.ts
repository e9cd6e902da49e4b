import { expect, it } from 'vitest'
import { hourText, parseHour } from '../../src/model/hour.ts'
import { dayHours, isExpected, nextExpected } from '../../src/model/rhythm.ts'

it.each([
  [undefined, 24, [0]],
  [[8], 24, [8]],
  [undefined, 6, [0, 6, 12, 18]],
  [[20], 12, [8, 20]],
  [[12, 3, 12], 24, [3, 12]],
  [[3, 4], 12, [3, 4, 15, 16]],
] as const)('at %j every %i h is the hours %j of a day', (at, every, hours) => {
  expect(dayHours(at, every)).toEqual(hours)
})

it('expects those hours in UTC alone, and each hour where none are written', () => {
  const [hour, midnight] = [parseHour('2026-11-20T13:00:00Z'), parseHour('2026-11-21T00:00:00Z')]
  expect([isExpected({ at: [0] }, hour), isExpected({ at: [0] }, midnight), isExpected({}, hour)]).toEqual([
    false,
    true,
    true,
  ])
  expect([{ at: [0, 12] }, { at: [13] }, {}].map(rhythm => hourText(nextExpected(rhythm, hour)))).toEqual([
    '2026-11-21T00:00:00Z',
    '2026-11-21T13:00:00Z',
    '2026-11-20T14:00:00Z',
  ])
})
