import { circlesIn } from '../../../collectors/values/circles.ts'
import type { CollectorConfig, Config } from '../../config/config.ts'
import { meant, type PlacedMistake, pathText, quoted } from '../../config/mistakes.ts'
import { hourMs } from '../../model/limits.ts'
import { type MetricId, type MetricSpec, metricId } from '../../model/metric.ts'
import { dayHourText } from '../../model/rhythm.ts'
import type { CollectorDescription } from '../../runner/runner.ts'
import { type DerivedValue, derivedValues, inputsOf, isComparison } from './derived-values.ts'

/** A collector with its description. */
interface Described {
  readonly collector: CollectorConfig
  readonly description: CollectorDescription
}

/** A derived value with its collector. */
interface PlacedValue {
  readonly collector: CollectorConfig
  readonly value: DerivedValue
  readonly id: MetricId
}

/**
 * Mistakes of derived values that only all collectors together show: an input that nothing gives, a value that needs itself,
 * units that do not fit, a window that is longer than values are kept. Offline.
 *
 * @param usableCollectors all collectors that can run: an input of a protocol with others may be one of theirs
 */
export function derivedMistakes(usableCollectors: readonly Described[], config: Config): PlacedMistake[] {
  const specs = new Map(
    usableCollectors.flatMap(({ collector: { protocolId }, description }) =>
      Object.entries(description.metrics).map(([label, spec]) => [metricId(protocolId, label), spec] as const),
    ),
  )
  const values = usableCollectors.flatMap(({ collector }) =>
    derivedValues(collector).map((value): PlacedValue => {
      return { collector, value, id: metricId(collector.protocolId, value.label) }
    }),
  )
  if (values.length === 0) return []
  const givers = new Map(
    usableCollectors.flatMap(({ collector, description }) =>
      Object.keys(description.metrics).map(label => [metricId(collector.protocolId, label), collector] as const),
    ),
  )
  const known = new Set(usableCollectors.map(({ collector }) => collector))
  const unclear = config.protocols.filter(({ collectors }) => collectors.some(one => !known.has(one)))
  const unclearIds = new Set(unclear.map(({ id }) => id))
  return [
    ...values.flatMap(one => unknownInputs(one, specs, unclearIds)),
    ...circles(values),
    ...values.flatMap(one => unitMistakes(one, specs)),
    ...values.flatMap(one => longWindows(one, config)),
    ...values.flatMap(one => unexpectedInputs(one, givers)),
  ]
}

function at(
  { collector, value }: PlacedValue,
  path: readonly (string | number)[],
  message: string,
  fix: string,
): PlacedMistake {
  const whole = ['values', value.label, ...path]
  return { place: collector.placeOf(whole), message: `${pathText(['options', ...whole])}: ${message}`, fix }
}

/** Where each input of a value is named. */
function namedInputs({ value }: PlacedValue): { readonly id: MetricId; readonly path: readonly (string | number)[] }[] {
  if (value.kind === 'window') return [{ id: value.of, path: ['of'] }]
  return value.over.flatMap((id, place) => (typeof id === 'string' ? [{ id, path: [value.operation, place] }] : []))
}

function unknownInputs(
  placedValue: PlacedValue,
  specs: ReadonlyMap<MetricId, MetricSpec>,
  unclearIds: ReadonlySet<string>,
): PlacedMistake[] {
  const { protocolId } = placedValue.collector
  const prefix = metricId(protocolId, '')
  const nameOf = (id: string) => (id.startsWith(prefix) ? id.slice(prefix.length) : id)
  return namedInputs(placedValue).flatMap(({ id, path }) => {
    const inputProtocolId = id.slice(0, id.indexOf('___'))
    if (specs.has(id) || unclearIds.has(inputProtocolId)) return []
    const otherIds = [...specs.keys()].filter(other => other !== placedValue.id)
    const siblings = otherIds.filter(other => other.startsWith(metricId(inputProtocolId, '')))
    const suggestion =
      (siblings.length > 0 ? meant(nameOf(id), siblings.map(nameOf)) : meant(id, otherIds)) ??
      otherIds.find(other => other.endsWith(id.slice(inputProtocolId.length)))
    const advice =
      siblings.length > 0
        ? `${inputProtocolId} has ${siblings.map(nameOf).join(', ')}`
        : `nothing gives a metric of ${inputProtocolId}`
    return [
      at(
        placedValue,
        path,
        `no collector gives ${quoted(nameOf(id))}`,
        suggestion === undefined ? advice : `did you mean ${suggestion}?`,
      ),
    ]
  })
}

