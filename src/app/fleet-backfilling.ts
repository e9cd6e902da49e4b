import { CallMeter } from '../chain/endpoint/call-meter.ts'
import type { CollectorConfig } from '../config/config.ts'
import { BackfillWorker, type WindowResult } from '../fleet/backfill-worker.ts'
import type { JobEngine } from '../fleet/job-engine.ts'
import type { Lane } from '../fleet/lane.ts'
import { Backfill } from '../intake/backfill/backfill.ts'
import { partRecord } from '../intake/backfill/joined-end.ts'
import { type BackfillRequest, type Work, workOf } from '../intake/backfill/work.ts'
import { Fault } from '../model/fault.ts'
import { hourAt, hoursFrom } from '../model/hour.ts'
import type { BackfillWindow } from '../outbox/contract/backfill-store.ts'
import type { IntakeOutbox } from '../outbox/contract/outbox.ts'
import type { SharedOutbox } from '../outbox/contract/shared-outbox.ts'
import type { Runner } from '../runner/runner.ts'
import type { AppContext } from './context.ts'
import { openRunner } from './open-chains.ts'

/** Dependencies of `fleetBackfilling`. */
export interface FleetBackfillingDeps {
  readonly context: AppContext
  readonly outbox: IntakeOutbox
  readonly shared: Pick<SharedOutbox, 'store' | 'backfills'>
  readonly engine: JobEngine
  /** The lanes that this daemon works now. */
  readonly worked: () => readonly Lane[]
  readonly failed: (error: unknown) => void
}

/** Reads the windows of backfills in the lanes of this daemon, in processes of their own. */
export function fleetBackfilling(deps: FleetBackfillingDeps): BackfillWorker {
  const { context, shared, engine, worked, failed } = deps
  const collectors = context.config.protocols.flatMap(protocol => protocol.collectors)
  const configured = new Map(collectors.map(collector => [collector.id, collector]))
  return new BackfillWorker({
    store: shared.store,
    backfills: shared.backfills,
    engine,
    lanes: worked,
    knows: window => window.collectors.every(id => configured.has(id)),
    read: (window, signal) => {
      const own = window.collectors.flatMap(id => configured.get(id) ?? [])
      return readWindow(window, own, signal, deps)
    },
    time: context.time,
    failed,
  })
}

async function readWindow(
  { from, to, what, order }: BackfillWindow,
  collectors: readonly CollectorConfig[],
  signal: AbortSignal,
  { context, outbox }: FleetBackfillingDeps,
): Promise<WindowResult> {
  await using stack = new AsyncDisposableStack()
  const { config, time } = context
  const meter = new CallMeter()
  const runner = openRunner(context, stack, { store: outbox.intake, meterOf: () => meter })
  const asked: BackfillRequest = { from, to, current: hourAt(time.nowMs()), what, daemon: 'runs' }
  const works = await Promise.all(collectors.map(collector => workFor(collector, asked, runner, outbox)))
  const concurrency = hoursFrom(from, to).length
  const backfill = { outbox, runner, time, works, asked, order, concurrency, signal, chains: config.chains }
  const end = await new Backfill({ ...backfill, report: () => {} }).run()
  return partRecord({ end, calls: meter.counts() })
}

/** @throws Fault `collector-unusable` */
async function workFor(
  collector: CollectorConfig,
  asked: BackfillRequest,
  runner: Runner,
  { intake }: IntakeOutbox,
): Promise<Work> {
  const described = await runner.describe(collector)
  if (described.kind === 'mistaken') {
    throw new Fault('collector-unusable', `the options of ${collector.id} are mistaken here`, {
      fix: 'tidegauge check',
    })
  }
  return workOf(collector, described, asked, await intake.hourStates(collector.id, asked.from, asked.to))
}
