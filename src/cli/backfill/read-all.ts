import type { AppContext } from '../../app/context.ts'
import { openChains } from '../../app/open-chains.ts'
import { openHourReader } from '../../app/open-runner.ts'
import type { CallMeter } from '../../chain/endpoint/call-meter.ts'
import { JobEngine } from '../../fleet/job-engine.ts'
import { Backfill, type BackfillNews, type CallBudget } from '../../intake/backfill/backfill.ts'
import { joinedParts, type PartEnd } from '../../intake/backfill/joined-end.ts'
import type { BackfillRequest, Work } from '../../intake/backfill/work.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import type { SharedOutbox } from '../../outbox/contract/shared-outbox.ts'
import { createLog } from '../../telemetry/log.ts'
import { FleetBackfill, laneOfWork, livingLanes } from './in-fleet.ts'
import { type BackfillOptions, orderOf } from './options.ts'

/** Dependencies of `readAll`. */
export interface ReadAllDeps {
  readonly context: AppContext
  readonly outbox: Outbox
  readonly options: BackfillOptions
  readonly works: readonly Work[]
  readonly asked: BackfillRequest
  readonly meter: CallMeter
  /** Limit on RPC calls; absent without one. */
  readonly budget: CallBudget | undefined
  readonly signal: AbortSignal
  readonly report: (news: BackfillNews) => void
  readonly stack: AsyncDisposableStack
}

/**
 * Reads all hours of a backfill: by the daemons of a fleet in the lanes that one of them works, and here in the others, as
 * where the outbox belongs to one daemon. Calls that are limited are counted in one process: here.
 */
export async function readAll(deps: ReadAllDeps): Promise<PartEnd> {
  const { outbox, options, works } = deps
  const shared = options.maxCalls === undefined ? outbox.shared : undefined
  const living = shared ? await livingLanes(shared.store) : new Set<string>()
  const theirs = works.filter(work => work.hours.length > 0 && living.has(laneOfWork(work)))
  if (!shared || theirs.length === 0) return readHere(deps)
  const own = works.filter(work => !theirs.includes(work))
  const { order, size } = { order: orderOf(options), size: options.concurrency }
  const { context, stack } = deps
  const { store, backfills } = shared
  const fleet = {
    ...deps,
    works: theirs,
    store,
    backfills,
    order,
    size,
    time: context.time,
    engine: engineOf(context, shared, stack),
  }
  const report = (news: BackfillNews) => {
    // There is one line of progress: that of the fleet.
    if (news.kind !== 'went-on') deps.report(news)
  }
  return joinedParts(await Promise.all([new FleetBackfill(fleet).run(), readHere({ ...deps, works: own, report })]))
}

async function readHere(deps: ReadAllDeps): Promise<PartEnd> {
  const { context, outbox, options, meter, budget, stack, ...rest } = deps
  const loud = withCollectorsLog(context)
  const chains = openChains(loud, stack, { store: outbox.intake, meterOf: () => meter })
  const end = await new Backfill({
    ...rest,
    outbox,
    reader: openHourReader(loud, chains, stack),
    time: context.time,
    order: orderOf(options),
    concurrency: options.concurrency,
    chains: context.config.chains,
    ...(budget && { budget }),
  }).run()
  return { end, calls: meter.counts() }
}

/** Its own upkeep is done by the daemons, too. */
function engineOf({ time }: AppContext, { jobs }: SharedOutbox, stack: AsyncDisposableStack): JobEngine {
  const engine = new JobEngine({ statements: jobs, time, failed: () => {} })
  stack.defer(() => engine.stop())
  return engine
}

/** Shows the collectors' log to the person who runs this; delivery is reported in other words. */
function withCollectorsLog(context: AppContext): AppContext {
  return { ...context, log: createLog(context.config.log.level, context.redactor) }
}
