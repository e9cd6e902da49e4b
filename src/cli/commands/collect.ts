import { type Command, Option } from 'commander'
import type { AppContext } from '../../app/context.ts'
import { openOutbox } from '../../app/open-outbox.ts'
import { ConfigError } from '../../config/config.ts'
import { failureGroups, failureLine } from '../../intake/validate.ts'
import { pushedMetric } from '../../model/batch.ts'
import { Fault, faultLine } from '../../model/fault.ts'
import { type Hour, hourAfter, hourAt, hourText, parseHour } from '../../model/hour.ts'
import { readingOnly } from '../../model/list-memory.ts'
import { numberText } from '../../model/number-text.ts'
import { dayHourText, isExpected } from '../../model/rhythm.ts'
import type { Accepted, MetricState, Warning } from '../../outbox/contract/metrics.ts'
import type { Units } from '../../outbox/contract/operator-store.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { checkCollectors, noteForeseen } from '../check-collectors.ts'
import { type CollectedPart, type CollectedReport, collectParts, quietEvents } from '../collect-parts.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { deliverNow, waitingText } from '../delivery.ts'
import { endIncomplete, endWith, exitCodes } from '../exit.ts'
import { openContext } from '../open-context.ts'
import { printResult } from '../outbox-action.ts'
import { openedByClock } from '../require-clock.ts'
import { demandBegun, selectCollectors, wholeNumber } from '../selection.ts'
import { printTable } from '../table.ts'
import { counted, cut, note, print } from '../terminal.ts'
import { warmProcesses } from '../warm-processes.ts'
import { repeatAtSaves } from '../watch-files.ts'
import { catchUp } from './catch-up.ts'

interface CollectOptions extends ConfigOption, JsonOption {
  readonly hour?: string
  readonly only?: readonly string[]
  readonly dryRun?: boolean
  readonly allowUnitChange?: boolean
  readonly watch?: boolean
  readonly catchUp?: boolean
  readonly maxHours?: number
}

/** `collect`: one hour, once, or all that are due. Ends with 1 when a value was not collected or not delivered. */
export function collectCommand(): Command {
  return configuredCommand('collect')
    .description(
      'one hour, once: collect, queue and push; with --dry-run only show; with --catch-up all hours that are due',
    )
    .option('--hour <hour>', 'a full hour, like 2026-11-20T13:00:00Z (default: the current one)')
    .option('--only <id...>', 'protocols or collectors (default: all)')
    .option('--dry-run', 'queue and push nothing, show what would be sent')
    .option('--watch', 'with --dry-run: again at each save of the configuration, of a collector and of what it imports')
    .option('--allow-unit-change', 'allow another unit than before; it is the unit from this hour on')
    .addOption(
      new Option(
        '--catch-up',
        'every hour that is due since the last delivered one, for a cron: the current hour first, then the oldest',
      ).conflicts(['hour', 'dryRun', 'watch', 'allowUnitChange']),
    )
    .option('--max-hours <count>', 'with --catch-up: hours in all, at most (default: all)', wholeNumber(1))
    .option('--json', 'print JSON')
    .action(async (options: CollectOptions) => {
      if (options.catchUp) return catchUp(options)
      if (options.maxHours !== undefined)
        throw new Fault('usage', '--max-hours is for --catch-up', { fix: 'add --catch-up' })
      if (!options.watch) return collectOnce(options)
      if (!options.dryRun) throw new Fault('usage', '--watch sends nothing', { fix: 'add --dry-run' })
      await repeatAtSaves(options.config, stopSignal => collectOnce(options, stopSignal))
      // The person has seen what each time was like.
      endWith(exitCodes.done)
    })
}

/** Warnings shown after a push, and characters of the service's words in each. */
const warningsShown = 10
const warningCharsMax = 160

/**
 * Collects one hour, once, and delivers it unless that is not wanted. Ends with 1 when a value was not collected or not
 * delivered.
 *
 * @param stopSignal ends it early. Default: nothing does
 */
