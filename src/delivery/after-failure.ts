import type { Metric } from '../model/metric.ts'
import { slowPartsMax } from './limits.ts'
import { fresh, type Part, partsOf } from './worklist.ts'

/** What is to be done about a part that the service failed on while it takes others. */
export type FailureAction =
  /** Send parts of it, after everything else. */
  | { readonly kind: 'split'; readonly parts: readonly Part[] }
  /** Send one metric of its protocol: if that is accepted, it is not the whole protocol, and the rest is split. */
  | { readonly kind: 'sample'; readonly sample: Part; readonly rest: readonly Part[] }
  /** Nothing of the protocol is accepted: put it in quarantine. */
  | { readonly kind: 'protocol'; readonly protocolId: string }
  /** Put the metric in quarantine. */
  | { readonly kind: 'metric'; readonly metric: Metric }

/** What is known of a failure. */
export interface Failure {
  /** It took so long that there are to be few rounds. */
  readonly isSlow: boolean
  /** Something of the part's protocol was accepted in this flush. */
  readonly isProtocolAccepted: boolean
}

/**
 * Narrows down what the service fails on: protocols first, then one metric of the protocol that is left, and only where
 * that is accepted the protocol's metrics. A protocol that fails as a whole is found with three pushes, not with one for
 * each metric. Pure.
 */
export function afterFailure(part: Part, { isSlow, isProtocolAccepted }: Failure): FailureAction {
  const { batch } = part
  const [{ protocolId }] = batch
  const ways = isSlow ? slowPartsMax : 2
  if (batch.some(metric => metric.protocolId !== protocolId)) {
    return { kind: 'split', parts: partsOf(part, batch, ways) }
  }
  if (batch.length === 1) {
    return part.isSample && !isProtocolAccepted
      ? { kind: 'protocol', protocolId }
      : { kind: 'metric', metric: batch[0] }
  }
  if (isProtocolAccepted) return { kind: 'split', parts: partsOf(part, batch, ways) }
  const picked = batch[Math.floor(batch.length / 2)] ?? batch[0]
  const rest = batch.filter(metric => metric !== picked)
  const sample: Part = { ...fresh([picked], 1), sent: part.sent, isSample: true }
  return { kind: 'sample', sample, rest: partsOf(part, rest, ways) }
}
