import type { Observed } from '../status/observed.ts'
import { Reloads } from '../status/reloads.ts'
import type { Connection } from './connection.ts'
import type { AppContext } from './context.ts'
import { version } from './version.ts'

/** Input for observing the state, without the service's widgets. */
export function observationOf(
  { config, time, clock }: AppContext,
  outbox: Observed['outbox'],
  connection: Pick<Connection, 'host' | 'destinations'>,
  startedAtMs: number,
  endpoints: Observed['endpoints'] = [],
  reloads: Reloads = new Reloads(config.file, startedAtMs),
): Observed {
  const destinations = connection.destinations.map(({ name }) => name)
  const { host } = connection
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
    ...(clock && { clock: clock.verdict }),
  }
}
