import type { AppContext } from '../../app/context.ts'
import { openChains } from '../../app/open-chains.ts'
import { logUpkeep, openOutbox } from '../../app/open-outbox.ts'
import { openHourReader } from '../../app/open-runner.ts'
import type { HourReader } from '../../intake/hour-reader.ts'
import { Fault } from '../../model/fault.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import type { WarmProcesses } from '../../runner/daemon/warm-processes.ts'
import { createLog } from '../../telemetry/log.ts'
import { type BackfillDelivery, startDelivery } from '../backfill/delivery.ts'
import type { ConfigOption, JsonOption } from '../configured-command.ts'
import { exitCodes } from '../exit.ts'
import { openContext } from '../open-context.ts'
import { openedByClock } from '../require-clock.ts'
import { Signals } from '../signals.ts'
import { type UsableCollector, usableCollectors } from '../usable-collectors.ts'
import { collectHours, type HourEnd } from './collect-hours.ts'
import { type DueRun, planDueHours } from './due-hours.ts'
import { startFinality } from './finality.ts'
import { incompleteSentences, noteSkipped, printCaughtUp, printHour } from './report.ts'
import { withHeartbeat } from './run-heartbeat.ts'

/** Options of `collect --catch-up`. */
export interface CatchUpOptions extends ConfigOption, JsonOption {
  readonly only?: readonly string[]
  /** Hours in all, at most. Default: all that are due. */
  readonly maxHours?: number
}

/**
 * `collect --catch-up`: every hour that is due, once. Ends with 1 when an hour of its turn was not collected or not
 * delivered, and with 0 when hours are left because of `--max-hours`, or because another process is at work.
 */
export async function catchUp(
  options: CatchUpOptions,
  warm: WarmProcesses,
  ended: (code: number) => void,
): Promise<void> {
  const signals = new Signals()
  const given: AppContext = { ...openContext(options.config), warm }
  const usable = await usableCollectors(given, options.only, signals, ended)
  await using stack = new AsyncDisposableStack()
  const { context, outbox: existing } = await openedByClock(given, stack)
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
  // The person who runs this sees why a ping is not accepted.
  const reporting = { ...context, log: createLog('warn', context.redactor) }
  const left = await withHeartbeat(
    reporting,
    sentences => sentences,
    () => collectAndDeliver({ context, outbox, delivery, signals, stack, options }, usable),
  )
  if (left.length > 0) ended(exitCodes.incomplete)
}

interface CatchUpDeps {
  readonly context: AppContext
  readonly outbox: Outbox
  readonly delivery: BackfillDelivery
  readonly signals: Signals
  readonly stack: AsyncDisposableStack
  readonly options: CatchUpOptions
}

/** @returns what had its turn and is not collected or not delivered, a sentence each */
async function collectAndDeliver(deps: CatchUpDeps, usable: readonly UsableCollector[]): Promise<string[]> {
  const { context, outbox, delivery, signals, stack, options } = deps
  const { balance: before } = await outbox.operators.backlog()
  const current = hourAt(context.time.nowMs())
  const due = inTurn(await planDueHours({ context, outbox, current }, usable), current)
  const taken = due.slice(0, options.maxHours)

  // The person who runs this sees the collectors' log; hours are reported in other words.
  const chains = openChains(context, stack, { store: outbox.intake })
  const log = createLog(context.config.log.level, context.redactor)
  const reader = openHourReader({ ...context, log }, chains, stack)
  const finality = startFinality({ context, outbox, reader, chains: Object.values(chains) }, usable)
  stopWith(signals, reader)
  const ends: HourEnd[] = []
  await collectHours(
    {
      outbox,
      reader,
      time: context.time,
      log: context.log,
      chains: context.config.chains,
      // A daemon that has started meanwhile collects the rest.
      isOver: () => signals.stopping.aborted || delivery.by !== 'own',
      ended: end => {
        ends.push(end)
        if (!options.json) printHour(end)
      },
    },
    taken,
  )
  await finality.finish()
  if (!signals.stopping.aborted) await delivery.finish()
  const { balance: after } = await outbox.operators.backlog()
  const report = { ends, left: due.length - ends.length, before, after }
  printCaughtUp(report, options)
  if (signals.stopping.aborted) throw new Fault('stopped', 'it was asked to stop: what is left stays due')
  return incompleteSentences(report)
}

/** The current hour first, then the oldest. */
function inTurn(due: ReadonlyMap<Hour, readonly DueRun[]>, current: Hour): (readonly [Hour, readonly DueRun[]])[] {
  const own = due.get(current)
  return [...(own ? [[current, own] as const] : []), ...[...due].filter(([hour]) => hour !== current)]
}

/** Running collectors end with the signal; their hours stay due. */
function stopWith({ stopping }: Signals, reader: HourReader): void {
  const stop = () => void reader.stop()
  if (stopping.aborted) stop()
  stopping.addEventListener('abort', stop, { once: true })
}
