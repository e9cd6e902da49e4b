import type { Metric } from '../../model/metric.ts'
import type { MetricList } from '../../model/metric-list.ts'
import { metricKey } from '../../model/metric-set.ts'
import type { Verdict } from '../../model/verdict.ts'
import { andThen, type FlushAction, type FlushStep, step, stopped } from './actions.ts'
import { type Part, type Pushed, smaller, type VerdictOf } from './parts.ts'
import type { Confirmation, ConfirmedSingle, FlushState, RejectedSingle } from './state.ts'

/*
 * The walk of a 400: a rejected batch is split until the bad metric is rejected alone. It is then either the metric or the
 * service. Once something is accepted that was sent after the rejection, the metric is sent once more; if it is rejected
 * again it is confirmed, and dead at the end of the flush: until then it may show that the service rejects and accepts the
 * same. If nothing is accepted any more it is not the metrics, and all are kept.
 */

/** Rejected singles after which the service is tested. */
const singlesMin = 3

/** Metrics of other protocols sent then, while nothing was accepted in this flush. */
const probesMax = 3

/** Pushes rejected in a row, of any size, after which the service is tested: more than one bad metric costs. */
const rejectionsMax = 16

/** Confirmed singles that wait for the end of the flush to become dead, at most. */
const confirmedMax = 50

/** Rejected pushes that find one bad metric in a full batch. */
const searchRejectionsMax = 6

/** Rejections in a row that make the first of several metrics dead. */
const firstTimes = 6

/** Rejections in a row that make a metric dead when the service is inconsistent. */
const inconsistentTimes = 12

/** 1. A part is rejected as a whole: smaller parts follow, or it is a single metric. */
export function rejected(before: FlushState, part: Part, { status, reason }: VerdictOf<'refused'>): FlushStep {
  const state = counted(before)
  const [metric, second] = part.batch
  if (second) return andThen(step(state, sendFirst(smaller(part, part.batch, status === 413))), isItTheService)
  const sequence = state.sequence + 1
  const single: RejectedSingle = { deadLetter: { metric, reason, status, attempts: part.sent }, rejectedAt: sequence }
  const added = { ...state, sequence, rejected: [...state.rejected, single] }
  const isOther = state.otherOfPair.has(metricKey(metric))
  const judged = isOther ? confirm(added, one => one === single) : step(added)
  return andThen(judged, next => isItTheService(next, next.rejected.length))
}

/** As `rejected`, when the answer accepts nothing of the part, or leaves open what: smaller parts are sent again. */
export function undelivered(state: FlushState, part: Part, resend: MetricList): FlushStep {
  return andThen(step(counted(state), sendFirst(smaller(part, resend))), isItTheService)
}

function counted(state: FlushState): FlushState {
  return { ...state, rejections: state.rejections + 1, rejectionsInRow: state.rejectionsInRow + 1 }
}

/**
 * 2. Many rejections may be the service's fault: the known-good metric tests it, or metrics unlike the rejected ones.
 *
 * @param singles rejected so far, if one was rejected just now
 */
function isItTheService(state: FlushState, singles = 0): FlushStep {
  if (state.knownGood) {
    const isAsked = singles >= singlesMin || state.rejectionsInRow >= rejectionsMax
    return isAsked ? check(state, state.knownGood) : step(state)
  }
  if (singles < singlesMin) return step(state)
  if (state.probes === 0)
    return step(state, { kind: 'probe-others', rejected: state.rejected.map(metricOf), countMax: probesMax })
  return singles >= singlesMin + state.probes ? systemic(state) : step(state)
}

function check(state: FlushState, metric: Metric): FlushStep {
  const sentAt = state.sequence + 1
  return step({ ...state, sequence: sentAt }, { kind: 'check', metric, sentAt, why: 'rejections' })
}

/** Result of probing other metrics; without any left to probe, it counts as rejected. */
export function probing(state: FlushState, probes: number): FlushStep {
  return probes === 0 ? systemic(state) : step({ ...state, probes })
}

