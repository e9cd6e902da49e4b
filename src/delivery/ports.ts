import type { ProtocolConfig } from '../config/config.ts'
import type { Batch } from '../model/batch.ts'
import type { Metric } from '../model/metric.ts'
import type { Settlement } from '../outbox/outbox.ts'
import type { Pushed } from './push.ts'

/** Why a flush ended before everything due was settled. */
export type Stop =
  | { readonly kind: 'transient'; readonly reason: string; readonly notBeforeMs?: number }
  | { readonly kind: 'key-refused'; readonly reason: string }
  | { readonly kind: 'misdirected'; readonly reason: string }
  | { readonly kind: 'systemic'; readonly reason: string }
  | { readonly kind: 'stopped'; readonly reason: string }

/** Whether the service may have had a metric before this push. */
export type Sending = 'first' | 'again'

/** What a flush reads and does: the outbox and the service, as functions. */
export interface FlushPorts {
  readonly protocols: readonly ProtocolConfig[]
  /** Due metrics of the protocols, in the order of delivery, at most `limit`. */
  due(protocolIds: readonly string[], limit: number): readonly Metric[]
  /** Due metrics that this flush leaves alone. */
  readonly aside: readonly Metric[]
  /** Due metrics the service failed on before: each is sent alone, after everything else. */
  readonly troubled: readonly Metric[]
  /** One small batch that shows whether the service is up, before anything else is sent; absent when nothing has failed. */
  readonly probe?: Batch
  /** A metric that was delivered lately; `undefined` when there is none to go by. */
  earlier(): Metric | undefined
  /** Whether the service has ever accepted anything of these protocols: its address is right, then. */
  hasDelivered(): boolean
  /** Sends a batch, at most `attemptsMax` times. */
  push(batch: Batch, attemptsMax: number): Promise<Pushed>
  /** Resolves when the verdict is recorded. */
  settle(settlement: Settlement, sending: Sending): Promise<void>
  /** Registers a protocol the service does not know; resolves to why it could not, or `undefined` when it did. */
  register(protocol: ProtocolConfig): Promise<string | undefined>
  /** A protocol's metrics stay due until a later flush. */
  isolated(protocol: ProtocolConfig, status: number, reason: string): void
  /** A metric the service fails on, while it takes others, stays due until a later flush. */
  setAside(metric: Metric, reason: string): void
  readonly inFlight: number
  /** Metrics that are worth a push; default 1. */
  fewest?(): number
}
