import { describe, expect, it } from 'vitest'
import { packValues, valueAt, valueIn, valuesOf, viewOf } from '../../../src/outbox/rows/run-values.ts'
import { DamageError } from '../../../src/sqlite/damage.ts'

const values = [1.5, -0.1, 5e-324, 1.7976931348623157e308]
const whole = packValues(values)
/** As a database with a flipped bit gives it. */
const text = JSON.parse('"no bytes at all"') as Buffer
const notFinite = Buffer.from(new Float64Array([Number.NaN]).buffer)

describe('the values of a run', () => {
  it('are the ones that were packed, read in each way', () => {
    const view = viewOf(whole)
    expect(valuesOf(whole)).toEqual(values)
    expect(values.map((_, place) => valueAt(whole, place))).toEqual(values)
    expect(values.map((_, place) => valueIn(view, place))).toEqual(values)
  })

  it.each([
    { what: 'one too few', bytes: whole.subarray(0, 24) },
    { what: 'a part of one', bytes: whole.subarray(0, 28) },
    { what: 'none', bytes: Buffer.alloc(0) },
    { what: 'text', bytes: text },
  ])('are damaged when there are: $what', ({ bytes }) => {
    expect(() => valueAt(bytes, 3)).toThrow(DamageError)
    expect(() => valueIn(viewOf(bytes), 3)).toThrow(DamageError)
  })

  it('are damaged when one is no finite number', () => {
    expect(() => valuesOf(notFinite)).toThrow(DamageError)
    expect(() => valueAt(notFinite, 0)).toThrow(DamageError)
    expect(() => valueIn(viewOf(notFinite), 0)).toThrow(DamageError)
  })
})
