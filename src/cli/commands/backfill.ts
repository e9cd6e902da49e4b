import type { Command } from 'commander'
import type { AppContext } from '../../app/context.ts'
import { openOutbox, rolesOf } from '../../app/open-outbox.ts'
import { openPipeline } from '../../app/open-runner.ts'
import type { CallCounts } from '../../chain/endpoint/call-meter.ts'
import { systemTime } from '../../edge/time.ts'
import { unlessAborted } from '../../edge/unless-aborted.ts'
import type { BackfillEnd, BackfillNews } from '../../intake/backfill/backfill.ts'
import { joinedParts, type PartEnd } from '../../intake/backfill/joined-end.ts'
import {
  type BackfillRequest,
  type CollectorCounts,
  type HourOrder,
  type Reason,
  type StatesByHour,
  type Work,
  workOf,
} from '../../intake/backfill/work.ts'
import { computeDueHours } from '../../intake/compute-due-hours.ts'
import { inputSpans, isDerived } from '../../intake/derived/derived-values.ts'
import { faultLine } from '../../model/fault.ts'
import { type Hour, hourAt, hourText, parseHour } from '../../model/hour.ts'
import { shellWord } from '../../model/text.ts'
import type { IntakeStore } from '../../outbox/contract/intake-store.ts'
import type { DeadOrHeldMetric } from '../../outbox/contract/metrics.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { type BackfillPlan, callsIn, makePlan } from '../backfill/plan.ts'
import { type BackfillRun, durationText, LimitedCalls, ProgressLine, readAll } from '../backfill/run.ts'
import { type SelectedCollectors, type UsableCollector, usableCollectors } from '../check-collectors.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { startDelivery, waitingText } from '../delivery.ts'
import { endIncomplete } from '../exit.ts'
import { openContext } from '../open-context.ts'
import { printResult } from '../outbox-action.ts'
import { openedByClock } from '../require-clock.ts'
import { demandBegun, demandOrder, type HourRange, wholeNumber } from '../selection.ts'
import { Signals } from '../signals.ts'
import { printTable } from '../table.ts'
import { counted, cut, grouped, note, print } from '../terminal.ts'
import { warmProcesses } from '../warm-processes.ts'
import { keepHeapSmall } from './run.ts'

/** `backfill`: past hours. Ends with 1 when an hour was not collected, is left, or is not delivered. */
export function backfillCommand(): Command {
  return backfillOptions().action(async (options: BackfillOptions) => {
    using _ = keepHeapSmall(systemTime)
    const signals = new Signals()
    using warm = warmProcesses()
    const openedContext: AppContext = { ...openContext(options.config), warm }
    const selection = await usableCollectors(openedContext, options.only, signals)
    const { selectedCollectors, inputs } = selection
    await using stack = new AsyncDisposableStack()
    const { context, outbox } = await openedByClock(openedContext, stack)
    const range = readRange(options, openedContext.time.nowMs())
    // A stopped backfill is continued over the same hours.
    const spanOptions = { ...options, to: hourText(range.to) }
    if (inputs.length > 0) {
      note(`brought first, as values are derived from it: ${inputs.map(({ collector }) => collector.id).join(', ')}`)
    }
    if (options.plan) {
      const plan = planOnly(context, outbox, options, range, [...inputs, ...selectedCollectors])
      return await unlessAborted(plan, signals.stopSignal)
    }
    const opened = outbox ?? (await openOutbox(context, stack))
    const isDone = await collectAndDeliver(context, opened, spanOptions, range, selection, signals, stack)
    if (!isDone) endIncomplete()
  })
}

async function planOnly(
  context: AppContext,
  outbox: Outbox | undefined,
  options: BackfillOptions,
  range: HourSpan,
  collectors: readonly UsableCollector[],
): Promise<void> {
  const hasDaemon = (await (await rolesOf(context.config)).daemon()) !== undefined
  const asked = askedOf(context, options, range, hasDaemon)
  const works = await worksFor(outbox?.intake, asked, collectors)
  const plan = await makePlan(context, outbox, { works, order: orderOf(options), concurrency: options.concurrency })
  await printResult(
    {
      json: () => planJson(plan, range),
      text: () => printPlan(plan),
      isIncomplete: isLimited(plan),
    },
    options,
  )
}

