import { CallMeter } from '../chain/endpoint/call-meter.ts'
import type { CollectorConfig } from '../config/config.ts'
import {
  BackfillWorker,
  type BackfillWorkerDeps,
  type WindowClaim,
  type WindowResult,
} from '../fleet/backfill-worker.ts'
import type { Lane } from '../fleet/lane.ts'
import { Backfill, type BackfillNews } from '../intake/backfill/backfill.ts'
import { partRecord } from '../intake/backfill/joined-end.ts'
import { type BackfillRequest, type Work, workOf } from '../intake/backfill/work.ts'
import type { HourPipeline } from '../intake/collect-hours.ts'
import type { HourReader } from '../intake/hour-reader.ts'
import { Fault } from '../model/fault.ts'
import { hourAt, hoursFrom } from '../model/hour.ts'
import type { BackfillWindow, SharedOutbox } from '../outbox/contract/fleet-store.ts'
import type { BackfillOutbox, IntakeOutbox, Outbox } from '../outbox/contract/outbox.ts'
import type { AppContext } from './context.ts'
import { type EndpointMemory, openChains } from './open-chains.ts'
import { openPipeline } from './open-runner.ts'

/** Dependencies of `backfillWorker`. */
interface BackfillWorkerParts extends Pick<BackfillWorkerDeps, 'engine' | 'lanes' | 'reportFailure' | 'name'> {
  readonly context: AppContext
  readonly outbox: IntakeOutbox & Pick<Outbox, 'lists'>
  readonly sharedOutbox: SharedOutbox
  /** Shared by all readers of this daemon. */
  readonly endpointMemory: EndpointMemory
  /** Those that this daemon knows. */
  readonly collectors: readonly CollectorConfig[]
  /** Whether this daemon leaves a collector to the others. */
  readonly standsBack: (collector: string) => boolean
}

/** Starts reading windows of backfills, in processes of their own. */
export function backfillWorker(parts: BackfillWorkerParts): BackfillWorker {
  const { context, sharedOutbox, collectors, standsBack, engine, lanes, reportFailure, name } = parts
  const collectorById = new Map(collectors.map(collector => [collector.id, collector]))
  const reader = new WindowReader(parts, collectorById)
  return new BackfillWorker({
    ...{
      store: sharedOutbox.store,
      backfills: sharedOutbox.backfills,
      engine,
      lanes,
      reportFailure,
      name,
      time: context.time,
    },
    knows: window => window.collectors.every(id => collectorById.has(id) && !standsBack(id)),
    readWindow: (lane, window, claimed) => reader.read(lane, window, claimed),
    closeLane: lane => reader.close(lane),
  })
}

/** Chains and processes of collectors, open while there are windows of a lane. */
interface OpenLane {
  readonly pipeline: HourPipeline
  readonly meter: CallMeter
  readonly stack: AsyncDisposableStack
}

/** Reads windows of backfills, with chains and processes that each lane has for itself. */
class WindowReader {
  readonly #context: AppContext
  readonly #outbox: IntakeOutbox & Pick<Outbox, 'lists'>
  readonly #shared: SharedOutbox
  readonly #endpointMemory: EndpointMemory
  readonly #configured: ReadonlyMap<string, CollectorConfig>
  readonly #open = new Map<Lane, OpenLane>()

  /** @param collectorById the collectors that this daemon knows, by their ids */
  constructor(
    { context, outbox, sharedOutbox, endpointMemory }: BackfillWorkerParts,
    collectorById: ReadonlyMap<string, CollectorConfig>,
  ) {
    this.#context = context
    this.#outbox = outbox
    this.#shared = sharedOutbox
    this.#endpointMemory = endpointMemory
    this.#configured = collectorById
  }

  /** @throws Fault `collector-unusable` */
  async read(
    lane: Lane,
    window: BackfillWindow,
    { signal, requireOwned, noteUnread }: WindowClaim,
  ): Promise<WindowResult> {
    const { intake } = this.#shared
    const outbox: BackfillOutbox = {
      health: this.#outbox.health,
      intake: {
        hourStates: (...wanted) => intake.hourStates(...wanted),
        pasts: metrics => intake.pasts(metrics),
        inputs: (...wanted) => intake.inputs(...wanted),
        setInputs: (...given) => intake.setInputs(...given),
        backlog: () => intake.backlog(),
        record: (outcome, nowMs) => intake.record(outcome, nowMs, requireOwned),
        recordGap: (...gap) => intake.recordGap(...gap, requireOwned),
        forgetPins: (...hour) => intake.forgetPins(...hour, requireOwned),
      },
    }
    const { time } = this.#context
    const { from, to, what: scope, order } = window
    const { pipeline, meter } = this.#opened(lane)
    const countsBefore = meter.counts()
    const request: BackfillRequest = { from, to, current: hourAt(time.nowMs()), scope, daemon: 'runs' }
    const own = window.collectors.flatMap(id => this.#configured.get(id) ?? [])
    const works = await Promise.all(own.map(collector => workFor(collector, request, pipeline.reader, outbox)))
    const concurrency = hoursFrom(from, to).length
    const backfill = { outbox, pipeline, time, works, asked: request, order, concurrency, signal }
    const report = (news: BackfillNews) => {
      if (news.kind === 'waits-for-chain') noteUnread(news.wait.fault)
    }
    const end = await new Backfill({ ...backfill, report }).run()
    // A backfill that is stopped stops its runner.
    if (signal.aborted) await this.close(lane)
    return partRecord({ end, calls: meter.countsSince(countsBefore) })
  }

  async close(lane: Lane): Promise<void> {
    const open = this.#open.get(lane)
    this.#open.delete(lane)
    await open?.stack.disposeAsync()
  }

  #opened(lane: Lane): OpenLane {
    const known = this.#open.get(lane)
    if (known) return known
    const [meter, stack] = [new CallMeter(), new AsyncDisposableStack()]
    const chains = openChains(this.#context, stack, {
      store: this.#outbox.intake,
      meterOf: () => meter,
      endpointMemory: this.#endpointMemory,
    })
    const open = { pipeline: openPipeline(this.#context, chains, stack, this.#outbox.lists), meter, stack }
    this.#open.set(lane, open)
    return open
  }
}

/** @throws Fault `collector-unusable` */
async function workFor(
  collector: CollectorConfig,
  request: BackfillRequest,
  reader: HourReader,
  { intake }: BackfillOutbox,
): Promise<Work> {
  const description = await reader.describe(collector)
  if (description.kind === 'mistaken') {
    throw new Fault('collector-unusable', `the options of ${collector.id} are mistaken here`, {
      fix: 'tidegauge check',
    })
  }
  return workOf(collector, description, request, await intake.hourStates(collector.id, request.from, request.to))
}
