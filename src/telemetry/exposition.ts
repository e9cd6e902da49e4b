import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Scrape } from '../status/scrape.ts'
import type { CellState } from '../status/snapshot.ts'

/**
 * Telemetry in the Prometheus text format 0.0.4: what the snapshot says, under names that begin with `tidegauge_`, and
 * the process's own under prom-client's usual names (`process_…`, `nodejs_…`).
 *
 * @param snapshot asked for at each scrape
 */
export function startExposition(snapshot: () => Promise<Scrape> | Scrape): () => Promise<string> {
  const ofProcess = new Registry()
  collectDefaultMetrics({ register: ofProcess })
  return async () => `${await snapshotExposition(await snapshot())}${withNaN(await ofProcess.metrics())}`
}

/** prom-client writes `Nan`, where the format has `NaN`: the lag of an event loop that was not measured yet. */
function withNaN(text: string): string {
  return text.replace(/ Nan$/gm, ' NaN')
}

/** The snapshot alone as text. What is not known has no line, rather than a 0. */
export async function snapshotExposition(snapshot: Scrape): Promise<string> {
  const registry = new Registry()
  const add = gaugesOf(registry)
  addDaemon(add, snapshot)
  addEndpoints(add, snapshot)
  addOutbox(registry, add, snapshot)
  addHours(add, snapshot)
  addWarnings(registry, add, snapshot)
  return registry.metrics()
}

type Labels = Readonly<Record<string, string>>
type Sample = readonly [labels: Labels, value: number]
type AddGauge = (name: string, help: string, samples: readonly Sample[]) => void

function gaugesOf(registry: Registry): AddGauge {
  return (name, help, samples) => {
    const [first] = samples
    if (!first) return
    const gauge = new Gauge({ name, help, labelNames: Object.keys(first[0]), registers: [registry] })
    for (const [labels, value] of samples) gauge.set(labels, value)
  }
}

function addDaemon(add: AddGauge, { version, startedAtMs, ready, configuration, service }: Scrape): void {
  add('tidegauge_build_info', 'Version of the daemon; always 1.', [[{ version }, 1]])
  add('tidegauge_start_timestamp_seconds', 'When the daemon started.', [[{}, startedAtMs / 1000]])
  add('tidegauge_ready', '1 while everything that is due was delivered in time, else 0.', [[{}, ready.ok ? 1 : 0]])
  add('tidegauge_config_refused', '1 while the configuration file was changed and is refused, else 0.', [
    [{}, configuration.refused ? 1 : 0],
  ])
  add('tidegauge_config_in_force_timestamp_seconds', 'When the configuration in force was taken.', [
    [{}, configuration.inForceSinceMs / 1000],
  ])
  add('tidegauge_delivery_waiting', '1 while delivery waits for the service, else 0.', [
    [{}, service.waiting === undefined ? 0 : 1],
  ])
  const { lastPush } = service
  add('tidegauge_last_push_timestamp_seconds', 'When the last push was answered; absent before the first.', [
    ...(lastPush ? [[{}, lastPush.atMs / 1000] as const] : []),
  ])
  add(
    'tidegauge_service_clock_skew_seconds',
    "How far the service's clock is ahead of this machine's; absent while unknown.",
    [...(service.skewMs === undefined ? [] : [[{}, service.skewMs / 1000] as const])],
  )
}

function addEndpoints(add: AddGauge, { endpoints }: Scrape): void {
  add(
    'tidegauge_endpoint_well',
    '1 while a node is asked, 0 while it rests after a failure or serves another chain.',
    endpoints.map(({ chain, host, state }) => [{ chain, endpoint: host }, state === 'well' ? 1 : 0]),
  )
  add(
    'tidegauge_endpoint_head_timestamp_seconds',
    'Timestamp of the last block a node told of; absent before the first.',
    endpoints.flatMap(({ chain, host, head }) =>
      head ? [[{ chain, endpoint: host }, head.atMs / 1000] as const] : [],
    ),
  )
}

function addOutbox(registry: Registry, add: AddGauge, { balance }: Scrape): void {
  const { queued, dropped, ...byState } = balance
  const count = (name: string, help: string, value: number) =>
    new Counter({ name, help, registers: [registry] }).inc(value)
  count('tidegauge_metrics_queued_total', 'Metrics ever put into the outbox.', queued + dropped)
  count('tidegauge_metrics_delivered_total', 'Metrics ever delivered to the service.', byState.delivered)
  add(
    'tidegauge_outbox_queued_metrics',
    'Metrics put into the outbox and not dropped by a person; the sum of all states.',
    [[{}, queued]],
  )
  add(
    'tidegauge_outbox_metrics',
    'Metrics in the outbox by state.',
    Object.entries(byState).map(([state, count]) => [{ state }, count] as const),
  )
}

const cellStates: Readonly<Record<CellState, true>> = {
  due: true,
  collected: true,
  delivered: true,
  gap: true,
  dead: true,
  held: true,
  unexpected: true,
}

function addHours(add: AddGauge, snapshot: Scrape): void {
  const { hours, nowMs } = snapshot
  add('tidegauge_oldest_hour_age_seconds', 'Age of the oldest of the last 48 hours in a state that should pass.', [
    ...(['due', 'collected', 'held'] as const).flatMap(state => oldestAge(snapshot, state)),
  ])
  add(
    'tidegauge_collector_hours',
    'The last 48 hours of each collector by state.',
    hours.rows.flatMap(({ protocolId, collector, cells }) =>
      Object.keys(cellStates).map(state => {
        const count = cells.filter(cell => cell.state === state).length
        return [{ protocol: protocolId, collector, state }, count] as const
      }),
    ),
  )
  add(
    'tidegauge_collector_delivered_age_seconds',
    'Age of the newest delivered hour of each collector; absent when none of the last 48 is.',
    hours.rows.flatMap(({ protocolId, collector, cells }) => {
      const newest = hours.hours[cells.findLastIndex(cell => cell.state === 'delivered')]
      return newest === undefined ? [] : [[{ protocol: protocolId, collector }, (nowMs - newest) / 1000] as const]
    }),
  )
}

function oldestAge({ hours, nowMs }: Scrape, state: CellState): Sample[] {
  const index = hours.hours.findIndex((_, at) => hours.rows.some(row => row.cells[at]?.state === state))
  const oldest = hours.hours[index]
  return oldest === undefined ? [] : [[{ state }, (nowMs - oldest) / 1000]]
}

/** Counts of warnings only grow: the one thing in a snapshot that is a counter. */
function addWarnings(registry: Registry, add: AddGauge, { warnings }: Scrape): void {
  const counter = new Counter({
    name: 'tidegauge_service_warnings_total',
    help: 'Warnings of the service about pushes, by kind and metric id; empty where it named none.',
    labelNames: ['kind', 'metric_id'],
    registers: [registry],
  })
  for (const { kind, metricId, count } of warnings) counter.inc({ kind, metric_id: metricId ?? '' }, count)
  const last = warnings
    .map(warning => warning.lastSeenMs)
    .reduce<number | undefined>((a, b) => Math.max(a ?? b, b), undefined)
  add('tidegauge_service_last_warning_timestamp_seconds', 'When the service last warned; absent when it never did.', [
    ...(last === undefined ? [] : [[{}, last / 1000] as const]),
  ])
}
