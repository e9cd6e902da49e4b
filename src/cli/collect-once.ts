import type { AppContext } from '../app/context.ts'
import { openChains, openContractLook } from '../app/open-chains.ts'
import { openOutbox } from '../app/open-outbox.ts'
import { openHourReader } from '../app/open-runner.ts'
import { LogList } from '../chain/log-list.ts'
import type { RecentEvents } from '../chain/read/node-questions.ts'
import { type ChainConfig, type CollectorConfig, ConfigError } from '../config/config.ts'
import { retryDelayMs } from '../intake/due-hours.ts'
import {
  asFault,
  type Collected,
  failureGroups,
  failureLine,
  holdOf,
  noPasts,
  nothing,
  usable,
} from '../intake/validate.ts'
import { pushedMetric } from '../model/batch.ts'
import { type LogFilter, notFinal } from '../model/block.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { type Hour, hourAfter, hourAt, hourText, parseHour } from '../model/hour.ts'
import { labelOf, type MetricId } from '../model/metric.ts'
import { numberText } from '../model/number-text.ts'
import type { Accepted, MetricState, Warning } from '../outbox/contract/metrics.ts'
import type { Units } from '../outbox/contract/operator-store.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { WarmProcesses } from '../runner/daemon/warm-processes.ts'
import type { CollectorDescription } from '../runner/runner.ts'
import { createLog } from '../telemetry/log.ts'
import { checkCollectors, type Foreseen, foreseen, noteForeseen } from './check-collectors.ts'
import { asTyped, type ConfigOption, type JsonOption } from './configured-command.ts'
import { deliverNow, waitingText } from './deliver-now.ts'
import { endIncomplete } from './exit.ts'
import { openContext, selectCollectors } from './open-context.ts'
import { printResult } from './outbox-action.ts'
import { openedByClock } from './require-clock.ts'
import { demandBegun } from './selection.ts'
import { printTable } from './table.ts'
import { counted, cut, note, print } from './terminal.ts'

/** Options of `collectOnce`. */
export interface CollectOnceOptions extends ConfigOption, JsonOption {
  readonly hour?: string
  readonly only?: readonly string[]
  readonly dryRun?: boolean
  readonly allowUnitChange?: boolean
}

/** Warnings shown after a push, and characters of the service's words in each. */
const warningsShown = 10
const warningCharsMax = 160

/**
 * Collects one hour, once, and delivers it unless that is not wanted. Ends with 1 when a value was not collected or not
 * delivered.
 *
 * @param stopping ends it early. Default: nothing does
 */
export async function collectOnce(
  options: CollectOnceOptions,
  warm: WarmProcesses,
  stopping?: AbortSignal,
): Promise<void> {
  const given: AppContext = { ...openContext(options.config), warm }
  const collectors = selectCollectors(given.config, options.only)
  const asked = options.hour === undefined ? undefined : parseHour(options.hour)
  const { mistakes } = await checkCollectors(given, given.config.collect.deadlineMs, stopping)
  if (mistakes.length > 0) throw new ConfigError(given.config.file, mistakes)
  await using stack = new AsyncDisposableStack()
  const { context, outbox: existing } = await openedByClock(given, stack, options.dryRun ? 'chains' : 'service')
  const nowMs = given.time.nowMs()
  // By the corrected clock.
  const hour = asked ?? hourAt(nowMs)
  demandBegun(hour, nowMs)
  const outbox = existing ?? (options.dryRun ? undefined : await openOutbox(context, stack))
  if (!options.dryRun) outbox?.health.requireRoom()
  const units: Units = options.allowUnitChange ? 'changed' : 'locked'
  const collected = await collectParts(context, outbox, collectors, hour, units, stopping)
  if (stopping?.aborted) return
  if (!outbox || options.dryRun) await showOnly(context, collected, options)
  else if (!(await queueAndDeliver(context, outbox, collected, options))) endIncomplete()
  if (collected.parts.some(({ fault }) => fault)) endIncomplete()
}

