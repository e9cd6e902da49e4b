import { setImmediate } from 'node:timers/promises'
import type { CollectorConfig } from '../config/config.ts'
import { Fault, type FaultRecord, faultRecord } from '../model/fault.ts'
import { type Hour, hoursFrom } from '../model/hour.ts'
import { type MetricId, metricId } from '../model/metric.ts'
import { type DayHours, isExpected } from '../model/rhythm.ts'
import type { Accepted, InputRange, StoredInput, StoredInputs } from '../outbox/contract/metrics.ts'
import { ProvenanceSource } from '../runner/daemon/process-runner.ts'
import {
  type DerivedValue,
  derivedNumber,
  derivedValues,
  type InputValue,
  inputRanges,
  reachOf,
} from './derived/derived-values.ts'
import {
  asFault,
  type Collected,
  type HourToRead,
  hourFault,
  type PastStore,
  readPasts,
  validate,
  WindowPast,
} from './validate.ts'

/** A value of an hour that is to be computed. */
interface WantedHours {
  readonly run: HourToRead
  readonly value: DerivedValue
}

/** A computed value, or why there is none. */
type Computed = Accepted | { readonly failure: FaultRecord }

/**
 * Computes hours of derived collectors from what is stored, and from each other: whatever order they are given in, an input
 * comes before what is computed from it. Each value is validated before another one uses it. Rejects with the outbox's error
 * alone.
 *
 * @param collectors all collectors of the configuration. Default: those of the runs
 * @returns the results in the order of the runs
 */
export async function collectDerived(
  runs: readonly HourToRead[],
  store: PastStore,
  collectors: readonly CollectorConfig[] = runs.map(({ collector }) => collector),
): Promise<Collected[]> {
  if (runs.length === 0) return []
  const runValues = runs.flatMap(run => derivedValues(run.collector).map((value): WantedHours => ({ run, value })))
  const collectorHours = runs.map(({ collector: { id: collector }, hour }) => ({ collector, hour }))
  const ranges = joined(runValues.flatMap(({ run: { hour }, value }) => inputRanges(value, hour)))
  const inputs = await store.inputs(ranges, collectorHours)
  const keys = runValues.map(({ run: { collector, hour }, value }) => {
    return { id: metricId(collector.protocolId, value.label), hour }
  })
  const past = new WindowPast(await readPasts(store, keys))
  const hours = new DerivedHours(runValues, inputs, past, collectors)
  for (const hour of [...new Set(runs.map(run => run.hour))].sort((a, b) => a - b)) {
    hours.compute(hour)
    await setImmediate()
  }
  return runs.map((run, place) => hours.resultOf(run, inputs.changes[place] ?? 0))
}

/** An input of a derived value, as it is stored. */
export interface DerivedInput {
  readonly metric: MetricId
  readonly hour: Hour
  readonly input: InputValue
}

/** The inputs of a derived value of an hour, the oldest first; none of a value that is not derived. */
export async function inputsOfHour(
  { collector, hour }: Pick<HourToRead, 'collector' | 'hour'>,
  label: string,
  store: PastStore,
): Promise<DerivedInput[]> {
  const value = derivedValues(collector).find(one => one.label === label)
  const ranges = value ? inputRanges(value, hour) : []
  const { values } = await store.inputs(ranges, [])
  return ranges.flatMap(({ id, from, to }) =>
    hoursFrom(from, to).map(at => ({ metric: id, hour: at, input: asInput(values.get(id)?.get(at)) })),
  )
}

/** The stored values, and collected ones that are about to be stored: where a metric has a value already, that one stands. */
export function withCollected(store: PastStore, newValues: readonly Accepted[]): PastStore {
  if (newValues.length === 0) return store
  return {
    pasts: metrics => store.pasts(metrics),
    inputs: async (ranges, collectorHours) => {
      const { values, ...metadata } = await store.inputs(ranges, collectorHours)
      const valuesById = new Map([...values].map(([id, own]) => [id, new Map(own)]))
      for (const { metric, hold } of newValues) {
        const { id, hour, value, unit } = metric
        const byHour = valuesById.get(id) ?? new Map<Hour, StoredInput>()
        valuesById.set(id, byHour)
        if (!byHour.has(hour))
          byHour.set(hour, { value, state: hold ? 'held' : 'due', ...(unit !== undefined && { unit }) })
      }
      return { values: valuesById, ...metadata }
    },
  }
}

/** Ranges of each metric without those that others hold. */
function joined(ranges: readonly InputRange[]): InputRange[] {
  return [...Map.groupBy(ranges, ({ id }) => id).values()].flatMap(own => {
    const joinedRanges: InputRange[] = []
    for (const range of own.toSorted((a, b) => a.from - b.from)) {
      const last = joinedRanges.at(-1)
      if (!last || range.from > last.to) joinedRanges.push(range)
      else if (range.to > last.to) joinedRanges[joinedRanges.length - 1] = { ...last, to: range.to }
    }
    return joinedRanges
  })
}

