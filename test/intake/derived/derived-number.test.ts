import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type DerivedValue,
  derivedNumber,
  derivedValues,
  type InputOf,
  type InputValue,
  inputRanges,
  inputSpans,
} from '../../../src/intake/derived/derived-values.ts'
import { hourAfter, parseHour } from '../../../src/model/hour.ts'
import { anHour } from '../../support/metrics.ts'

/** A fraction of whole numbers, found by doubling until nothing is left after the point. */
type Exact = readonly [over: bigint, under: bigint]

function exactOf(double: number): Exact {
  let [left, under] = [double, 1n]
  while (!Number.isInteger(left)) {
    left *= 2
    under *= 2n
  }
  return [BigInt(left), under]
}

const plus = ([a, b]: Exact, [c, d]: Exact): Exact => [a * d + c * b, b * d]
const times = ([a, b]: Exact, [c, d]: Exact): Exact => [a * c, b * d]
const less = (one: Exact, [c, d]: Exact) => plus(one, [-c, d])
const by = (one: Exact, [c, d]: Exact) => times(one, c < 0n ? [-d, -c] : [d, c])
const compare = ([a, b]: Exact, [c, d]: Exact) => (a * d < c * b ? -1 : a * d > c * b ? 1 : 0)
const half: Exact = [1n, 2n]
const percent: Exact = [100n, 1n]

/** The next double above or below. */
function neighbour(double: number, step: 1n | -1n): number {
  const bytes = new DataView(new ArrayBuffer(8))
  if (double === 0) return Number(step) * Number.MIN_VALUE
  bytes.setFloat64(0, double)
  bytes.setBigUint64(0, bytes.getBigUint64(0) + (double > 0 ? step : -step))
  return bytes.getFloat64(0)
}

/** Whether a double is the nearest one. @param above of a fraction: the sign of the exact value less that */
function expectNearest(double: number, above: (fraction: Exact) => number): void {
  const middle = (other: number) => times(plus(exactOf(double), exactOf(other)), half)
  expect(above(middle(neighbour(double, -1n))), `${double} is too high`).toBeGreaterThanOrEqual(0)
  expect(above(middle(neighbour(double, 1n))), `${double} is too low`).toBeLessThanOrEqual(0)
}

const inUnit = (unit: string): InputValue => ({ value: 2, unit })

/** The inputs of one metric, the last of the hour itself. */
function hoursOf(values: readonly (number | InputValue)[]): InputOf {
  const inputs = new Map(
    values.map((value, place) => [
      hourAfter(anHour, place - values.length + 1),
      typeof value === 'number' ? { value } : value,
    ]),
  )
  return (_, hour) => inputs.get(hour) ?? { lacks: 'has no value' }
}

function derivedOf(written: object): DerivedValue {
  const [value] = derivedValues({ use: 'derived', protocolId: 'vault', options: { values: { V: written } } })
  if (!value) throw new Error('no value')
  return value
}

const compute = (written: object, values: readonly (number | InputValue)[]) =>
  derivedNumber(derivedOf(written), anHour, hoursOf(values))

const amount = fc.oneof(
  fc.double({ min: -1e18, max: 1e18, noNaN: true }),
  fc.integer({ min: -1_000, max: 1_000 }),
  fc.constantFrom(0.1, 0.2, 0.3, 1e-300, 5e-324, 2 ** 53, 1 + 2 ** -52),
)
const positive = fc.oneof(
  fc.double({ min: 1e-3, max: 1e12, noNaN: true }),
  fc.integer({ min: 1, max: 1_000 }),
  fc.double({ min: 1, max: 1.000_001, noNaN: true }),
  fc.constantFrom(1 + 2 ** -52, 1.5, 1 + 2 ** -24, 4_096),
)
const runs = { numRuns: 300 }

