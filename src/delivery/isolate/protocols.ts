import { batchesOf, newestOf } from '../../model/batch.ts'
import { batchMetricsMax } from '../../model/limits.ts'
import { type FlushStep, step } from './actions.ts'
import type { FlushEvent } from './events.ts'
import type { Part, VerdictOf } from './parts.ts'
import type { FlushState } from './state.ts'

/*
 * The walk of a 403 or 404: a protocol that the service does not know, or that another key owns. The part is split by
 * protocol, and the protocol is registered where that is wanted, else quarantined.
 */

/** 1. A part is rejected for a protocol in it. */
export function protocolRejected(
  state: FlushState,
  part: Part,
  { status, reason }: VerdictOf<'protocol-refused'>,
  isInQuarantine: boolean,
): FlushStep {
  const byProtocol = [...Map.groupBy(part.batch, ({ protocolId }) => protocolId).values()]
  if (byProtocol.length > 1) {
    const parts = byProtocol.flatMap(own => batchesOf(own, batchMetricsMax)).map(batch => ({ ...part, batch }))
    return step(state, { kind: 'send-first', parts })
  }
  const { protocolId } = part.batch[0]
  const isRegistrable = status === 404 && state.registrable.has(protocolId) && !part.isRegistered
  return isRegistrable
    ? step(state, { kind: 'register', part })
    : quarantined(state, part, { status, reason, isInQuarantine })
}

/** 2. It was registered: the part is sent again. It could not be: it is quarantined, for the service's sake or its own. */
export function registered(state: FlushState, event: Extract<FlushEvent, { kind: 'registered' }>): FlushStep {
  const { part, refusal, isInQuarantine } = event
  if (refusal?.kind === 'transient') {
    return step(state, { kind: 'quarantine-unregistered', metric: newestOf(part.batch), reason: refusal.reason })
  }
  if (refusal) return quarantined(state, part, { status: 404, reason: refusal.reason, isInQuarantine })
  return step(state, { kind: 'send-first', parts: [{ ...part, isRegistered: true }] })
}

function quarantined(
  state: FlushState,
  { batch, isProbe }: Part,
  { isInQuarantine, ...why }: { readonly status: number; readonly reason: string; readonly isInQuarantine: boolean },
): FlushStep {
  const isNew = isProbe === true || !isInQuarantine
  return step(state, { kind: 'quarantine-rejected', metric: newestOf(batch), ...why, isNew })
}
