import { describe, expect, it } from 'vitest'
import { nearestNumber } from '../../../collectors/values/fraction.ts'
import { answeredPrice } from '../../../collectors/values/price/answered.ts'

describe('a price in an answer', () => {
  it.each([
    ['-8', 0.000_000_05],
    ['8', 0.000_000_05],
    ['0', 5],
    ['-255', 5e-255],
  ])('has the digits of its exponent %s', (expo, price) => {
    expect(nearestNumber(answeredPrice({ price: '5', expo }, '/price', { decimals: '/expo' }))).toBe(price)
  })

  it.each(['-256', '256', '1.5', '1e300'])('is not read by the exponent %s', expo => {
    const answered = () => answeredPrice({ price: '5', expo }, '/price', { decimals: '/expo' })
    expect(answered).toThrow('at /expo there is no exponent')
  })

  it.each([
    [{ min: 5 }, undefined],
    [{ max: 5 }, undefined],
    [{ min: 5.000_001 }, 'it is 5, which is below min: 5.000001'],
    [{ max: 4.999_999 }, 'it is 5, which is above max: 4.999999'],
  ])('is held by its bounds %j', (bounds, message) => {
    const answered = () => answeredPrice({ price: '5' }, '/price', bounds)
    if (message === undefined) expect(nearestNumber(answered())).toBe(5)
    else expect(answered).toThrow(message)
  })
})
