import { type Fraction, fractionOf, nearestNumber } from '../../../collectors/values/fraction.ts'
import type { CollectorConfig } from '../../config/config.ts'
import { Fault } from '../../model/fault.ts'
import { type Hour, hourAfter, hourText } from '../../model/hour.ts'
import { type MetricId, metricId } from '../../model/metric.ts'
import type { InputRange, MetricSpan } from '../../outbox/contract/metrics.ts'
import { compoundedPercent, exactly, exactSum, growthPercent } from './exact.ts'

/** Options of the shipped collector `derived`, once its own schema has accepted them. */
interface DerivedOptions {
  readonly values: Readonly<Record<string, WrittenValue>>
}

const formulaKinds = ['sum', 'product', 'difference', 'ratio'] as const

type WrittenValue = {
  readonly [K in (typeof formulaKinds)[number]]?: readonly (string | number)[]
} & {
  readonly of?: string
  readonly take?: WindowTake
  readonly hours?: number
  readonly since?: Period
  readonly missing?: number
}

/** A period in UTC whose hours are those after its beginning: the hour 00:00 is the last one of the day before. */
type Period = 'day' | 'month'

/** Hours of the longest of each. */
const periodHours: Readonly<Record<Period, number>> = { day: 24, month: 31 * 24 }

type WindowTake = 'sum' | 'mean' | 'min' | 'max' | 'change' | 'growth' | 'annualised'

/** A value that is computed from others: of the same hour, or of a window of hours. */
export type DerivedValue =
  | {
      readonly kind: 'formula'
      readonly label: string
      readonly operation: (typeof formulaKinds)[number]
      readonly over: readonly (MetricId | number)[]
    }
  | {
      readonly kind: 'window'
      readonly label: string
      readonly of: MetricId
      readonly take: WindowTake
      /** Hours of the window; of a period, of the longest one. */
      readonly hours: number
      /** Period in whose beginning the window begins. Default: it has all of its hours. */
      readonly since?: Period
      /** Hours that may lack. */
      readonly missing: number
    }

/** A collector, as far as it says whether and what it derives. */
type MaybeDerived = Pick<CollectorConfig, 'use' | 'options' | 'protocolId'>

/** Whether the values of a collector are computed from the outbox. */
export function isDerived({ use }: Pick<CollectorConfig, 'use'>): boolean {
  return use === 'derived'
}

/** The values of a derived collector whose options fit; none for another collector. */
export function derivedValues({ use, options, protocolId }: MaybeDerived): DerivedValue[] {
  if (!isDerived({ use })) return []
  const idOf = (name: string) => (name.includes('___') ? (name as MetricId) : metricId(protocolId, name))
  return Object.entries((options as DerivedOptions).values).map(([label, valueOptions]): DerivedValue => {
    const { of, take = 'sum', since, hours = since ? periodHours[since] : 1, missing = 0 } = valueOptions
    if (of !== undefined) return { kind: 'window', label, of: idOf(of), take, hours, ...(since && { since }), missing }
    const operation = formulaKinds.find(kind => valueOptions[kind]) ?? 'sum'
    const over = (valueOptions[operation] ?? []).map(one => (typeof one === 'number' ? one : idOf(one)))
    return { kind: 'formula', label, operation, over }
  })
}

const comparisons: ReadonlySet<WindowTake> = new Set(['change', 'growth', 'annualised'])

/** Whether a window is of two hours alone. */
export function isComparison(value: DerivedValue): boolean {
  return value.kind === 'window' && comparisons.has(value.take)
}

/** The metrics that a value is computed from. */
export function inputsOf(value: DerivedValue): MetricId[] {
  return value.kind === 'window' ? [value.of] : value.over.filter(one => typeof one === 'string')
}

/** The metrics that a derived collector computes from, each with the hours that a value of it is an input of. */
export function inputSpans(collector: MaybeDerived): MetricSpan[] {
  const spans = new Map<MetricId, number>()
  for (const value of derivedValues(collector)) {
    const hours = value.kind === 'formula' ? 1 : value.hours + (isComparison(value) ? 1 : 0)
    for (const id of inputsOf(value)) spans.set(id, Math.max(spans.get(id) ?? 0, hours))
  }
  return [...spans].map(([id, hours]) => ({ id, hours }))
}

/** Hours that a value of a metric reaches back. */
type HoursBack = (id: MetricId) => number