/** Hours under computation: each value once, and after its inputs. */
class DerivedHours {
  readonly #byHour: ReadonlyMap<Hour, ReadonlyMap<MetricId, WantedHours>>
  readonly #stored: StoredInputs['values']
  readonly #givers: StoredInputs['givers']
  readonly #rhythms: ReadonlyMap<string, DayHours | undefined>
  readonly #past: WindowPast
  readonly #reach: ReturnType<typeof reachOf>
  readonly #computed = new Map<WantedHours, Computed>()
  readonly #underWay = new Set<WantedHours>()

  constructor(
    runValues: readonly WantedHours[],
    { values, givers }: StoredInputs,
    past: WindowPast,
    collectors: readonly CollectorConfig[],
  ) {
    const idOf = ({ run: { collector }, value }: WantedHours) => metricId(collector.protocolId, value.label)
    const byHour = Map.groupBy(runValues, ({ run }) => run.hour)
    this.#byHour = new Map([...byHour].map(([hour, own]) => [hour, new Map(own.map(one => [idOf(one), one]))]))
    this.#stored = values
    this.#givers = givers
    this.#rhythms = new Map(collectors.map(({ id, at }) => [id, at]))
    this.#past = past
    this.#reach = reachOf(collectors)
  }

  compute(hour: Hour): void {
    for (const one of this.#byHour.get(hour)?.values() ?? []) this.#valueOf(one)
  }

  resultOf(run: HourToRead, inputChanges: number): Collected {
    const own = [...(this.#byHour.get(run.hour)?.values() ?? [])].filter(one => one.run === run)
    const results = own.map(one => [one.value.label, this.#valueOf(one)] as const)
    const computedValues = results.flatMap(([, one]) => ('failure' in one ? [] : [one]))
    // The hour has the fault of the first: what waits for no window comes before what does.
    const failed = results.flatMap(([label, one]) => ('failure' in one ? [[label, one.failure] as const] : []))
    const failures = Object.fromEntries(failed.toSorted(([, a], [, b]) => Number(isWindow(a)) - Number(isWindow(b))))
    const fault = hourFault(failures)
    return {
      acceptedValues: computedValues,
      failures,
      pins: [],
      provenance: provenanceOf(run),
      inputChanges,
      ...(fault && { fault }),
    }
  }

  #valueOf(runValue: WantedHours): Computed {
    const known = this.#computed.get(runValue)
    if (known) return known
    this.#underWay.add(runValue)
    const outcome = this.#computedNow(runValue)
    this.#underWay.delete(runValue)
    this.#computed.set(runValue, outcome)
    if ('metric' in outcome) this.#past.add([outcome])
    return outcome
  }

  #computedNow({ run, value }: WantedHours): Computed {
    const { collector, description, hour } = run
    const { label } = value
    const spec = description.metrics[label]
    try {
      const number = derivedNumber(value, hour, (id, at) => this.#inputOf(id, at), this.#reach)
      const outcome = { readings: { [label]: number }, failures: {}, pins: [] }
      const own = { ...description, metrics: spec ? { [label]: spec } : {} }
      const { acceptedValues, failures } = validate(collector, hour, own, outcome, this.#past.of)
      return acceptedValues[0] ?? { failure: failures[label] ?? faultRecord(unusable) }
    } catch (error) {
      return { failure: faultRecord(asFault(error)) }
    }
  }

  #inputOf(id: MetricId, hour: Hour): InputValue {
    const runValue = this.#byHour.get(hour)?.get(id)
    if (!runValue) return this.#storedInput(id, hour)
    // The check of the configuration refuses a circle: this one has appeared since.
    if (this.#underWay.has(runValue)) return { lacks: 'has no value' }
    const outcome = this.#valueOf(runValue)
    if ('failure' in outcome) return { lacks: 'has no value' }
    const storedInput = this.#stored.get(id)?.get(hour)
    // A person has decided on it, or is to: it stays so, but a dead one is sent again with another value.
    const isKept = storedInput && (storedInput.state !== 'dead' || storedInput.value === outcome.metric.value)
    if (isKept && !('value' in asInput(storedInput))) return asInput(storedInput)
    return asInput({ ...outcome.metric, state: outcome.hold ? 'held' : 'due' })
  }

  #storedInput(id: MetricId, hour: Hour): InputValue {
    const input = asInput(this.#stored.get(id)?.get(hour))
    const at = this.#rhythms.get(this.#givers.get(id) ?? '')
    return 'lacks' in input && input.lacks === 'has no value' && !isExpected({ at }, hour)
      ? { lacks: 'is not expected' }
      : input
  }
}

function isWindow({ code }: FaultRecord): boolean {
  return code === 'window-incomplete'
}

const unusable = new Fault('collector-output', 'it is no metric')

/** A stored value as an input. One that a person gave up counts as missing. */
function asInput(storedInput: StoredInput | undefined): InputValue {
  if (!storedInput || storedInput.state === 'dropped') return { lacks: 'has no value' }
  if (storedInput.state === 'held') return { lacks: 'is held' }
  const { state, value, unit } = storedInput
  return state === 'dead' ? { lacks: 'is dead' } : { value, unit }
}

const origins = new ProvenanceSource({})

function provenanceOf({ collector: { id, use, options, place } }: HourToRead) {
  return { ...origins.present({ id, use, options, configFile: place.file }), hosts: {} }
}
