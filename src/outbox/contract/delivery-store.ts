import type { Hour } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import type { Cure } from '../../model/waiting.ts'
import type { MetricVerdicts } from './hours.ts'
import type { Balance, DueWanted, MetricKey } from './metrics.ts'

/**
 * Whether a metric may have been sent before. `no`: this process enqueued it and has not sent it. `unknown`: an earlier
 * process may have. `corrected`: another value of it may have been sent.
 */
export type SentBefore = 'no' | 'unknown' | 'corrected'

/** The outbox for delivery: due metrics, verdicts, and the states of destinations. Methods reject with errors that `OutboxHealth` classifies and explains. */
export interface DeliveryStore {
  /** The oldest or newest due hour of some protocols, up to `latest`; `undefined` when none is due. */
  dueHour(which: 'oldest' | 'newest', protocolIds: readonly string[], latest: Hour): Promise<Hour | undefined>
  /** Due metrics of some protocols as of one instant: the hours from `newestFirstFrom` on first, then the backlog. */
  due(wanted: DueWanted, limit: number): Promise<readonly Metric[]>
  /** The given metrics that are still due: a person may have dropped one, or a correction may be held. */
  stillDue<T extends MetricKey>(metrics: readonly T[]): Promise<readonly T[]>
  /** A metric of an hour as it would be sent; `undefined` unless it is due or delivered. */
  present(metric: MetricKey): Promise<Metric | undefined>
  /** The newest delivered metric of some protocols within the day up to an hour; `undefined` when there is none. */
  lastDelivered(protocolIds: readonly string[], hour: Hour): Promise<Metric | undefined>
  /** Whether any metric of some protocols was ever delivered, pruned ones included. */
  hasDelivered(protocolIds: readonly string[]): Promise<boolean>

  /** Whether metrics may have been sent before, in the order asked. To be asked before their verdicts are recorded. */
  sentBefore(metrics: readonly MetricKey[]): Promise<readonly SentBefore[]>
  /** Notes that metrics may have been sent: the given ones, or all when another process may have sent them. */
  maybeSent(metrics: readonly MetricKey[] | 'all'): void
  /**
   * Records verdicts, all or none. A metric corrected since it was sent stays due. They survive the end of the process;
   * a power cut may undo the latest, and those metrics are sent again, which only updates.
   *
   * @param onDelayed called at each attempt that cannot record them, since another process writes
   */
  recordVerdicts(verdicts: MetricVerdicts, nowMs: number, onDelayed?: () => void): Promise<void>

  /** The stored state of a destination; a new one has none of the reasons to wait. */
  destination(name: string): Promise<DestinationState>
  /**
   * Stores the state of a destination. Once it resolves, this process reads the state; others read it as soon as no
   * other process keeps it from being written. A power cut may undo a state without failures and without `Retry-After`.
   */
  saveDestination(name: string, state: DestinationState): Promise<void>
  /** Deletes the reasons why all other destinations wait: no protocol uses their key any more. */
  silenceOtherDestinations(names: readonly string[]): Promise<void>

  /** Counts of all metrics, and why deliveries wait. */
  backlog(): Promise<Backlog>
}

/** The latest answered push to a destination. */
export interface LastPush {
  readonly atMs: number
  readonly verdict: string
  /** The status of an answer that ended the flush; absent without one. */
  readonly status?: number
}

/** State of one destination (the pushes with one key) that survives a restart. */
export interface DestinationState {
  /** End of the service's latest `Retry-After`, in milliseconds since 1970. 0 when there is none. */
  readonly notBeforeMs: number
  /** When an open breaker lets a probe through, in milliseconds since 1970. 0 when closed. */
  readonly probeAtMs: number
  /** Whether a person has asked for a flush since the state was last saved. Default: no. */
  readonly isAsked?: boolean
  /** Failed flushes in a row. */
  readonly failures: number
  /**
   * The facts why delivery waits, without what happens next and what to do, as `waitingSentence` reads; absent when it does
   * not wait.
   */
  readonly waiting?: string
  /** Absent where nothing failed, and metrics are only left out. */
  readonly cure?: Cure
  /** The latest answered push; absent before the first. */
  readonly lastPush?: LastPush
  /**
   * Offset of the service's clock from this machine's, in milliseconds, positive when ahead; absent until an answer
   * showed it.
   */
  readonly skewMs?: number
}

/** Metrics of the whole outbox, and why they wait. */
export interface Backlog {
  readonly balance: Balance
  /** Number of due and of finished (delivered, dead or dropped) metrics of each protocol that has any, by its id. */
  readonly byProtocol: ReadonlyMap<string, { readonly due: number; readonly finished: number }>
  /** The destinations whose deliveries wait. */
  readonly waiting: readonly DestinationState[]
}
