import { batchesOf, isBatch, newestOf } from '../../model/batch.ts'
import { batchMetricsMax } from '../../model/limits.ts'
import type { Metric } from '../../model/metric.ts'
import { metricKey } from '../../model/metric-set.ts'
import type { Verdict } from '../../model/verdict.ts'
import type { DeadLetter } from '../../outbox/contract/metrics.ts'
import {
  attemptsOf,
  type FailedPiece,
  fresh,
  type Piece,
  type Pushed,
  piecesOf,
  smaller,
  troubledAttemptsMax,
  type VerdictOf,
} from './pieces.ts'
import {
  andThen,
  areAttemptsUsed,
  type FlushAction,
  type FlushEvent,
  type FlushState,
  type FlushStep,
  type RejectedSingle,
  step,
  stopped,
} from './state.ts'

/** Decides what a flush does next after an event. Pure: the result depends only on the state and the event. */
export function reduce(state: FlushState, event: FlushEvent): FlushStep {
  switch (event.kind) {
    case 'taken':
      return taken(state, event.piece)
    case 'answered':
      return answered(state, event)
    case 'recorded':
      return recorded(state, event)
    case 'known-good-answered':
      return knownGoodAnswered(state, event)
    case 'known-good-gone':
      return step(withoutKnownGood(state))
    case 'checked':
      return event.why === 'rejections'
        ? checkedForRejections(state, event.verdict)
        : checkedForFailure(state, event.why, event.verdict)
    case 'confirmed':
      return confirmed(state, event.deadLetter, event.pushed)
    case 'probing':
      return probing(state, event.count)
    case 'registered':
      return registered(state, event)
    case 'narrowing':
      return narrowing(state, event)
    case 'sampled':
      return sampled(state, event)
    case 'drained':
      return drained(state)
    case 'concluding':
      return concluding(state)
    case 'concluded':
      return concluded(state)
    case 'ending':
      return state.stop ? suspected(state) : blamed(state)
    case 'broken':
      return stopped(state, event.stop)
  }
}

/** Until a push is accepted, all pushes together have as many attempts as one: a service that is down gets no more. */
function taken(state: FlushState, piece: Piece): FlushStep {
  const { max, used: spentAttempts } = state.attempts
  const [sentAt, acceptedBefore] = [state.sequence + 1, state.acceptedPushes]
  const isCounted = state.knownGood === undefined && piece.isProbe === undefined
  const attemptsMax = isCounted ? Math.max(1, Math.min(attemptsOf(piece), max - spentAttempts)) : piece.attemptsMax
  const attempts = isCounted ? { attemptsMax, failedBefore: spentAttempts } : { attemptsMax }
  const now = isCounted ? { max, used: spentAttempts + attemptsMax } : state.attempts
  const sent = { piece, attempts, sentAt, acceptedBefore, isCounted }
  return step({ ...state, sequence: sentAt, attempts: now }, { kind: 'push', sent })
}

function answered(stateBefore: FlushState, event: Extract<FlushEvent, { kind: 'answered' }>): FlushStep {
  const { sent: piecePushed, pushed, isAddressProven, isInQuarantine } = event
  const { verdict, attempts, isSlow = false } = pushed
  const piece = { ...piecePushed.piece, sent: piecePushed.piece.sent + attempts }
  const attemptsUnused = piecePushed.isCounted
    ? piecePushed.attempts.attemptsMax - (verdict.kind === 'transient' ? attempts : 0)
    : 0
  const used = stateBefore.attempts.used - attemptsUnused
  const state = { ...stateBefore, attempts: { ...stateBefore.attempts, used } }
  switch (verdict.kind) {
    case 'settled':
      return delivered(state, piece, piecePushed.sentAt, verdict)
    case 'refused':
      // A status that the interface does not name may be about the address, as long as nothing was ever accepted there.
      return !verdict.isUnlisted || state.acceptedPushes > 0 || isAddressProven
        ? rejected(state, piece, verdict)
        : stopped(state, { kind: 'misdirected', reason: verdict.reason })
    case 'protocol-refused':
      return protocolRejected(state, piece, verdict, isInQuarantine)
    case 'transient':
      return failed(state, { piece, verdict, isSlow }, piecePushed.acceptedBefore)
    case 'key-refused':
    case 'misdirected':
      return stopped(state, verdict)
  }
}

