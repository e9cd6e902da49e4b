import type { ProtocolConfig } from '../../config/config.ts'
import type { Batch } from '../../model/batch.ts'
import type { Metric } from '../../model/metric.ts'
import type { Settlement } from '../../outbox/outbox.ts'
import type { Sending } from '../isolate/actions.ts'
import type { Attempts, Pushed } from '../isolate/parts.ts'

/** What a flush needs: the outbox, the service and the quarantine, as functions. */
export interface FlushDeps {
  /** All of the destination. */
  readonly protocols: readonly ProtocolConfig[]
  /** Pushes under way at a time, at most. */
  readonly inFlight: number
  /** Metrics that are worth a push; default 1. */
  fewest?(): number
  /** One small batch that shows whether the service is up, before anything else is sent; absent when nothing has failed. */
  readonly probe?: Batch

  /** Due metrics of the protocols, in the order of delivery, at most `limit`. */
  due(protocolIds: readonly string[], limit: number): readonly Metric[]
  /** Those of some metrics that were not dropped since they were read. */
  stillDue(metrics: readonly Metric[]): readonly Metric[]
  /** As long as it is the same, none was dropped. */
  dueVersion(): string
  /** A metric that was delivered lately; `undefined` when there is none to go by. */
  earlier(): Metric | undefined
  /** A metric with the value it has now; `undefined` when it is not to be sent any more. */
  present(metric: Metric): Metric | undefined
  /** Whether the service has ever accepted anything of these protocols: its address is right, then. */
  hasDelivered(): boolean

  /** Sends a batch. */
  push(batch: Batch, attempts: Attempts): Promise<Pushed>
  /** Resolves when the verdicts are recorded. */
  record(settlement: Settlement, sending: Sending): Promise<void>
  /** Registers a protocol the service does not know; resolves to why it could not, or `undefined` when it did. */
  register(protocolId: string): Promise<string | undefined>

  /** Whether a protocol is in quarantine. */
  isInQuarantine(protocolId: string): boolean
  /** Whether a due metric may be sent with others: its id is not in quarantine. */
  isFree(metric: Metric): boolean
  /** The next metric out of quarantine to be tried alone, after everything else; `undefined` when none is to be. */
  toProbe(): Metric | undefined
  /** The service rejects a protocol: its metrics stay due until a later flush. */
  quarantineRejected(protocolId: string, status: number, reason: string): void
  /** The service fails on a protocol, while it takes others: its metrics stay due until a later flush. */
  quarantineProtocol(protocolId: string, reason: string): void
  /** The service fails on a metric, while it takes others: it stays due until a later flush, and its protocol may as well. */
  quarantineMetric(metric: Metric, reason: string): void
  /** The service failed on a push of one protocol, and it is not known whether it takes anything. */
  countFailure(protocolId: string): void
  /** How often it did so since something of the protocol was accepted. */
  failuresOf(protocolId: string): number
}
