import type { Metric } from '../../model/metric.ts'
import type { Verdict } from '../../model/verdict.ts'
import type { MetricVerdicts } from '../../outbox/contract/hours.ts'
import type { DeadLetter } from '../../outbox/contract/metrics.ts'
import {
  attemptsMax,
  type FailedPiece,
  type NotRegistered,
  type Piece,
  type Pushed,
  type SentPiece,
  type VerdictOf,
} from './pieces.ts'

/** A metric that was rejected alone. */
export interface RejectedSingle {
  readonly deadLetter: DeadLetter
  /** As `FlushState.sequence` counts. */
  readonly rejectedAt: number
}

/** A metric on which the service failed when it was sent alone. */
interface FailingMetric {
  readonly metric: Metric
  readonly reason: string
  /** Whether its whole protocol is at fault if it is. */
  readonly isProtocol: boolean
  /** As `FlushState.sequence` counts. */
  readonly failedAt: number
}

/** Knowledge of one flush about the service and its pushes. Kept in memory only. */
export interface FlushState {
  /** Why nothing more is sent; absent while the flush continues. */
  readonly stop?: Stop
  /** Counter of pushes and rejections, to know which came first. */
  readonly sequence: number
  /** Protocols to register when the service does not know them. */
  readonly registrable: ReadonlySet<string>
  /** Attempts that failed, or may, while nothing was accepted: at most as many as one push has. */
  readonly attempts: { readonly max: number; readonly used: number }

  /** The last accepted metric, sent again to test the service (that only updates); absent when there is none. */
  readonly knownGood?: Metric
  /** Pushes of which at least one metric was accepted. */
  readonly acceptedPushes: number
  /** Ids of protocols with an accepted metric. */
  readonly acceptedProtocols: ReadonlySet<string>
  /** Rejected singles not decided yet: the metric or the service may be at fault. */
  readonly rejected: readonly RejectedSingle[]
  /** Metrics whose other half of a rejected pair was accepted: one that is rejected, too, is at fault. */
  readonly otherOfPair: ReadonlySet<string>
  /** Metrics of other protocols put first, to test whether anything is accepted. */
  readonly probes: number
  /** Pushes rejected since one was accepted. */
  readonly rejectionsInRow: number
  /** Metrics that failed alone since a later push was accepted: they, or the service, may be at fault. */
  readonly failing: readonly FailingMetric[]
  /** Pieces that failed while it was unknown whether the service accepts anything. */
  readonly undecided: readonly FailedPiece[]
  /** Whether the first pieces were split, to be sent separately. */
  readonly isSplit: boolean
}

/** Input of `initialState`. */
interface FlushStart {
  /** Protocols to register when the service does not know them. Default: none. */
  readonly registrable?: Iterable<string>
  /** Attempts before anything is accepted. Default: as many as one push has. */
  readonly attemptsMax?: number
  /** Whether the first pieces are small and few, and not split further. Default: no. */
  readonly isSplit?: boolean
}

/** The state before the first push. */
export function initialState(start: FlushStart = {}): FlushState {
  const { registrable = [], attemptsMax: max = attemptsMax, isSplit = false } = start
  return {
    sequence: 0,
    registrable: new Set(registrable),
    attempts: { max, used: 0 },
    acceptedPushes: 0,
    acceptedProtocols: new Set(),
    rejected: [],
    otherOfPair: new Set(),
    probes: 0,
    rejectionsInRow: 0,
    failing: [],
    undecided: [],
    isSplit,
  }
}

/** Whether all attempts failed without an accepted push: the service is down, and gets no more. */
export function areAttemptsUsed({ knownGood, attempts }: FlushState): boolean {
  return knownGood === undefined && attempts.used >= attempts.max
}

/** Why a flush ended before every due metric had a verdict. */
export interface Stop {
  /**
   * `transient`: the service fails, or asks to wait. `systemic`: it rejects everything, so no metric is at fault.
   * `misdirected`: the address is not the service's. `stopped`: the process ends it.
   */
  readonly kind: 'transient' | 'key-refused' | 'misdirected' | 'systemic' | 'stopped'
  /** The reason as a sentence, for a person. */
  readonly reason: string
  /** The status that the service answered; absent when it did not. */
  readonly status?: number
  /** As of a verdict. Default: no. */
  readonly isNoResult?: true
  /** Whether the key could not be read, so that the service is not at fault. Default: no. */
  readonly isKeyMissing?: true
  /** Whether the refused key is the one that was refused before. Default: no. */
  readonly isUnchanged?: true
}

/** Why the known-good metric is sent: singles were rejected, or the service failed on a piece. */
type CheckReason = 'rejections' | FailedPiece