/** 3. The known-good metric was answered. If it was accepted, that has shown already, in `accepted`. */
export function checkedForRejections(state: FlushState, verdict: Verdict | undefined): FlushStep {
  if (verdict === undefined || verdict.kind === 'protocol-refused' || isAccepted(verdict)) return step(state)
  if (verdict.kind === 'settled') return systemic(state)
  return verdict.kind === 'refused' ? systemic(state, verdict.reason) : stopped(state, verdict)
}

/** Stops the flush: an accepted metric is rejected now, so no metric is at fault. All are kept. */
function systemic(state: FlushState, said = ''): FlushStep {
  const reason = `the service rejects every metric; all are kept: ${state.rejected[0]?.deadLetter.reason ?? said}`
  return stopped({ ...state, isInconsistent: true }, { kind: 'systemic', reason })
}

/**
 * 4. A push is accepted: metrics rejected before it was sent are at fault themselves. A push sent earlier may have been
 * accepted earlier, too, and proves nothing.
 *
 * @param part the accepted part; absent for the known-good metric
 * @param resend its metrics to be sent again
 */
export function accepted(state: FlushState, sentAt: number, part?: Part, resend: MetricList = []): FlushStep {
  const now = { ...state, probes: 0, rejectionsInRow: 0 }
  const judged = andThen(
    confirm(now, ({ rejectedAt }) => rejectedAt < sentAt),
    next => (part?.pairedWith ? acceptedOfPair(next, part.batch[0], part.pairedWith) : step(next)),
  )
  if (!part || resend.length === 0) return judged
  return andThen(judged, next => step(next, sendFirst(smaller(part, resend))))
}

/** One half of a rejected pair is accepted, so the other is at fault, unless both are accepted when alone. */
function acceptedOfPair(state: FlushState, metric: Metric, other: Metric): FlushStep {
  const isBoth = state.otherOfPair.has(metricKey(metric)) && state.acceptedSizeMax > 1
  const otherOfPair = new Set([...state.otherOfPair, metricKey(other)])
  const now = { ...state, otherOfPair, isInconsistent: state.isInconsistent || isBoth }
  return confirm(now, ({ deadLetter }) => otherOfPair.has(metricKey(deadLetter.metric)))
}

/** 5. Some rejected singles are sent once more: another instance may have rejected them, or the reason is over. */
function confirm(state: FlushState, isJudged: (single: RejectedSingle) => boolean): FlushStep {
  const judged = state.rejected.filter(isJudged)
  if (judged.length === 0) return step(state)
  return step(
    { ...state, rejected: state.rejected.filter(single => !isJudged(single)) },
    ...judged.map(({ deadLetter }): FlushAction => {
      return { kind: 'confirm', confirmation: { deadLetter, rejections: 0, timesMax: 1, becomes: 'confirmed' } }
    }),
  )
}

/** 6. A single that was sent once more is answered: it is delivered if accepted, and stays due if the service fails. */
export function confirmed(state: FlushState, confirmation: Confirmation, { verdict, attempts }: Pushed): FlushStep {
  if (verdict.kind === 'key-refused') return stopped(state, verdict)
  if (verdict.kind === 'settled') {
    const verdicts = { delivered: verdict.delivered, dead: [], warnings: verdict.warnings }
    const isInconsistent = state.isInconsistent || isAccepted(verdict)
    return step({ ...state, isInconsistent }, { kind: 'record', verdicts, sending: 'again' })
  }
  if (verdict.kind !== 'refused') return step(state)
  const deadLetter = { ...confirmation.deadLetter, attempts: confirmation.deadLetter.attempts + attempts }
  const single: ConfirmedSingle = { deadLetter, rejections: confirmation.rejections + 1 }
  const timesMax = state.isInconsistent ? inconsistentTimes : confirmation.timesMax
  if (single.rejections < timesMax) {
    return step(state, { kind: 'confirm', confirmation: { ...confirmation, ...single, timesMax } })
  }
  if (confirmation.becomes === 'dead') return dead(state, single)
  const all = { ...state, confirmed: [...state.confirmed, single] }
  return all.confirmed.length > confirmedMax ? decideAll(all, true) : step(all)
}