describe('a window of exact values, rounded once,', () => {
  const sumOf = (values: readonly number[]) => values.map(exactOf).reduce(plus)

  it.each<[string, (values: readonly number[]) => Exact]>([
    ['sum', sumOf],
    ['mean', values => by(sumOf(values), [BigInt(values.length), 1n])],
    ['min', values => exactOf([...values].sort((a, b) => a - b)[0] ?? 0)],
    ['max', values => exactOf([...values].sort((a, b) => b - a)[0] ?? 0)],
  ])('has the nearest %s', (take, exact) => {
    fc.assert(
      fc.property(fc.array(amount, { minLength: 1, maxLength: 30 }), values => {
        const double = compute({ of: 'A', take, hours: values.length }, values)
        expectNearest(double, fraction => compare(exact(values), fraction))
      }),
      runs,
    )
  })

  it('has the nearest change and growth against the value so many hours before', () => {
    fc.assert(
      fc.property(positive, positive, fc.integer({ min: 1, max: 9 }), (then, now, hours) => {
        const values = [then, ...Array<number>(hours - 1).fill(7), now]
        const change = less(exactOf(now), exactOf(then))
        expectNearest(compute({ of: 'A', take: 'change', hours }, values), fraction => compare(change, fraction))
        const grown = times(percent, by(change, exactOf(then)))
        expectNearest(compute({ of: 'A', take: 'growth', hours }, values), fraction => compare(grown, fraction))
      }),
      runs,
    )
  })

  it('has the nearest growth of a year of 8,760 hours, compounded', () => {
    fc.assert(
      fc.property(positive, positive, fc.constantFrom(24, 73, 168, 720, 2_190, 4_380, 8_760), (then, now, hours) => {
        const grown = by(exactOf(now), exactOf(then))
        const shared = (a: number, b: number): number => (b === 0 ? a : shared(b, a % b))
        const [power, root] = [8_760 / shared(8_760, hours), hours / shared(8_760, hours)]
        const isLarge = power * Math.abs(Math.log2(now / then)) > root * 1_000
        fc.pre(!isLarge)
        const values = [then, ...Array<number>(hours - 1).fill(7), now]
        const raised = ([a, b]: Exact, exponent: number): Exact => [a ** BigInt(exponent), b ** BigInt(exponent)]
        // (1 + percent / 100) to the power of the root against the growth to that of the power: whole exponents alone.
        expectNearest(compute({ of: 'A', take: 'annualised', hours }, values), fraction => {
          const one = plus([1n, 1n], by(fraction, percent))
          return one[0] <= 0n ? 1 : compare(raised(grown, power), raised(one, root))
        })
      }),
      { numRuns: 150 },
    )
  })

  it.each([
    [168, [100, 100.1], 5.349_878_723_267_68],
    [24, [1, 1.000_1], 3.717_241_130_254_78],
    [8_760, [100, 105], 5],
    [17_520, [100, 0], -100],
    [4_380, [1, 1.5], 125],
  ])('has the annualised growth of %i hours that a calculator has', (hours, [then = 0, now = 0], expected) => {
    const values = [then, ...Array<number>(hours - 1).fill(1), now]
    expect(compute({ of: 'A', take: 'annualised', hours }, values)).toBeCloseTo(expected, 10)
  })
})

describe('a window since the beginning of a period', () => {
  it.each([
    ['day', '2024-03-01T01:00:00Z', '2024-03-01T01:00:00Z'],
    ['day', '2024-03-01T23:00:00Z', '2024-03-01T01:00:00Z'],
    ['day', '2024-03-02T00:00:00Z', '2024-03-01T01:00:00Z'],
    ['month', '2024-03-01T00:00:00Z', '2024-02-01T01:00:00Z'],
    ['month', '2024-03-01T01:00:00Z', '2024-03-01T01:00:00Z'],
    ['month', '2025-01-01T00:00:00Z', '2024-12-01T01:00:00Z'],
  ])('of a %s at %s begins at %s, and adds up what is there since', (since, hour, first) => {
    const value = derivedOf({ of: 'A', take: 'sum', since })
    expect(inputRanges(value, parseHour(hour))).toEqual([
      { id: 'vault___A', from: parseHour(first), to: parseHour(hour) },
    ])
    const hours = (parseHour(hour) - parseHour(first)) / 3_600_000 + 1
    expect(derivedNumber(value, parseHour(hour), () => ({ value: 1 }))).toBe(hours)
    expect(inputSpans({ use: 'derived', protocolId: 'vault', options: { values: { V: { of: 'A', since } } } })).toEqual(
      [{ id: 'vault___A', hours: since === 'day' ? 24 : 744 }],
    )
  })
})

describe('a formula over values of the hour, rounded once,', () => {
  it.each<[string, (a: Exact, b: Exact) => Exact]>([
    ['sum', plus],
    ['difference', less],
    ['product', times],
    ['ratio', by],
  ])('is the nearest %s', (operation, exact) => {
    fc.assert(
      fc.property(amount, amount, (a, b) => {
        fc.pre(operation !== 'ratio' || b !== 0)
        const value = derivedOf({ [operation]: ['A', 'other___B'] })
        const inputs = new Map<string, number>([
          ['vault___A', a],
          ['other___B', b],
        ])
        const found = exact(exactOf(a), exactOf(b))
        fc.pre(compare(found, exactOf(1e300)) < 0 && compare(found, exactOf(-1e300)) > 0)
        const double = derivedNumber(value, anHour, name => ({ value: inputs.get(name) ?? 0 }))
        expectNearest(double, fraction => compare(found, fraction))
      }),
      runs,
    )
  })

  it('takes a number as it is written: a tenth, and not the double next to it', () => {
    expect(compute({ product: ['A', 0.1] }, [3])).toBe(0.3)
    expect(compute({ product: ['A', 3] }, [0.1])).toBe(0.30000000000000004)
  })
})

