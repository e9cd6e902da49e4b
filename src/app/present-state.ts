import { version } from '../edge/version.ts'
import { LocalOutcomes } from '../outbox/local-outcomes.ts'
import type { KeptHours } from '../status/snapshot.ts'
import { type Observed, Reloads } from '../status/sources.ts'
import type { NamedService } from './connection.ts'
import type { AppContext } from './context.ts'

/** The present state, without the service's widgets. */
export function presentState(
  { config, time, clock, keptCounts }: AppContext,
  outbox: Observed['outbox'],
  service: NamedService,
  startedAtMs: number,
  endpoints: Observed['endpoints'] = [],
  reloads: Reloads = new Reloads(config, startedAtMs),
  isUnattended = false,
): Observed {
  const destinations = service.destinations.map(({ name }) => name)
  const { host } = service
  return {
    config,
    outbox,
    host,
    destinations,
    version,
    startedAtMs,
    processStartedAtMs: reloads.startedAtMs,
    configuration: reloads.state,
    nowMs: time.nowMs(),
    widgets: new Map(),
    endpoints,
    isUnattended,
    ...(config.data.kind === 'postgres' && { kept: keptIn(config.data.keptIn) }),
    ...(clock && { clock: clock.verdict }),
    ...(keptCounts && { reports: keptCounts.counters.reports }),
  }
}

function keptIn(folder: string): KeptHours {
  return { ...new LocalOutcomes(folder).counts, folder }
}
