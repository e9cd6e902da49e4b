import type { Config } from '../config/config.ts'
import { type Hour, hourAt, hourText } from '../model/hour.ts'
import { overdueMs } from '../model/limits.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { CollectionRow } from '../outbox/tables/hour-rows.ts'
import { clockSentences } from './clock-sentences.ts'
import { detainedSentences } from './detained-sentences.ts'
import { gapSentence, lateSentence, missingSentence } from './hour-sentences.ts'
import type { Observed } from './observed.ts'
import { refusedSentences } from './reloads.ts'
import type { Readiness } from './snapshot.ts'

/** Why pushes to the destinations wait, in sentences; none where they do not. */
export function waitingSentences({ outbox, destinations }: Pick<Observed, 'outbox' | 'destinations'>): string[] {
  return destinations.flatMap(name => outbox.destinations.get(name).waiting ?? [])
}

/** Due metrics that nothing is going to deliver: their protocol was taken out of the configuration. */
export function strandedSentence(config: Config, outbox: Outbox): string | undefined {
  const configured = new Set(config.protocols.map(({ id }) => id))
  const stranded = [...outbox.tally.dueByProtocol()].filter(([id]) => !configured.has(id))
  if (stranded.length === 0) return undefined
  const counts = stranded.map(([id, metrics]) => `${metrics} due of ${id}`).join(', ')
  return `not configured any more, and delivered only once they are again: ${counts}; to give them up: tidegauge due drop ${stranded[0]?.[0]}`
}

/**
 * Red whenever an hour is late: not collected, or collected and not delivered, a quarter of an hour after its turn. It is
 * asked of what the configuration expects, not of what the rows happen to say, so a writer that is broken shows too. For
 * as long after a start, catching up alone is no alarm; what was tried and failed is.
 */
export function readiness(
  observed: Pick<
    Observed,
    'config' | 'configuration' | 'outbox' | 'nowMs' | 'startedAtMs' | 'host' | 'destinations' | 'clock'
  >,
): Readiness {
  const { config, outbox, nowMs, startedAtMs, host } = observed
  const isCatchingUp = nowMs - startedAtMs < overdueMs
  const newestLate = hourAt(nowMs - overdueMs)
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  const late = outbox.expectedHours
    .lateOf(
      collectors.map(({ id }) => id),
      newestLate,
    )
    .filter(({ fault }) => fault || !isCatchingUp)
  // The outbox could not be written, say. By a clock that is doubted nothing is planned, which is told already.
  const isPlanned = observed.clock?.kind !== 'doubted'
  const missing = isCatchingUp || !isPlanned ? [] : outbox.expectedHours.missing(collectors, newestLate)
  const expected = new Set(collectors.map(({ id }) => id))
  const gaps = gapsAt(newestLate, outbox).filter(({ collector }) => expected.has(collector))
  const reasons = [
    ...refusedSentences(observed.configuration),
    ...clockSentences(observed),
    ...(outbox.disk.isFull ? [outbox.disk.fullSentence] : []),
    ...[outbox.writer.lockedSentence(nowMs) ?? []].flat(),
    ...late.map(lateSentence),
    ...missing.map(id => missingSentence(id, newestLate)),
    ...gaps.map(gapSentence),
  ]
  const protocolIds = config.protocols.map(({ id }) => id)
  const oldest = outbox.due.hour('oldest', protocolIds, newestLate)
  const waiting = waitingSentences(observed).join('; ')
  if (oldest !== undefined && (waiting || !isCatchingUp)) {
    const count = outbox.due.countUpTo(protocolIds, newestLate)
    const why = waiting ? `: ${waiting}` : ''
    reasons.push(
      `${count} ${count === 1 ? 'metric' : 'metrics'} not delivered to ${host}, the oldest of ${hourText(oldest)}${why}`,
    )
  }
  reasons.push(...detainedSentences(outbox.detained.countsOf(newestLate, protocolIds), newestLate, host))
  return { ok: reasons.length === 0, reasons }
}

/** The newest late hour cannot be had any more: that is news; older gaps are history, and stand in the grid. */
function gapsAt(hour: Hour, outbox: Outbox): readonly CollectionRow[] {
  return outbox.expectedHours.between(hour, hour).filter(({ state }) => state === 'gap')
}