/** @returns whether all requested hours are collected and delivered */
async function collectAndDeliver(
  context: AppContext,
  outbox: Outbox,
  options: BackfillOptions,
  range: HourSpan,
  selection: SelectedCollectors,
  signals: Signals,
  stack: AsyncDisposableStack,
): Promise<boolean> {
  const { time } = context
  const startMs = time.nowMs()
  const { balance: balanceBefore } = await outbox.operators.backlog()
  const calls = new LimitedCalls(options.maxCalls, context.config.chains.length)
  const delivery = await startDelivery(context, outbox, stack)
  const request = askedOf(context, options, range, delivery.by === 'daemon')
  const countDue = async () => (await outbox.operators.backlog()).balance.due
  const progress = new ProgressLine(time, () => calls.meter.counts(), countDue)
  const signal = AbortSignal.any([signals.stopSignal, calls.reached.signal])
  const report = (news: BackfillNews) => progress.show(news)
  const run = {
    context,
    outbox,
    asked: request,
    order: orderOf(options),
    concurrency: options.concurrency,
    signal,
    report,
  }
  const { end, calls: counts } = await readInOrder(selection, run, calls, stack)
  // A daemon that runs computes them itself.
  if (!signal.aborted && delivery.by !== 'daemon') {
    const pipeline = openPipeline(context, {}, stack)
    const { current, from } = request
    const due = { intake: outbox.intake, pipeline, collectors: selection.allDerivedCollectors, current, time }
    // Later windows that hold a new value.
    await computeDueHours(due, ({ hour, attempts }) => attempts > 0 && hour >= from)
  }
  await progress.end()
  if (!signals.stopSignal.aborted) await delivery.finish()
  const { balance: balanceAfter } = await outbox.operators.backlog()
  const { pushes } = delivery
  const summary = { range, end, counts, pushes, durationMs: time.nowMs() - startMs, due: balanceAfter.due }
  await printResult({ json: () => summaryJson(summary), text: () => printSummary(summary) }, options)
  noteEarly(end)
  noteLeft(end, options)
  const deadCount = balanceAfter.dead - balanceBefore.dead
  // Fewer are held where a unit is corrected.
  const heldCount = Math.max(0, balanceAfter.held - balanceBefore.held)
  if (balanceAfter.due + deadCount + heldCount > 0) {
    const next = delivery.by === 'daemon' ? 'the running daemon delivers them' : 'tidegauge flush'
    const advice = balanceAfter.due > 0 ? ` (${next})` : ''
    note(`${counted(balanceAfter.due, 'metric')} due${advice}${waitingText({ dead: deadCount, held: heldCount })}`)
  }
  if (options.overwrite) await noteStillHeld(outbox, end, range)
  const failed = end.collectors.reduce((sum, counts) => sum + counts.failed, 0)
  return failed + end.left + balanceAfter.due + deadCount + heldCount === 0
}

/** Says that what is held for another reason than its unit waits for a person, whatever was read now. */
async function noteStillHeld(
  { operators }: Outbox,
  { collectors }: BackfillEnd,
  { from, to }: HourSpan,
): Promise<void> {
  const ids = new Set(collectors.map(({ collector }) => collector))
  const isOfRange = ({ hour, collector, kind }: DeadOrHeldMetric) =>
    kind !== 'unit' && ids.has(collector) && from <= hour && hour <= to
  const count = (await operators.deadOrHeld({ state: 'held' })).filter(isOfRange).length
  if (count === 0) return
  note(
    `  → ${counted(count, 'value')} of these hours stay${count === 1 ? 's' : ''} held: tidegauge held ls shows why, and tidegauge held release ID sends what is right`,
  )
}

/** Reads inputs of derived values first, and then computes those, the oldest first. */
async function readInOrder(
  { selectedCollectors, inputs, allDerivedCollectors }: SelectedCollectors,
  run: Omit<BackfillRun, 'works'>,
  calls: LimitedCalls,
  stack: AsyncDisposableStack,
): Promise<PartEnd> {
  const { intake } = run.outbox
  const derivedCollectors = [...inputs, ...selectedCollectors].filter(({ collector }) => isDerived(collector))
  const withoutDerived = (some: readonly UsableCollector[]) => some.filter(({ collector }) => !isDerived(collector))
  for (const { collector } of allDerivedCollectors) await intake.setInputs(collector.id, inputSpans(collector))
  const ends: PartEnd[] = []
  for (const [collectors, request, order] of [
    [withoutDerived(inputs), { ...run.asked, scope: 'missing' }, run.order],
    [withoutDerived(selectedCollectors), run.asked, run.order],
    [derivedCollectors, run.asked, 'oldest-first'],
  ] as const) {
    // Late inputs make derived hours due.
    const works = await worksFor(intake, request, collectors)
    if (works.length > 0) ends.push(await readAll({ ...run, works, asked: request, order }, calls, stack))
  }
  return joinedParts(ends)
}

