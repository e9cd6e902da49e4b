import type { AppContext } from '../../app/context.ts'
import { withHeartbeat } from '../../app/heartbeat.ts'
import { openChains } from '../../app/open-chains.ts'
import { logUpkeep, openOutbox } from '../../app/open-outbox.ts'
import { openPipeline } from '../../app/open-runner.ts'
import type { ChainReader } from '../../chain/reads.ts'
import type { HourPipeline, HourReading, HourToCollect } from '../../intake/collect-hours.ts'
import { computeDueHours } from '../../intake/compute-due-hours.ts'
import { inputSpans, isDerived } from '../../intake/derived/derived-values.ts'
import { hourPlanOf } from '../../intake/due-hours.ts'
import { Finality } from '../../intake/finality.ts'
import { commandClock } from '../../intake/hour-clock.ts'
import { due } from '../../intake/hour-outcome.ts'
import type { Collected } from '../../intake/validate.ts'
import { Fault, faultLine, isPermanent } from '../../model/fault.ts'
import { type Hour, hourAfter, hourAt, hoursFrom, hourText } from '../../model/hour.ts'
import { hourMs, recollectCapMs } from '../../model/limits.ts'
import { metricId } from '../../model/metric.ts'
import { isExpected } from '../../model/rhythm.ts'
import type { Balance } from '../../outbox/contract/metrics.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { createLog } from '../../telemetry/log.ts'
import { type UsableCollector, usableCollectors } from '../check-collectors.ts'
import type { ConfigOption, JsonOption } from '../configured-command.ts'
import { type CommandDelivery, startDelivery, waitingText } from '../delivery.ts'
import { endIncomplete } from '../exit.ts'
import { loud, openContext } from '../open-context.ts'
import { openedByClock } from '../require-clock.ts'
import { askService, type ListedMetrics } from '../service-listing.ts'
import { onceAborted, Signals } from '../signals.ts'
import { counted, note, print, printJson } from '../terminal.ts'
import { warmProcesses } from '../warm-processes.ts'

interface CatchUpOptions extends ConfigOption, JsonOption {
  readonly only?: readonly string[]
  /** Hours in all, at most. Default: all that are due. */
  readonly maxHours?: number
}

/**
 * `collect --catch-up`: every hour that is due, once. Ends with 1 when an hour of its turn was not collected or not
 * delivered, and with 0 when hours are left because of `--max-hours`, or because another process is at work.
 */
export async function catchUp(options: CatchUpOptions): Promise<void> {
  using warm = warmProcesses()
  const signals = new Signals()
  const daemonContext: AppContext = { ...openContext(options.config), warm }
  const { selectedCollectors } = await usableCollectors(daemonContext, options.only, signals)
  await using stack = new AsyncDisposableStack()
  const { context, outbox: existing } = await openedByClock(daemonContext, stack)
  const outbox = existing ?? (await openOutbox(context, stack))
  outbox.health.requireRoom()
  const delivery = await startDelivery(context, outbox, stack)
  if (!delivery.role) return noteSkipped(delivery, options)
  const upkeep = outbox.startUpkeep({
    role: delivery.role,
    keepMs: context.config.outbox.keepMs,
    time: context.time,
    report: news => logUpkeep(createLog('error', context.redactor), news),
  })
  stack.defer(() => upkeep.stop())
  const isComplete = await withHeartbeat(context, async () => {
    const chains = openChains(context, stack, { store: outbox.intake })
    const pipeline = openPipeline(loud(context), chains, stack, outbox.lists)
    const run = { context, chains: Object.values(chains), pipeline, outbox, delivery, selectedCollectors }
    const caughtUp = await collectAndDeliver(run, signals, options)
    printCaughtUp(caughtUp, options)
    if (signals.stopSignal.aborted) throw new Fault('stopped', 'it was asked to stop: what is left stays due')
    return incompleteSentences(caughtUp)
  })
  if (!isComplete) endIncomplete()
}

interface CatchUpRun {
  readonly context: AppContext
  readonly chains: readonly ChainReader[]
  readonly pipeline: HourPipeline
  readonly outbox: Outbox
  readonly delivery: CommandDelivery
  readonly selectedCollectors: readonly UsableCollector[]
}

interface CaughtUp {
  /** Hours that had their turn, in their order. */
  readonly ends: readonly HourEnd[]
  /** Number of hours that are due and had no turn. */
  readonly left: number
  readonly balance: Balance
  readonly delivered: number
  /** Metrics that the service rejected, and that were held, in this run. */
  readonly dead: number
  readonly held: number
}