/** An event in a flush. Facts other than verdicts are looked up by the loop just before. */
export type FlushEvent =
  /** A piece was taken from the worklist. */
  | { readonly kind: 'taken'; readonly piece: Piece }
  | {
      readonly kind: 'answered'
      readonly sent: SentPiece
      readonly pushed: Pushed
      /** Whether the service has accepted a metric at this address before. */
      readonly isAddressProven: boolean
      /** Whether the verdict refuses a protocol, and that of the piece's first metric is in quarantine already. */
      readonly isInQuarantine: boolean
    }
  /** The verdict on a piece is in the outbox. */
  | {
      readonly kind: 'recorded'
      readonly piece: Piece
      readonly sentAt: number
      readonly verdict: VerdictOf<'settled'>
    }
  /** The known-good metric was answered; once, however many checks wait for it. */
  | { readonly kind: 'known-good-answered'; readonly verdict: Verdict; readonly sentAt: number }
  /** The known-good metric must not be sent any more. */
  | { readonly kind: 'known-good-gone' }
  /** The known-good metric was answered; for each check that waits. */
  | { readonly kind: 'checked'; readonly why: CheckReason; readonly verdict?: Verdict }
  /** A rejected single was sent once more. */
  | { readonly kind: 'confirmed'; readonly deadLetter: DeadLetter; readonly pushed: Pushed }
  /** Metrics from elsewhere were put first. */
  | { readonly kind: 'probing'; readonly count: number }
  /** The protocol of a piece was registered, or could not be. */
  | {
      readonly kind: 'registered'
      readonly piece: Piece
      /** Why registration failed; absent when it succeeded. */
      readonly refusal?: NotRegistered
      readonly isInQuarantine: boolean
    }
  /** The cause of a failed piece is to be narrowed down. @param dueMetrics metrics of the piece that are still due */
  | {
      readonly kind: 'narrowing'
      readonly failed: FailedPiece
      readonly dueMetrics: readonly Metric[]
      readonly isInQuarantine: boolean
    }
  /** One metric of a protocol was tried. */
  | { readonly kind: 'sampled'; readonly otherPieces: readonly Piece[]; readonly isInQuarantine: boolean }
  /** Only undecided pieces are left to send. */
  | { readonly kind: 'drained' }
  /** Nothing is left to send; rejected singles are decided. */
  | { readonly kind: 'concluding' }
  | { readonly kind: 'concluded' }
  /** Nothing more is sent in this flush. */
  | { readonly kind: 'ending' }
  /** The outbox, or a stop, threw. */
  | { readonly kind: 'broken'; readonly stop: Stop }

/** Whether the service may have had a metric before a push. */
export type Sending = 'first' | 'again'

/** A next action of a flush. Each is complete before the next one of the same step begins. */
export type FlushAction =
  /** Pushes a piece; its answer is the event `answered`. */
  | { readonly kind: 'push'; readonly sent: SentPiece }
  /** Records verdicts in the outbox. */
  | { readonly kind: 'record'; readonly verdicts: MetricVerdicts; readonly sending: Sending }
  /** Continues with an event. */
  | { readonly kind: 'next'; readonly event: FlushEvent }
  /** Puts pieces before everything else that is to be sent. */
  | { readonly kind: 'send-first'; readonly pieces: readonly Piece[] }
  /** Puts pieces after everything else that is to be sent. */
  | { readonly kind: 'send-last'; readonly pieces: readonly Piece[] }
  /** Puts pieces first, those of the protocols with the fewest failures before the others. */
  | { readonly kind: 'send-separately'; readonly pieces: readonly Piece[] }
  /** Puts metrics first that are as unlike the rejected ones as can be; the event `probing` says how many. */
  | { readonly kind: 'probe-others'; readonly rejected: readonly Metric[]; readonly countMax: number }
  /** Sends the known-good metric; the events are `known-good-answered`, once, and `checked` for each that waits. */
  | { readonly kind: 'check'; readonly metric: Metric; readonly sentAt: number; readonly why: CheckReason }
  /** Sends a metric that was delivered before this flush, if there is one; the event is `known-good-answered`. */
  | { readonly kind: 'check-earlier'; readonly sentAt: number }
  /** Sends a rejected single once more, if it is still due; the event is `confirmed`. */
  | { readonly kind: 'confirm'; readonly deadLetter: DeadLetter }
  /** Registers a piece's protocol; the event is `registered`. */
  | { readonly kind: 'register'; readonly piece: Piece }
  /** Looks up the metrics of a failed piece that are still due; the event is `narrowing`. */
  | { readonly kind: 'narrow'; readonly failed: FailedPiece }
  /** Sends one metric of a protocol, once at a time; the event is `sampled`. */
  | { readonly kind: 'sample'; readonly sample: Piece; readonly otherPieces: readonly Piece[] }
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
export function stopped(state: FlushState, { kind, reason, status, isNoResult }: Stop): FlushStep {
  const stop = { kind, reason, ...(status !== undefined && { status }), ...(isNoResult && { isNoResult }) }
  return step({ ...state, stop: state.stop ?? stop })
}
