import { expect, it } from 'vitest'
import type { ChainMoment } from '../../../src/collector.ts'
import { hoursBeforeIn } from '../../../src/runner/child/collect.ts'

it.for<[ChainMoment | undefined, number]>([
  [undefined, 0],
  [{}, 0],
  [{ hoursBefore: undefined }, 0],
  [{ hoursBefore: 24 }, 24],
  [{ hoursBefore: 8784 }, 8784],
])('hours before the run: %j', ([moment, hours]) => {
  expect(hoursBeforeIn(moment)).toBe(hours)
})

it.for<[object, string]>([
  [{ hoursBefore: -1 }, 'reads whole hours before its own: not -1'],
  [{ hoursBefore: 1.5 }, 'reads whole hours before its own: not 1.5'],
  [{ hoursBefore: 8785 }, 'reads whole hours before its own: not 8785'],
  [{ hoursBefore: '24' }, 'reads whole hours before its own: not string'],
  [{ hoursBefore: Number.NaN }, 'reads whole hours before its own: not NaN'],
  [{ hourBefore: 24 }, 'has no option hourBefore'],
])('are not %j', ([moment, wrong]) => {
  expect(() => hoursBeforeIn(moment)).toThrow(`chain(name, { hoursBefore }) ${wrong}`)
})