/** An hour that had its turn. */
interface HourEnd {
  readonly hour: Hour
  /** Number of its values. */
  readonly metrics: number
  readonly faults: readonly { readonly collector: string; readonly fault: Fault }[]
}

/** The result of one collector for an hour. */
interface CollectorEnd {
  readonly hour: Hour
  /** Id of the collector. */
  readonly collector: string
  /** Number of its values. */
  readonly metrics: number
  readonly fault?: Fault
}

function collectorEnd({
  hour,
  collector,
  result: { acceptedValues, fault },
}: HourToCollect & HourReading): CollectorEnd {
  return { hour, collector: collector.id, metrics: acceptedValues.length, ...(fault && { fault }) }
}

/** Hours read at the same time: their reads share requests. */
const hoursTogether = 24

/** Collects the current hour alone, then the others several at a time, the oldest first. Rejects with the outbox's error. */
async function collectAndDeliver(run: CatchUpRun, signals: Signals, options: CatchUpOptions): Promise<CaughtUp> {
  const { context, outbox, delivery } = run
  const { balance: balanceBefore } = await outbox.operators.backlog()
  const current = hourAt(context.time.nowMs())
  const plannedHours = await planDueHours(run, current)
  const hours = plannedHours.slice(0, options.maxHours)

  const finality = startFinality(run)
  // Running collectors end with the signal; their hours stay due.
  onceAborted(signals.stopSignal, () => void run.pipeline.reader.stop())
  // A daemon that has started meanwhile collects the rest.
  const isOver = () => signals.stopSignal.aborted || delivery.by !== 'own'
  const hoursRead = new Set<Hour>()
  const ends: CollectorEnd[] = []
  const failures: TriedHours['again'][number][] = []
  for (let index = 0; index < hours.length && !isOver(); ) {
    const size = index === 0 ? 1 : hoursTogether
    outbox.health.requireRoom()
    const window = hours.slice(index, index + size)
    // Derived values follow.
    const others = window.flatMap(([, all]) => all).filter(({ collector }) => !isDerived(collector))
    const retries = await tryHours(run, others, 1, signals.stopSignal)
    if (isOver()) break
    for (const [hour] of window) hoursRead.add(hour)
    ends.push(...retries.ends)
    failures.push(...retries.again)
    if (!options.json) printHours(hourEnds(retries.ends), 'value')
    index += size
  }
  const retried = isOver() ? [] : await tryAgain(run, failures, signals.stopSignal)
  ends.push(...retried)
  if (!options.json) printHours(hourEnds(retried), 'value')
  await finality.finish()
  const derivedRuns = isOver() ? [] : await computeDerived(run, current, hoursRead)
  if (!options.json) printHours(hourEnds(derivedRuns), 'derived value')
  if (!signals.stopSignal.aborted) await delivery.finish()
  const { balance } = await outbox.operators.backlog()
  return {
    ends: hourEnds([...ends, ...derivedRuns], hoursRead),
    left: plannedHours.length - hoursRead.size,
    balance,
    delivered: balance.delivered - balanceBefore.delivered,
    dead: balance.dead - balanceBefore.dead,
    held: balance.held - balanceBefore.held,
  }
}

/** Results by hour. @param hoursRead hours that come first, also without a result */
function hourEnds(ends: readonly CollectorEnd[], hoursRead: Iterable<Hour> = []): HourEnd[] {
  const byHour = Map.groupBy(ends, ({ hour }) => hour)
  return [...new Set([...hoursRead, ...byHour.keys()])].map(hour => {
    const ofHour = byHour.get(hour) ?? []
    return {
      hour,
      metrics: ofHour.reduce((sum, { metrics }) => sum + metrics, 0),
      faults: ofHour.flatMap(({ collector, fault }) => (fault ? [{ collector, fault }] : [])),
    }
  })
}

/** Derived hours, once all else is collected: those that had their turn, and those whose inputs have changed. */
async function computeDerived(
  { context, outbox, pipeline, selectedCollectors }: CatchUpRun,
  current: Hour,
  hoursRead: ReadonlySet<Hour>,
): Promise<CollectorEnd[]> {
  const collectors = selectedCollectors.filter(({ collector }) => isDerived(collector))
  const dueHours = { intake: outbox.intake, pipeline, collectors, current, time: context.time }
  const ends = await computeDueHours(dueHours, ({ hour, attempts }) => hoursRead.has(hour) || attempts > 0)
  return ends.map(collectorEnd).toSorted((one, other) => one.hour - other.hour)
}

