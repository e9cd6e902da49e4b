import type { AppContext } from '../../app/context.ts'
import { isPermanent } from '../../model/fault.ts'
import { hourAt } from '../../model/hour.ts'
import { collectParts } from '../collect-parts.ts'
import { selectCollectors } from '../open-context.ts'
import { quietEvents } from '../quiet-events.ts'
import { type Finding, warning } from './finding.ts'

/** Event sums whose contract or event is not there, by reading the current hour; only what is wrong is a finding. */
export async function eventFindings(context: AppContext): Promise<readonly Finding[]> {
  const collectors = selectCollectors(context.config, undefined).filter(({ use }) => use === 'event-sum')
  if (collectors.length === 0) return []
  const hour = hourAt(context.time.nowMs())
  const { parts } = await collectParts({ context, outbox: undefined, hour, units: 'locked' }, collectors)
  const failing = parts.flatMap(({ collector, fault }) =>
    fault && isPermanent(fault) ? [warning(collector.id, fault.message, fault.fix)] : [],
  )
  const quiet = (await quietEvents(context, parts)).map(({ part, text }) =>
    warning(part.collector.id, text, 'check its address and event: names of types, and which arguments are indexed'),
  )
  return [...failing, ...quiet]
}
