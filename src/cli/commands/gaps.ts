import type { Command } from 'commander'
import type { AppContext } from '../../app/context.ts'
import { openExistingForListing } from '../../app/open-outbox.ts'
import type { CollectorConfig } from '../../config/config.ts'
import { DerivedOrder } from '../../intake/derived/derived-order.ts'
import { inputSpans } from '../../intake/derived/derived-values.ts'
import { faultFromRecord, faultLine } from '../../model/fault.ts'
import { type Hour, hourAfter, hourAt, hoursFrom, hourText } from '../../model/hour.ts'
import { overdueMs } from '../../model/limits.ts'
import type { MetricId } from '../../model/metric.ts'
import { shellWord } from '../../model/text.ts'
import type { CollectorHourRange } from '../../outbox/contract/hours.ts'
import type { OperatorStore } from '../../outbox/contract/operator-store.ts'
import { type Checked, checkEach, startLoadMsMax } from '../check-collectors.ts'
import { seenDaemon, untakenSentence } from '../daemon-answer.ts'
import { daemonSentence } from '../daemon-role.ts'
import { type OutboxCall, onOutbox } from '../outbox-action.ts'
import { type HourRangeOptions, hourRangeCommand, hourRangeOf, selectCollectors } from '../selection.ts'
import { printTable, rowsMax } from '../table.ts'
import { counted, cut, note, print } from '../terminal.ts'

/** Hours that are missing, and what to do. */
type AdvisedRange = CollectorHourRange & { readonly advice: string }

/** Ranges of uncollected hours. */
interface ListedHours {
  readonly gaps: readonly AdvisedRange[]
  /** Asked for by a backfill that could not read them. */
  readonly unreadRanges: readonly AdvisedRange[]
  readonly waitingRanges: readonly CollectorHourRange[]
  /** Whether no collector was ever asked for an hour. */
  readonly isNew: boolean
  /** Whether any hour is due, late or not. */
  readonly isAnyDue: boolean
}

/** Characters of a reason in a table. */
const reasonCharsMax = 60

/** `gaps`: uncollected hours, why, and what to do. */
export function gapsCommand(): Command {
  return hourRangeCommand('gaps')
    .description('uncollected hours, why, and what to do')
    .action(
      onOutbox<HourRangeOptions>(async call => {
        const { config } = call.context
        const untaken = untakenSentence(await seenDaemon(config.status), config)
        if (untaken !== undefined) note(untaken)
        const listing = await find(call)
        const { gaps, unreadRanges, waitingRanges } = listing
        return {
          json: () => ({
            gaps: gaps.map(rangeJson),
            notReadByBackfill: unreadRanges.map(rangeJson),
            notCollectedYet: waitingRanges.map(rangeJson),
          }),
          text: () => printFound(listing, call),
        }
      }, openExistingForListing),
    )
}