function delivered(state: FlushState, piece: Piece, sentAt: number, verdict: VerdictOf<'settled'>): FlushStep {
  const dead: DeadLetter[] = verdict.dead.map(entry => ({ ...entry, attempts: piece.sent }))
  const verdicts = { delivered: verdict.delivered, dead, warnings: verdict.warnings }
  return step(
    state,
    { kind: 'record', verdicts, sending: piece.sent > 1 ? 'again' : 'first' },
    { kind: 'next', event: { kind: 'recorded', piece, sentAt, verdict } },
  )
}

function recorded(state: FlushState, { piece, sentAt, verdict }: Extract<FlushEvent, { kind: 'recorded' }>): FlushStep {
  const [knownGood] = verdict.delivered
  if (!knownGood) return undelivered(state, piece, verdict.resend)
  const now: FlushState = {
    ...state,
    knownGood,
    acceptedPushes: state.acceptedPushes + 1,
    acceptedProtocols: new Set([...state.acceptedProtocols, ...verdict.delivered.map(({ protocolId }) => protocolId)]),
  }
  return andThen(blamed(now, sentAt), next => accepted(next, sentAt, piece, verdict.resend))
}

/** Accepted, it shows the same as any other push; an unknown protocol of its own says nothing about the service. */
function knownGoodAnswered(
  state: FlushState,
  { verdict, sentAt }: Extract<FlushEvent, { kind: 'known-good-answered' }>,
): FlushStep {
  if (verdict.kind === 'protocol-refused') return step(withoutKnownGood(state))
  return verdict.kind === 'settled' && verdict.delivered.length > 0 ? accepted(state, sentAt) : step(state)
}

function withoutKnownGood({ knownGood: _, ...state }: FlushState): FlushState {
  return state
}

/*
 * The walk of a 403 or 404: a protocol that the service does not know, or that another key owns. The piece is split by
 * protocol, and the protocol is registered where that is wanted, else quarantined.
 */

/** 1. A piece is rejected for a protocol in it. */
function protocolRejected(
  state: FlushState,
  piece: Piece,
  { status, reason }: VerdictOf<'protocol-refused'>,
  isInQuarantine: boolean,
): FlushStep {
  const byProtocol = [...Map.groupBy(piece.batch, ({ protocolId }) => protocolId).values()]
  if (byProtocol.length > 1) {
    const pieces = byProtocol.flatMap(own => batchesOf(own, batchMetricsMax)).map(batch => ({ ...piece, batch }))
    return step(state, { kind: 'send-first', pieces })
  }
  const { protocolId } = piece.batch[0]
  const isRegistrable = status === 404 && state.registrable.has(protocolId) && !piece.isRegistered
  return isRegistrable
    ? step(state, { kind: 'register', piece })
    : quarantined(state, piece, { status, reason, isInQuarantine })
}

/** 2. It was registered: the piece is sent again. It could not be: it is quarantined, for the service's sake or its own. */
function registered(state: FlushState, event: Extract<FlushEvent, { kind: 'registered' }>): FlushStep {
  const { piece, refusal, isInQuarantine } = event
  if (refusal?.kind === 'transient') {
    return step(state, { kind: 'quarantine-unregistered', metric: newestOf(piece.batch), reason: refusal.reason })
  }
  if (refusal) return quarantined(state, piece, { status: 404, reason: refusal.reason, isInQuarantine })
  return step(state, { kind: 'send-first', pieces: [{ ...piece, isRegistered: true }] })
}

function quarantined(
  state: FlushState,
  { batch, isProbe }: Piece,
  {
    isInQuarantine,
    ...rejection
  }: { readonly status: number; readonly reason: string; readonly isInQuarantine: boolean },
): FlushStep {
  const isNew = isProbe === true || !isInQuarantine
  return step(state, { kind: 'quarantine-rejected', metric: newestOf(batch), ...rejection, isNew })
}