/** Hours that a value of each metric reaches back, through all windows that it is computed from; 0 for one that is read. */
export function reachOf(collectors: readonly MaybeDerived[]): HoursBack {
  const values = new Map(
    collectors.flatMap(collector =>
      derivedValues(collector).map(value => [metricId(collector.protocolId, value.label), value] as const),
    ),
  )
  const depths = new Map<MetricId, number>()
  const reach = (id: MetricId): number => {
    const value = values.get(id)
    if (!value) return 0
    // A value that needs itself reaches no further: the check of the configuration refuses it.
    if (!depths.has(id)) {
      depths.set(id, 0)
      const hours = value.kind === 'formula' ? 0 : value.hours - (isComparison(value) ? 0 : 1)
      depths.set(id, hours + Math.max(0, ...inputsOf(value).map(reach)))
    }
    return depths.get(id) ?? 0
  }
  return reach
}

/** The inputs of a value of an hour. */
export function inputRanges(value: DerivedValue, hour: Hour): InputRange[] {
  if (value.kind === 'formula') return inputsOf(value).map(id => ({ id, from: hour, to: hour }))
  const { of: id, hours, since } = value
  if (since) return [{ id, from: firstHourOf(since, hour), to: hour }]
  if (!isComparison(value)) return [{ id, from: hourAfter(hour, 1 - hours), to: hour }]
  return [-hours, 0].map(count => ({ id, from: hourAfter(hour, count), to: hourAfter(hour, count) }))
}

/** The first hour of the period that an hour is in: 01:00 of its first day. */
function firstHourOf(period: Period, hour: Hour): Hour {
  const before = new Date(hourAfter(hour, -1))
  const day = period === 'day' ? before.getUTCDate() : 1
  return hourAfter(Date.UTC(before.getUTCFullYear(), before.getUTCMonth(), day) as Hour, 1)
}

/** An input of an hour: its value, or why it has none that may be used. */
export type InputValue =
  | { readonly value: number; readonly unit?: string | undefined }
  | { readonly lacks: 'has no value' | 'is held' | 'is dead' | 'is not expected' }

/** The input of a metric and hour. */
export type InputOf = (id: MetricId, hour: Hour) => InputValue

/**
 * The value of an hour, exact on the doubles of its inputs and rounded once.
 *
 * @param reach hours that inputs reach back themselves, for the instruction of an incomplete window
 * @throws Fault `input-missing` where an input lacks, is held or dead; `window-incomplete` where only earlier hours lack;
 *   `collector-output` where there is no such number
 */
export function derivedNumber(value: DerivedValue, hour: Hour, inputOf: InputOf, reach: HoursBack = () => 0): number {
  const inputs = numbersOf(value, hour, inputOf, reach)
  const number = nearestNumber(value.kind === 'formula' ? formula(value, inputs) : window(value, inputs))
  if (!Number.isFinite(number)) throw noNumber(value, 'is beyond the largest number')
  return number
}

/** Operations of fractions by the names that a configuration has. */
const methods = { sum: 'add', product: 'mul', difference: 'sub', ratio: 'div' } as const

/** Exact on the doubles of its inputs; a number of the configuration is the decimal that is written. */
function formula(value: DerivedValue & { kind: 'formula' }, inputs: readonly InputNumber[]): Fraction {
  const numbers = new Map(inputs.map(({ id, number }) => [id, number]))
  const exact = value.over.map(one => (typeof one === 'number' ? fractionOf(one) : exactly(numbers.get(one) ?? 0)))
  const [first = exactly(0), ...operands] = exact
  if (value.operation === 'ratio' && operands.some(other => other.equals(0)))
    throw noNumber(value, `is by ${value.over[1]}, which is 0`)
  return operands.reduce((result, other) => result[methods[value.operation]](other), first)
}

function window(value: DerivedValue & { kind: 'window' }, inputs: readonly InputNumber[]): Fraction {
  const numbers = inputs.map(({ number }) => number)
  const [valueBefore = 0, now = 0] = numbers
  switch (value.take) {
    case 'sum':
      return exactSum(numbers)
    case 'mean':
      return exactSum(numbers).div(numbers.length)
    case 'min':
      return exactly(numbers.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY))
    case 'max':
      return exactly(numbers.reduce((most, one) => Math.max(most, one), Number.NEGATIVE_INFINITY))
    case 'change':
      return exactly(now).sub(exactly(valueBefore))
    case 'growth':
      return growth(value, valueBefore, now, 1n)
    case 'annualised':
      return growth(value, valueBefore, now, yearHours)
  }
}

/** Hours of a year. */
const yearHours = 8_760n

