import type { CollectorConfig } from '../config/config.ts'
import { type Collected, type FailureGroup, failureGroups, failureLine } from '../intake/validate.ts'
import { pushedMetric } from '../model/batch.ts'
import { faultLine } from '../model/fault.ts'
import { type Hour, hourText } from '../model/hour.ts'
import type { MetricId } from '../model/metric.ts'
import { numberText } from '../model/number-text.ts'
import type { Accepted, MetricState } from '../outbox/contract/metrics.ts'
import type { Warning } from '../outbox/contract/warnings.ts'
import type { Foreseen } from './foreseen.ts'
import { noteForeseen } from './foreseen-text.ts'
import { printTable } from './table.ts'
import { counted, print, printJson } from './terminal.ts'

/** The result of one collector for the hour. */
export interface CollectedPart extends Collected {
  readonly collector: CollectorConfig
}

/** Input for printing a collected hour. */
export interface CollectedReport {
  readonly hour: Hour
  readonly parts: readonly CollectedPart[]
  /** Earlier values of the hour in the outbox, by metric id: the first value stands. */
  readonly stored: ReadonlyMap<MetricId, { readonly value: number; readonly state: MetricState }>
  /** Warnings that the service would answer with, and of events that are not seen. */
  readonly warnings: readonly Foreseen[]
}

/**
 * Prints the collected values as JSON: metrics as they are sent.
 *
 * @param ofService warnings of the service on the push; default: nothing was pushed
 */
export function printPartsJson({ hour, parts, warnings }: CollectedReport, ofService?: readonly Warning[]): void {
  const accepted = parts.flatMap(part => part.accepted)
  const held = accepted.flatMap(({ metric, hold }) => (hold ? [{ id: metric.id, ...hold }] : []))
  const metrics = accepted.map(({ metric }) => pushedMetric(metric))
  const serviceWarnings = ofService?.map(({ metricId, text }) => ({ ...(metricId && { metric: metricId }), text }))
  printJson({
    hour: hourText(hour),
    metrics,
    held,
    warnings,
    ...(serviceWarnings && { serviceWarnings }),
    faults: faultsOf(parts),
  })
}

/** Prints the collected values as a table. */
export function printParts({ hour, parts, stored, warnings }: CollectedReport): void {
  const accepted = parts.flatMap(part => part.accepted)
  print(hourText(hour))
  const rows = accepted.map(entry => {
    const { id, value, unit } = entry.metric
    return [id, numberText(value), unit ?? '', remark(entry, stored.get(id))]
  })
  if (rows.length > 0) printTable(['metric', 'value', 'unit', 'remark'], rows, ['value'])
  for (const { collector, fault, values } of faultsOf(parts)) {
    print(`not collected: ${collector}: ${values.length > 1 ? counted(values.length, 'reason') : fault}`)
    if (values.length > 1) for (const value of values) print(`  ${failureLine(value)}`)
  }
  noteForeseen(warnings)
}

/** Notes for stored values that are neither due nor delivered. */
const stays = { dead: 'refused by the service: it stays dead', held: 'held before', dropped: 'dropped by a person' }

function remark({ metric, hold }: Accepted, before: { value: number; state: MetricState } | undefined): string {
  if (!before) return hold ? `held: ${hold.kind === 'unit' ? 'another unit' : hold.reason}` : ''
  const remarks = [
    ...(before.value === metric.value ? [] : [`collected before: ${numberText(before.value)} stands`]),
    ...(before.state === 'due' || before.state === 'delivered' ? [] : [stays[before.state]]),
  ]
  return remarks.join('; ')
}

interface FaultReport {
  readonly collector: string
  readonly fault: string
  /** Labels without a value, by reason; empty when the run failed as a whole. */
  readonly values: readonly FailureGroup[]
}

function faultsOf(parts: readonly CollectedPart[]): FaultReport[] {
  return parts.flatMap(({ collector, fault, failures }) =>
    fault ? [{ collector: collector.id, fault: faultLine(fault), values: failureGroups(failures) }] : [],
  )
}
