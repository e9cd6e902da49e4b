import { faultLine } from '../../model/fault.ts'
import { hourText } from '../../model/hour.ts'
import type { Balance } from '../../outbox/contract/balance.ts'
import type { BackfillDelivery } from '../backfill/delivery.ts'
import type { ConfigOption, JsonOption } from '../configured-command.ts'
import { asTyped } from '../configured-command.ts'
import { standing } from '../deliver-now.ts'
import { counted, note, print, printJson } from '../terminal.ts'
import type { HourEnd } from './collect-hours.ts'

type ReportOptions = ConfigOption & JsonOption

/** Result of a run. */
export interface CaughtUp {
  /** Hours that had their turn, in their order. */
  readonly ends: readonly HourEnd[]
  /** Number of hours that are due and had no turn. */
  readonly left: number
  /** Metrics by state at the start. */
  readonly before: Balance
  /** Metrics by state at the end. */
  readonly after: Balance
}

/** Reports that another process is at work on this outbox; which one was said before. */
export function noteSkipped({ by }: Pick<BackfillDelivery, 'by'>, { json }: ReportOptions): void {
  if (json) printJson({ skipped: by, hours: [], delivered: 0, undelivered: 0, left: 0 })
  note(
    by === 'daemon'
      ? 'nothing is done here: the daemon collects what is due, too'
      : 'nothing is done here: the next run takes what is due then',
  )
}

/** Prints an hour that had its turn. */
export function printHour({ hour, metrics, faults }: HourEnd): void {
  print(`${hourText(hour)}  ${counted(metrics, 'value')}`)
  for (const { collector, fault } of faults) print(`  not collected: ${collector}: ${faultLine(fault)}`)
}

/** Hours and metrics that a run left undone, a sentence each; empty when it is complete. */
export function incompleteSentences({ ends, before, after }: CaughtUp): string[] {
  const failed = ends.flatMap(({ hour, faults }) =>
    faults.map(({ collector, fault }) => `${collector} has not collected ${hourText(hour)}: ${faultLine(fault)}`),
  )
  const [dead, held] = [after.dead - before.dead, after.held - before.held]
  return [
    ...failed,
    ...(after.due > 0 ? [`${counted(after.due, 'metric')} not delivered`] : []),
    ...(dead > 0 ? [`the service refused ${counted(dead, 'metric')} for good`] : []),
    ...(held > 0 ? [`${counted(held, 'metric')} held until a person decides`] : []),
  ]
}

/** Prints the sum of a run: hours, deliveries, and what is left. */
export function printCaughtUp(report: CaughtUp, options: ReportOptions): void {
  const { ends, left, before, after } = report
  const delivered = after.delivered - before.delivered
  if (options.json) {
    const hours = ends.map(({ hour, metrics, faults }) => ({
      hour: hourText(hour),
      metrics,
      faults: faults.map(({ collector, fault }) => ({ collector, fault: faultLine(fault) })),
    }))
    printJson({ hours, delivered, undelivered: after.due, left })
    return
  }
  const failed = ends.filter(({ faults }) => faults.length > 0).length
  const but = failed > 0 ? `, ${failed} of them not completely` : ''
  const what = ends.length > 0 ? `${counted(ends.length, 'hour')} collected${but}` : 'no hour is due'
  print(`${what}; ${counted(delivered, 'metric')} delivered`)
  if (left > 0) print(`${counted(left, 'more hour')} ${left === 1 ? 'is' : 'are'} due: run it again`)
  const [dead, held] = [after.dead - before.dead, after.held - before.held]
  if (after.due + dead + held > 0) {
    const next = after.due > 0 ? ` (${asTyped('flush', options)}, or the next run)` : ''
    note(`${counted(after.due, 'metric')} not delivered${next}${standing({ dead, held }, options)}`)
  }
}
