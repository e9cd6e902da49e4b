import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Fraction, nearestNumber } from '../../../collectors/values/fraction.ts'
import { percentOfYear } from '../../../collectors/values/rate.ts'
import { exactly } from '../../support/exactly.ts'
import { compoundedPercent } from '../compounded-percent.ts'

const ray = 10n ** 27n
const percent = (kind: 'APR' | 'APY', rate: bigint) => nearestNumber(percentOfYear(kind, new Fraction(rate, ray)))

describe('a rate of a year', () => {
  it('is compounded each second, or is not', () => {
    expect(percent('APR', ray / 20n)).toBe(5)
    // e^0.05 is 1.05127109…, and a year has an end of seconds.
    expect(percent('APY', ray / 20n)).toBeCloseTo(5.127109, 5)
    expect([percent('APR', 0n), percent('APY', 0n)]).toEqual([0, 0])
    expect(percent('APY', 1n)).toBe(1e-25)
  })

  it('is the nearest number to the exact one, as series have it', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 3n * ray }), rate => {
        expect(percent('APY', rate)).toBe(compoundedPercent(rate, ray))
        expect(percent('APR', rate)).toBe(exactly(rate * 100n, ray))
      }),
      { numRuns: 50 },
    )
  })

  it('has an end: what a broken contract answers is not multiplied for ever', () => {
    expect(percent('APY', 700n * ray)).toBeGreaterThan(1e305)
    expect(() => percent('APY', 2n ** 128n)).toThrow('too high to be compounded')
    expect(percent('APR', 2n ** 128n)).toBeGreaterThan(3e13)
  })
})
