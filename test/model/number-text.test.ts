import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { numberText, signedText } from '../../src/model/number-text.ts'

describe('a value as a person reads it', () => {
  it.each([
    [0, '0'],
    [-0, '0'],
    [1, '1'],
    [1.5, '1.5'],
    [-1.5, '−1.5'],
    [100, '100'],
    [0.1 + 0.2, '0.3'],
    [0.99999999, '1'],
    [1.0412345678, '1.04123'],
    [999.9999999, '1,000'],
    [1000, '1,000'],
    [1234.5678, '1,234.57'],
    [123_456.4, '123,456'],
    [999_999.5, '1,000,000'],
    [12_345_678.9, '12,345,679'],
    [876_965_527_108.25, '876,965,527,108'],
    [999_999_999_999_999, '999,999,999,999,999'],
    [0.5, '0.5'],
    [0.000012, '0.000012'],
    [0.0000123456789, '0.0000123457'],
    [0.000001, '0.000001'],
    [9.9e-7, '9.9 × 10⁻⁷'],
    [-1.5e-9, '−1.5 × 10⁻⁹'],
    [1e15, '1 × 10¹⁵'],
    [4.2e18, '4.2 × 10¹⁸'],
    [Number.MAX_VALUE, '1.79769 × 10³⁰⁸'],
    [Number.MIN_VALUE, '4.94066 × 10⁻³²⁴'],
  ])('%s is written %s', (value, text) => {
    expect(numberText(value).replaceAll('\u00a0', ' ')).toBe(text)
  })

  it('is within one part in 200,000 of the value', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), value => {
        const text = numberText(value)
        const read = Number(
          text
            .replaceAll(',', '')
            .replace('−', '-')
            .replace(/\u00a0×\u00a010(.+)$/, (_, power: string) => `e${powerOf(power)}`),
        )
        return Math.abs(read / value - 1) <= 1 / 200_000 || read === value
      }),
    )
  })
})

it.each([
  [1.5, '+1.5'],
  [-1.5, '−1.5'],
  [0, '0'],
])('the change %s is written %s', (change, text) => {
  expect(signedText(change)).toBe(text)
})

function powerOf(superscript: string): string {
  return superscript.replace('⁻', '-').replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]/g, digit => String('⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(digit)))
}