async function find({ context, outbox, options }: OutboxCall<HourRangeOptions>): Promise<ListedHours> {
  const { config, time } = context
  const { from, to } = hourRangeOf(options)
  const allCollectors = selectCollectors(config, undefined)
  const collectors = selectCollectors(config, options.only)
  const operators = outbox?.operators
  const status = outbox?.status
  const filter = {
    ...(options.only && { collectors: collectors.map(({ id }) => id) }),
    ...(from !== undefined && { from }),
  }
  const upTo = { ...filter, ...(to !== undefined && { to }) }
  const gaps = (await operators?.hourRanges('gap', upTo)) ?? []
  const lateHour = hourAt(time.nowMs() - overdueMs)
  const lastHour = to === undefined || to > lateHour ? lateHour : to
  const dueRanges = (await operators?.hourRanges('due', { ...filter, to: lastHour })) ?? []
  const unreadRanges = (await operators?.hourRanges('unread', upTo)) ?? []
  const isAnyDue = ((await operators?.hourRanges('due', upTo)) ?? []).length > 0
  const isWithin = lastHour === lateHour && (from ?? lateHour) <= lateHour
  const protocolIds = config.protocols.map(({ id }) => id)
  // As for readiness: hours that no daemon has planned have no row.
  const lateness =
    isWithin && (await status?.lateness({ collectors: allCollectors, protocolIds, destinations: [], hour: lateHour }))
  const missingIds = (lateness || undefined)?.missing ?? []
  const isNew = ((await status?.collectors()) ?? []).length === 0
  const allUnplanned = isNew ? [] : missingIds.map(collector => ({ collector, from: lateHour, to: lateHour, hours: 1 }))
  const unplannedRanges = allUnplanned.filter(({ collector }) => collectors.some(({ id }) => id === collector))
  const affectedCollectors = collectors.filter(({ id }) =>
    [...gaps, ...unreadRanges].some(({ collector }) => collector === id),
  )
  // An input that lacks may be of any collector, whether or not it is selected.
  const isInputMissing = unreadRanges.some(({ fault }) => fault?.code === 'input-missing')
  const loadedCollectors = isInputMissing ? allCollectors : affectedCollectors
  const { usable: usableCollectors } = await checkEach(loadedCollectors, context, startLoadMsMax)
  const order = new DerivedOrder(allCollectors)
  for (const { collector, description } of usableCollectors) order.described(collector, description)
  const holes = isInputMissing && operators ? [...(await holesOf(operators, lateHour)), ...allUnplanned] : []
  const unreadCauses = withoutConsequences(unreadRanges, holes, order)
  const mendable = mendableOf(affectedCollectors, usableCollectors)
  const withAdvice = (range: CollectorHourRange) => {
    const collector = affectedCollectors.find(({ id }) => id === range.collector)
    return { ...range, advice: gapAdvice(range, mendable(range.collector), collector) }
  }
  const waitingRanges = [...dueRanges, ...unplannedRanges]
  return { gaps: gaps.map(withAdvice), unreadRanges: unreadCauses.map(withAdvice), waitingRanges, isNew, isAnyDue }
}

/** All uncollected hours of all collectors that have a row. @param lateHour the last one that is late */
async function holesOf(operators: OperatorStore, lateHour: Hour): Promise<readonly CollectorHourRange[]> {
  const gaps = await operators.hourRanges('gap')
  return [...gaps, ...(await operators.hourRanges('due', { to: lateHour })), ...(await operators.hourRanges('unread'))]
}

/**
 * Leaves out derived hours that follow from others: where the collector that gives an input has not collected it, that is the
 * hole; a window that begins before a backfill has no hole.
 *
 * @param holes of all collectors
 * @param order of all collectors, with what each gives
 */
function withoutConsequences(
  ranges: readonly CollectorHourRange[],
  holes: readonly CollectorHourRange[],
  order: DerivedOrder,
): CollectorHourRange[] {
  const byCollector = Map.groupBy(holes, ({ collector }) => collector)
  return ranges.filter(({ collector, from, to, fault }) => {
    if (fault?.code !== 'input-missing') return fault?.code !== 'window-incomplete'
    const causes = order.giversOf(String(fault.facts['metric']) as MetricId, collector)
    const causeHoles = causes.flatMap(({ id }) => byCollector.get(id) ?? [])
    const isHole = (hourMs: number) => causeHoles.some(hole => hole.from <= hourMs && hourMs <= hole.to)
    // The oldest hour that lacks, as the first of the range has it, may lie before a backfill: nothing is expected there.
    const backMs = from - Date.parse(String(fault.facts['hour']))
    return !hoursFrom(from, to).every(hour => isHole(hour) || isHole(hour - backMs))
  })
}

/** Whether a collector can read the past. @param usableCollectors collectors that could be loaded */
function mendableOf(
  collectors: readonly CollectorConfig[],
  usableCollectors: Checked['usable'],
): (collector: string) => Mendable {
  const byId = new Map<string, Mendable>(collectors.map(({ id }) => [id, 'unusable']))
  for (const { collector, description } of usableCollectors)
    byId.set(collector.id, description.history ? 'past' : 'now')
  return id => byId.get(id) ?? 'unknown'
}

