import { isBatch } from '../../model/batch.ts'
import type { Verdict } from '../../model/verdict.ts'
import { type FlushAction, type FlushStep, step, stopped } from './actions.ts'
import type { FlushEvent } from './events.ts'
import { failingMax, slowPartsMax, troubledAttemptsMax } from './limits.ts'
import { type FailedPart, fresh, type Part, partsOf } from './parts.ts'
import { isAccepted } from './rejections.ts'
import { areAttemptsUsed, type FlushState } from './state.ts'

/*
 * The walk of a failure (a 5xx, a time-out, an answer that is not understood). It ends the flush, unless the service
 * takes others. Then the service fails on these metrics, and they are narrowed down after all fresh ones: by protocol
 * first, then with one metric of the remaining protocol, and only if that is accepted by metric. A protocol that fails as
 * a whole is found with three pushes, not with one for each metric. Metrics and protocols at fault are quarantined
 * once something is accepted that was sent later, or at the end of the flush. Where many metrics fail alone in a row and
 * nothing is accepted between them, the service is at fault: the flush ends, none is quarantined, and the next one
 * begins with other metrics.
 */

/** 1. The service failed on a part. @param acceptedBefore pushes of which something had been accepted when it was sent */
export function failed(state: FlushState, failure: FailedPart, acceptedBefore: number): FlushStep {
  const { part, verdict } = failure
  const asksToWait = verdict.status === 429 || verdict.notBeforeMs !== undefined
  if (asksToWait) return stopped(state, verdict)
  if (part.isProbe || state.acceptedPushes > acceptedBefore) return step(state, { kind: 'narrow', failed: failure })
  if (!state.knownGood) return tryApart(state, failure)
  const sentAt = state.sequence + 1
  const check: FlushAction = { kind: 'check', metric: state.knownGood, sentAt, why: failure }
  return step({ ...state, sequence: sentAt }, check)
}

/** 2. The known-good metric was answered: either the service takes others, or it has gone down. */
export function checkedForFailure(state: FlushState, failure: FailedPart, verdict: Verdict | undefined): FlushStep {
  if (isAccepted(verdict)) return step(state, { kind: 'narrow', failed: failure })
  return state.knownGood ? stopped(state, failure.verdict) : tryApart(state, failure)
}

/** Splits the first parts and sends the pieces apart, while attempts are left: nothing was accepted yet. */
function tryApart(state: FlushState, failure: FailedPart): FlushStep {
  const { part } = failure
  const { protocolId } = part.batch[0]
  const isOfOne = part.batch.every(metric => metric.protocolId === protocolId)
  const actions: readonly FlushAction[] = isOfOne ? [{ kind: 'count-failure', protocolId }] : []
  if (part.batch.length === 1 || areAttemptsUsed(state) || state.isTriedApart) {
    return step({ ...state, undecided: [...state.undecided, failure] }, ...actions)
  }
  const parts = partsOf(part, part.batch, slowPartsMax).map(one => ({ ...one, attemptsMax: 1 }))
  return step({ ...state, isTriedApart: true }, ...actions, { kind: 'try-apart', parts })
}

/** 3. Everything else had its turn: parts that failed before anything was accepted are sent again, one at a time. */
export function drained(state: FlushState): FlushStep {
  const [failure, ...undecided] = state.undecided
  if (!failure) return step(state)
  if (!state.knownGood) return stopped(state, failure.verdict)
  const again = { ...failure.part, attemptsMax: troubledAttemptsMax }
  return step({ ...state, undecided }, { kind: 'send-last', parts: [again] })
}

/** 4. The service takes others, or the part was a probe: narrows down which metrics it fails on. */
export function narrowing(state: FlushState, event: Extract<FlushEvent, { kind: 'narrowing' }>): FlushStep {
  const { failed: failure, due, isInQuarantine } = event
  const { part, verdict, isSlow } = failure
  const { reason } = verdict
  if (part.isProbe && isInQuarantine) {
    return step(state, { kind: 'quarantine-protocol', metric: part.batch[0], reason })
  }
  if (!isBatch(due)) return step(state)
  const [metric] = due
  const { protocolId } = metric
  const isProtocolAccepted = state.acceptedProtocols.has(protocolId)
  const isOfOne = due.every(one => one.protocolId === protocolId)
  // A part that fails fast is halved; each further round of a slow one takes as long.
  const ways = isSlow ? slowPartsMax : 2
  if (!isOfOne || (due.length > 1 && isProtocolAccepted)) {
    return step(state, { kind: 'send-last', parts: partsOf(part, due, ways) })
  }
  if (due.length > 1) {
    const picked = due[Math.floor(due.length / 2)] ?? metric
    const rest = due.filter(one => one !== picked)
    const sample: Part = { ...fresh([picked], 1), sent: part.sent, isSample: true }
    return step(state, { kind: 'sample', sample, rest: partsOf(part, rest, ways) })
  }
  const isProtocol = part.isSample === true && !isProtocolAccepted
  if (part.isProbe) return step(state, { kind: 'quarantine-metric', metric, reason })
  const sequence = state.sequence + 1
  const failing = [...state.failing, { metric, reason, isProtocol, failedAt: sequence }]
  const now = { ...state, sequence, failing }
  return isOfService(now) ? stopped(now, verdict) : step(now)
}

/** Whether many metrics in a row failed alone, and nothing was accepted of any other protocol: the service is at fault. */
function isOfService({ acceptedProtocols, failing }: FlushState): boolean {
  const ids = new Set(failing.map(({ metric }) => metric.protocolId))
  return failing.length >= failingMax && [...acceptedProtocols].every(id => ids.has(id))
}

/**
 * 5. Something was accepted, or the flush is over: the metrics that failed alone before are at fault.
 *
 * @param sentAt when the accepted push was sent; default: after all of them
 */
export function blamed(state: FlushState, sentAt = Number.POSITIVE_INFINITY): FlushStep {
  const atFault = state.failing.filter(({ failedAt }) => failedAt < sentAt)
  if (atFault.length === 0) return step(state)
  return step(
    { ...state, failing: state.failing.filter(one => !atFault.includes(one)) },
    ...atFault.map(({ metric, reason, isProtocol }): FlushAction => {
      return { kind: isProtocol ? 'quarantine-protocol' : 'quarantine-metric', metric, reason }
    }),
  )
}

/** 6. One metric of the protocol was tried: the rest is sent, unless the service fails on the whole of it. */
export function sampled(state: FlushState, event: Extract<FlushEvent, { kind: 'sampled' }>): FlushStep {
  const id = event.rest[0]?.batch[0].protocolId
  const isFailing = state.failing.some(({ metric, isProtocol }) => isProtocol && metric.protocolId === id)
  return event.isInQuarantine || isFailing ? step(state) : step(state, { kind: 'send-last', parts: event.rest })
}

/** 7. The flush ends since the service fails: the next one begins with other metrics than those that failed alone. */
export function suspected(state: FlushState): FlushStep {
  const alone = state.undecided.flatMap(({ part: { batch } }) => (batch.length === 1 ? [batch[0]] : []))
  const metrics = [...state.failing.map(({ metric }) => metric), ...alone]
  const isWanted = state.stop?.kind === 'transient' && metrics.length > 0
  return isWanted ? step(state, { kind: 'suspect', metrics }) : step(state)
}
