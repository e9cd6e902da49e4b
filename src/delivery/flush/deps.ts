import type { ProtocolConfig } from '../../config/config.ts'
import type { Batch } from '../../model/batch.ts'
import type { Metric } from '../../model/metric.ts'
import type { StillDue } from '../../outbox/contract/delivery-store.ts'
import type { MetricVerdicts } from '../../outbox/contract/outcome.ts'
import type { Sending } from '../isolate/actions.ts'
import type { Attempts, Pushed } from '../isolate/parts.ts'

/** Dependencies of a flush: the outbox, the service and the quarantine, as functions. */
export interface FlushDeps {
  /** All protocols of the destination. */
  readonly protocols: readonly ProtocolConfig[]
  /** Concurrent pushes, at most. */
  readonly inFlight: number
  /** Smallest number of metrics worth a push. Default: 1. */
  fewest?(): number
  /** A small batch that is sent first, to test whether the service is up; absent when nothing has failed. */
  readonly probe?: Batch

  /** Due metrics of the protocols, in the order of delivery, at most `limit`. */
  due(protocolIds: readonly string[], limit: number): Promise<readonly Metric[]>
  /** The metrics that were not dropped since they were read. @param stamp as `DeliveryStore.stillDue` has it */
  stillDue(metrics: readonly Metric[], stamp?: string): Promise<StillDue<Metric>>
  /**
   * A recently delivered metric, to test whether the service still accepts anything; `undefined` when there is none.
   */
  earlier(): Promise<Metric | undefined>
  /** A metric with its present value; `undefined` when it must not be sent any more. */
  present(metric: Metric): Promise<Metric | undefined>
  /** Whether the service ever accepted a metric of these protocols, so that its address is right. */
  hasDelivered(): Promise<boolean>

  /** Sends a batch. */
  push(batch: Batch, attempts: Attempts): Promise<Pushed>
  /** Resolves when the verdicts are recorded. */
  record(verdicts: MetricVerdicts, sending: Sending): Promise<void>
  /** Registers a protocol. Resolves to the reason when it could not, else to `undefined`. */
  register(protocolId: string): Promise<string | undefined>

  /** Whether a protocol is in quarantine. */
  isInQuarantine(protocolId: string): boolean
  /** Whether a due metric may be sent with others: its id is not in quarantine. */
  isFree(metric: Metric): boolean
  /** The next metric in quarantine to be probed, after everything else; `undefined` when there is none. */
  toProbe(): Promise<Metric | undefined>
  /** Quarantines a protocol that the service rejects: its metrics stay due until a later flush. */
  quarantineRejected(protocolId: string, status: number, reason: string): void
  /**
   * Quarantines a protocol that the service fails on while it takes others: its metrics stay due until a later flush.
   */
  quarantineProtocol(protocolId: string, reason: string): void
  /**
   * Quarantines a metric that the service fails on while it takes others: it stays due until a later flush, and its
   * protocol may as well.
   */
  quarantineMetric(metric: Metric, reason: string): void
  /** Counts a failed push of one protocol, while it is unknown whether the service accepts anything. */
  countFailure(protocolId: string): void
  /** Failed pushes of a protocol since one of its metrics was accepted. */
  failuresOf(protocolId: string): number
}
