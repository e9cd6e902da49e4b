import type { Metric } from '../../model/metric.ts'
import type { Verdict } from '../../model/verdict.ts'
import type { Stop } from '../gate/stop.ts'
import type { FailedPart, NotRegistered, Part, Pushed, SentPart, VerdictOf } from './parts.ts'
import type { Confirmation, ConfirmedSingle } from './state.ts'

/** Why the known-good metric is sent: singles were rejected, or the service failed on a part. */
export type CheckReason = 'rejections' | FailedPart

/** An event in a flush. Facts other than verdicts are looked up by the loop just before. */
export type FlushEvent =
  /** A part was taken from the worklist. */
  | { readonly kind: 'taken'; readonly part: Part }
  | {
      readonly kind: 'answered'
      readonly sent: SentPart
      readonly pushed: Pushed
      /** Whether the service has accepted a metric at this address before. */
      readonly isAddressProven: boolean
      /** Whether the verdict refuses a protocol, and that of the part's first metric is in quarantine already. */
      readonly isInQuarantine: boolean
    }
  /** The verdict on a part is in the outbox. */
  | { readonly kind: 'recorded'; readonly part: Part; readonly sentAt: number; readonly verdict: VerdictOf<'settled'> }
  /** The known-good metric was answered; once, however many checks wait for it. */
  | { readonly kind: 'known-good-answered'; readonly verdict: Verdict; readonly sentAt: number }
  /** The known-good metric must not be sent any more. */
  | { readonly kind: 'known-good-gone' }
  /** The known-good metric was answered; for each check that waits. */
  | { readonly kind: 'checked'; readonly why: CheckReason; readonly verdict?: Verdict }
  /** A rejected single was sent once more. */
  | { readonly kind: 'confirmed'; readonly confirmation: Confirmation; readonly pushed: Pushed }
  /** A confirmed single is decided: dead, or sent once more. @param mayAsk whether the service may still be asked */
  | { readonly kind: 'deciding'; readonly single: ConfirmedSingle; readonly mayAsk: boolean }
  /** All confirmed singles are decided. */
  | { readonly kind: 'decided' }
  /** Metrics from elsewhere were put first. */
  | { readonly kind: 'probing'; readonly count: number }
  /** The protocol of a part was registered, or could not be. */
  | {
      readonly kind: 'registered'
      readonly part: Part
      /** Why registration failed; absent when it succeeded. */
      readonly refusal?: NotRegistered
      readonly isInQuarantine: boolean
    }
  /** The cause of a failed part is to be narrowed down. @param due metrics of the part that are still due */
  | {
      readonly kind: 'narrowing'
      readonly failed: FailedPart
      readonly due: readonly Metric[]
      readonly isInQuarantine: boolean
    }
  /** One metric of a protocol was tried. */
  | { readonly kind: 'sampled'; readonly rest: readonly Part[]; readonly isInQuarantine: boolean }
  /** Only undecided parts are left to send. */
  | { readonly kind: 'drained' }
  /** Nothing is left to send; rejected singles are decided. */
  | { readonly kind: 'concluding' }
  | { readonly kind: 'concluded' }
  /** Nothing more is sent in this flush; confirmed singles become dead. */
  | { readonly kind: 'ending' }
  /** The outbox, or a stop, threw. */
  | { readonly kind: 'broken'; readonly stop: Stop }