/** Attempts at one hour; more while the chain has no block past it, which takes seconds. */
const attemptsMax = 2
const chainBehindAttemptsMax = 7

/** Hours of a run, and what became of them. */
interface TriedHours {
  readonly ends: readonly CollectorEnd[]
  /** Hours that failed for a reason that may pass, with the instant of their next attempt. */
  readonly again: readonly (HourToCollect & { readonly nextMs: number })[]
}

/** Collects hours together. @param attempt of this run, counted from 1 */
async function tryHours(
  { outbox, pipeline }: CatchUpRun,
  hours: readonly HourToCollect[],
  attempt: number,
  stopSignal: AbortSignal,
): Promise<TriedHours> {
  const results = await pipeline.collect(hours, due, outbox.intake, stopSignal)
  const attempts = results.map(hourResult => {
    const { outcome, result, begunMs: _, recorded: __, ...hour } = hourResult
    const most = result.fault?.code === 'chain-behind' ? chainBehindAttemptsMax : attemptsMax
    const failure = outcome.kind === 'stored' ? outcome.failure : undefined
    const isAgain = failure !== undefined && !isPermanent(failure.fault) && attempt < most
    if (!isAgain) return { ends: [collectorEnd(hourResult)], again: [] }
    return { ends: [], again: [{ ...hour, attempts: hour.attempts + 1, nextMs: failure.nextAttemptMs }] }
  })
  return { ends: attempts.flatMap(({ ends }) => ends), again: attempts.flatMap(({ again }) => again) }
}

/** Collects hours again that have failed, once all others had their turn: each when its next attempt is due. */
async function tryAgain(
  run: CatchUpRun,
  failures: TriedHours['again'],
  stopSignal: AbortSignal,
): Promise<CollectorEnd[]> {
  const { time } = run.context
  const ends: CollectorEnd[] = []
  let toRetry = failures
  for (let attempt = 2; toRetry.length > 0; attempt += 1) {
    const restMs = Math.max(...toRetry.map(({ nextMs }) => nextMs)) - time.nowMs()
    if (restMs > 0) await time.sleep(restMs, stopSignal).catch(() => {})
    if (stopSignal.aborted) return ends
    const tried = await tryHours(run, toRetry, attempt, stopSignal)
    ends.push(...tried.ends)
    toRetry = tried.again
  }
  return ends
}

/**
 * Plans the hours that are due since the last delivered one, and gives all that are due: the current one first, then the
 * oldest. The service is asked about collectors that the outbox does not know: it may be a new one of a machine that keeps nothing.
 */
async function planDueHours(run: CatchUpRun, current: Hour): Promise<[Hour, HourToCollect[]][]> {
  const { context, outbox, selectedCollectors } = run
  const nowMs = context.time.nowMs()
  const byId = new Map(selectedCollectors.map(one => [one.collector.id, one]))
  const known = await outbox.status.newestDelivered([...byId.keys()], current, nowMs)
  const unknown = selectedCollectors.filter(({ collector }) => !known.has(collector.id))
  const firsts = unknown.length > 0 ? await firstPlansOf(context, unknown, current) : new Map<string, FirstPlan>()
  await Promise.all(selectedCollectors.map(one => plan(run, one, current, firsts.get(one.collector.id))))
  // Also hours whose next attempt is yet to come: this run may be the last one for hours.
  const limit = Math.ceil(context.config.collect.catchUpMs / hourMs) + 1
  const wanted = { collectors: [...byId.keys()], current, nowMs: nowMs + recollectCapMs, limit }
  const hours = (await outbox.intake.dueHours(wanted)).flatMap(hour => {
    const described = byId.get(hour.collector)
    return described ? [{ ...hour, ...described }] : []
  })
  const turnOf = (hour: Hour) => (hour === current ? 0 : hour)
  return [...Map.groupBy(hours, ({ hour }) => hour)].sort(([one], [other]) => turnOf(one) - turnOf(other))
}

/** Collectors named in one line. */
const namesMax = 5

type FirstPlan = CollectorListing | 'first-run' | 'unreadable'

