import type { CollectorConfig } from '../config/config.ts'
import type { PinnedBlock } from '../model/block.ts'
import { Fault, type FaultRecord, faultFromRecord, isPermanent } from '../model/fault.ts'
import { type Hour, hourAfter, hourText } from '../model/hour.ts'
import { hourMs, jumpHoursMax } from '../model/limits.ts'
import { type Metric, type MetricId, type MetricSpec, metricId, type Provenance } from '../model/metric.ts'
import { exactText } from '../model/number-text.ts'
import { submittedMetric } from '../model/wire.ts'
import type { IntakeStore } from '../outbox/contract/intake-store.ts'
import { type Accepted, type Hold, type Past, unitHold, type ValueToJudge } from '../outbox/contract/metrics.ts'
import type { CollectorDescription, DescribeResult, RunOutcome } from '../runner/runner.ts'

/** Validated result of a run: every declared label that is not private is in exactly one of the two. */
export interface Validated {
  readonly acceptedValues: readonly Accepted[]
  /** Why labels have no value, by label. */
  readonly failures: Readonly<Record<string, FaultRecord>>
}

/**
 * Turns readings into metrics. A reading that does not fit the interface fails only its own label.
 *
 * @param pastOf history of a metric id at that hour
 */
export function validate(
  { protocolId }: Pick<CollectorConfig, 'protocolId'>,
  hour: Hour,
  description: CollectorDescription,
  outcome: RunOutcome,
  pastOf: PastOf,
): Validated {
  const failures: Record<string, FaultRecord> = { ...missing(description, outcome), ...outcome.failures }
  const values: Accepted[] = []
  for (const [label, value] of Object.entries(outcome.readings)) {
    const spec = Object.hasOwn(description.metrics, label) ? description.metrics[label] : undefined
    // A collector's process may send any label: undeclared ones are not metrics.
    if (!spec) {
      failures[label] = outputFault(label, `"${label}": returned but not declared`)
      continue
    }
    const metric = metricOf(protocolId, label, hour, value, spec)
    const mismatch = submittedMetric.safeParse(metric).error?.issues[0]
    if (mismatch) {
      failures[label] = outputFault(label, `${mismatch.path.join('.')}: ${mismatch.message}`)
    } else {
      const isOfNone = outcome.ofNone?.includes(label) ?? false
      const hold = holdOf(metric, spec, pastOf(metric.id, hour, isOfNone), isOfNone)
      values.push({ metric, ...(hold && { hold }), ...(spec.private && { isPrivate: true }) })
    }
  }
  return { acceptedValues: values, failures }
}

/** The metrics that a run has values of: their history is needed to judge them. */
export function metricsOf(
  { protocolId }: Pick<CollectorConfig, 'protocolId'>,
  hour: Hour,
  { metrics }: CollectorDescription,
  { readings, ofNone = [] }: RunOutcome,
): ValueToJudge[] {
  const declared = Object.keys(readings).filter(label => Object.hasOwn(metrics, label))
  return declared.map(label => ({ id: metricId(protocolId, label), hour, isOfNone: ofNone.includes(label) }))
}

/** Declared labels that a run does not mention, and must. */
function missing({ metrics }: CollectorDescription, { readings, failures }: RunOutcome): Record<string, FaultRecord> {
  const missingLabels = Object.keys(metrics).filter(
    label => !metrics[label]?.private && !Object.hasOwn(readings, label) && !Object.hasOwn(failures, label),
  )
  const faultOf = (label: string) => outputFault(label, `"${label}" is declared, but missing in what collect returned`)
  return Object.fromEntries(missingLabels.map(label => [label, faultOf(label)]))
}

function metricOf(protocolId: string, label: string, hour: Hour, value: number, { unit, module }: MetricSpec): Metric {
  return {
    id: metricId(protocolId, label),
    protocolId,
    hour,
    // −0 is sent as 0, and two runs of the same hour must give the same bytes.
    value: value === 0 ? 0 : value,
    ...(unit === undefined ? {} : { unit }),
    ...(module === undefined ? {} : { module }),
  }
}

function outputFault(label: string, message: string): FaultRecord {
  return { code: 'collector-output', message, facts: { label } }
}

/** Labels that failed for one reason. */
interface FailureGroup {
  readonly labels: readonly string[]
  readonly reason: string
  /** Instruction for a person; absent when there is nothing to do. */
  readonly fix?: string
}

/** Reasons in the fault of an hour, and labels of one reason, that are named; further ones are counted. */
const namedMax = 10

