import { describe, expect, it } from 'vitest'
import { Fraction, nearestNumber } from '../../../collectors/values/fraction.ts'
import { answeredPrice } from '../../../collectors/values/price/answered.ts'
import { isUnread, requirePrice } from '../../../collectors/values/price/exact-price.ts'

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

it.each([
  [1n, 2n ** 1_074n, undefined],
  [1n, 2n ** 1_075n, 'it is 0, which is no price'],
  [2n ** 1_024n - 2n ** 970n - 1n, 1n, undefined],
  [2n ** 1_024n - 2n ** 970n, 1n, 'it is Infinity, which is no price'],
  [-1n, 1n, 'it is -1, which is no price'],
  // With the stroke, 4,000 characters and one more.
  [10n ** 1_999n + 1n, 10n ** 1_998n, undefined],
  [10n ** 1_999n + 1n, 10n ** 1_999n, 'it has more digits than any price'],
])('%s / %s is a price, or not', (over, under, message) => {
  const price = new Fraction(over, under)
  if (message === undefined) expect(requirePrice(price)).toBe(price)
  else expect(() => requirePrice(price)).toThrow(message)
})

it.each([
  ['transient', 'chain-unreachable', true],
  ['transient', 'price-missing', false],
  ['permanent', 'chain-unreachable', false],
])('a %s failure, %s, says nothing of a price: %s', (permanence, code, isOpen) => {
  expect(isUnread({ permanence, code })).toBe(isOpen)
})
