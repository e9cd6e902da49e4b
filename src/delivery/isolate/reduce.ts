import { runsOf } from '../../model/metric-list.ts'
import type { MetricRun } from '../../model/metric-run.ts'
import type { DeadLetter } from '../../outbox/contract/metrics.ts'
import { andThen, type FlushStep, step, stopped } from './actions.ts'
import type { FlushEvent } from './events.ts'
import { blamed, checkedForFailure, drained, failed, narrowing, sampled, suspected } from './failures.ts'
import { attemptsOf, type Part, type VerdictOf } from './parts.ts'
import { protocolRejected, registered } from './protocols.ts'
import {
  accepted,
  checkedForRejections,
  concluded,
  concluding,
  confirmed,
  decided,
  deciding,
  ending,
  probing,
  rejected,
  undelivered,
} from './rejections.ts'
import type { FlushState } from './state.ts'

/** Decides what a flush does next after an event. Pure: the result depends only on the state and the event. */
export function reduce(state: FlushState, event: FlushEvent): FlushStep {
  switch (event.kind) {
    case 'taken':
      return taken(state, event.part)
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
      return confirmed(state, event.confirmation, event.pushed)
    case 'deciding':
      return deciding(state, event.single, event.mayAsk)
    case 'decided':
      return decided(state)
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
      return andThen(state.stop ? suspected(state) : blamed(state), ending)
    case 'broken':
      return stopped(state, event.stop)
  }
}

/** Until a push is accepted, all pushes together have as many attempts as one: a service that is down gets no more. */
function taken(state: FlushState, part: Part): FlushStep {
  const { max, used } = state.attempts
  const [sentAt, acceptedBefore] = [state.sequence + 1, state.acceptedPushes]
  const isCounted = state.knownGood === undefined && part.isProbe === undefined
  const attemptsMax = isCounted ? Math.max(1, Math.min(attemptsOf(part), max - used)) : part.attemptsMax
  const attempts = isCounted ? { attemptsMax, failedBefore: used } : { attemptsMax }
  const now = isCounted ? { max, used: used + attemptsMax } : state.attempts
  const sent = { part, attempts, sentAt, acceptedBefore, isCounted }
  return step({ ...state, sequence: sentAt, attempts: now }, { kind: 'push', sent })
}

function answered(before: FlushState, event: Extract<FlushEvent, { kind: 'answered' }>): FlushStep {
  const { sent, pushed, isAddressProven, isInQuarantine } = event
  const { verdict, attempts, isSlow = false } = pushed
  const part = { ...sent.part, sent: sent.part.sent + attempts }
  const unused = sent.isCounted ? sent.attempts.attemptsMax - (verdict.kind === 'transient' ? attempts : 0) : 0
  const state = { ...before, attempts: { ...before.attempts, used: before.attempts.used - unused } }
  switch (verdict.kind) {
    case 'settled':
      return delivered(state, part, sent.sentAt, verdict)
    case 'refused':
      // A status that the interface does not name may be about the address, as long as nothing was ever accepted there.
      return !verdict.isUnlisted || state.acceptedPushes > 0 || isAddressProven
        ? rejected(state, part, verdict)
        : stopped(state, { kind: 'misdirected', reason: verdict.reason })
    case 'protocol-refused':
      return protocolRejected(state, part, verdict, isInQuarantine)
    case 'transient':
      return failed(state, { part, verdict, isSlow }, sent.acceptedBefore)
    case 'key-refused':
    case 'misdirected':
      return stopped(state, verdict)
  }
}

function delivered(state: FlushState, part: Part, sentAt: number, verdict: VerdictOf<'settled'>): FlushStep {
  const dead: DeadLetter[] = verdict.dead.map(entry => ({ ...entry, attempts: part.sent }))
  const verdicts = { delivered: verdict.delivered, dead, warnings: verdict.warnings }
  return step(
    state,
    { kind: 'record', verdicts, sending: part.sent > 1 ? 'again' : 'first' },
    { kind: 'next', event: { kind: 'recorded', part, sentAt, verdict } },
  )
}

function recorded(state: FlushState, { part, sentAt, verdict }: Extract<FlushEvent, { kind: 'recorded' }>): FlushStep {
  const runs = runsOf(verdict.delivered)
  const [first] = runs
  if (!first) return undelivered(state, part, verdict.resend)
  const acceptedProtocols = withProtocols(state.acceptedProtocols, runs)
  const now: FlushState = {
    ...state,
    knownGood: first.metricAt(0),
    acceptedPushes: state.acceptedPushes + 1,
    acceptedProtocols,
    acceptedSizeMax: Math.max(state.acceptedSizeMax, part.batch.length),
  }
  return andThen(blamed(now, sentAt), next => accepted(next, sentAt, part, verdict.resend))
}

/** Some protocols, and those of some runs. Mostly all of a batch are of one that is known. */
function withProtocols(known: ReadonlySet<string>, runs: readonly MetricRun[]): ReadonlySet<string> {
  const others = runs.filter(({ protocolId }) => !known.has(protocolId))
  return others.length === 0 ? known : new Set([...known, ...others.map(({ protocolId }) => protocolId)])
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