/** Why labels have no value: each reason with its labels. */
export function failureGroups(failures: Validated['failures']): readonly FailureGroup[] {
  const groups = new Map<string, { labels: string[]; reason: string; fix?: string }>()
  for (const [label, { message, fix }] of Object.entries(failures)) {
    // A message may begin with its label, which stands before it anyway.
    const reason = message.startsWith(`"${label}"`) ? message.slice(label.length + 2).replace(/^:? /, '') : message
    const group = groups.get(`${reason} ${fix}`) ?? { labels: [], reason, ...(fix !== undefined && { fix }) }
    group.labels.push(label)
    groups.set(`${reason} ${fix}`, group)
  }
  return [...groups.values()]
}

/** A reason with its labels, as one line. */
export function failureLine({ labels, reason, fix }: FailureGroup): string {
  const more = labels.length - namedMax
  const named = labels.slice(0, namedMax).join(', ')
  return `${named}${more > 0 ? ` and ${more} more` : ''}: ${reason}${fix === undefined ? '' : ` – ${fix}`}`
}

/** The fault of an hour whose labels failed; `undefined` when none did. */
export function hourFault(failures: Validated['failures']): Fault | undefined {
  const records = Object.values(failures)
  const [first] = records
  const groups = failureGroups(failures)
  const [group] = groups
  if (!first || !group) return undefined
  // If one label may succeed later, all are retried.
  const { code } = records.find(record => !isPermanent(faultFromRecord(record))) ?? first
  if (groups.length === 1) {
    const { fix, ...rest } = group
    return new Fault(code, failureLine(rest), { facts: first.facts, ...(fix !== undefined && { fix }) })
  }
  const more = groups.length - namedMax
  const lines = groups.slice(0, namedMax).map(failureLine)
  return new Fault(code, `${lines.join('; ')}${more > 0 ? `; and ${more} more reason${more === 1 ? '' : 's'}` : ''}`)
}

/** History of a metric id at an hour, as far back as one of no items needs it; `undefined` for a new one. */
export type PastOf = (id: MetricId, hour: Hour, isOfNone?: boolean) => Past | undefined

/** The part of the outbox that knows the history of metrics. */
export type PastStore = Pick<IntakeStore, 'pasts' | 'inputs'>

/** The history where nothing was ever stored. */
export const noPasts: PastStore = {
  pasts: async metrics => metrics.map(() => undefined),
  inputs: async (_, of) => ({ values: new Map(), givers: new Map(), changes: of.map(() => 0) }),
}

/** Reads the history of metrics at once, to judge their new values by. */
export async function readPasts(store: PastStore, metrics: readonly ValueToJudge[]): Promise<PastOf> {
  const pasts = metrics.length > 0 ? await store.pasts(metrics) : []
  const known = new Map(metrics.map((metric, place) => [keyOf(metric.id, metric.hour), pasts[place]]))
  return (id, hour) => known.get(keyOf(id, hour))
}

function keyOf(id: MetricId, hour: Hour): string {
  return `${hour} ${id}`
}

/**
 * History of metrics while a window is validated before it is stored: whether a value is held must not depend on how
 * many hours are read together.
 */
export class WindowPast {
  readonly #stored: PastOf
  readonly #metrics = new Map<MetricId, Map<Hour, Metric>>()

  /** @param stored history in the outbox, before the window */
  constructor(stored: PastOf) {
    this.#stored = stored
  }

  /** Adds the validated metrics of an hour; hours ascend. */
  add(accepted: readonly Accepted[]): void {
    for (const { metric, hold } of accepted) {
      if (hold) continue
      const byHour = this.#metrics.get(metric.id) ?? new Map<Hour, Metric>()
      byHour.set(metric.hour, metric)
      this.#metrics.set(metric.id, byHour)
    }
  }

  readonly of: PastOf = (id, hour, isOfNone = false) => {
    const storedPast = this.#stored(id, hour)
    const nearest = this.#nearest(id, hour, storedPast?.previous?.hour, isOfNone)
    if (!nearest) return storedPast
    const { unit } = storedPast ?? nearest
    const previous: Past['previous'] = { hour: nearest.hour, value: nearest.value }
    return { ...(unit === undefined ? {} : { unit }), previous }
  }