async function collectOnce(options: CollectOptions, stopSignal?: AbortSignal): Promise<void> {
  using warm = warmProcesses()
  const openedContext: AppContext = { ...openContext(options.config), warm }
  const collectors = selectCollectors(openedContext.config, options.only)
  const hourWanted = options.hour === undefined ? undefined : parseHour(options.hour)
  const { mistakes } = await checkCollectors(openedContext, openedContext.config.collect.deadlineMs, stopSignal)
  if (mistakes.length > 0) throw new ConfigError(openedContext.config.file, mistakes)
  await using stack = new AsyncDisposableStack()
  const { context, outbox: existingOutbox } = await openedByClock(
    openedContext,
    stack,
    options.dryRun ? 'chains' : 'service',
  )
  const nowMs = openedContext.time.nowMs()
  // By the corrected clock.
  const hour = hourWanted ?? hourAt(nowMs)
  demandBegun(hour, nowMs)
  const outbox = existingOutbox ?? (options.dryRun ? undefined : await openOutbox(context, stack))
  if (!options.dryRun) outbox?.health.requireRoom()
  const units: Units = options.allowUnitChange ? 'changed' : 'locked'
  const isStored = !options.dryRun
  const lists = outbox && (isStored ? outbox.lists : readingOnly(outbox.lists))
  // A person who names a collector asks for its hour.
  const expectedCollectors = collectors.filter(one => options.only !== undefined || isExpected(one, hour))
  for (const { id, at = [] } of collectors.filter(one => !expectedCollectors.includes(one)))
    note(`${id} is left out: it is expected at ${at.map(dayHourText).join(', ')} alone; --only ${id} collects it`)
  const report = await collectParts(context, outbox, expectedCollectors, { hour, units, stopSignal, isStored, lists })
  if (stopSignal?.aborted) return
  if (!outbox || options.dryRun) await showOnly(context, report, options)
  else if (!(await queueAndDeliver(context, outbox, report, options))) endIncomplete()
  if ((options.dryRun && isAnyHeld(report)) || report.parts.some(({ fault }) => fault)) endIncomplete()
}

/** Whether a value would be held, or one that stands from before is held or dead: the run itself ends with 1 then. */
function isAnyHeld({ parts, storedValues }: CollectedReport): boolean {
  const values = parts.flatMap(({ acceptedValues }) => acceptedValues)
  return values.some(({ metric, hold }) => {
    const state = storedValues.get(metric.id)?.state
    return state === undefined ? hold !== undefined : state === 'held' || state === 'dead'
  })
}

/** Shows what would be sent, and names events that may be mistyped. */
async function showOnly(context: AppContext, collectedReport: CollectedReport, options: CollectOptions): Promise<void> {
  const { hour, parts, storedValues } = collectedReport
  const kind = 'event-not-seen'
  const unseenEvents = await quietEvents(context, parts)
  const eventWarnings = unseenEvents.flatMap(({ part, isOfAll, text }) =>
    isOfAll ? part.acceptedValues.map(({ metric }) => ({ metric: metric.id, kind, text }) as const) : [],
  )
  const collectorWarnings = unseenEvents.flatMap(({ part, isOfAll, text }) =>
    isOfAll ? [] : [{ collector: part.collector.id, kind, text }],
  )
  const report = { ...collectedReport, warnings: [...collectedReport.warnings, ...eventWarnings] }
  const isSent = ({ metric, hold, isPrivate }: Accepted) => {
    const state = storedValues.get(metric.id)?.state
    return state === undefined ? !hold && !isPrivate : state === 'due'
  }
  const count = parts.flatMap(({ acceptedValues }) => acceptedValues).filter(isSent).length
  const text = () => {
    printParts(report)
    for (const { collector, text } of collectorWarnings) note(`warning: ${collector}: ${text}`)
    print(`\n${counted(count, 'metric')} would be sent, with timestamp ${hourText(hour)}; nothing was enqueued`)
  }
  const json = () => ({ ...partsJson(report), warnings: [...report.warnings, ...collectorWarnings] })
  await printResult({ json, text }, options)
}

/** @returns whether all sendable metrics of this hour are delivered */
async function queueAndDeliver(
  context: AppContext,
  outbox: Outbox,
  report: CollectedReport,
  options: CollectOptions,
): Promise<boolean> {
  const { hour, parts } = report
  const { time } = context
  const metrics = parts.flatMap(({ acceptedValues }) => acceptedValues)
  if (options.allowUnitChange) await changeUnits(outbox, metrics, hour, time.nowMs())
  if (!options.json) printParts(report)
  const pushedAtMs = time.nowMs()
  await deliverNow(context, outbox)
  const warnings = (await outbox.operators.warnings()).filter(
    ({ lastSeenMs, isAcknowledged }) => lastSeenMs >= pushedAtMs && !isAcknowledged,
  )
  await printResult({ json: () => partsJson(report, warnings), text: () => printWarnings(warnings) }, options)
  const entries = await outbox.operators.stored(metrics.map(({ metric }) => ({ id: metric.id, hour })))
  const count = (state: string) => entries.filter(each => each?.state === state).length
  const waitText = waitingText({ dead: count('dead'), held: count('held') })
  const kept = count('private')
  const isKept = kept === 0 ? '' : `; ${kept} private`
  note(`${count('delivered')} of ${entries.length - kept} delivered${waitText}${isKept}`)
  return count('due') + count('dead') + count('held') === 0
}

