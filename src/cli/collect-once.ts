import type { AppContext } from '../app/context.ts'
import { openOutbox } from '../app/open-outbox.ts'
import { ConfigError } from '../config/config.ts'
import { retryDelayMs } from '../intake/due-hours.ts'
import { notFinal } from '../model/block.ts'
import { type Hour, hourAfter, hourAt, hourText, parseHour } from '../model/hour.ts'
import type { IntakeStore } from '../outbox/contract/intake-store.ts'
import type { Accepted } from '../outbox/contract/metrics.ts'
import type { OperatorStore, Units } from '../outbox/contract/operator-store.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { Warning } from '../outbox/contract/warnings.ts'
import type { WarmProcesses } from '../runner/daemon/warm-processes.ts'
import { checkCollectors } from './check-collectors.ts'
import { collectParts } from './collect-parts.ts'
import { type CollectedPart, type CollectedReport, printParts, printPartsJson } from './collected-report.ts'
import { asTyped, type ConfigOption, type JsonOption } from './configured-command.ts'
import { deliverNow, standing } from './deliver-now.ts'
import { exitCodes } from './exit.ts'
import { demandBegun } from './hour-range.ts'
import { openContext, selectCollectors } from './open-context.ts'
import { quietEvents } from './quiet-events.ts'
import { openedByClock } from './require-clock.ts'
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
 * Collects one hour, once, and delivers it unless that is not wanted.
 *
 * @param ended called with 1 when a value was not collected or not delivered
 * @param stopping ends it early. Default: nothing does
 */
export async function collectOnce(
  options: CollectOnceOptions,
  warm: WarmProcesses,
  ended: (code: number) => void,
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
  const units: Units = options.allowUnitChange ? 'changed' : 'locked'
  if (options.dryRun) {
    const collected = await collectParts({ context, outbox: existing, hour, units, stopping }, collectors)
    if (stopping?.aborted) return
    const quiet = await quietEvents(context, collected.parts)
    const warnings = quiet.flatMap(({ part, text }) =>
      part.accepted.map(({ metric }) => ({ metric: metric.id, kind: 'event-not-seen' as const, text })),
    )
    printDry({ ...collected, warnings: [...collected.warnings, ...warnings] }, options)
    if (collected.parts.some(({ fault }) => fault)) ended(exitCodes.incomplete)
  } else {
    const outbox = existing ?? (await openOutbox(context, stack))
    outbox.health.requireRoom()
    const collected = await collectParts({ context, outbox, hour, units }, collectors)
    const isDelivered = await queueAndDeliver(context, outbox, collected, options)
    if (!isDelivered || collected.parts.some(({ fault }) => fault)) ended(exitCodes.incomplete)
  }
}

function printDry(collected: CollectedReport, { json }: CollectOnceOptions): void {
  const { hour, parts, stored } = collected
  if (json) {
    printPartsJson(collected)
    return
  }
  printParts(collected)
  const accepted = parts.flatMap(part => part.accepted)
  const isSent = ({ metric, hold }: (typeof accepted)[number]) => {
    const state = stored.get(metric.id)?.state
    return state === undefined ? !hold : state === 'due'
  }
  const count = accepted.filter(isSent).length
  print(`\n${counted(count, 'metric')} would be sent, with timestamp ${hourText(hour)}; nothing was enqueued`)
}

/** @returns whether all sendable metrics of this hour are delivered */
async function queueAndDeliver(
  context: AppContext,
  outbox: Outbox,
  collected: CollectedReport,
  options: CollectOnceOptions,
): Promise<boolean> {
  const { hour, parts } = collected
  const { time } = context
  const { chains } = context.config
  await Promise.all(
    parts.map(part => {
      const pins = notFinal(part.pins, hour, chains, time.nowMs())
      return store(outbox, { ...part, pins }, hour, time.nowMs(), time.chance())
    }),
  )
  const metrics = parts.flatMap(({ accepted }) => accepted)
  if (options.allowUnitChange) await changeUnits(outbox.operators, outbox.intake, metrics, hour, time.nowMs())
  if (!options.json) printParts(collected)
  const pushedAtMs = time.nowMs()
  await deliverNow(context, outbox)
  const warnings = (await outbox.operators.warnings()).filter(
    ({ lastSeenMs, isAcknowledged }) => lastSeenMs >= pushedAtMs && !isAcknowledged,
  )
  if (options.json) printPartsJson(collected, warnings)
  else printWarnings(warnings, options)
  const stored = await outbox.operators.stored(metrics.map(({ metric }) => ({ id: metric.id, hour })))
  const count = (state: string) => stored.filter(each => each?.state === state).length
  note(
    `${count('delivered')} of ${stored.length} delivered${standing({ dead: count('dead'), held: count('held') }, options)}`,
  )
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
  operators: OperatorStore,
  intake: Pick<IntakeStore, 'pasts'>,
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