describe('a derived value fails by name', () => {
  const missing: InputValue = { lacks: 'has no value' }
  const heldInput: InputValue = { lacks: 'is held' }

  it.each<[string, object, (number | InputValue)[], string]>([
    [
      'where an input is missing',
      { of: 'A', take: 'sum', hours: 3 },
      [1, missing, 3],
      'vault___A of 2026-11-20T12:00:00Z has no value',
    ],
    ['where one is held', { sum: ['A', 'A'] }, [heldInput], 'vault___A of 2026-11-20T13:00:00Z is held'],
    [
      'where one is dead',
      { of: 'A', take: 'change', hours: 1 },
      [{ lacks: 'is dead' }, 1],
      'vault___A of 2026-11-20T12:00:00Z is dead',
    ],
    [
      'where more lack than may',
      { of: 'A', take: 'mean', hours: 4, missing: 1 },
      [missing, missing, 3, 4],
      'vault___A of 2026-11-20T11:00:00Z has no value',
    ],
    [
      'where a held one is among those that may lack',
      { of: 'A', take: 'min', hours: 3, missing: 2 },
      [heldInput, 2, 3],
      'vault___A of 2026-11-20T11:00:00Z is held',
    ],
    [
      'where the hour itself lacks',
      { of: 'A', take: 'max', hours: 3, missing: 2 },
      [1, 2, missing],
      'vault___A of 2026-11-20T13:00:00Z has no value',
    ],
    [
      'where several do',
      { of: 'A', take: 'sum', hours: 3 },
      [missing, missing, 3],
      'vault___A of 2026-11-20T11:00:00Z has no value, and 1 more of its inputs',
    ],
    ['where it is divided by 0', { ratio: ['A', 'A'] }, [0], 'the ratio is by vault___A, which is 0'],
    [
      'where it grows from 0',
      { of: 'A', take: 'growth', hours: 1 },
      [0, 1],
      'the growth is of vault___A 1 h before, which is 0',
    ],
    [
      'where a root would be of a negative number',
      { of: 'A', take: 'annualised', hours: 2 },
      [1, 1, -1],
      'the annualised is of vault___A, which is negative',
    ],
    ...['growth', 'annualised'].map((take): [string, object, number[], string] => [
      `where ${take} is of a negative number`,
      { of: 'A', take, hours: 2 },
      [-300, 1, -120],
      `the ${take} is of vault___A 2 h before, which is negative`,
    ]),
    ...['sum', 'mean', 'min', 'max'].map((take): [string, object, InputValue[], string] => [
      `where a ${take} would be of two units`,
      { of: 'A', take, hours: 3 },
      [inUnit('USD'), inUnit('USD'), inUnit('EUR')],
      `the ${take} is of two units: vault___A is in USD at 2026-11-20T11:00:00Z, and in EUR at 2026-11-20T13:00:00Z`,
    ]),
    [
      'where only one of two has a unit',
      { of: 'A', take: 'change', hours: 1 },
      [inUnit('JPY'), 2],
      'the change is of two units: vault___A is in JPY at 2026-11-20T12:00:00Z, and without a unit at 2026-11-20T13:00:00Z',
    ],
    ['where no number is as large', { product: ['A', 'A'] }, [1e200], 'the product is beyond the largest number'],
    [
      'where a year of such growth is',
      { of: 'A', take: 'annualised', hours: 1 },
      [1, 2],
      'the annualised is beyond the largest number',
    ],
  ])('%s', (_, written, values, message) => {
    expect(() => compute(written, values)).toThrow(message)
  })

  it.each<[string, object, (number | InputValue)[], string]>([
    ['earlier hours alone lack', { of: 'A', take: 'sum', hours: 3 }, [missing, missing, 3], 'window-incomplete'],
    ['that of a comparison lacks', { of: 'A', take: 'change', hours: 1 }, [missing, 1], 'window-incomplete'],
    ['the hour itself lacks, too', { of: 'A', take: 'sum', hours: 3 }, [missing, 2, missing], 'input-missing'],
    ['one of them is held', { of: 'A', take: 'sum', hours: 3 }, [heldInput, missing, 3], 'input-missing'],
    ['it is no window', { sum: ['A', 'A'] }, [missing], 'input-missing'],
  ])('and waits for a window only where it is one: %s', (_, written, values, code) => {
    expect(() => compute(written, values)).toThrow(expect.objectContaining({ code }))
  })

  it('and a window takes the values that are there, where others are not expected', () => {
    const other: InputValue = { lacks: 'is not expected' }
    const daily = [other, 4, ...Array.from({ length: 23 }, () => other), 8, other]
    expect(compute({ of: 'A', take: 'sum', hours: 27 }, daily)).toBe(12)
    expect(compute({ of: 'A', take: 'mean', hours: 27 }, daily)).toBe(6)
    expect(() => compute({ of: 'A', take: 'sum', hours: 1 }, daily)).toThrow('is not expected')
    expect(() => compute({ of: 'A', take: 'change', hours: 1 }, daily)).toThrow('is not expected')
    expect(() => compute({ of: 'A', take: 'sum', hours: 28 }, daily)).toThrow('has no value')
  })

  it('and a mean divides by what is there, where some may lack', () => {
    expect(compute({ of: 'A', take: 'mean', hours: 4, missing: 2 }, [missing, 4, missing, 8])).toBe(6)
    expect(compute({ of: 'A', take: 'min', hours: 3, missing: 1 }, [missing, 4, 8])).toBe(4)
  })
})
