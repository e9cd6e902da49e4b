import { describe, expect, it } from 'vitest'
import { packValues, runMetricsMax, valueAt, valuesOf } from '../../../src/outbox/rows/run-values.ts'
import { DamageError } from '../../../src/sqlite/damage.ts'

const values = [1.5, -0.1, 5e-324, 1.7976931348623157e308]
const whole = packValues(values)
/** As a database with a flipped bit gives it. */
const text = JSON.parse('"no bytes at all"') as Buffer
const notFinite = Buffer.from(new Float64Array([Number.NaN]).buffer)

describe('the values of a run', () => {
  it('are the ones that were packed, read in each way', () => {
    expect(valuesOf(whole)).toEqual(values)
    expect(values.map((_, place) => valueAt(whole, place))).toEqual(values)
    expect(valuesOf(whole, 3)).toEqual(values.slice(0, 3))
  })

  it.each([
    { what: 'one too few', bytes: whole.subarray(0, 24) },
    { what: 'a part of one', bytes: whole.subarray(0, 28) },
    { what: 'none', bytes: Buffer.alloc(0) },
    { what: 'text', bytes: text },
  ])('are damaged when there are: $what', ({ bytes }) => {
    expect(() => valueAt(bytes, 3)).toThrow(DamageError)
    expect(() => valuesOf(bytes, 4)).toThrow(DamageError)
  })

  it.each([0, -1, 1e9, Number.NaN, text])('are damaged when as many as %o are wanted', count => {
    expect(() => valuesOf(whole, count as number)).toThrow(DamageError)
  })

  it('are damaged when there are more than a run may have', () => {
    const all = Array.from({ length: runMetricsMax + 1 }, (_, place) => place)
    expect(valuesOf(packValues(all.slice(1)))).toHaveLength(runMetricsMax)
    expect(() => valuesOf(packValues(all))).toThrow(DamageError)
  })

  it('are damaged when one is no finite number', () => {
    expect(() => valuesOf(notFinite)).toThrow(DamageError)
    expect(() => valueAt(notFinite, 0)).toThrow(DamageError)
  })
})