/** Shows what would be sent, and names events that may be mistyped. */
async function showOnly(context: AppContext, collected: CollectedReport, options: CollectOnceOptions): Promise<void> {
  const { hour, parts, stored } = collected
  const quiet = (await quietEvents(context, parts)).flatMap(({ part, text }) =>
    part.accepted.map(({ metric }) => ({ metric: metric.id, kind: 'event-not-seen' as const, text })),
  )
  const report = { ...collected, warnings: [...collected.warnings, ...quiet] }
  const isSent = ({ metric, hold }: Accepted) => {
    const state = stored.get(metric.id)?.state
    return state === undefined ? !hold : state === 'due'
  }
  const count = parts.flatMap(({ accepted }) => accepted).filter(isSent).length
  const text = () => {
    printParts(report)
    print(`\n${counted(count, 'metric')} would be sent, with timestamp ${hourText(hour)}; nothing was enqueued`)
  }
  await printResult({ json: () => partsJson(report), text }, options)
}

/** @returns whether all sendable metrics of this hour are delivered */
async function queueAndDeliver(
  context: AppContext,
  outbox: Outbox,
  collected: CollectedReport,
  options: CollectOnceOptions,
): Promise<boolean> {
  const { hour, parts } = collected
  const { time, config } = context
  await Promise.all(
    parts.map(part => {
      const pins = notFinal(part.pins, hour, config.chains, time.nowMs())
      return store(outbox, { ...part, pins }, hour, time.nowMs(), time.chance())
    }),
  )
  const metrics = parts.flatMap(({ accepted }) => accepted)
  if (options.allowUnitChange) await changeUnits(outbox, metrics, hour, time.nowMs())
  if (!options.json) printParts(collected)
  const pushedAtMs = time.nowMs()
  await deliverNow(context, outbox)
  const warnings = (await outbox.operators.warnings()).filter(
    ({ lastSeenMs, isAcknowledged }) => lastSeenMs >= pushedAtMs && !isAcknowledged,
  )
  await printResult(
    { json: () => partsJson(collected, warnings), text: () => printWarnings(warnings, options) },
    options,
  )
  const stored = await outbox.operators.stored(metrics.map(({ metric }) => ({ id: metric.id, hour })))
  const count = (state: string) => stored.filter(each => each?.state === state).length
  const rest = waitingText({ dead: count('dead'), held: count('held') }, options)
  note(`${count('delivered')} of ${stored.length} delivered${rest}`)
  return count('due') + count('dead') + count('held') === 0
}

/** Prints the warnings on the pushes just made. */
function printWarnings(warnings: readonly Warning[], options: CollectOnceOptions): void {
  for (const { metricId, text } of warnings.slice(0, warningsShown)) {
    print(`the service warns: ${metricId ? `${metricId}: ` : ''}${cut(text, warningCharsMax)}`)
  }
  const more = warnings.length - warningsShown
  if (more > 0) print(`and ${counted(more, 'warning')} more: ${asTyped('warnings', options)}`)
}

/**
 * Changes the locked units. Values of the hour held earlier for their unit become due, and later hours use the new
 * unit.
 */
async function changeUnits(
  { operators, intake }: Pick<Outbox, 'operators' | 'intake'>,
  accepted: readonly Accepted[],
  hour: Hour,
  nowMs: number,
): Promise<void> {
  const meant = accepted.filter(({ hold }) => !hold).map(({ metric }) => metric)
  const held = await operators.deadOrHeld({ state: 'held', ids: meant.map(({ id }) => id), hour })
  const unitOf = new Map(meant.map(({ id, unit }) => [id, unit]))
  const ids = held.filter(({ kind, id, unit }) => kind === 'unit' && unit === unitOf.get(id)).map(({ id }) => id)
  if (ids.length > 0) await operators.release({ state: 'held', ids, hour }, 'changed')
  const current = hourAt(nowMs)
  const stored = await operators.stored(meant.map(({ id }) => ({ id, hour: current })))
  const next = meant.map((metric, place) => ({ ...metric, hour: stored[place] ? hourAfter(current, 1) : current }))
  const pasts = await intake.pasts(next)
  for (const [place, metric] of next.entries()) {
    if (pasts[place]?.unit !== metric.unit) await operators.changeUnit(metric)
  }
}

