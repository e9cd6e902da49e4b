import { createHash } from 'node:crypto'
import { lookAtFleet } from './fleet.ts'
import { stateOf } from './observe.ts'
import type { Observed } from './observed.ts'
import { latenessWanted } from './readiness.ts'
import type { Snapshot } from './snapshot.ts'

/** The part of a snapshot that is read without hours and values: cheap, and different after each hour and push. */
type PresentState = Omit<Snapshot, 'protocols' | 'hours' | 'week'>

/** Time after which a page is old although nothing has changed: its ages and countdowns are. */
const minuteMs = 60_000

/** A short text that differs when the state does, and each minute. */
export function fingerprint({
  nowMs,
  version,
  startedAtMs,
  ready,
  configuration,
  service,
  endpoints,
  fleet,
  balance,
  backlog,
  warnings,
}: PresentState): string {
  const minute = Math.floor(nowMs / minuteMs)
  // Calls are counted by the second while hours are caught up, and the page does not show them.
  const nodes = endpoints.map(({ calls: _, ...endpoint }) => endpoint)
  // Daemons are seen every few seconds: their ages change with the minute.
  const daemons = fleet?.daemons.map(({ seenAtMs: _, ...daemon }) => daemon)
  const others = { ...fleet, daemons }
  const state = {
    minute,
    version,
    startedAtMs,
    ready,
    configuration,
    service,
    nodes,
    balance,
    backlog,
    warnings,
    others,
  }
  return createHash('sha256').update(JSON.stringify(state)).digest('base64url').slice(0, 16)
}

/** The fingerprint of the present state: equal to that of a snapshot of the same instant. */
export async function presentFingerprint(observed: Observed): Promise<string> {
  const overview = await observed.outbox.status.overview(latenessWanted(observed))
  return fingerprint(stateOf(observed, overview, await lookAtFleet(observed)))
}
