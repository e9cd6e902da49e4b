import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holdOf } from '../../src/intake/validate.ts'
import { hourAfter } from '../../src/model/hour.ts'
import type { Metric, MetricSpec } from '../../src/model/metric.ts'
import type { Hold, Past } from '../../src/outbox/contract/metrics.ts'
import { anHour } from '../support/metrics.ts'

function metric(value: number, unit?: string): Metric {
  return { id: 'vault___TVL', protocolId: 'vault', hour: anHour, value, ...(unit === undefined ? {} : { unit }) }
}

const jumped = (value: number, previous: number, maxJump: MetricSpec['maxJump']): string =>
  `${value} after ${previous} is a jump of more than the declared ${maxJump}`.replaceAll('-', '−')

const before = (value: number) => ({ hour: hourAfter(anHour, -1), value })

describe('a value is held', () => {
  it.each<[value: number, spec: MetricSpec, past: Past | undefined, hold: Hold['kind'] | undefined, reason?: string]>([
    [1, {}, undefined, undefined],
    [1, { min: 1, max: 1 }, undefined, undefined],
    [0.9, { min: 1 }, undefined, 'bounds', '0.9 is below the declared minimum of 1'],
    [1.1, { max: 1 }, undefined, 'bounds', '1.1 is above the declared maximum of 1'],
    [-1, { min: 0, maxJump: 1 }, { previous: before(100) }, 'bounds', '−1 is below the declared minimum of 0'],
    [100, { maxJump: 1 }, undefined, undefined],
    [100, { maxJump: 1 }, {}, undefined],
    [11, { maxJump: 1 }, { previous: before(10) }, undefined],
    [9, { maxJump: 1 }, { previous: before(10) }, undefined],
    [11.5, { maxJump: 1 }, { previous: before(10) }, 'jump', jumped(11.5, 10, 1)],
    [8.5, { maxJump: 1 }, { previous: before(10) }, 'jump', jumped(8.5, 10, 1)],
    [120, { maxJump: '20%' }, { previous: before(100) }, undefined],
    [80, { maxJump: '20%' }, { previous: before(100) }, undefined],
    [121, { maxJump: '20%' }, { previous: before(100) }, 'jump', jumped(121, 100, '20%')],
    [79, { maxJump: '20%' }, { previous: before(100) }, 'jump', jumped(79, 100, '20%')],
    [-121, { maxJump: '20%' }, { previous: before(-100) }, 'jump', jumped(-121, -100, '20%')],
    [-119, { maxJump: '20%' }, { previous: before(-100) }, undefined],
    [100.6, { maxJump: '0.5%' }, { previous: before(100) }, 'jump', jumped(100.6, 100, '0.5%')],
    [1, { maxJump: '20%' }, { previous: before(0) }, 'jump', jumped(1, 0, '20%')],
    [1e308, { maxJump: 1e308 }, { previous: before(-1e308) }, 'jump', jumped(1e308, -1e308, 1e308)],
  ])('%d, declared %j, after %j: %j', (value, spec, past, kind, reason) => {
    const hold = holdOf(metric(value), spec, past)
    expect(hold).toEqual(kind === undefined ? undefined : { kind, reason })
  })

  it.each<[value: number, isOfNone: boolean, past: Past | undefined, isHeld: boolean]>([
    [0, true, { previous: before(7) }, true],
    [0, true, { previous: before(-7) }, true],
    [0, true, { previous: before(0) }, false],
    [0, true, {}, false],
    [0, false, { previous: before(7) }, false],
  ])('%d, of no items: %j, after %j: %j', (value, isOfNone, past, isHeld) => {
    const hold = holdOf(metric(value), {}, past, isOfNone)
    const reason = expect.stringMatching(/^there are no items, after .?7 at 2026-/)
    expect(hold).toEqual(isHeld ? { kind: 'bounds', reason } : undefined)
  })

  it.each<[unit: string | undefined, past: Past | undefined, reason: string | undefined]>([
    ['USD', undefined, undefined],
    ['USD', { unit: 'USD' }, undefined],
    [undefined, {}, undefined],
    ['EUR', { unit: 'USD' }, 'the unit is EUR, and was USD so far: held until --allow-unit-change'],
    ['EUR', {}, 'the unit is EUR, and there was none so far: held until --allow-unit-change'],
    [undefined, { unit: 'USD' }, 'the unit is gone, and was USD so far: held until --allow-unit-change'],
    ['usd', { unit: 'USD' }, 'the unit is usd, and was USD so far: held until --allow-unit-change'],
  ])('in %j, after %j: %j', (unit, past, reason) => {
    const hold = holdOf(metric(5, unit), {}, past)
    expect(hold).toEqual(reason === undefined ? undefined : { kind: 'unit', reason })
  })

  it('with another unit whatever else is wrong: it cannot be compared', () => {
    const past = { unit: 'USD', previous: before(5) }
    expect(holdOf(metric(-1e9, 'EUR'), { min: 0, maxJump: 1 }, past)?.kind).toBe('unit')
  })

  it('never when it is what it was', () => {
    const value = fc.double({ noNaN: true, noDefaultInfinity: true })
    const maxJump = fc.oneof(
      fc.double({ min: Number.MIN_VALUE, noNaN: true, noDefaultInfinity: true }),
      fc.integer({ min: 1, max: 1_000 }).map(part => `${part}%` as const),
    )
    fc.assert(
      fc.property(value, maxJump, (same, jump) => {
        expect(holdOf(metric(same), { maxJump: jump }, { previous: before(same) })).toBeUndefined()
      }),
    )
  })

  it('the same way up and down', () => {
    const small = fc.integer({ min: -1_000, max: 1_000 })
    fc.assert(
      fc.property(small, small, fc.integer({ min: 1, max: 500 }), (previous, change, jump) => {
        const kindOf = (value: number) => holdOf(metric(value), { maxJump: jump }, { previous: before(previous) })?.kind
        expect(kindOf(previous + change)).toBe(kindOf(previous - change))
      }),
    )
  })
})