/** Values that need themselves. */
function circles(values: readonly PlacedValue[]): PlacedMistake[] {
  const byId = new Map(values.map(one => [one.id, one]))
  const inputs = (id: MetricId) => [byId.get(id)].flatMap(one => (one ? inputsOf(one.value) : []))
  return circlesIn(byId.keys(), inputs).flatMap(circle => {
    const [first] = circle
    const named = first && byId.get(first)
    const message = `needs itself: ${[...circle, first].join(' → ')}`
    return named ? [at(named, [], message, 'let one of them be read, not derived')] : []
  })
}

/** A sum, and what is taken of a window, has the unit of its inputs; growth is in percent. */
function unitMistakes(placedValue: PlacedValue, specs: ReadonlyMap<MetricId, MetricSpec>): PlacedMistake[] {
  const { value } = placedValue
  const { unit } = specs.get(placedValue.id) ?? {}
  if (value.kind === 'window' && value.take !== 'change' && isComparison(value)) {
    if (unit === undefined || unit === '%') return []
    return [at(placedValue, ['unit'], `${quoted(unit)} does not fit: ${value.take} is in percent`, 'write unit: "%"')]
  }
  if (value.kind === 'formula' && (value.operation === 'product' || value.operation === 'ratio')) return []
  const inputs = namedInputs(placedValue).flatMap(({ id, path }) => {
    const own = specs.get(id)?.unit
    return own === undefined ? [] : [{ id, path, unit: own }]
  })
  const [first] = inputs
  if (!first) return []
  const differingInput = inputs.find(input => input.unit !== first.unit)
  const operation = value.kind === 'window' ? value.take : value.operation
  if (differingInput) {
    const message = `${differingInput.id} is in ${quoted(differingInput.unit)}, and ${first.id} in ${quoted(first.unit)}: a ${operation} has one unit`
    return [
      at(
        placedValue,
        differingInput.path,
        message,
        'convert one by a product with a rate before; correct a unit only where it is not what the value is in',
      ),
    ]
  }
  if (unit === undefined || unit === first.unit) return []
  const message = `${quoted(unit)} does not fit: ${first.id} is in ${quoted(first.unit)}, and so is its ${operation}`
  return [at(placedValue, ['unit'], message, `write unit: ${first.unit}`)]
}

/**
 * A formula needs its inputs of the same hour, also of a collector of which not every hour is expected; a comparison those of
 * two hours; another window one of an hour in it.
 */
function unexpectedInputs(placedValue: PlacedValue, givers: ReadonlyMap<MetricId, CollectorConfig>): PlacedMistake[] {
  const { value } = placedValue
  const ownHours = placedValue.collector.at ?? Array.from({ length: 24 }, (_, hour) => hour)
  return namedInputs(placedValue).flatMap(({ id, path }) => {
    const { at: inputHours } = givers.get(id) ?? {}
    if (!inputHours || ownHours.every(hour => hasInput(value, hour, inputHours))) return []
    const [hours, possibleHours] = [inputHours, inputHours.filter(hour => hasInput(value, hour, inputHours))].map(
      list => list.map(dayHourText),
    )
    const message = `${id} is expected at ${hours?.join(', ')} alone, and this at other hours, too`
    if (!possibleHours?.length) return [at(placedValue, path, message, 'write hours: 24')]
    const alternative = value.kind === 'window' ? '' : ', or take the value of a window'
    return [at(placedValue, path, message, `give this collector at: ["${possibleHours.join('", "')}"]${alternative}`)]
  })
}

/** Whether a value of an hour of the day has an input on every day, the first of a month included. */
function hasInput(value: DerivedValue, hour: number, inputHours: readonly number[]): boolean {
  const isInput = (other: number) => inputHours.includes((((hour - other) % 24) + 24) % 24)
  if (value.kind === 'formula') return isInput(0)
  if (isComparison(value)) return isInput(0) && isInput(value.hours)
  // A period begins with the hour that ends at 01:00.
  const windowHours = value.since ? hour || 24 : value.hours
  return Array.from({ length: Math.min(24, windowHours) }, (_, back) => back).some(isInput)
}

/** Delivered values are deleted after a time: a longer window is never full. */
function longWindows(placedValue: PlacedValue, { outbox }: Config): PlacedMistake[] {
  const { value } = placedValue
  const keptHours = Math.floor(outbox.keepMs / hourMs)
  if (value.kind === 'formula' || value.hours <= keptHours) return []
  const message = `values are kept for ${keptHours} h: a window of ${value.hours} h is never full`
  return [
    at(
      placedValue,
      [value.since ? 'since' : 'hours'],
      message,
      `write outbox: { keep: ${Math.ceil(value.hours / 24) + 1}d }, or fewer hours`,
    ),
  ]
}