/*
 * The walk of a 400: a rejected batch is split until the bad metric is rejected alone. It is then either the metric or the
 * service. Once something is accepted that was sent after the rejection, the metric is sent once more; if it is rejected
 * again it is dead. If nothing is accepted any more it is not the metrics, and all are kept.
 */

/** Rejected singles after which the service is tested. */
const singlesMin = 3

/** Metrics of other protocols sent then, while nothing was accepted in this flush. */
const probesMax = 3

/** Pushes rejected in a row, of any size, after which the service is tested: more than one bad metric costs. */
const rejectionsMax = 16

/** 1. A piece is rejected as a whole: smaller pieces follow, or it is a single metric. */
function rejected(stateBefore: FlushState, piece: Piece, { status, reason }: VerdictOf<'refused'>): FlushStep {
  const state = counted(stateBefore)
  const [metric, second] = piece.batch
  if (second) return andThen(step(state, sendFirst(smaller(piece, piece.batch, status === 413))), isItTheService)
  const sequence = state.sequence + 1
  const single: RejectedSingle = { deadLetter: { metric, reason, status, attempts: piece.sent }, rejectedAt: sequence }
  const added = { ...state, sequence, rejected: [...state.rejected, single] }
  const isOther = state.otherOfPair.has(metricKey(metric))
  const judged = isOther ? confirm(added, one => one === single) : step(added)
  return andThen(judged, next => isItTheService(next, next.rejected.length))
}

/** As `rejected`, when the answer accepts nothing of the piece, or leaves open what: smaller pieces are sent again. */
function undelivered(state: FlushState, piece: Piece, resend: readonly Metric[]): FlushStep {
  return andThen(step(counted(state), sendFirst(smaller(piece, resend))), isItTheService)
}