/** 7. The flush has nothing left to send: the last few rejected singles are decided, or kept. */
export function concluding(state: FlushState): FlushStep {
  if (state.rejected.length === 0) return step(state)
  return andThen(checkAtEnd(state), next => step(next, { kind: 'next', event: { kind: 'concluded' } }))
}

/**
 * Tests the service with an earlier metric after one or two rejections, which are not "every metric". More are kept, to
 * be safe.
 */
function checkAtEnd(state: FlushState): FlushStep {
  if (state.knownGood) return check(state, state.knownGood)
  if (state.rejected.length >= singlesMin) return step(state)
  const sentAt = state.sequence + 1
  return step({ ...state, sequence: sentAt }, { kind: 'check-earlier', sentAt })
}

/** Decides the rejected singles after which nothing was accepted. */
export function concluded(state: FlushState): FlushStep {
  return state.rejected.length > 0 ? systemic(state) : step(state)
}

/** 8. Nothing more is sent in this flush: confirmed singles become dead. */
export function ending(state: FlushState): FlushStep {
  return decideAll(state, state.stop === undefined)
}

function decideAll(state: FlushState, mayAsk: boolean): FlushStep {
  const actions = state.confirmed.map((single): FlushAction => {
    return { kind: 'next', event: { kind: 'deciding', single, mayAsk } }
  })
  if (actions.length === 0) return step(state)
  return step({ ...state, confirmed: [] }, ...actions, { kind: 'next', event: { kind: 'decided' } })
}

/** 9. Marks a single dead once it was rejected often enough. @param mayAsk whether the service may still be asked */
export function deciding(state: FlushState, single: ConfirmedSingle, mayAsk: boolean): FlushStep {
  const timesMax = timesFor(state, single, mayAsk)
  if (single.rejections >= timesMax) return dead(state, single)
  return mayAsk ? step(state, { kind: 'confirm', confirmation: { ...single, timesMax, becomes: 'dead' } }) : step(state)
}

/**
 * Rejections needed for a single. The first one shows whether the service is consistent: it is sent often if there were
 * more rejections than one bad metric explains, else as often as its search was cheap.
 */
function timesFor(state: FlushState, { deadLetter, rejections }: ConfirmedSingle, mayAsk: boolean): number {
  if (state.isInconsistent) return inconsistentTimes
  if (!mayAsk || state.hasDead) return 1
  if (state.rejections > searchRejectionsMax) return firstTimes
  return Math.max(1, 2 * (searchRejectionsMax + rejections - deadLetter.attempts))
}

function dead(state: FlushState, { deadLetter }: ConfirmedSingle): FlushStep {
  return step({ ...state, hasDead: true, dead: [...state.dead, deadLetter] })
}

/** 10. All had their turn: the dead are recorded in one commit, so that a stop does not wait for one after the other. */
export function decided({ dead, ...state }: FlushState): FlushStep {
  if (dead.length === 0) return step({ ...state, dead })
  const verdicts = { delivered: [], dead, warnings: [] }
  return step({ ...state, dead: [] }, { kind: 'record', verdicts, sending: 'again' })
}

/** Whether a verdict shows that the service accepts metrics. */
export function isAccepted(verdict: Verdict | undefined): boolean {
  return verdict?.kind === 'settled' && verdict.delivered.length > 0
}

function sendFirst(parts: readonly Part[]): FlushAction {
  return { kind: 'send-first', parts }
}

function metricOf({ deadLetter }: RejectedSingle): Metric {
  return deadLetter.metric
}