async function store(
  { operators, intake }: Pick<Outbox, 'operators' | 'intake'>,
  { collector, accepted, pins, provenance, fault }: CollectedPart,
  hour: Hour,
  nowMs: number,
  chance: number,
): Promise<void> {
  const isRefused = fault?.code === 'hour-passed'
  if (isRefused) return
  await operators.expectHour(collector.id, hour, hourAt(nowMs))
  const failed = fault && { fault, nextAttemptMs: nowMs + retryDelayMs(fault, 1, chance) }
  const values = { collector: collector.id, hour, accepted, pins, ...(provenance && { provenance }) }
  await intake.record({ ...values, ...(failed && { failed }) }, nowMs)
}

/**
 * Runs collectors for one hour and predicts how outbox and service will treat the result. Stores nothing.
 *
 * @param outbox absent when nothing was ever collected
 * @param stopping ends it early: collectors that have not answered by then have Fault `stopped`. Default: nothing does
 */
export async function collectParts(
  context: AppContext,
  outbox: Pick<Outbox, 'intake' | 'operators'> | undefined,
  collectors: readonly CollectorConfig[],
  hour: Hour,
  units: Units,
  stopping?: AbortSignal,
): Promise<CollectedReport> {
  await using stack = new AsyncDisposableStack()
  // The person who runs this sees the collectors' log; delivery is reported in other words below.
  const log = createLog(context.config.log.level, context.redactor)
  const loud = { ...context, log }
  const chains = openChains(loud, stack, { store: outbox?.intake })
  const reader = openHourReader(loud, chains, stack)
  stopping?.addEventListener('abort', () => void reader.stop())
  const parts = await Promise.all(
    collectors.map(async (collector): Promise<CollectedPart> => {
      try {
        const description = usable(collector, await reader.describe(collector))
        const collected = await reader.collect({ collector, description, hour }, outbox?.intake ?? noPasts)
        const accepted = collected.accepted.map(entry => withUnits(entry, description, units))
        return { collector, ...collected, accepted }
      } catch (error) {
        return { collector, ...nothing(asFault(error)) }
      }
    }),
  )
  const metrics = parts.flatMap(({ accepted }) => accepted.map(({ metric }) => metric))
  const keys = metrics.map(({ id }) => ({ id, hour }))
  const entries = (await outbox?.operators.stored(keys)) ?? []
  const pasts = (await outbox?.intake.pasts(keys)) ?? []
  const stored = new Map(metrics.flatMap(({ id }, place) => (entries[place] ? [[id, entries[place]] as const] : [])))
  const warnings = metrics.flatMap((metric, place): Foreseen[] =>
    foreseen({ ...metric, past: pasts[place], state: stored.get(metric.id)?.state, units }),
  )
  return { hour, parts, stored, warnings }
}

/**
 * Checks a value whose changed unit is allowed against its other bounds. There is no earlier value to compare it with.
 * An implausible one is held with its unit.
 */
function withUnits(entry: Accepted, { metrics }: CollectorDescription, units: Units): Accepted {
  const { metric, hold } = entry
  if (units === 'locked' || hold?.kind !== 'unit') return entry
  const other = holdOf(metric, metrics[labelOf(metric)] ?? {}, undefined)
  return other ? { metric, hold: { kind: 'unit', reason: `${other.reason}; ${hold.reason}` } } : { metric }
}

/** The result of one collector for the hour. */
interface CollectedPart extends Collected {
  readonly collector: CollectorConfig
}