function counted(state: FlushState): FlushState {
  return { ...state, rejectionsInRow: state.rejectionsInRow + 1 }
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
function probing(state: FlushState, probes: number): FlushStep {
  return probes === 0 ? systemic(state) : step({ ...state, probes })
}

/** 3. The known-good metric was answered. If it was accepted, that has shown already, in `accepted`. */
function checkedForRejections(state: FlushState, verdict: Verdict | undefined): FlushStep {
  if (verdict === undefined || verdict.kind === 'protocol-refused' || isAccepted(verdict)) return step(state)
  if (verdict.kind === 'settled') return systemic(state)
  return verdict.kind === 'refused' ? systemic(state, verdict.reason) : stopped(state, verdict)
}

/** Stops the flush: an accepted metric is rejected now, so no metric is at fault. All are kept. */
function systemic(state: FlushState, said = ''): FlushStep {
  const reason = `the service rejects every metric; all are kept: ${state.rejected[0]?.deadLetter.reason ?? said}`
  return stopped(state, { kind: 'systemic', reason })
}

/**
 * 4. A push is accepted: metrics that were rejected before it was sent are at fault, and so is the other half of its pair.
 * A push sent earlier may have been accepted earlier, too, and proves nothing.
 *
 * @param piece the accepted piece; absent for the known-good metric
 * @param resend its metrics to be sent again
 */
function accepted(state: FlushState, sentAt: number, piece?: Piece, resend: readonly Metric[] = []): FlushStep {
  const { pairedWith } = piece ?? {}
  const otherOfPair = pairedWith ? new Set([...state.otherOfPair, metricKey(pairedWith)]) : state.otherOfPair
  const now = { ...state, probes: 0, rejectionsInRow: 0, otherOfPair }
  const confirmation = confirm(
    now,
    ({ rejectedAt, deadLetter }) => rejectedAt < sentAt || otherOfPair.has(metricKey(deadLetter.metric)),
  )
  if (!piece || resend.length === 0) return confirmation
  return andThen(confirmation, next => step(next, sendFirst(smaller(piece, resend))))
}

/** Sends rejected singles once more: another instance may have rejected them, or the reason is over. */
function confirm(state: FlushState, isJudged: (single: RejectedSingle) => boolean): FlushStep {
  const letters = state.rejected.filter(isJudged)
  if (letters.length === 0) return step(state)
  return step(
    { ...state, rejected: state.rejected.filter(single => !isJudged(single)) },
    ...letters.map(({ deadLetter }): FlushAction => ({ kind: 'confirm', deadLetter })),
  )
}

/** 5. A single that was sent once more is answered: delivered if accepted, dead if rejected; else it stays due. */
function confirmed(state: FlushState, deadLetter: DeadLetter, { verdict, attempts }: Pushed): FlushStep {
  if (verdict.kind === 'key-refused') return stopped(state, verdict)
  const { delivered: deliveredMetrics, warnings } =
    verdict.kind === 'settled' ? verdict : { delivered: [], warnings: [] }
  if (deliveredMetrics.length === 0 && verdict.kind !== 'refused') return step(state)
  const dead = verdict.kind === 'refused' ? [{ ...deadLetter, attempts: deadLetter.attempts + attempts }] : []
  return step(state, { kind: 'record', verdicts: { delivered: deliveredMetrics, dead, warnings }, sending: 'again' })
}

/** 6. The flush has nothing left to send: the last few rejected singles are decided, or kept. */
function concluding(state: FlushState): FlushStep {
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

/** Keeps the rejected singles after which nothing was accepted. */
function concluded(state: FlushState): FlushStep {
  return state.rejected.length > 0 ? systemic(state) : step(state)
}

/** Whether a verdict shows that the service accepts metrics. */
function isAccepted(verdict: Verdict | undefined): boolean {
  return verdict?.kind === 'settled' && verdict.delivered.length > 0
}

function sendFirst(pieces: readonly Piece[]): FlushAction {
  return { kind: 'send-first', pieces }
}

function metricOf({ deadLetter }: RejectedSingle): Metric {
  return deadLetter.metric
}

/*
 * The walk of a failure (a 5xx, a time-out, an answer that is not understood). It ends the flush, unless the service
 * takes others. Then the service fails on these metrics, and they are narrowed down after all fresh ones: by protocol
 * first, then with one metric of the remaining protocol, and only if that is accepted by metric. A protocol that fails as
 * a whole is found with three pushes, not with one for each metric. Metrics and protocols at fault are quarantined
 * once something is accepted that was sent later, or at the end of the flush. Where many metrics fail alone in a row and
 * nothing is accepted between them, the service is at fault: the flush ends, none is quarantined, and the next one
 * begins with other metrics.
 */

/** Metrics that fail alone in a row, with nothing accepted between them, after which the service is at fault. */
const failingMax = 6

/** Pieces of a batch that failed slowly, since each further round takes as long; one that fails at once is halved. */
const slowPiecesMax = 8

/** 1. The service failed on a piece. @param acceptedBefore pushes of which something had been accepted when it was sent */
function failed(state: FlushState, failure: FailedPiece, acceptedBefore: number): FlushStep {
  const { piece, verdict } = failure
  const asksToWait = verdict.status === 429 || verdict.notBeforeMs !== undefined
  if (asksToWait) return stopped(state, verdict)
  if (piece.isProbe || state.acceptedPushes > acceptedBefore) return step(state, { kind: 'narrow', failed: failure })
  if (!state.knownGood) return splitFirst(state, failure)
  const sentAt = state.sequence + 1
  const check: FlushAction = { kind: 'check', metric: state.knownGood, sentAt, why: failure }
  return step({ ...state, sequence: sentAt }, check)
}

/** 2. The known-good metric was answered: either the service takes others, or it has gone down. */
function checkedForFailure(state: FlushState, failure: FailedPiece, verdict: Verdict | undefined): FlushStep {
  if (isAccepted(verdict)) return step(state, { kind: 'narrow', failed: failure })
  return state.knownGood ? stopped(state, failure.verdict) : splitFirst(state, failure)
}

/** Splits the first pieces, to be sent separately, while attempts are left: nothing was accepted yet. */
function splitFirst(state: FlushState, failure: FailedPiece): FlushStep {
  const { piece } = failure
  const { protocolId } = piece.batch[0]
  const isOfOne = piece.batch.every(metric => metric.protocolId === protocolId)
  const actions: readonly FlushAction[] = isOfOne ? [{ kind: 'count-failure', protocolId }] : []
  if (piece.batch.length === 1 || areAttemptsUsed(state) || state.isSplit) {
    return step({ ...state, undecided: [...state.undecided, failure] }, ...actions)
  }
  const pieces = piecesOf(piece, piece.batch, slowPiecesMax).map(one => ({ ...one, attemptsMax: 1 }))
  return step({ ...state, isSplit: true }, ...actions, { kind: 'send-separately', pieces })
}

/** 3. Everything else had its turn: pieces that failed before anything was accepted are sent again, one at a time. */
function drained(state: FlushState): FlushStep {
  const [failure, ...undecidedRest] = state.undecided
  if (!failure) return step(state)
  if (!state.knownGood) return stopped(state, failure.verdict)
  const again = { ...failure.piece, attemptsMax: troubledAttemptsMax }
  return step({ ...state, undecided: undecidedRest }, { kind: 'send-last', pieces: [again] })
}

/** 4. The service takes others, or the piece was a probe: narrows down which metrics it fails on. */
function narrowing(state: FlushState, event: Extract<FlushEvent, { kind: 'narrowing' }>): FlushStep {
  const { failed: failure, dueMetrics, isInQuarantine } = event
  const { piece, verdict, isSlow } = failure
  const { reason } = verdict
  if (piece.isProbe && isInQuarantine) {
    return step(state, { kind: 'quarantine-protocol', metric: piece.batch[0], reason })
  }
  if (!isBatch(dueMetrics)) return step(state)
  const [metric] = dueMetrics
  const { protocolId } = metric
  const isProtocolAccepted = state.acceptedProtocols.has(protocolId)
  const isOfOne = dueMetrics.every(one => one.protocolId === protocolId)
  // A piece that fails fast is halved; each further round of a slow one takes as long.
  const ways = isSlow ? slowPiecesMax : 2
  if (!isOfOne || (dueMetrics.length > 1 && isProtocolAccepted)) {
    return step(state, { kind: 'send-last', pieces: piecesOf(piece, dueMetrics, ways) })
  }
  if (dueMetrics.length > 1) {
    const picked = dueMetrics[Math.floor(dueMetrics.length / 2)] ?? metric
    const rest = dueMetrics.filter(one => one !== picked)
    const sample: Piece = { ...fresh([picked], 1), sent: piece.sent, isSample: true }
    return step(state, { kind: 'sample', sample, otherPieces: piecesOf(piece, rest, ways) })
  }
  const isProtocol = piece.isSample === true && !isProtocolAccepted
  if (piece.isProbe) return step(state, { kind: 'quarantine-metric', metric, reason })
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
function blamed(state: FlushState, sentAt = Number.POSITIVE_INFINITY): FlushStep {
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
function sampled(state: FlushState, event: Extract<FlushEvent, { kind: 'sampled' }>): FlushStep {
  const id = event.otherPieces[0]?.batch[0].protocolId
  const isFailing = state.failing.some(({ metric, isProtocol }) => isProtocol && metric.protocolId === id)
  return event.isInQuarantine || isFailing ? step(state) : step(state, { kind: 'send-last', pieces: event.otherPieces })
}

/** 7. The flush ends since the service fails: the next one begins with other metrics than those that failed alone. */
function suspected(state: FlushState): FlushStep {
  const alone = state.undecided.flatMap(({ piece: { batch } }) => (batch.length === 1 ? [batch[0]] : []))
  const metrics = [...state.failing.map(({ metric }) => metric), ...alone]
  const isWanted = state.stop?.kind === 'transient' && metrics.length > 0
  return isWanted ? step(state, { kind: 'suspect', metrics }) : step(state)
}