/** First plans of collectors that the outbox does not know, reported on stderr. */
async function firstPlansOf(
  context: AppContext,
  unknown: readonly UsableCollector[],
  current: Hour,
): Promise<ReadonlyMap<string, FirstPlan>> {
  const protocolIds = [...new Set(unknown.map(({ collector }) => collector.protocolId))]
  const answers = await askService(context, protocolIds)
  for (const [id, answer] of answers) {
    if (answer.kind === 'read') continue
    note(`it cannot be read what the service has of ${id}: ${answer.reason}`)
    note('  → the current hour alone is collected; for past ones: tidegauge backfill')
  }
  const plans = unknown.map(({ collector: { id, protocolId }, description }): [string, FirstPlan] => {
    const answer = answers.get(protocolId)
    if (answer?.kind !== 'read') return [id, 'unreadable']
    const sent = Object.entries(description.metrics).filter(([, spec]) => !spec.private)
    const metrics = sent.map(([label]) => metricId(protocolId, label))
    return [id, listingOf(metrics, answer.listed, current) ?? 'first-run']
  })
  const first = plans.filter(([, one]) => one === 'first-run').map(([id]) => id)
  const who = first.length > namesMax ? counted(first.length, 'collector') : first.join(', ')
  if (first.length > 0) note(`first run of ${who}: the current hour alone, or from its since on`)
  const listed = plans.filter(([, one]) => typeof one === 'object').length
  if (listed > 0) note(`no outbox from before: the service says what it has of ${counted(listed, 'collector')}`)
  return new Map(plans)
}

async function plan(
  { context, outbox, pipeline }: CatchUpRun,
  { collector, description }: UsableCollector,
  current: Hour,
  first?: FirstPlan,
): Promise<void> {
  const { id } = collector
  const since = sinceOf(collector.since, first)
  if (isDerived(collector)) await outbox.intake.setInputs(id, inputSpans(collector))
  const hourPlan = hourPlanOf({
    collector: { id, ...(since !== undefined && { since }), ...(collector.at && { at: collector.at }) },
    history: description.history,
    current,
    catchUpMs: context.config.collect.catchUpMs,
  })
  if (!hourPlan) return
  await outbox.intake.planHours(hourPlan)
  const complete = typeof first === 'object' ? first.complete : []
  // The service has the values of these: nothing is left to collect.
  const had = complete.filter(hour => hour >= hourPlan.oldest && hour >= (since ?? hour) && isExpected(collector, hour))
  const read = { collector, description, attempts: 0, result: withoutValues, begunMs: undefined }
  await Promise.all(had.map(hour => pipeline.record({ ...read, hour }, due, outbox.intake)))
}

const withoutValues: Collected = { acceptedValues: [], pins: [], failures: {} }

/** First expected hour: the later one of the configuration and of what the service has. */
function sinceOf(since: Hour | undefined, first: FirstPlan | undefined): Hour | undefined {
  // Else all hours since the start would be sent again at each run: nothing says which are delivered.
  if (first === 'unreadable') return undefined
  if (typeof first !== 'object') return since
  return since !== undefined && since > first.from ? since : first.from
}

/**
 * Starts to check hours of earlier runs whose blocks are final now: the check travels with the look-up of this run's
 * hours. An hour whose block was replaced is read again.
 *
 * @returns `finish` resolves when the checks have ended, or have had the time of one collector; the rest is checked by
 * the next run
 */
function startFinality({ context, outbox, selectedCollectors, pipeline, chains }: CatchUpRun): {
  finish(): Promise<void>
} {
  const { config, time, log } = context
  const clock = commandClock(time, context.clock)
  const stopController = new AbortController()
  const collection = Promise.withResolvers<void>()
  const finality = new Finality({
    ...{ outbox, pipeline, chains, clock, time, log },
    collectors: selectedCollectors.map(({ collector }) => collector),
    catchUpMs: config.collect.catchUpMs,
    describe: async ({ id }) => {
      const known = selectedCollectors.find(({ collector }) => collector.id === id)
      if (!known) throw new Fault('stopped', `${id} is not loaded`)
      return known.description
    },
    signal: stopController.signal,
    lastLookUp: collection.promise,
  })
  finality.pass()
  return {
    async finish() {
      collection.resolve()
      const sleepController = new AbortController()
      const late = time.sleep(config.collect.deadlineMs, sleepController.signal).catch(() => {})
      await Promise.race([finality.ended(), late])
      sleepController.abort()
      stopController.abort(new Fault('stopped', 'the command has ended'))
      await finality.ended()
    },
  }
}

/** Delivered hours of one collector. */
interface CollectorListing {
  /** The first hour to look at: earlier ones are delivered, or not known. Not after the current hour. */
  readonly from: Hour
  /** Hours from then on that are complete. */
  readonly complete: readonly Hour[]
}