/** Input for printing a collected hour. */
interface CollectedReport {
  readonly hour: Hour
  readonly parts: readonly CollectedPart[]
  /** Earlier values of the hour in the outbox, by metric id: the first value stands. */
  readonly stored: ReadonlyMap<MetricId, { readonly value: number; readonly state: MetricState }>
  /** Warnings that the service would answer with, and of events that are not seen. */
  readonly warnings: readonly Foreseen[]
}

/**
 * The collected values as JSON: metrics as they are sent.
 *
 * @param ofService warnings of the service on the push; default: nothing was pushed
 */
function partsJson({ hour, parts, warnings }: CollectedReport, ofService?: readonly Warning[]) {
  const accepted = parts.flatMap(part => part.accepted)
  const serviceWarnings = ofService?.map(({ metricId, text }) => ({ ...(metricId && { metric: metricId }), text }))
  return {
    hour: hourText(hour),
    metrics: accepted.map(({ metric }) => pushedMetric(metric)),
    held: accepted.flatMap(({ metric, hold }) => (hold ? [{ id: metric.id, ...hold }] : [])),
    warnings,
    ...(serviceWarnings && { serviceWarnings }),
    faults: faultsOf(parts),
  }
}

/** Prints the collected values as a table. */
function printParts({ hour, parts, stored, warnings }: CollectedReport): void {
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

/** Collectors that failed, with the labels that have no value, by reason: none where the run failed as a whole. */
function faultsOf(parts: readonly CollectedPart[]) {
  return parts.flatMap(({ collector, fault, failures }) =>
    fault ? [{ collector: collector.id, fault: faultLine(fault), values: failureGroups(failures) }] : [],
  )
}

/** Kinds of events that are named in one sentence; further ones are counted. */
const kindsMax = 5

/**
 * Finds collectors whose events have not been emitted in the hour, nor lately: the address or the event may be wrong. The text
 * is a sentence without a capital: `no such event in the last 10,000 blocks; …`.
 */
export async function quietEvents(
  context: AppContext,
  parts: readonly CollectedPart[],
): Promise<{ readonly part: CollectedPart; readonly text: string }[]> {
  await using stack = new AsyncDisposableStack()
  const none = new LogList([]).digest
  const asked = parts.flatMap(part =>
    part.pins.flatMap(({ chainId, logs = [] }) => {
      const chain = context.config.chains.find(({ id }) => id === chainId)
      const empty = logs.filter(({ digest }) => digest === none).map(({ filter }) => filter)
      return chain ? empty.map(filter => ({ part, chain, filter })) : []
    }),
  )
  const found = await Promise.all(
    asked.map(async ({ part, chain, filter }) => {
      const text = await quietText(context, chain, filter, stack)
      return text === undefined ? [] : [{ part, text }]
    }),
  )
  return found.flat()
}

/** @returns undefined when the event was seen, or no endpoint says whether it was */
async function quietText(
  context: AppContext,
  chain: ChainConfig,
  filter: LogFilter,
  stack: AsyncDisposableStack,
): Promise<string | undefined> {
  try {
    const recent = await openContractLook(chain, context, stack).events(filter)
    if (recent.isSeen) return undefined
    const whose = Array.isArray(filter.address) ? 'these contracts' : 'this contract'
    const blocks = (count: number) => `in the last ${counted(count, 'block')}`
    const place = recent.blocks === recent.emittedBlocks ? '' : ` ${blocks(recent.emittedBlocks)}`
    return `no such event ${blocks(recent.blocks)}; ${whose} emitted ${kindsText(recent)}${place}`
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

function kindsText({ emitted }: RecentEvents): string {
  if (emitted.size === 0) return 'nothing'
  const kinds = [...emitted].sort(([, a], [, b]) => b - a)
  const shown = kinds.slice(0, kindsMax).map(([name, count]) => `${name} ×${count}`)
  return [...shown, ...(kinds.length > kindsMax ? [`${kinds.length - kindsMax} others`] : [])].join(', ')
}
