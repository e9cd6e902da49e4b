import { type CallCounts, CallMeter } from '../chain/endpoint/call-meter.ts'
import type { CollectorConfig } from '../config/config.ts'
import { BackfillWorker, type WindowClaim, type WindowResult } from '../fleet/backfill-worker.ts'
import type { JobEngine } from '../fleet/job-engine.ts'
import type { Lane } from '../fleet/lane.ts'
import { Backfill } from '../intake/backfill/backfill.ts'
import { partRecord } from '../intake/backfill/joined-end.ts'
import { type BackfillRequest, type Work, workOf } from '../intake/backfill/work.ts'
import type { HourReader } from '../intake/hour-reader.ts'
import { Fault } from '../model/fault.ts'
import { hourAt, hoursFrom } from '../model/hour.ts'
import type { BackfillWindow } from '../outbox/contract/backfill-store.ts'
import type { BackfillOutbox, IntakeOutbox } from '../outbox/contract/outbox.ts'
import type { SharedOutbox } from '../outbox/contract/shared-outbox.ts'
import type { AppContext } from './context.ts'
import { openChains } from './open-chains.ts'
import { openHourReader } from './open-hour-reader.ts'

/** Dependencies of `fleetBackfilling`. */
export interface FleetBackfillingDeps {
  readonly context: AppContext
  readonly outbox: IntakeOutbox
  readonly shared: SharedOutbox
  readonly engine: JobEngine
  /** The lanes that this daemon works now and that have windows. */
  readonly lanes: () => Promise<readonly Lane[]>
  readonly failed: (error: unknown) => void
}

/** Reads the windows of backfills in the lanes of this daemon, in processes of their own. */
export function fleetBackfilling(deps: FleetBackfillingDeps): BackfillWorker {
  const { context, shared, engine, lanes, failed } = deps
  const collectors = context.config.protocols.flatMap(protocol => protocol.collectors)
  const configured = new Map(collectors.map(collector => [collector.id, collector]))
  const reader = new WindowReader(deps, configured)
  return new BackfillWorker({
    store: shared.store,
    backfills: shared.backfills,
    engine,
    lanes,
    knows: window => window.collectors.every(id => configured.has(id)),
    read: (lane, window, claimed) => reader.read(lane, window, claimed),
    rest: lane => reader.close(lane),
    time: context.time,
    failed,
  })
}

/** Chains and processes of collectors, open while there are windows of a lane. */
interface OpenLane {
  readonly reader: HourReader
  readonly meter: CallMeter
  readonly stack: AsyncDisposableStack
}

class WindowReader {
  readonly #deps: FleetBackfillingDeps
  readonly #configured: ReadonlyMap<string, CollectorConfig>
  readonly #open = new Map<Lane, OpenLane>()

  constructor(deps: FleetBackfillingDeps, configured: ReadonlyMap<string, CollectorConfig>) {
    this.#deps = deps
    this.#configured = configured
  }

  /** @throws Fault `collector-unusable` */
  async read(lane: Lane, window: BackfillWindow, { signal, held }: WindowClaim): Promise<WindowResult> {
    const { context, shared } = this.#deps
    const { intake } = shared
    const outbox: BackfillOutbox = {
      health: this.#deps.outbox.health,
      intake: {
        hourStates: (...wanted) => intake.hourStates(...wanted),
        pasts: metrics => intake.pasts(metrics),
        backlog: () => intake.backlog(),
        record: (outcome, nowMs) => intake.record(outcome, nowMs, held),
      },
    }
    const { config, time } = context
    const { from, to, what, order } = window
    const { reader, meter } = this.#opened(lane)
    const before = meter.counts()
    const asked: BackfillRequest = { from, to, current: hourAt(time.nowMs()), what, daemon: 'runs' }
    const own = window.collectors.flatMap(id => this.#configured.get(id) ?? [])
    const works = await Promise.all(own.map(collector => workFor(collector, asked, reader, outbox)))
    const concurrency = hoursFrom(from, to).length
    const backfill = { outbox, reader, time, works, asked, order, concurrency, signal, chains: config.chains }
    const end = await new Backfill({ ...backfill, report: () => {} }).run()
    // A backfill that is stopped stops its runner.
    if (signal.aborted) await this.close(lane)
    return partRecord({ end, calls: callsSince(before, meter.counts()) })
  }

  async close(lane: Lane): Promise<void> {
    const open = this.#open.get(lane)
    this.#open.delete(lane)
    await open?.stack.disposeAsync()
  }

  #opened(lane: Lane): OpenLane {
    const known = this.#open.get(lane)
    if (known) return known
    const { context, outbox } = this.#deps
    const [meter, stack] = [new CallMeter(), new AsyncDisposableStack()]
    const chains = openChains(context, stack, { store: outbox.intake, meterOf: () => meter })
    const open = { reader: openHourReader(context, chains, stack), meter, stack }
    this.#open.set(lane, open)
    return open
  }
}

/** @throws Fault `collector-unusable` */
async function workFor(
  collector: CollectorConfig,
  asked: BackfillRequest,
  reader: HourReader,
  { intake }: BackfillOutbox,
): Promise<Work> {
  const described = await reader.describe(collector)
  if (described.kind === 'mistaken') {
    throw new Fault('collector-unusable', `the options of ${collector.id} are mistaken here`, {
      fix: 'tidegauge check',
    })
  }
  return workOf(collector, described, asked, await intake.hourStates(collector.id, asked.from, asked.to))
}

function callsSince(before: CallCounts, { requests, calls }: CallCounts): CallCounts {
  const more = Object.entries(calls).map(([method, count]) => [method, count - (before.calls[method] ?? 0)] as const)
  return { requests: requests - before.requests, calls: Object.fromEntries(more.filter(([, count]) => count > 0)) }
}
