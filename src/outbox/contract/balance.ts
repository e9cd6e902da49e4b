import type { MetricState } from './metrics.ts'

/**
 * Metrics ever enqueued, by state: `enqueued` is always delivered + dead + held + due. Delivered ones whose rows were
 * pruned are counted; those that a person dropped are counted apart.
 */
export type Balance = Readonly<Record<MetricState | 'enqueued', number>>

/** Metrics of the whole outbox, and why they wait. */
export interface Backlog {
  readonly balance: Balance
  /** Number of due and of finished (delivered, dead or dropped) metrics of each protocol that has any, by its id. */
  readonly byProtocol: ReadonlyMap<string, { readonly due: number; readonly finished: number }>
  /** Why deliveries wait, one sentence for each destination that does. */
  readonly waiting: readonly string[]
}
