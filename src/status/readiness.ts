import type { Config } from '../config/config.ts'
import { type Hour, hourAt, hourText } from '../model/hour.ts'
import { overdueMs } from '../model/limits.ts'
import type { CollectionRow } from '../outbox/contract/hours.ts'
import type { SqliteOutbox } from '../outbox/sqlite/sqlite-outbox.ts'
import { clockSentences } from './clock-sentences.ts'
import { detainedSentences } from './detained-sentences.ts'
import { gapSentence, lateSentence, missingSentence } from './hour-sentences.ts'
import type { Observed } from './observed.ts'
import { refusedSentences } from './reloads.ts'
import type { Readiness } from './snapshot.ts'

/** Why pushes to the destinations wait, one sentence each; empty when none waits. */
export function waitingSentences({ outbox, destinations }: Pick<Observed, 'outbox' | 'destinations'>): string[] {
  return destinations.flatMap(name => outbox.destinations.get(name).waiting ?? [])
}

/** Sentence about due metrics that will not be delivered: their protocol was removed from the configuration. */
export function strandedSentence(config: Config, outbox: SqliteOutbox): string | undefined {
  const configured = new Set(config.protocols.map(({ id }) => id))
  const stranded = [...outbox.tally.dueByProtocol()].filter(([id]) => !configured.has(id))
  if (stranded.length === 0) return undefined
  const counts = stranded.map(([id, metrics]) => `${metrics} due of ${id}`).join(', ')
  return `no longer configured, and not delivered until they are again: ${counts}; to give them up: tidegauge due drop ${stranded[0]?.[0]}`
}

/**
 * Readiness: red when an hour is late, that is, not collected or not delivered a quarter of an hour after its turn. The
 * hours are those the configuration expects, not the stored rows, so that a broken writer shows, too. For the same time
 * after a start, hours to catch up are not late, but failed ones are.
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
  // The outbox may be unwritable. With a doubted clock nothing is planned, which has a reason of its own.
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

/** Gaps at the newest late hour; older ones are history, and shown in the grid. */
function gapsAt(hour: Hour, outbox: SqliteOutbox): readonly CollectionRow[] {
  return outbox.expectedHours.between(hour, hour).filter(({ state }) => state === 'gap')
}