  /** The nearest value of the day before in the window, of any hour before for one of none, unless the outbox has a nearer one. */
  #nearest(id: MetricId, hour: Hour, storedHour: Hour | undefined, isOfNone: boolean): Metric | undefined {
    const past = this.#metrics.get(id)
    const earliest = past?.keys().next().value ?? hour
    const backMax = isOfNone ? (hour - earliest) / hourMs : jumpHoursMax
    for (let back = 1; past && back <= backMax; back += 1) {
      const at = hourAfter(hour, -back)
      const metric = past.get(at)
      if (metric || at === storedHour) return metric
    }
    return undefined
  }
}

/**
 * Why a value is held until a person decides; `undefined` when it is plausible. Pure.
 *
 * @param past of its metric id; absent for the first value
 * @param isOfNone whether the value is the 0 of no items
 */
export function holdOf(
  metric: Metric,
  { min, max, maxJump }: MetricSpec,
  past: Past | undefined,
  isOfNone = false,
): Hold | undefined {
  const { value } = metric
  const bounds = (reason: string): Hold => ({ kind: 'bounds', reason })
  const other = past && unitHold(metric, past)
  if (other) return other
  if (min !== undefined && value < min)
    return bounds(`${exactText(value)} is below the declared minimum of ${exactText(min)}`)
  if (max !== undefined && value > max)
    return bounds(`${exactText(value)} is above the declared maximum of ${exactText(max)}`)
  const { previous } = past ?? {}
  if (isOfNone && previous && previous.value !== 0)
    return bounds(`there are no items, after ${exactText(previous.value)} at ${hourText(previous.hour)}`)
  if (maxJump === undefined || previous === undefined || !isJump(previous.value, value, maxJump)) return undefined
  const step = `${exactText(value)} after ${exactText(previous.value)}`
  return { kind: 'jump', reason: `${step} is a jump of more than the declared ${maxJump}` }
}

function isJump(previous: number, value: number, maxJump: number | string): boolean {
  const jump = Math.abs(value - previous)
  if (typeof maxJump === 'number') return jump > maxJump
  return jump > Math.abs(previous) * (Number.parseFloat(maxJump) / 100)
}

/** A collector and an hour to read. */
export interface HourToRead {
  readonly collector: CollectorConfig
  readonly description: CollectorDescription
  readonly hour: Hour
}

/** Validated result of one collector for one hour, not yet stored. */
export interface Collected {
  readonly acceptedValues: readonly Accepted[]
  /** Why it is not complete; absent when every declared label has a value. */
  readonly fault?: Fault
  /** The blocks it was read at. */
  readonly pins: readonly PinnedBlock[]
  /** Origin of the values. Default: not known. */
  readonly provenance?: Provenance
  /** Sentences about hosts that others contradict. Default: none is contradicted. */
  readonly contradicted?: readonly string[]
  /** Why labels have no value, by label; empty when the run failed as a whole. */
  readonly failures: Readonly<Record<string, FaultRecord>>
  /** Of a derived hour: how often its inputs had changed when they were read. */
  readonly inputChanges?: number
}

/** Validates the result of a run. */
export function checked({ collector, description, hour }: HourToRead, outcome: RunOutcome, pastOf: PastOf): Collected {
  const { acceptedValues, failures } = validate(collector, hour, description, outcome, pastOf)
  const fault = hourFault(failures)
  const { pins, provenance } = outcome
  return { acceptedValues, pins, failures, ...(provenance && { provenance }), ...(fault && { fault }) }
}

/** The values of a result, and how they came about, as they are stored. */
export function storedPart({ acceptedValues, pins, provenance, inputChanges }: Collected) {
  return {
    acceptedValues,
    pins,
    ...(provenance && { provenance }),
    ...(inputChanges !== undefined && { inputChanges }),
  }
}

/** Result of a run without values. */
export function nothing(fault: Fault): Collected {
  return { acceptedValues: [], pins: [], failures: {}, fault }
}

/** Description of a collector whose options fit. @throws Fault when it cannot be loaded, or its options are mistaken */
export function usable(collector: CollectorConfig, description: DescribeResult): CollectorDescription {
  if (description.kind === 'usable') return description
  const [first] = description.mistakes
  const path = first?.path.join('.') ?? ''
  throw new Fault(
    'config',
    `the options of ${collector.id} are wrong: ${path ? `${path}: ` : ''}${first?.message ?? ''}`,
    {
      facts: { mistakes: description.mistakes.length },
      fix: 'run tidegauge check',
    },
  )
}

/** Any thrown value as a Fault; one that is not a Fault came from a collector. */
export function asFault(error: unknown): Fault {
  if (error instanceof Fault) return error
  return new Fault('collector-threw', error instanceof Error ? error.message : String(error), { cause: error })
}