function askedOf(
  { time }: AppContext,
  { overwrite }: BackfillOptions,
  range: HourSpan,
  hasDaemon: boolean,
): BackfillRequest {
  return {
    ...range,
    current: hourAt(time.nowMs()),
    scope: overwrite ? 'overwrite' : 'missing',
    daemon: hasDaemon ? 'runs' : 'none',
  }
}

/** @param intake absent when nothing was ever collected */
function worksFor(
  intake: IntakeStore | undefined,
  request: BackfillRequest,
  collectors: readonly UsableCollector[],
): Promise<Work[]> {
  return Promise.all(
    collectors.map(async ({ collector, description }) => {
      const states: StatesByHour = (await intake?.hourStates(collector.id, request.from, request.to)) ?? new Map()
      return workOf(collector, description, request, states)
    }),
  )
}

function noteEarly({ early }: BackfillEnd): void {
  const [windows, otherReasons] = [early.filter(isWindow), early.filter(reason => !isWindow(reason))]
  const before = windows.reduce((sum, { count }) => sum + count, 0)
  if (before > 0)
    note(`not in this backfill: ${counted(before, 'run')} of a collector for an hour, as a window begins before --from`)
  for (const { fault, count, firstHour } of otherReasons) {
    const advice = firstHour === undefined ? 'start later' : `start with --from ${hourText(firstHour)}`
    note(`not possible: ${counted(count, 'run')} of a collector for an hour: ${fault.message} – ${advice}`)
  }
}

const isWindow = ({ fault }: Reason) => fault.code !== 'chain-before-first-block'

function noteLeft({ stopped: stopCause, left: runsLeft, collectors }: BackfillEnd, options: BackfillOptions): void {
  if (!stopCause) return
  const { fault, at: hour } = stopCause
  note(`stopped: ${faultLine(fault)}`)
  const isCapped = options.maxCalls !== undefined && fault.code === 'stopped'
  if (isCapped && collectors.every(({ done }) => done === 0)) note('no hour was done: allow more with --max-calls')
  if (runsLeft > 0) note(`${counted(runsLeft, 'run')} of a collector for an hour left; go on with`)
  if (runsLeft > 0) note(`  → ${resumption(options, hour)}`)
}

/** Default of the hours read concurrently. */
const concurrencyDefault = 100

/** Upper bound: hours being read are in memory, and are lost when the process is killed. */
const concurrencyMax = 500

interface BackfillOptions extends ConfigOption, JsonOption {
  /** First hour, as typed. */
  readonly from: string
  /** Last hour, included, as typed. Default: the current one. */
  readonly to?: string
  readonly only?: readonly string[]
  /** Whether only the cost is printed. */
  readonly plan?: boolean
  /** Whether collected hours are read again. */
  readonly overwrite?: boolean
  readonly newestFirst?: boolean
  /** Hours read at once. */
  readonly concurrency: number
  /** RPC calls at most. Default: no limit. */
  readonly maxCalls?: number
}

function backfillOptions(): Command {
  return configuredCommand('backfill')
    .description('past hours: collect, queue and push what is missing; a second run continues where it stopped')
    .requiredOption('--from <hour>', 'the first hour, like 2026-11-20T13:00:00Z')
    .option('--to <hour>', 'the last hour, included (default: the current one)')
    .option('--only <id...>', 'protocols or collectors (default: all)')
    .option('--plan', 'show the plan and its cost; send and store nothing')
    .option('--overwrite', 'read collected hours again, and correct differences')
    .option('--newest-first', 'start with the newest hour (default: the oldest)')
    .option(
      '--concurrency <hours>',
      `hours under way together, each with all its collectors: 1 to ${concurrencyMax}`,
      wholeNumber(1, concurrencyMax),
      concurrencyDefault,
    )
    .option('--max-calls <count>', 'stop before more RPC calls are made (default: no limit)', wholeNumber(1))
    .option('--json', 'print JSON')
}

/** The requested hours, both ends included. */
type HourSpan = Required<HourRange>

/** @throws Fault `usage` for an empty range, or one in the future */
function readRange({ from, to }: Pick<BackfillOptions, 'from' | 'to'>, nowMs: number): HourSpan {
  const range = { from: parseHour(from), to: to === undefined ? hourAt(nowMs) : parseHour(to) }
  for (const hour of [range.from, range.to]) demandBegun(hour, nowMs)
  demandOrder(range)
  return range
}

function orderOf({ newestFirst }: Pick<BackfillOptions, 'newestFirst'>): HourOrder {
  return newestFirst ? 'newest-first' : 'oldest-first'
}

/**
 * Command line that continues a stopped backfill.
 *
 * @param hour the hour it was at: collected hours are skipped anyway, but not with `--overwrite`
 */