/**
 * Compares a collector's metrics with what a service lists. Where several hours of a metric are listed, hours that are
 * missing between them count; where only the latest is, everything before it counts as delivered. A metric that was
 * never delivered does not count. Pure.
 *
 * @returns `undefined` when the service has nothing of it
 */
export function listingOf(ids: readonly string[], listed: ListedMetrics, current: Hour): CollectorListing | undefined {
  const nonEmpty = ids.flatMap(id => listed.get(id) ?? []).filter(({ size }) => size > 0)
  if (nonEmpty.length === 0) return undefined
  const newestHour = nonEmpty
    .map(hours => Math.max(...hours.keys()) as Hour)
    .reduce((one, other) => (other < one ? other : one))
  const oldestHour = nonEmpty
    .map(hours => Math.min(...hours.keys()) as Hour)
    .reduce((one, other) => (other > one ? other : one))
  const hasHistory = nonEmpty.some(({ size }) => size > 1)
  const wanted = hasHistory ? oldestHour : hourAfter(newestHour, 1)
  const from = wanted < current ? wanted : current
  const isComplete = (hour: Hour) => (hasHistory ? nonEmpty.every(hours => hours.has(hour)) : hour <= newestHour)
  return { from, complete: hoursFrom(from, current).filter(isComplete) }
}

/** Reports that another process is at work on this outbox; which one was said before. */
function noteSkipped({ by: deliverer }: CommandDelivery, { json }: JsonOption): void {
  if (json) printJson({ skipped: deliverer, hours: [], delivered: 0, undelivered: 0, left: 0 })
  note(
    deliverer === 'daemon'
      ? 'nothing is done here: the daemon collects what is due, too'
      : 'nothing is done here: the next run takes what is due then',
  )
}

/** Prints hours that had their turn. @param noun of their values */
function printHours(ends: readonly HourEnd[], noun: string): void {
  for (const { hour, metrics, faults } of ends) {
    print(`${hourText(hour)}  ${counted(metrics, noun)}`)
    for (const { collector, fault } of faults) print(`  not collected: ${collector}: ${faultLine(fault)}`)
  }
}

/** Hours and metrics that a run left undone, a sentence each; empty when it is complete. */
function incompleteSentences({ ends, balance, dead: deadCount, held: heldCount }: CaughtUp): string[] {
  const failureLines = ends.flatMap(({ hour, faults }) =>
    faults.map(({ collector, fault }) => `${collector} has not collected ${hourText(hour)}: ${faultLine(fault)}`),
  )
  return [
    ...failureLines,
    ...(balance.due > 0 ? [`${counted(balance.due, 'metric')} not delivered`] : []),
    ...(deadCount > 0 ? [`the service refused ${counted(deadCount, 'metric')} for good`] : []),
    ...(heldCount > 0 ? [`${counted(heldCount, 'metric')} held until a person decides`] : []),
  ]
}

/** Prints the sum of a run: hours, deliveries, and what is left. */
function printCaughtUp(caughtUp: CaughtUp, options: CatchUpOptions): void {
  const { ends, left: hoursLeft, balance, delivered: deliveredCount, dead: deadCount, held: heldCount } = caughtUp
  const { due: dueCount } = balance
  if (options.json) {
    const hours = ends.map(({ hour, metrics, faults }) => ({
      hour: hourText(hour),
      metrics,
      faults: faults.map(({ collector, fault }) => ({ collector, fault: faultLine(fault) })),
    }))
    printJson({ hours, delivered: deliveredCount, undelivered: dueCount, left: hoursLeft })
    return
  }
  const failed = ends.filter(({ faults }) => faults.length > 0).length
  const but = failed > 0 ? `, ${failed} of them not completely` : ''
  const what = ends.length > 0 ? `${counted(ends.length, 'hour')} collected${but}` : 'no hour is due'
  print(`${what}; ${counted(deliveredCount, 'metric')} delivered`)
  if (hoursLeft > 0) print(`${counted(hoursLeft, 'more hour')} ${hoursLeft === 1 ? 'is' : 'are'} due: run it again`)
  if (dueCount + deadCount + heldCount === 0) return
  const next = dueCount > 0 ? ' (tidegauge flush, or the next run)' : ''
  note(`${counted(dueCount, 'metric')} not delivered${next}${waitingText({ dead: deadCount, held: heldCount })}`)
}
