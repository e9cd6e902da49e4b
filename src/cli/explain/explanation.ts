import { namedService } from '../../app/connection.ts'
import type { AppContext } from '../../app/context.ts'
import type { CollectorConfig } from '../../config/config.ts'
import type { FaultRecord } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import { labelOf, type MetricId, type Provenance } from '../../model/metric.ts'
import type { HistoryEntry, HourOrigin, UnsuccessfulFlushes } from '../../outbox/contract/history.ts'
import type { OperatorStore } from '../../outbox/contract/operator-store.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import type { DeadOrHeldMetric } from '../../outbox/contract/selections.ts'
import type { Warning } from '../../outbox/contract/warnings.ts'
import { ProvenanceSource } from '../../runner/daemon/provenance-source.ts'
import { type ReadAgain, readWithRecord } from './read-with-record.ts'

/** All that is known of a metric of an hour. */
export interface Explanation {
  readonly id: MetricId
  readonly hour: Hour
  /** Id of its collector. */
  readonly collector: string
  /** Absent where it has no value. */
  readonly entry?: HistoryEntry
  /** Absent where the hour was never expected. */
  readonly origin?: HourOrigin
  /** Why a backfill could not read the hour; absent where the hour is expected, or none tried. */
  readonly unread?: FaultRecord
  /** Why it waits for a person; absent where it does not. */
  readonly detained?: DeadOrHeldMetric
  /** Entry of the configuration; absent where the collector was removed. */
  readonly configured?: CollectorConfig
  /** Provenance that a run now would have; absent where the collector was removed. */
  readonly present?: Omit<Provenance, 'hosts'>
  /** Flushes that left metrics over between its collection and its delivery. */
  readonly flushes: readonly UnsuccessfulFlushes[]
  /** Remarks of the service on this metric id. */
  readonly warnings: readonly Warning[]
  readonly again: ReadAgain
}

/** The metric that is explained. */
export interface Explained {
  readonly id: MetricId
  readonly protocolId: string
  readonly hour: Hour
  readonly collector: string
}

/** Gathers what is known of a metric of an hour, and reads it again. */
export async function explanationOf(
  context: AppContext,
  { operators, intake }: Pick<Outbox, 'operators' | 'intake'>,
  { id, protocolId, hour, collector }: Explained,
): Promise<Explanation> {
  const { config } = context
  const configured = config.protocols.flatMap(({ collectors }) => collectors).find(one => one.id === collector)
  const [entry] = await operators.history(id, hour, hour)
  const origin = await operators.origin(collector, hour)
  const [range] = origin ? [] : await operators.hourRanges('unread', { collectors: [collector], from: hour, to: hour })
  const state = entry?.state
  const isDetained = state === 'dead' || state === 'held'
  const detained = isDetained ? (await operators.deadOrHeld({ state, ids: [id], hour }))[0] : undefined
  const again = configured
    ? await readWithRecord(context, configured, hour, labelOf({ id, protocolId }), intake)
    : { failure: 'its collector is no longer configured' }
  return {
    id,
    hour,
    collector,
    ...(entry && { entry }),
    ...(origin && { origin }),
    ...(range?.fault && { unread: range.fault }),
    ...(detained && { detained }),
    ...(configured && { configured, present: presentOf(configured) }),
    flushes: entry ? await flushesOf(context, operators, protocolId, entry) : [],
    warnings: (await operators.warnings()).filter(({ metricId }) => metricId === id),
    again,
  }
}

function presentOf({ id, use, options, place }: CollectorConfig): Omit<Provenance, 'hosts'> {
  return new ProvenanceSource({}).present({ id, use, options, configFile: place.file })
}

async function flushesOf(
  { config, time }: AppContext,
  operators: OperatorStore,
  protocolId: string,
  { collectedMs, deliveredMs }: HistoryEntry,
): Promise<readonly UnsuccessfulFlushes[]> {
  const { destinations } = namedService(config)
  const own = destinations.find(({ protocols }) => protocols.some(({ id }) => id === protocolId))
  return own ? operators.unsuccessfulFlushes(own.name, collectedMs, deliveredMs ?? time.nowMs()) : []
}
