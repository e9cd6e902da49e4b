import { hourAfter, hourAt } from '../model/hour.ts'
import type { StoredMetric } from '../outbox/contract/metrics.ts'
import { lookAtFleet } from './fleet.ts'
import { hourStates } from './hour-states.ts'
import { removedProtocols, shownHours, stateOf } from './observe.ts'
import type { Observed } from './observed.ts'
import { latenessWanted } from './readiness.ts'
import type { Snapshot } from './snapshot.ts'

/** A snapshot for a person on a terminal, with the newest value of each metric and without their curves. */
export interface StatusSummary extends Omit<Snapshot, 'protocols' | 'week'> {
  /** In the order of the configured protocols; those of removed ones are last. */
  readonly newest: readonly StoredMetric[]
}

/** The present state, from the outbox. Reads only, and little more than what is shown. */
export async function summarize(observed: Observed): Promise<StatusSummary> {
  const { config, outbox, nowMs } = observed
  const current = hourAt(nowMs)
  const overview = await outbox.status.overview(latenessWanted(observed))
  const metrics = await outbox.status.newest(hourAfter(current, 1 - shownHours), current)
  const byProtocol = Map.groupBy(metrics, ({ protocolId }) => protocolId)
  const protocols = [...config.protocols, ...removedProtocols(config, [...byProtocol.keys()])]
  return {
    ...stateOf(observed, overview, await lookAtFleet(observed)),
    newest: protocols.flatMap(({ id }) => byProtocol.get(id) ?? []),
    hours: await hourStates(observed),
  }
}