/** Growth in percent. @param compoundHours hours that it is compounded to; 1: it is not */
function growth(
  value: DerivedValue & { kind: 'window' },
  valueBefore: number,
  now: number,
  compoundHours: bigint,
): Fraction {
  if (valueBefore === 0) throw noNumber(value, `is of ${value.of} ${value.hours} h before, which is 0`)
  if (valueBefore < 0) throw noNumber(value, `is of ${value.of} ${value.hours} h before, which is negative`)
  const isCompounded = compoundHours > 1n && BigInt(value.hours) !== compoundHours
  if (compoundHours > 1n && now < 0) throw noNumber(value, `is of ${value.of}, which is negative`)
  return isCompounded && now !== 0
    ? compoundedPercent(exactly(valueBefore), exactly(now), compoundHours, BigInt(value.hours))
    : growthPercent(exactly(valueBefore), exactly(now))
}

interface InputNumber {
  readonly id: MetricId
  readonly number: number
}

/** The inputs of a value that are there, the oldest first. @throws Fault when one lacks that must not */
function numbersOf(value: DerivedValue, hour: Hour, inputOf: InputOf, reach: HoursBack): InputNumber[] {
  const numbers: InputNumber[] = []
  const units = new Map<string, Hour>()
  const missingInputs: { id: MetricId; at: Hour; why: string }[] = []
  const unexpectedHours: Hour[] = []
  let missingAllowed = value.kind === 'window' ? value.missing : 0
  for (const { id, from, to } of inputRanges(value, hour)) {
    for (let inputHour = from; inputHour <= to; inputHour = hourAfter(inputHour, 1)) {
      const input = inputOf(id, inputHour)
      if ('value' in input) {
        numbers.push({ id, number: input.value })
        if (!units.has(input.unit ?? '')) units.set(input.unit ?? '', inputHour)
      }
      // A window takes the values that are there.
      else if (input.lacks === 'is not expected' && value.kind === 'window' && !isComparison(value))
        unexpectedHours.push(inputHour)
      // The hour itself is never left out, or the same hour would have two values.
      else if (input.lacks === 'has no value' && missingAllowed > 0 && inputHour < hour) missingAllowed -= 1
      else missingInputs.push({ id, at: inputHour, why: input.lacks })
    }
  }
  const [noneExpected] = unexpectedHours
  if (numbers.length === 0 && value.kind === 'window' && noneExpected !== undefined)
    missingInputs.push({ id: value.of, at: noneExpected, why: 'is not expected' })
  const [first] = missingInputs
  if (!first) {
    if (value.kind === 'window') demandOneUnit(value, units)
    return numbers
  }
  const furtherText = missingInputs.length > 1 ? `, and ${missingInputs.length - 1} more of its inputs` : ''
  const isUnread =
    value.kind === 'window' && first.at < hour && missingInputs.every(({ why }) => why === 'has no value')
  const isWindow = isUnread && missingInputs.every(({ at }) => at < hour)
  throw new Fault(
    isWindow ? 'window-incomplete' : 'input-missing',
    `${first.id} of ${hourText(first.at)} ${first.why}${furtherText}`,
    {
      facts: { label: value.label, metric: first.id, hour: hourText(first.at) },
      fix: isUnread
        ? `it follows when the window is full; tidegauge backfill --from ${hourText(hourAfter(first.at, -reach(first.id)))} fills it, if its input can be read for past hours`
        : first.why === 'is not expected'
          ? `give this collector at or every: hours at which ${first.id} is expected`
          : `tidegauge explain ${first.id} ${hourText(first.at)}`,
    },
  )
}

/** @param units with the first hour of each; empty for none. @throws Fault where the hours of a window have two */
function demandOneUnit(value: DerivedValue & { kind: 'window' }, units: ReadonlyMap<string, Hour>): void {
  const [first, secondUnit] = units
  if (!first || !secondUnit) return
  const words = ([unit, hour]: readonly [string, Hour]) =>
    `${unit === '' ? 'without a unit' : `in ${unit}`} at ${hourText(hour)}`
  throw new Fault(
    'window-incomplete',
    `the ${value.take} is of two units: ${value.of} is ${words(first)}, and ${words(secondUnit)}`,
    {
      facts: { label: value.label, metric: value.of, hour: hourText(secondUnit[1]) },
      fix: 'it follows when all hours of the window have one unit',
    },
  )
}

function noNumber(value: DerivedValue, why: string): Fault {
  const what = value.kind === 'window' ? value.take : value.operation
  return new Fault('collector-output', `the ${what} ${why}`, { facts: { label: value.label } })
}
