import type { Command } from 'commander'
import type { AppContext } from '../../app/context.ts'
import { openOutbox, rolesOf } from '../../app/open-outbox.ts'
import { systemTime } from '../../edge/time.ts'
import type { BackfillEnd } from '../../intake/backfill/backfill.ts'
import { type BackfillRequest, firstHour, type StatesByHour, type Work, workOf } from '../../intake/backfill/work.ts'
import { Fault, faultLine } from '../../model/fault.ts'
import { hourAt, hourText } from '../../model/hour.ts'
import type { IntakeStore } from '../../outbox/contract/intake-store.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { budgetOf, cappedMeter } from '../backfill/calls.ts'
import { type BackfillDelivery, startDelivery } from '../backfill/delivery.ts'
import {
  type BackfillOptions,
  backfillOptions,
  type HourSpan,
  orderOf,
  readRange,
  resumption,
} from '../backfill/options.ts'
import { makePlan, type PlanDeps } from '../backfill/plan.ts'
import { printPlan, printPlanJson } from '../backfill/plan-text.ts'
import { ProgressLine } from '../backfill/progress.ts'
import { readAll } from '../backfill/read-all.ts'
import { printSummary, printSummaryJson } from '../backfill/summary.ts'
import { asTyped } from '../configured-command.ts'
import { standing } from '../deliver-now.ts'
import { exitCodes } from '../exit.ts'
import { openContext } from '../open-context.ts'
import { openedByClock } from '../require-clock.ts'
import { Signals } from '../signals.ts'
import { keepHeapSmall } from '../small-heap.ts'
import { counted, note } from '../terminal.ts'
import { type UsableCollector, usableCollectors } from '../usable-collectors.ts'
import { warmProcesses } from '../warm-processes.ts'

/** `backfill`: past hours. Ends with 1 when an hour was not collected, is left, or is not delivered. */
export function backfillCommand(ended: (code: number) => void): Command {
  return backfillOptions().action(async (options: BackfillOptions) => {
    using _ = keepHeapSmall(systemTime)
    const signals = new Signals()
    using warm = warmProcesses()
    const given: AppContext = { ...openContext(options.config), warm }
    const usable = await usableCollectors(given, options.only, signals, ended)
    await using stack = new AsyncDisposableStack()
    const { context, outbox } = await openedByClock(given, stack)
    const range = readRange(options, given.time.nowMs())
    const isDone = options.plan
      ? await planOnly({ context, outbox, options }, range, usable)
      : await collectAndDeliver(
          { context, outbox: outbox ?? (await openOutbox(context, stack)), options, signals, stack },
          range,
          usable,
        )
    if (!isDone) ended(exitCodes.incomplete)
  })
}

interface BackfillCommandDeps {
  readonly context: AppContext
  readonly outbox: Outbox
  readonly options: BackfillOptions
  readonly signals: Signals
  readonly stack: AsyncDisposableStack
}

/** @returns whether the sampled hours could be read */
async function planOnly(
  { context, outbox, options }: Pick<BackfillCommandDeps, 'context' | 'options'> & Pick<PlanDeps, 'outbox'>,
  range: HourSpan,
  usable: readonly UsableCollector[],
): Promise<boolean> {
  const by = (await (await rolesOf(context.config)).daemon()) ? 'daemon' : 'own'
  const asked = askedOf({ context, options }, range, { by })
  const works = await Promise.all(usable.map(each => workFor(outbox?.intake, asked, each)))
  const { concurrency } = options
  const plan = await makePlan({ context, outbox, works, order: orderOf(options), concurrency })
  if (options.json) printPlanJson(plan, range)
  else printPlan(plan)
  return plan.faults.every(({ fault }) => fault?.code === 'chain-before-first-block')
}