function printWarnings(warnings: readonly Warning[]): void {
  for (const { metricId, text } of warnings.slice(0, warningsShown)) {
    print(`the service warns: ${metricId ? `${metricId}: ` : ''}${cut(text, warningCharsMax)}`)
  }
  const more = warnings.length - warningsShown
  if (more > 0) print(`and ${counted(more, 'warning')} more: tidegauge warnings`)
}

/**
 * Changes the locked units. Values of the hour held earlier for their unit become due, and later hours use the new
 * unit.
 */
async function changeUnits(
  { operators, intake }: Pick<Outbox, 'operators' | 'intake'>,
  values: readonly Accepted[],
  hour: Hour,
  nowMs: number,
): Promise<void> {
  const sendable = values.filter(({ hold }) => !hold).map(({ metric }) => metric)
  const heldMetrics = await operators.deadOrHeld({ state: 'held', ids: sendable.map(({ id }) => id), hour })
  const unitOf = new Map(sendable.map(({ id, unit }) => [id, unit]))
  const ids = heldMetrics.filter(({ kind, id, unit }) => kind === 'unit' && unit === unitOf.get(id)).map(({ id }) => id)
  if (ids.length > 0) await operators.release({ state: 'held', ids, hour }, 'changed')
  const current = hourAt(nowMs)
  const stored = await operators.stored(sendable.map(({ id }) => ({ id, hour: current })))
  const next = sendable.map((metric, place) => ({ ...metric, hour: stored[place] ? hourAfter(current, 1) : current }))
  const pasts = await intake.pasts(next)
  for (const [place, metric] of next.entries()) {
    if (pasts[place]?.unit !== metric.unit) await operators.changeUnit(metric)
  }
}

/**
 * The collected values as JSON: metrics as they are sent.
 *
 * @param ofService warnings of the service on the push; default: nothing was pushed
 */
function partsJson({ hour, parts, warnings }: CollectedReport, ofService?: readonly Warning[]) {
  const values = parts.flatMap(part => part.acceptedValues)
  return {
    hour: hourText(hour),
    metrics: values.flatMap(({ metric, isPrivate }) => (isPrivate ? [] : [pushedMetric(metric)])),
    private: values.flatMap(({ metric, isPrivate }) => (isPrivate ? [pushedMetric(metric)] : [])),
    held: values.flatMap(({ metric, hold }) => (hold ? [{ id: metric.id, ...hold }] : [])),
    warnings,
    serviceWarnings: ofService?.map(({ metricId, text }) => ({ metric: metricId, text })),
    faults: faultsOf(parts),
  }
}

function printParts({ hour, parts, storedValues, warnings }: CollectedReport): void {
  const acceptedValues = parts.flatMap(part => part.acceptedValues)
  const otherUnits = new Set(warnings.filter(({ kind }) => kind === 'unit-changed').map(({ metric }) => metric))
  print(hourText(hour))
  const rows = acceptedValues.map(entry => {
    const { id, value, unit } = entry.metric
    return [id, numberText(value), unit ?? '', remark(entry, storedValues.get(id), otherUnits.has(id))]
  })
  if (rows.length > 0) printTable(['metric', 'value', 'unit', 'remark'], rows, ['value'])
  for (const { collector, fault, values } of faultsOf(parts)) {
    print(`not collected: ${collector}: ${values.length > 1 ? counted(values.length, 'reason') : fault}`)
    if (values.length > 1) for (const value of values) print(`  ${failureLine(value)}`)
  }
  noteForeseen(warnings)
}

/** Notes for stored values that are neither due nor delivered. */
const stays = {
  ...{ dead: 'refused by the service: it stays dead', held: 'held before', dropped: 'dropped by a person' },
  private: 'private: not sent',
}

function remark(
  { metric, hold, isPrivate }: Accepted,
  storedValue: { value: number; state: MetricState } | undefined,
  isOtherUnit: boolean,
): string {
  if (!storedValue && hold) return `held: ${hold.kind === 'unit' ? 'another unit' : hold.reason}`
  if (!storedValue) return isPrivate ? stays.private : ''
  const was = isOtherUnit && storedValue.state !== 'held' ? ' in another unit' : ''
  const remarks = [
    ...(storedValue.value === metric.value && !was
      ? []
      : [`collected before${was}: ${numberText(storedValue.value)} stands`]),
    ...(storedValue.state === 'due' || storedValue.state === 'delivered' ? [] : [stays[storedValue.state]]),
  ]
  return remarks.join('; ')
}

/** Collectors that failed, with the labels that have no value, by reason: none where the run failed as a whole. */
function faultsOf(parts: readonly CollectedPart[]) {
  return parts.flatMap(({ collector, fault, failures }) =>
    fault ? [{ collector: collector.id, fault: faultLine(fault), values: failureGroups(failures) }] : [],
  )
}
