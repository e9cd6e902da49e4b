import type { AppContext } from '../../app/context.ts'
import { hourPlanOf } from '../../intake/due-hours.ts'
import type { Hour } from '../../model/hour.ts'
import { hourMs, recollectCapMs } from '../../model/limits.ts'
import { metricId } from '../../model/metric.ts'
import type { DueHour } from '../../outbox/contract/hours.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { askService, type ServiceListing } from '../ask-service.ts'
import { counted, note } from '../terminal.ts'
import type { UsableCollector } from '../usable-collectors.ts'
import { type CollectorListing, listingOf } from './listed-hours.ts'

/** A collector and one of its due hours. */
export interface DueRun extends UsableCollector {
  readonly due: DueHour
}

/** Dependencies of `planDueHours`. */
export interface DueHoursDeps {
  readonly context: AppContext
  readonly outbox: Pick<Outbox, 'intake' | 'status'>
  readonly current: Hour
}

/**
 * Plans the hours that are due since the last delivered one, and gives all that are due. The service is asked about
 * collectors that the outbox does not know: it may be a new one of a machine that keeps nothing.
 */
export async function planDueHours(
  deps: DueHoursDeps,
  usable: readonly UsableCollector[],
): Promise<ReadonlyMap<Hour, readonly DueRun[]>> {
  const { context, outbox, current } = deps
  const ids = usable.map(({ collector }) => collector.id)
  const known = await outbox.status.newestDelivered(ids, current, context.time.nowMs())
  const unknown = usable.filter(({ collector }) => !known.has(collector.id))
  const listings = await listingsOf(deps, unknown)
  await Promise.all(usable.map(one => plan(deps, one, listings.get(one.collector.id))))
  const byHour = Map.groupBy(await dueRuns(deps, usable), ({ due }) => due.hour)
  return new Map([...byHour].sort(([one], [other]) => one - other))
}

/** Collectors named in one line. */
const namesMax = 5

type FirstPlan = CollectorListing | 'first-run' | 'unreadable'

/** First plans of collectors that the outbox does not know, reported on stderr. */
async function listingsOf(
  { context, current }: DueHoursDeps,
  unknown: readonly UsableCollector[],
): Promise<ReadonlyMap<string, FirstPlan>> {
  if (unknown.length === 0) return new Map()
  const protocolIds = [...new Set(unknown.map(({ collector }) => collector.protocolId))]
  const answers = await askService(context, protocolIds)
  const plans = unknown.map(one => [one.collector.id, firstPlanOf(one, answers, current)] as const)
  tellFirstPlans(plans, answers)
  return new Map(plans)
}

function firstPlanOf(
  { collector: { protocolId }, description }: UsableCollector,
  answers: ReadonlyMap<string, ServiceListing>,
  current: Hour,
): FirstPlan {
  const answer = answers.get(protocolId)
  if (answer?.kind !== 'read') return 'unreadable'
  const metrics = Object.keys(description.metrics).map(label => metricId(protocolId, label))
  return listingOf(metrics, answer.listed, current) ?? 'first-run'
}

function tellFirstPlans(
  plans: readonly (readonly [id: string, FirstPlan])[],
  answers: ReadonlyMap<string, ServiceListing>,
): void {
  for (const [id, answer] of answers) {
    if (answer.kind === 'read') continue
    note(`it cannot be read what the service has of ${id}: ${answer.reason}`)
    note('  → the current hour alone is collected; for past ones: tidegauge backfill')
  }
  const first = plans.filter(([, one]) => one === 'first-run').map(([id]) => id)
  const who = first.length > namesMax ? counted(first.length, 'collector') : first.join(', ')
  if (first.length > 0) note(`first run of ${who}: the current hour alone, or from its since on`)
  const listed = plans.filter(([, one]) => typeof one === 'object')
  if (listed.length > 0)
    note(`no outbox from before: the service says what it has of ${counted(listed.length, 'collector')}`)
}

async function plan(
  { context, outbox, current }: DueHoursDeps,
  one: UsableCollector,
  first?: FirstPlan,
): Promise<void> {
  const { collector, description } = one
  const { id } = collector
  const listing = typeof first === 'object' ? first : undefined
  const since = sinceOf(collector.since, first)
  const planned = hourPlanOf({
    collector: { id, ...(since !== undefined && { since }) },
    history: description.history,
    current,
    catchUpMs: context.config.collect.catchUpMs,
  })
  if (planned) await outbox.intake.planHours(planned)
  const had = (listing?.complete ?? []).filter(hour => planned && hour >= planned.oldest && hour >= (since ?? hour))
  // The service has the values of these: nothing is left to collect.
  const nowMs = context.time.nowMs()
  await Promise.all(had.map(hour => outbox.intake.record({ collector: id, hour, accepted: [] }, nowMs)))
}

/** First expected hour: the later one of the configuration and of what the service has. */
function sinceOf(configured: Hour | undefined, first: FirstPlan | undefined): Hour | undefined {
  // Else all hours since the start would be sent again at each run: nothing says which are delivered.
  if (first === 'unreadable') return undefined
  if (typeof first !== 'object') return configured
  return configured !== undefined && configured > first.from ? configured : first.from
}

/** All due hours, also those whose next attempt is yet to come: this run may be the last one for hours. */
async function dueRuns(
  { context, outbox, current }: DueHoursDeps,
  usable: readonly UsableCollector[],
): Promise<DueRun[]> {
  const byId = new Map(usable.map(one => [one.collector.id, one]))
  const limit = Math.ceil(context.config.collect.catchUpMs / hourMs) + 1
  const nowMs = context.time.nowMs() + recollectCapMs
  const due = await outbox.intake.dueHours({ collectors: [...byId.keys()], current, nowMs, limit })
  return due.flatMap(one => {
    const collector = byId.get(one.collector)
    return collector ? [{ ...collector, due: one }] : []
  })
}