async function printFound(found: ListedHours, { context }: OutboxCall<HourRangeOptions>): Promise<void> {
  const { gaps, unreadRanges, waitingRanges, isNew, isAnyDue } = found
  if (isNew) {
    print('no gaps yet: no collector was asked for any hour')
    return printWho([], context)
  }
  if (gaps.length === 0) print(noGapsText(waitingRanges.length + unreadRanges.length > 0, isAnyDue))
  else {
    printRanges(gaps, ['what to do'], ({ advice }) => [advice])
    print(`\n${counted(sumOf(gaps), 'hour')} missing`)
  }
  if (unreadRanges.length > 0) {
    print('\nasked for by a backfill that could not read them:')
    printRanges(unreadRanges, ['what to do'], ({ advice }) => [advice])
    print(`\n${counted(sumOf(unreadRanges), 'hour')} not read; each is listed until a backfill has it`)
  }
  if (waitingRanges.length === 0) return
  print('\nnot collected yet:')
  printRanges(waitingRanges, [], () => [])
  const configured = new Set(context.config.protocols.flatMap(({ collectors }) => collectors.map(({ id }) => id)))
  const collectorIds = [...new Set(waitingRanges.map(({ collector }) => collector))]
  const removedIds = collectorIds.filter(id => !configured.has(id))
  print('')
  if (removedIds.length > 0)
    print(`not in this configuration, and tried again only with one that has it: ${removedIds.join(', ')}`)
  if (removedIds.length < collectorIds.length) await printWho(removedIds, context)
}

function noGapsText(isListed: boolean, isAnyDue: boolean): string {
  if (isListed) return 'no gaps'
  return isAnyDue ? 'no gaps: what is not collected yet is not late' : 'no gaps: every expected hour is collected'
}

/** Prints who collects, or how. @param removedIds collectors whose hours are not tried */
async function printWho(removedIds: readonly string[], context: AppContext): Promise<void> {
  const holder = await daemonSentence(context)
  if (holder === undefined) print('no daemon runs: tidegauge run')
  else print(`the running daemon (${holder}) goes on trying${removedIds.length > 0 ? ' the others' : ''}`)
}

function printRanges<T extends CollectorHourRange>(
  ranges: readonly T[],
  extraColumns: readonly string[],
  cells: (range: T) => string[],
) {
  const rows = ranges.slice(0, rowsMax).map(range => {
    const { collector, from, to, hours, fault } = range
    const reason = fault === undefined ? 'not tried yet' : cut(fault.message, reasonCharsMax)
    return [collector, hourText(from), hourText(to), String(hours), reason, ...cells(range)]
  })
  printTable(['collector', 'from', 'to', 'hours', 'reason', ...extraColumns], rows, ['hours'])
  const rest = ranges.slice(rowsMax)
  if (rest.length > 0)
    print(`and ${counted(rest.length, 'range')} more (${counted(sumOf(rest), 'hour')}): --json has all`)
}

function sumOf(ranges: readonly CollectorHourRange[]): number {
  return ranges.reduce((sum, { hours }) => sum + hours, 0)
}

function rangeJson({ collector, from, to, hours, fault, advice }: CollectorHourRange & { readonly advice?: string }) {
  return {
    collector,
    from: hourText(from),
    to: hourText(to),
    hours,
    code: fault?.code,
    reason: fault && faultLine(faultFromRecord(fault)),
    advice,
  }
}

/**
 * The hours a gap's collector can read: any, only the present, none because it cannot be loaded, or unknown because it
 * is no longer configured.
 */
type Mendable = 'past' | 'now' | 'unusable' | 'unknown'

function gapAdvice(
  { collector, from, to, fault }: CollectorHourRange,
  mendable: Mendable,
  collectorConfig: CollectorConfig | undefined,
): string {
  if (mendable === 'unknown') return 'nothing: the collector is no longer configured'
  if (mendable === 'now') return 'nothing: it can only read “now”'
  if (mendable === 'unusable') return 'repair the collector: tidegauge check'
  if (fault?.code === 'chain-before-first-block') return 'nothing: the chain had no block yet'
  if (fault?.code === 'input-missing' && fault.fix !== undefined) return fault.fix
  // A backfill fills no hour before its first, and a window needs those.
  const spans = collectorConfig && fault?.code === 'window-incomplete' ? inputSpans(collectorConfig) : []
  const first = hourAfter(from, 1 - Math.max(1, ...spans.map(({ hours }) => hours)))
  const backfill = `tidegauge backfill --from ${hourText(first)} --to ${hourText(to)} --only ${shellWord(collector)}`
  if (fault?.code === 'chain-state-missing') return `with an endpoint that has the state of then: ${backfill}`
  return backfill
}