/** @returns whether all requested hours are collected and delivered */
async function collectAndDeliver(
  deps: BackfillCommandDeps,
  range: HourSpan,
  usable: readonly UsableCollector[],
): Promise<boolean> {
  const { context, outbox, options, stack } = deps
  const { time } = context
  const startMs = time.nowMs()
  const { balance: before } = await outbox.operators.backlog()
  const stopping = stoppingOf(deps)
  const meter = cappedMeter(options.maxCalls, fault => stopping.abort(fault))
  const budget = budgetOf(options.maxCalls, meter, context.config.chains.length)
  const delivery = await startDelivery(context, outbox, stack)
  const asked = askedOf(deps, range, delivery)
  const works = await Promise.all(usable.map(each => workFor(outbox.intake, asked, each)))
  const progress = new ProgressLine(
    time,
    () => meter.counts(),
    async () => (await outbox.operators.backlog()).balance.due,
  )
  const reading = { ...deps, works, asked, meter, budget, signal: stopping.signal }
  const { end, calls } = await readAll({ ...reading, report: news => progress.show(news) })
  await progress.end()
  if (!deps.signals.stopping.aborted) await delivery.finish()
  const { balance: after } = await outbox.operators.backlog()
  const { pushes } = delivery
  const summary = { range, end, counts: calls, pushes, durationMs: time.nowMs() - startMs, due: after.due }
  if (options.json) printSummaryJson(summary)
  else printSummary(summary)
  noteEarly(end)
  noteLeft(end, options)
  const [dead, held] = [after.dead - before.dead, after.held - before.held]
  if (after.due + dead + held > 0) {
    const next = after.due > 0 ? ` (${dueAdvice(delivery, options)})` : ''
    note(`${counted(after.due, 'metric')} due${next}${standing({ dead, held }, options)}`)
  }
  const failed = end.collectors.reduce((sum, counts) => sum + counts.failed, 0)
  return failed + end.left + after.due + dead + held === 0
}

/** A controller aborted by a signal, or by its other users. */
function stoppingOf({ signals }: BackfillCommandDeps): AbortController {
  const stopping = new AbortController()
  const stop = () => stopping.abort(new Fault('stopped', 'it was asked to stop'))
  if (signals.stopping.aborted) stop()
  signals.stopping.addEventListener('abort', stop, { once: true })
  return stopping
}

function askedOf(
  { context, options }: Pick<BackfillCommandDeps, 'context' | 'options'>,
  range: HourSpan,
  { by }: Pick<BackfillDelivery, 'by'>,
): BackfillRequest {
  return {
    ...range,
    current: hourAt(context.time.nowMs()),
    what: options.overwrite ? 'overwrite' : 'missing',
    daemon: by === 'daemon' ? 'runs' : 'none',
  }
}

async function workFor(
  intake: IntakeStore | undefined,
  asked: BackfillRequest,
  { collector, description }: UsableCollector,
): Promise<Work> {
  const states: StatesByHour = (await intake?.hourStates(collector.id, asked.from, asked.to)) ?? new Map()
  return workOf(collector, description, asked, states)
}

/** Sentence about which process delivers the due metrics. */
function dueAdvice({ by }: Pick<BackfillDelivery, 'by'>, options: BackfillOptions): string {
  return by === 'daemon' ? 'the running daemon delivers them' : asTyped('flush', options)
}

function noteEarly({ early }: BackfillEnd): void {
  for (const { fault, count } of early) {
    const first = firstHour(fault)
    const advice = first === undefined ? 'start later' : `start with --from ${hourText(first)}`
    note(`not possible: ${counted(count, 'run')} of a collector for an hour: ${fault.message} – ${advice}`)
  }
}

function noteLeft({ stopped, left, collectors }: BackfillEnd, options: BackfillOptions): void {
  if (!stopped) return
  const { fault, at } = stopped
  note(`stopped: ${faultLine(fault)}`)
  const isCapped = options.maxCalls !== undefined && fault.code === 'stopped'
  if (isCapped && collectors.every(({ done }) => done === 0)) note('no hour was done: allow more with --max-calls')
  if (left > 0) note(`${counted(left, 'run')} of a collector for an hour left; go on with`)
  if (left > 0) note(`  → ${resumption(options, at)}`)
}
