import { describe, expect, it } from 'vitest'
import { units } from '../src/collector.ts'

describe('units', () => {
  it.each<[bigint, number | bigint, number]>([
    [1_500_000n, 6, 1.5],
    [1_500_000n, 6n, 1.5],
    [1n, 18n, 1e-18],
    [-1n, 0n, -1],
    [0n, 255n, 0],
    [123_456_789_012_345_678_901n, 18, 123.45678901234568],
  ])('%s with %s decimals is %d', (amount, decimals, value) => expect(units(amount, decimals)).toBe(value))

  it.each([
    [1.5, 2, 'the amount must be a bigint like 1500000n, not 1.5'],
    ['12', 6, 'the amount must be a bigint like 1500000n, not "12"'],
    [undefined, 6, 'the amount must be a bigint like 1500000n, not undefined'],
    [[1n], 6, 'the amount must be a bigint like 1500000n, not a list'],
    [{ value: 1n }, 6, 'the amount must be a bigint like 1500000n, not an object'],
    [1n, 256n, 'the decimals must be a whole number from 0 to 255, not 256n'],
    [1n, -1, 'the decimals must be a whole number from 0 to 255, not -1'],
    [1n, 1.5, 'the decimals must be a whole number from 0 to 255, not 1.5'],
    [1n, '6', 'the decimals must be a whole number from 0 to 255, not "6"'],
    [1n, undefined, 'the decimals must be a whole number from 0 to 255, not undefined'],
  ])('%o with %o decimals is refused: %s', (amount, decimals, words) => {
    // As a collector in JavaScript may call it.
    expect(() => Reflect.apply(units, undefined, [amount, decimals])).toThrow(words)
  })
})
