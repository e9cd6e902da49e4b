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

/** Distinct messages quoted in the fault of an hour. */
const shownMessagesMax = 3

/** The fault of an hour whose labels failed; `undefined` when none did. */
export function hourFault(failures: Validated['failures']): Fault | undefined {
  const records = Object.values(failures)
  const [first] = records
  if (!first) return undefined
  const messages = [...new Set(records.map(({ message }) => message))].slice(0, shownMessagesMax)
  const fixes = records.flatMap(({ fix }) => fix ?? [])
  // If one label may succeed later, all are retried.
  const lead = records.find(record => !isPermanent(faultFromRecord(record))) ?? first
  return new Fault(lead.code, messages.join('; '), {
    facts: { ...first.facts, failed: Object.keys(failures).join(' ') },
    ...(fixes[0] === undefined ? {} : { fix: fixes[0] }),
  })
}
