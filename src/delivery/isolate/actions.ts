import type { Metric } from '../../model/metric.ts'
import type { MetricVerdicts } from '../../outbox/contract/outcome.ts'
import type { Stop } from '../gate/stop.ts'
import type { CheckReason, FlushEvent } from './events.ts'
import type { FailedPart, Part, SentPart } from './parts.ts'
import type { Confirmation, FlushState } from './state.ts'

/** Whether the service may have had a metric before a push. */
export type Sending = 'first' | 'again'

/** A next action of a flush. Each is complete before the next one of the same step begins. */
export type FlushAction =
  /** Pushes a part; its answer is the event `answered`. */
  | { readonly kind: 'push'; readonly sent: SentPart }
  /** Records verdicts in the outbox. */
  | { readonly kind: 'record'; readonly verdicts: MetricVerdicts; readonly sending: Sending }
  /** Continues with an event. */
  | { readonly kind: 'next'; readonly event: FlushEvent }
  /** Puts parts before everything else that is to be sent. */
  | { readonly kind: 'send-first'; readonly parts: readonly Part[] }
  /** Puts parts after everything else that is to be sent. */
  | { readonly kind: 'send-last'; readonly parts: readonly Part[] }
  /** Puts parts first, those of the protocols with the fewest failures before the others. */
  | { readonly kind: 'try-apart'; readonly parts: readonly Part[] }
  /** Puts metrics first that are as unlike the rejected ones as can be; the event `probing` says how many. */
  | { readonly kind: 'probe-others'; readonly rejected: readonly Metric[]; readonly countMax: number }
  /** Sends the known-good metric; the events are `known-good-answered`, once, and `checked` for each that waits. */
  | { readonly kind: 'check'; readonly metric: Metric; readonly sentAt: number; readonly why: CheckReason }
  /** Sends a metric that was delivered before this flush, if there is one; the event is `known-good-answered`. */
  | { readonly kind: 'check-earlier'; readonly sentAt: number }
  /** Sends a rejected single once more, if it is still due; the event is `confirmed`. */
  | { readonly kind: 'confirm'; readonly confirmation: Confirmation }
  /** Registers a part's protocol; the event is `registered`. */
  | { readonly kind: 'register'; readonly part: Part }
  /** Looks up the metrics of a failed part that are still due; the event is `narrowing`. */
  | { readonly kind: 'narrow'; readonly failed: FailedPart }
  /** Sends one metric of a protocol, once at a time; the event is `sampled`. */
  | { readonly kind: 'sample'; readonly sample: Part; readonly rest: readonly Part[] }
  /** Counts a failed push of one protocol, while it is unknown whether the service accepts anything. */
  | { readonly kind: 'count-failure'; readonly protocolId: string }
  /** Remembers metrics that failed alone in a flush that the service's failures ended: others are tried before them. */
  | { readonly kind: 'suspect'; readonly metrics: readonly Metric[] }
  /**
   * Quarantines the protocol of a metric that the service rejects with a status. @param isNew whether it was not in
   * quarantine, or was tried out of it
   */
  | {
      readonly kind: 'quarantine-rejected'
      readonly metric: Metric
      readonly status: number
      readonly reason: string
      readonly isNew: boolean
    }
  /** Quarantines the protocol of a metric: the service cannot register it now. */
  | { readonly kind: 'quarantine-unregistered'; readonly metric: Metric; readonly reason: string }
  /** Quarantines the protocol of a metric: the service fails on all of it. */
  | { readonly kind: 'quarantine-protocol'; readonly metric: Metric; readonly reason: string }
  /** Quarantines a metric that the service fails on, and its protocol where it does so on several. */
  | { readonly kind: 'quarantine-metric'; readonly metric: Metric; readonly reason: string }

/** A new state and the actions that follow, in this order. */
export interface FlushStep {
  readonly state: FlushState
  readonly actions: readonly FlushAction[]
}

/** A step. */
export function step(state: FlushState, ...actions: readonly FlushAction[]): FlushStep {
  return { state, actions }
}

/** A step, and the next one from the state it leads to. */
export function andThen({ state, actions }: FlushStep, next: (state: FlushState) => FlushStep): FlushStep {
  const following = next(state)
  return { state: following.state, actions: [...actions, ...following.actions] }
}

/** Ends the flush, unless it has ended for another reason already. */
export function stopped(state: FlushState, { kind, reason }: Stop): FlushStep {
  return step({ ...state, stop: state.stop ?? { kind, reason } })
}