function resumption(options: BackfillOptions, hour: Hour | undefined): string {
  const { overwrite, newestFirst, only: names, concurrency, maxCalls } = options
  const isFrom = overwrite && !newestFirst && hour !== undefined
  const isTo = overwrite && newestFirst && hour !== undefined
  const words = [
    `tidegauge backfill --from ${isFrom ? hourText(hour) : options.from} --to ${isTo ? hourText(hour) : options.to}`,
    ...(names ? [`--only ${names.map(shellWord).join(' ')}`] : []),
    ...(overwrite ? ['--overwrite'] : []),
    ...(newestFirst ? ['--newest-first'] : []),
    ...(concurrency === concurrencyDefault ? [] : [`--concurrency ${concurrency}`]),
    ...(maxCalls === undefined ? [] : [`--max-calls ${maxCalls}`]),
  ]
  return words.join(' ')
}

/** Whether a sampled hour could not be read, though its chain had blocks. */
const isLimited = ({ faults }: BackfillPlan) => faults.some(({ fault }) => fault?.code !== 'chain-before-first-block')

function faultsOf({ faults }: BackfillPlan) {
  return faults.flatMap(({ work, hour, fault }) =>
    fault ? [{ collector: work.collector.id, hour: hourText(hour), fault }] : [],
  )
}

function planJson(plan: BackfillPlan, { from, to }: HourSpan) {
  const { works, hours, cost, pushes, durationMs, certainty, spentCalls, hoursRead } = plan
  return {
    from: hourText(from),
    to: hourText(to),
    collectors: works.map(work => ({
      collector: work.collector.id,
      hours: work.hours.length,
      there: work.alreadyCollected,
      daemons: work.leftToDaemon,
      impossible: work.impossible,
      metrics: work.metrics,
    })),
    hours,
    calls: cost.calls,
    requests: cost.requests,
    pushes,
    durationMs: Math.round(durationMs),
    certainty,
    sample: {
      ...spentCalls,
      hours: hoursRead.map(hour => hourText(hour)),
      faults: faultsOf(plan).map(({ fault, ...rest }) => ({ ...rest, reason: faultLine(fault) })),
    },
  }
}

function printPlan(plan: BackfillPlan): void {
  const { works, hours, cost, pushes, durationMs, certainty, spentCalls, hoursRead } = plan
  const numbers = ['hours to do', 'already there', 'the daemon’s', 'not possible', 'metrics']
  printTable(
    ['collector', ...numbers],
    works.map(({ collector, hours: own, alreadyCollected, leftToDaemon, impossible, metrics }) => [
      collector.id,
      ...[own.length, alreadyCollected, leftToDaemon, impossible, metrics].map(grouped),
    ]),
    numbers,
  )
  if (certainty === 'unknown') print(`\n${counted(hours, 'hour')}; their cost is unknown, as none could be read`)
  else {
    print(`\n${counted(hours, 'hour')}; about ${callsText(cost)}, ${counted(pushes, 'push', 'pushes')}`)
    print(`about ${durationText(durationMs)}; nothing was stored or sent`)
  }
  const hoursText = hoursRead.map(hour => hourText(hour)).join(' and ')
  print(`${hoursText === '' ? 'to see that' : `for this ${hoursText} were read`}: ${callsText(spentCalls)}`)
  for (const { collector, hour, fault } of faultsOf(plan)) {
    print(`${hour} could not be read by ${collector}: ${faultLine(fault)}`)
  }
  if (isLimited(plan) && certainty !== 'unknown') print('the plan does not include the cost of more hours like these')
}

interface Summary {
  readonly range: HourSpan
  readonly end: BackfillEnd
  readonly counts: CallCounts
  /** Pushes of this command, attempts included. */
  readonly pushes: number
  /** Duration of the backfill, in milliseconds. */
  readonly durationMs: number
  /** Metrics waiting for delivery. */
  readonly due: number
}

/** Width of a line when stdout is not a terminal, in characters. */
const plainLineChars = 120

/** Characters shown of any reason, at least. */
const reasonCharsMin = 40

const lineChars = () => process.stdout.columns || plainLineChars

