import type { Metric } from '../../model/metric.ts'
import type { DeadLetter } from '../../outbox/contract/metrics.ts'
import type { Stop } from '../gate/stop.ts'
import { attemptsMax } from './limits.ts'
import type { FailedPart } from './parts.ts'

/** A metric that was rejected alone. */
export interface RejectedSingle {
  readonly deadLetter: DeadLetter
  /** As `FlushState.sequence` counts. */
  readonly rejectedAt: number
}

/** A rejected single that was rejected again when it was sent once more. */
export interface ConfirmedSingle {
  readonly deadLetter: DeadLetter
  /** Number of rejections after the first one. */
  readonly rejections: number
}

/** A rejected single that is sent once more, alone. */
export interface Confirmation extends ConfirmedSingle {
  /** Rejections after which the single counts as confirmed or dead. */
  readonly timesMax: number
  /** Its state afterwards; one that becomes dead was confirmed before. */
  readonly becomes: 'confirmed' | 'dead'
}

/** A metric on which the service failed when it was sent alone. */
export interface FailingMetric {
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
  /** Size of the largest batch of which at least one metric was accepted. */
  readonly acceptedSizeMax: number

  /** Rejected singles not decided yet: the metric or the service may be at fault. */
  readonly rejected: readonly RejectedSingle[]
  readonly confirmed: readonly ConfirmedSingle[]
  /** Metrics whose other half of a rejected pair was accepted: one that is rejected, too, is at fault. */
  readonly otherOfPair: ReadonlySet<string>
  /** Whether the service rejects and accepts the same metric: some of its instances may reject everything. */
  readonly isInconsistent: boolean
  /** Whether a single became dead in this flush. */
  readonly hasDead: boolean
  /** Dead letters not recorded yet. */
  readonly dead: readonly DeadLetter[]
  /** Metrics of other protocols put first, to test whether anything is accepted. */
  readonly probes: number
  /** Pushes rejected since one was accepted. */
  readonly rejectionsInRow: number
  /** Rejected pushes so far. */
  readonly rejections: number

  /** Metrics that failed alone since a later push was accepted: they, or the service, may be at fault. */
  readonly failing: readonly FailingMetric[]
  /** Parts that failed while it was unknown whether the service accepts anything. */
  readonly undecided: readonly FailedPart[]
  /** Whether the first parts were split, to be sent apart. */
  readonly isTriedApart: boolean
}

/** Input of `initialState`. */
export interface FlushStart {
  /** Protocols to register when the service does not know them. Default: none. */
  readonly registrable?: Iterable<string>
  /** Attempts before anything is accepted. Default: as many as one push has. */
  readonly attemptsMax?: number
  /** Whether the first parts are small and few, and not split further. Default: no. */
  readonly isTriedApart?: boolean
}

/** The state before the first push. */
export function initialState(start: FlushStart = {}): FlushState {
  const { registrable = [], attemptsMax: max = attemptsMax, isTriedApart = false } = start
  return {
    sequence: 0,
    registrable: new Set(registrable),
    attempts: { max, used: 0 },
    acceptedPushes: 0,
    acceptedProtocols: new Set(),
    acceptedSizeMax: 0,
    rejected: [],
    confirmed: [],
    otherOfPair: new Set(),
    isInconsistent: false,
    hasDead: false,
    dead: [],
    probes: 0,
    rejectionsInRow: 0,
    rejections: 0,
    failing: [],
    undecided: [],
    isTriedApart,
  }
}

/** Whether all attempts failed without an accepted push: the service is down, and gets no more. */
export function areAttemptsUsed({ knownGood, attempts }: FlushState): boolean {
  return knownGood === undefined && attempts.used >= attempts.max
}
