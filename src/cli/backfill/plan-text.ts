import { type Fault, faultLine } from '../../model/fault.ts'
import { hourText } from '../../model/hour.ts'
import { printTable } from '../table.ts'
import { counted, grouped, print, printJson } from '../terminal.ts'
import type { HourSpan } from './options.ts'
import type { BackfillPlan } from './plan.ts'
import { durationText } from './progress.ts'
import { callsText } from './summary.ts'

interface SampledFault {
  readonly collector: string
  readonly hour: string
  readonly fault: Fault
}

function faultsOf({ faults }: BackfillPlan): SampledFault[] {
  return faults.flatMap(({ work, hour, fault }) =>
    fault ? [{ collector: work.collector.id, hour: hourText(hour), fault }] : [],
  )
}

/** Prints the plan as JSON. */
export function printPlanJson(plan: BackfillPlan, { from, to }: HourSpan): void {
  const { works, hours, cost, pushes, durationMs, certainty, spent, hoursRead } = plan
  printJson({
    from: hourText(from),
    to: hourText(to),
    collectors: works.map(({ collector, hours: own, alreadyCollected, leftToDaemon, impossible, metrics }) => ({
      collector: collector.id,
      hours: own.length,
      there: alreadyCollected,
      daemons: leftToDaemon,
      impossible,
      metrics,
    })),
    hours,
    calls: cost.calls,
    requests: cost.requests,
    pushes,
    durationMs: Math.round(durationMs),
    certainty,
    sample: {
      ...spent,
      hours: hoursRead.map(hour => hourText(hour)),
      faults: faultsOf(plan).map(({ fault, ...rest }) => ({ ...rest, reason: faultLine(fault) })),
    },
  })
}

/** Prints the plan for a person. */
export function printPlan(plan: BackfillPlan): void {
  const { works, hours, cost, pushes, durationMs, certainty, spent, hoursRead } = plan
  printTable(
    ['collector', 'hours to do', 'already there', 'the daemon’s', 'not possible', 'metrics'],
    works.map(({ collector, hours: own, alreadyCollected, leftToDaemon, impossible, metrics }) => [
      collector.id,
      ...[own.length, alreadyCollected, leftToDaemon, impossible, metrics].map(grouped),
    ]),
    ['hours to do', 'already there', 'the daemon’s', 'not possible', 'metrics'],
  )
  if (certainty === 'unknown') print(`\n${counted(hours, 'hour')}; their cost is unknown, as none could be read`)
  else {
    print(`\n${counted(hours, 'hour')}; about ${callsText(cost)}, ${counted(pushes, 'push', 'pushes')}`)
    print(`about ${durationText(durationMs)}; nothing was stored or sent`)
  }
  const read = hoursRead.map(hour => hourText(hour)).join(' and ')
  print(`${read === '' ? 'to see that' : `for this ${read} were read`}: ${callsText(spent)}`)
  for (const { collector, hour, fault } of faultsOf(plan)) {
    print(`${hour} could not be read by ${collector}: ${faultLine(fault)}`)
  }
  const isLimited = plan.faults.some(({ fault }) => fault?.code !== 'chain-before-first-block')
  if (isLimited && certainty !== 'unknown') print('the plan does not include the cost of more hours like these')
}
