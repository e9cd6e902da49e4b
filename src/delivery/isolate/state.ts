import type { Metric } from '../../model/metric.ts'
import type { DeadLetter } from '../../outbox/tables/metrics.ts'
import type { Stop } from '../gate/stop.ts'
import { attemptsMax } from './limits.ts'
import type { FailedPart } from './parts.ts'

/** A metric that was rejected alone. */
export interface RejectedSingle {
  readonly letter: DeadLetter
  readonly rejectedAt: number
}

/** A rejected single that was rejected again when it was sent once more. */
export interface ConfirmedSingle {
  readonly letter: DeadLetter
  /** How often it was rejected after the first time. */
  readonly rejections: number
}

/** A rejected single that is sent once more, alone. */
export interface Confirmation extends ConfirmedSingle {
  /** Rejections after which it is believed. */
  readonly timesMax: number
  /** What it is then; one that is to be dead was confirmed before. */
  readonly becomes: 'confirmed' | 'dead'
}

/** What one flush knows about the service and about what it has sent. Kept in memory only. */
export interface FlushState {
  /** Why nothing more is sent; absent while the flush goes on. */
  readonly stop?: Stop
  /** Counts pushes and rejections, so that it is known which came first. */
  readonly moment: number
  /** Protocols that are to be registered where the service does not know them. */
  readonly registrable: ReadonlySet<string>
  /** Attempts that failed, or may, while nothing was accepted: as many as one push would have, whatever is sent with them. */
  readonly attempts: { readonly max: number; readonly used: number }

  /** The metric that was accepted last; absent while nothing was. Sent once more it tests the service: that only updates. */
  readonly knownGood?: Metric
  /** Pushes of which something was accepted. */
  readonly acceptedPushes: number
  readonly acceptedProtocols: ReadonlySet<string>
  /** Metrics of the largest batch of which something was accepted. */
  readonly acceptedSizeMax: number

  /** Those of which it is not known yet whether it is the metric or the service. */
  readonly rejected: readonly RejectedSingle[]
  readonly confirmed: readonly ConfirmedSingle[]
  /** Of each of these the other half of a rejected pair was accepted: if it is rejected as well, it is the bad one. */
  readonly otherOfPair: ReadonlySet<string>
  /** The service rejects and accepts the same: a part of its instances may reject everything. */
  readonly isInconsistent: boolean
  readonly hasDead: boolean
  /** Metrics from elsewhere that were put first, to find out whether anything is accepted. */
  readonly probes: number
  /** Pushes rejected since something was accepted. */
  readonly rejectionsInRow: number
  readonly rejections: number

  /** Parts that failed while it was not known whether the service takes anything. */
  readonly undecided: readonly FailedPart[]
  /** What was sent together first was split, to be tried apart. */
  readonly isTriedApart: boolean
}

/** What a flush starts from. */
export interface FlushStart {
  /** Protocols that are to be registered where the service does not know them. */
  readonly registrable?: Iterable<string>
  /** Attempts before anything is accepted; default: as many as one push has. */
  readonly attemptsMax?: number
}

/** The state before the first push. */
export function initialState({ registrable = [], attemptsMax: max = attemptsMax }: FlushStart = {}): FlushState {
  return {
    moment: 0,
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
    probes: 0,
    rejectionsInRow: 0,
    rejections: 0,
    undecided: [],
    isTriedApart: false,
  }
}

/** Nothing was accepted with all attempts: the service is down, and gets no more. */
export function areAttemptsUsed({ knownGood, attempts }: FlushState): boolean {
  return knownGood === undefined && attempts.used >= attempts.max
}
