import type { Registry } from 'prom-client'
import type { Hour } from '../model/hour.ts'
import { familyText, labelText, type MetricSample } from './exposition-text.ts'
import type { Scrape } from './scrape.ts'
import type { CellState } from './snapshot.ts'

/**
 * Metrics in the Prometheus text format 0.0.4: the snapshot's under names that begin with `tidegauge_`, the process's
 * under prom-client's usual names (`process_…`, `nodejs_…`). Those begin at the first scrape, as prom-client is loaded
 * then: many daemons are never scraped.
 *
 * @param snapshot called at each scrape
 */
export function startExposition(snapshot: () => Promise<Scrape> | Scrape): () => Promise<string> {
  let ofProcess: Promise<Registry> | undefined
  return async () => {
    ofProcess ??= registryOfNode()
    const own = snapshotExposition(await snapshot())
    return `${own}${withNaN(await (await ofProcess).metrics())}`
  }
}

async function registryOfNode(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client')
  const register = new Registry()
  collectDefaultMetrics({ register })
  return register
}

/** Replaces prom-client's `Nan` by the format's `NaN`: an event-loop lag that was not measured yet. */
function withNaN(text: string): string {
  return text.replace(/ Nan$/gm, ' NaN')
}

/** The snapshot as text. An unknown value has no line, rather than a 0. */
export function snapshotExposition(snapshot: Scrape): string {
  const parts: string[] = []
  const add: Add = (name, help, samples) => parts.push(familyText({ name, type: 'gauge', help, samples }))
  const count: Add = (name, help, samples) => parts.push(familyText({ name, type: 'counter', help, samples }))
  addDaemon(add, snapshot)
  addEndpoints(add, snapshot)
  addOutbox(count, add, snapshot)
  addHours(add, snapshot)
  addWarnings(count, add, snapshot)
  return parts.join('')
}

type Add = (name: string, help: string, samples: readonly MetricSample[]) => void

function addDaemon(add: Add, { version, startedAtMs, ready, configuration, service }: Scrape): void {
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
    "Lead of the service's clock over this machine's; absent while unknown.",
    [...(service.skewMs === undefined ? [] : [[{}, service.skewMs / 1000] as const])],
  )
}

function addEndpoints(add: Add, { endpoints }: Scrape): void {
  add(
    'tidegauge_endpoint_well',
    '1 while a node is asked, 0 while it rests after a failure or serves another chain.',
    endpoints.map(({ chain, host, state }) => [{ chain, endpoint: host }, state === 'well' ? 1 : 0]),
  )
  add(
    'tidegauge_endpoint_head_timestamp_seconds',
    'Timestamp of the last block a node reported; absent before the first.',
    endpoints.flatMap(({ chain, host, head }) =>
      head ? [[{ chain, endpoint: host }, head.atMs / 1000] as const] : [],
    ),
  )
}

function addOutbox(count: Add, add: Add, { balance }: Scrape): void {
  const { enqueued, dropped, ...byState } = balance
  count('tidegauge_metrics_enqueued_total', 'Metrics ever put into the outbox.', [[{}, enqueued + dropped]])
  count('tidegauge_metrics_delivered_total', 'Metrics ever delivered to the service.', [[{}, byState.delivered]])
  add(
    'tidegauge_outbox_enqueued_metrics',
    'Metrics put into the outbox and not dropped by a person; the sum of all states.',
    [[{}, enqueued]],
  )
  add(
    'tidegauge_outbox_metrics',
    'Metrics in the outbox by state.',
    Object.entries(byState).map(([state, count]) => [{ state }, count] as const),
  )
}

const cellStates: Readonly<Record<CellState, number>> = {
  due: 0,
  collected: 0,
  delivered: 0,
  gap: 0,
  dead: 0,
  held: 0,
  unexpected: 0,
}

function addHours(add: Add, { hours, nowMs, ages }: Scrape): void {
  const ageOf = (hour: Hour | undefined): number[] => (hour === undefined ? [] : [(nowMs - hour) / 1000])
  add(
    'tidegauge_oldest_hour_age_seconds',
    'Age of the oldest hour in a state that should pass; absent when there is none.',
    Object.entries(ages.oldest).flatMap(([state, hour]) => ageOf(hour).map(age => [{ state }, age] as const)),
  )
  const rows = hours.rows.map(row => ({
    ...row,
    labels: labelText({ protocol: row.protocolId, collector: row.collector }),
  }))
  add(
    'tidegauge_collector_hours',
    'The last 48 hours of each collector by state.',
    rows.flatMap(({ labels, cells }) => {
      const counts = { ...cellStates }
      for (const { state } of cells) counts[state] += 1
      return Object.entries(counts).map(([state, count]) => [`${labels},state="${state}"`, count] as const)
    }),
  )
  add(
    'tidegauge_collector_delivered_age_seconds',
    'Age of the newest delivered hour of each collector; while none was delivered, of the first that is expected.',
    rows.flatMap(({ labels, collector }) =>
      ageOf(ages.newestDelivered.get(collector)).map(age => [labels, age] as const),
    ),
  )
}

/** Adds the counts of warnings, the only counters in a snapshot. */
function addWarnings(count: Add, add: Add, { warnings }: Scrape): void {
  count(
    'tidegauge_service_warnings_total',
    'Warnings of the service about pushes, by kind and metric id; empty where it named none.',
    warnings.map(({ kind, metricId, count }) => [{ kind, metric_id: metricId ?? '' }, count]),
  )
  const last = warnings
    .map(warning => warning.lastSeenMs)
    .reduce<number | undefined>((a, b) => Math.max(a ?? b, b), undefined)
  add('tidegauge_service_last_warning_timestamp_seconds', 'When the service last warned; absent when it never did.', [
    ...(last === undefined ? [] : [[{}, last / 1000] as const]),
  ])
}