function summaryJson({ range, end, counts, pushes, durationMs, due: dueCount }: Summary) {
  return {
    from: hourText(range.from),
    to: hourText(range.to),
    collectors: end.collectors.map(({ collector, done, alreadyCollected, leftToDaemon, ...rest }) => {
      return { collector, done, there: alreadyCollected, daemons: leftToDaemon, ...rest }
    }),
    failures: end.failures.map(({ fault, count, spans }) => ({
      code: fault.code,
      reason: fault.message,
      facts: fault.facts,
      fix: fault.fix,
      count,
      example: spans[0] && { collector: spans[0].collector, hour: hourText(spans[0].from) },
      hours: spans.map(({ collector, from, to }) => ({ collector, from: hourText(from), to: hourText(to) })),
    })),
    early: end.early.map(({ fault, count }) => ({ reason: fault.message, facts: fault.facts, count })),
    left: end.left,
    stopped: end.stopped && faultLine(end.stopped.fault),
    calls: counts.calls,
    requests: counts.requests,
    pushes,
    due: dueCount,
    durationMs,
  }
}

function printSummary({ end, counts, pushes, durationMs }: Summary): void {
  const columns = columnsOf(end.collectors)
  printTable(
    ['collector', ...columns.map(({ head }) => head)],
    end.collectors.map(row => [row.collector, ...columns.map(({ of }) => grouped(row[of]))]),
    columns.map(({ head }) => head),
  )
  if (end.failures.length > 0) printFailures(end.failures)
  print(`\n${callsText(counts)}, ${counted(pushes, 'push', 'pushes')}, ${durationText(durationMs)}`)
}

/** `1,234 RPC calls (1,000 eth_call, 234 eth_getBlockByNumber) in 56 HTTP requests`. */
function callsText(counts: CallCounts): string {
  const byMethod = Object.entries(counts.calls).sort(([, one], [, other]) => other - one)
  const methods = byMethod.map(([method, count]) => `${grouped(count)} ${method}`).join(', ')
  return `${counted(callsIn(counts), 'RPC call')}${methods === '' ? '' : ` (${methods})`} in ${counted(counts.requests, 'HTTP request')}`
}

interface Column {
  readonly head: string
  readonly of: Exclude<keyof CollectorCounts, 'collector'>
  /** Left out when it is 0 for all collectors. */
  readonly isRare?: true
}

const allColumns: readonly Column[] = [
  { head: 'hours done', of: 'done' },
  { head: 'already there', of: 'alreadyCollected' },
  { head: 'the daemon’s', of: 'leftToDaemon', isRare: true },
  { head: 'failed', of: 'failed' },
  { head: 'not possible', of: 'impossible' },
  { head: 'new metrics', of: 'added' },
  { head: 'corrected', of: 'corrected' },
]

function columnsOf(rows: readonly CollectorCounts[]): readonly Column[] {
  return allColumns.filter(({ of, isRare }) => !isRare || rows.some(row => row[of] > 0))
}

/**
 * Prints the reasons of failures, cut so that a row stays one line of the terminal; `--json` has all of their words.
 */
function printFailures(failures: readonly Reason[]): void {
  const rows = failures.map(({ fault, count, spans }) => ({
    count: grouped(count),
    reason: faultLine(fault),
    example: exampleOf(spans),
    hours: spansText(spans),
  }))
  const widest = (texts: readonly string[]) => Math.max(...texts.map(({ length }) => length))
  const others = widest(['failed', ...rows.map(({ count }) => count)]) + widest(rows.map(({ example }) => example)) + 4
  const charsMax = Math.max(reasonCharsMin, lineChars() - others)
  print('')
  printTable(
    ['failed', 'reason', 'example'],
    rows.map(({ count, reason, example }) => [count, cut(reason, charsMax), example]),
    ['failed'],
  )
  if (rows.some(({ reason }) => reason.length > charsMax)) print('whole reasons: --json')
  for (const { count, hours } of rows) print(`hours of these ${count}: ${hours}`)
  if (failures.some(isPruned)) {
    print('to do: an archive node is needed, which keeps old state: put one under rpc:, and run this again')
  }
  const rest = failures.filter(failure => !isPruned(failure))
  for (const fix of new Set(rest.flatMap(({ fault }) => fault.fix ?? []))) print(`to do: ${fix}`)
}

const isPruned = ({ fault }: Reason) => fault.code === 'chain-state-missing'

function exampleOf([first]: Reason['spans']): string {
  return first ? `${first.collector} ${hourText(first.from)}` : ''
}

/** Ranges shown of a reason; further ones are counted. */
const rangesShown = 3

/** The first range of failed hours, and how many more there are. */
function spansText(spans: Reason['spans']): string {
  const ranges = spans.slice(0, rangesShown).map(({ collector, from, to }) => {
    return `${collector} ${from === to ? hourText(from) : `${hourText(from)} to ${hourText(to)}`}`
  })
  const more = spans.length - ranges.length
  return [...ranges, ...(more > 0 ? [`and ${counted(more, 'other range')} (--json)`] : [])].join(', ')
}
