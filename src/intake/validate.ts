import type { CollectorConfig } from '../config/config.ts'
import { Fault, type FaultRecord, faultFromRecord, isPermanent } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { type Metric, type MetricSpec, metricId } from '../model/metric.ts'
import { submittedMetric } from '../model/wire.ts'
import type { Accepted, MetricKey } from '../outbox/contract/metrics.ts'
import type { CollectorDescription, RunOutcome } from '../runner/runner.ts'
import type { PastOf } from './past.ts'
import { holdOf } from './plausibility.ts'

/** Validated result of a run: every declared label is in exactly one of the two. */
export interface Validated {
  readonly accepted: readonly Accepted[]
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
  const accepted: Accepted[] = []
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
      const hold = holdOf(metric, spec, pastOf(metric.id, hour))
      accepted.push(hold === undefined ? { metric } : { metric, hold })
    }
  }
  return { accepted, failures }
}

/** The metrics that a run has values of: their history is needed to judge them. */
export function metricsOf(
  { protocolId }: Pick<CollectorConfig, 'protocolId'>,
  hour: Hour,
  { metrics }: CollectorDescription,
  { readings }: RunOutcome,
): MetricKey[] {
  const declared = Object.keys(readings).filter(label => Object.hasOwn(metrics, label))
  return declared.map(label => ({ id: metricId(protocolId, label), hour }))
}

/** Declared labels that a run does not mention. */
function missing({ metrics }: CollectorDescription, { readings, failures }: RunOutcome): Record<string, FaultRecord> {
  const silent = Object.keys(metrics).filter(
    label => !Object.hasOwn(readings, label) && !Object.hasOwn(failures, label),
  )
  const faultOf = (label: string) => outputFault(label, `"${label}" is declared, but missing in what collect returned`)
  return Object.fromEntries(silent.map(label => [label, faultOf(label)]))
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
export interface FailureGroup {
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
  return new Fault(code, `${lines.join('; ')}${more > 0 ? `; and ${more} more reasons` : ''}`)
}
