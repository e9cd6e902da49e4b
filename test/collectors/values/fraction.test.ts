import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Fraction, fractionOf, nearestNumber, scaled } from '../../../collectors/values/fraction.ts'

describe('the double nearest to a fraction', () => {
  it('is a double itself where the fraction is one', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), double => {
        expect(nearestNumber(fractionOf(double))).toBe(double === 0 ? 0 : double)
      }),
      { numRuns: 2_000 },
    )
  })

  it('is what JavaScript reads of the same decimal number', () => {
    const digits = fc.stringMatching(/^-?\d{1,40}(\.\d{1,40})?(e-?\d{1,2})?$/)
    fc.assert(
      fc.property(digits, text => {
        expect(nearestNumber(fractionOf(text))).toBe(Number(text) === 0 ? 0 : Number(text))
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    [2n ** 53n + 1n, 1n, 2 ** 53],
    [2n ** 53n + 3n, 1n, 2 ** 53 + 4],
    [2n ** 54n + 3n, 2n, 2 ** 53 + 2],
    [1n, 2n ** 1074n, 2 ** -1074],
    [1n, 2n ** 1075n, 0],
    [3n, 2n ** 1075n, 2 ** -1073],
    [1n, 2n ** 1075n - 1n, 2 ** -1074],
    [2n ** 1024n, 1n, Number.POSITIVE_INFINITY],
    [1n, 3n, 1 / 3],
    [-2n, 3n, -2 / 3],
  ])('of %s / %s is %d, the even one of two that are as near', (over, under, nearest) => {
    expect(nearestNumber(new Fraction(over, under))).toBe(nearest)
  })

  it('of an amount is that of its decimal number', () => {
    expect(nearestNumber(scaled(123_456_789_012_345_678_901n, 18))).toBe(Number('123.456789012345678901'))
    expect(nearestNumber(scaled(-1n, 255))).toBe(-1e-255)
  })
})

it.each(['', 'one', '0x10', '1.', '.5', 'Infinity', '1e9999'])('%j is no decimal number', text => {
  expect(() => fractionOf(text)).toThrow(RangeError)
})
