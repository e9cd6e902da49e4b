import type { ProtocolConfig } from '../config/config.ts'
import type { Batch } from '../model/batch.ts'
import type { Metric } from '../model/metric.ts'
import type { Verdict } from '../model/verdict.ts'
import type { Settlement } from '../outbox/outbox.ts'

/** Why a flush ended before everything due was settled. */
export type Stop =
  | { readonly kind: 'transient'; readonly reason: string; readonly notBeforeMs?: number }
  | { readonly kind: 'key-refused'; readonly reason: string }
  | { readonly kind: 'misdirected'; readonly reason: string }
  | { readonly kind: 'systemic'; readonly reason: string }
  | { readonly kind: 'stopped'; readonly reason: string }

/** What a flush reads and does: the outbox and the service, as functions. */
export interface FlushPorts {
  readonly protocols: readonly ProtocolConfig[]
  /** Due metrics of the protocols, in the order of delivery, at most `limit`. */
  due(protocolIds: readonly string[], limit: number): readonly Metric[]
  push(batch: Batch): Promise<Verdict>
  settle(settlement: Settlement): void
  /** Registers a protocol the service does not know; resolves to why it could not, or `undefined` when it did. */
  register(protocol: ProtocolConfig): Promise<string | undefined>
  /** A protocol's metrics stay due until a later flush. */
  isolated(protocol: ProtocolConfig, status: number, reason: string): void
  readonly inFlight: number
}
