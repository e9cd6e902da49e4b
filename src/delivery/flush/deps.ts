import type { ProtocolConfig } from '../../config/config.ts'
import type { Batch } from '../../model/batch.ts'
import type { Hour } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import type { MetricList } from '../../model/metric-list.ts'
import type { StillDue } from '../../outbox/contract/delivery-store.ts'
import type { DueWanted } from '../../outbox/contract/selections.ts'
import type { Attempts, NotRegistered, Pushed } from '../isolate/parts.ts'
import type { Quarantine } from '../isolate/quarantine.ts'
import type { Recorder } from '../record/recorder.ts'

/** Dependencies of a flush. */
export interface FlushDeps {
  /** All protocols of the destination. */
  readonly protocols: readonly ProtocolConfig[]
  /** Concurrent pushes, at most. */
  readonly inFlight: number
  /** Number of metrics that the service takes at once, as far as known. */
  batchSizeMax(): number
  /** Smallest number of metrics worth a push. Default: 1. */
  batchMetricsMin?(): number
  /** Hours from this one on go first. */
  readonly newestFirstFrom: Hour
  /** The current hour: it is not mixed with older ones in a batch. */
  readonly current: Hour
  /** Small batches that are sent first, once each, to test whether the service is up; none when nothing has failed. */
  readonly probes: readonly Batch[]

  /** The part of `DeliveryStore` that looks metrics up. */
  readonly outbox: {
    stillDue(metrics: readonly Metric[], stamp?: string): Promise<StillDue<Metric>>
    present(metric: Metric): Promise<Metric | undefined>
  }
  /** Due metrics of the protocols, in the order of delivery, at most `limit`. @param except metrics to leave out */
  due(protocolIds: readonly string[], limit: number, except?: DueWanted['except']): Promise<MetricList>
  /**
   * A recently delivered metric, to test whether the service still accepts anything; `undefined` when there is none.
   */
  earlier(): Promise<Metric | undefined>
  /** Whether the service ever accepted a metric of these protocols, so that its address is right. */
  hasDelivered(): Promise<boolean>

  /** Sends a batch. */
  push(batch: Batch, attempts: Attempts): Promise<Pushed>
  /** Registers a protocol. Resolves to the reason when it could not, else to `undefined`. */
  register(protocolId: string): Promise<NotRegistered | undefined>

  readonly recorder: Pick<
    Recorder,
    'record' | 'quarantineRejected' | 'quarantineUnregistered' | 'quarantineProtocol' | 'quarantineMetric'
  >
  readonly quarantine: Pick<Quarantine, 'hasProtocol' | 'countFailure' | 'failuresOf' | 'suspect'>
  /** Those due metrics that may be sent with others: their ids are not in quarantine. */
  free(due: MetricList): MetricList
  /** Metrics of the newest hour that are tried out of quarantine, each alone, before all older hours. */
  newestToProbe(): Promise<readonly Metric[]>
  /** The next metric in quarantine to be probed, after everything else; `undefined` when there is none. */
  toProbe(): Promise<Metric | undefined>
}
