import type { CollectorConfig } from '../config/config.ts'
import type { Collected } from '../intake/collect.ts'
import { pushedMetric } from '../model/batch.ts'
import { faultLine } from '../model/fault.ts'
import { type Hour, hourText } from '../model/hour.ts'
import { labelCharsAdvised } from '../model/limits.ts'
import { labelOf } from '../model/metric.ts'
import type { Accepted } from '../outbox/metrics.ts'
import { note, print, printJson, printTable } from './terminal.ts'

/** One collector's part of a collected hour. */
export interface Part extends Collected {
  readonly collector: CollectorConfig
}

/** What was collected, for programs: metrics as they are sent. */
export function printPartsJson(parts: readonly Part[], hour: Hour): void {
  const accepted = parts.flatMap(part => part.accepted)
  const held = accepted.flatMap(({ metric, hold }) => (hold === undefined ? [] : [{ id: metric.id, reason: hold }]))
  const metrics = accepted.map(({ metric }) => pushedMetric(metric))
  printJson({ hour: hourText(hour), metrics, held, faults: faultsOf(parts) })
}

/**
 * What was collected, as a table.
 *
 * @param stored values of the hour that are in the outbox, by metric id: the first one stands
 */
export function printParts(parts: readonly Part[], hour: Hour, stored: ReadonlyMap<string, number>): void {
  const accepted = parts.flatMap(part => part.accepted)
  print(hourText(hour))
  const rows = accepted.map(entry => {
    const { id, value, unit } = entry.metric
    return [id, String(value), unit ?? '', remark(entry, stored.get(id))]
  })
  if (rows.length > 0) printTable(['metric', 'value', 'unit', 'remark'], rows, ['value'])
  for (const { collector, fault } of faultsOf(parts)) print(`not collected: ${collector}: ${fault}`)
  for (const { metric } of accepted) {
    const { length } = labelOf(metric)
    if (length <= labelCharsAdvised) continue
    note(`warning: the label of ${metric.id} has ${length} characters: above ${labelCharsAdvised} the service warns`)
  }
}

function remark({ metric, hold }: Accepted, stored: number | undefined): string {
  if (stored !== undefined && stored !== metric.value) return `collected before: ${stored} stands`
  return hold === undefined ? '' : `held: ${hold}`
}

function faultsOf(parts: readonly Part[]): { collector: string; fault: string }[] {
  return parts.flatMap(({ collector, fault }) => (fault ? [{ collector: collector.id, fault: faultLine(fault) }] : []))
}
