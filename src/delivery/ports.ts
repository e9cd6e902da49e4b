import type { ProtocolConfig } from '../config/config.ts'
import type { Batch } from '../model/batch.ts'
import type { Metric } from '../model/metric.ts'
import type { Settlement } from '../outbox/outbox.ts'
import type { Attempts, Pushed } from './push.ts'

/** Whether the service may have had a metric before this push. */
export type Sending = 'first' | 'again'

/** What a flush reads and does: the outbox and the service, as functions. */
export interface FlushPorts {
  /** All of the destination. */
  readonly protocols: readonly ProtocolConfig[]
  /** Whether a protocol is in quarantine. */
  isInQuarantine(protocolId: string): boolean
  /** Due metrics of the protocols, in the order of delivery, at most `limit`. */
  due(protocolIds: readonly string[], limit: number): readonly Metric[]
  /** Those of some metrics that nobody has dropped since they were read. */
  stillDue(metrics: readonly Metric[]): readonly Metric[]
  /** As long as it is the same, nobody has dropped any. */
  dueVersion(): string
  /** Whether a due metric may be sent with others: its id is not in quarantine. */
  isFree(metric: Metric): boolean
  /** The next metric out of quarantine to be tried alone, after everything else; `undefined` when none is to be. */
  toProbe(): Metric | undefined
  /** One small batch that shows whether the service is up, before anything else is sent; absent when nothing has failed. */
  readonly probe?: Batch
  /** A metric that was delivered lately; `undefined` when there is none to go by. */
  earlier(): Metric | undefined
  /** A metric with the value it has now; `undefined` when it is not to be sent any more. */
  present(metric: Metric): Metric | undefined
  /** Whether the service has ever accepted anything of these protocols: its address is right, then. */
  hasDelivered(): boolean
  /** Sends a batch. */
  push(batch: Batch, attempts: Attempts): Promise<Pushed>
  /** Resolves when the verdict is recorded. */
  settle(settlement: Settlement, sending: Sending): Promise<void>
  /** Registers a protocol the service does not know; resolves to why it could not, or `undefined` when it did. */
  register(protocol: ProtocolConfig): Promise<string | undefined>
  /** The service refuses a protocol: its metrics stay due until a later flush. */
  isolated(protocol: ProtocolConfig, status: number, reason: string): void
  /** The service fails on all of a protocol that was tried, while it takes others. */
  failed(protocolId: string, reason: string): void
  /** The service fails on a metric, while it takes others; it stays due until a later flush, and its protocol may as well. */
  setAside(metric: Metric, reason: string): void
  /** The service failed on a push of one protocol, and it is not known whether it takes anything. */
  doubted(protocolId: string): void
  /** How often it did so lately. */
  doubtOf(protocolId: string): number
  readonly inFlight: number
  /** Metrics that are worth a push; default 1. */
  fewest?(): number
}
