import type { Hour } from '../../model/hour.ts'
import { labelOf } from '../../model/metric.ts'
import { differenceKinds } from '../fleet.ts'
import type { Scrape } from '../observe.ts'
import type { CellState, EndpointState } from '../snapshot.ts'

/** Labels of a sample, by name. */
export type Labels = Readonly<Record<string, string>>

/** One line: its labels, the value, and the end of its name, of a summary or histogram. */
export type MetricSample = readonly [labels: Labels, value: number, suffix?: '_sum' | '_count' | '_bucket']

/** Samples of one metric name, with its description. */
export interface Family {
  /** Without labels. */
  readonly name: string
  readonly type: 'gauge' | 'counter' | 'summary' | 'histogram'
  /** One sentence for the HELP line. */
  readonly help: string
  readonly samples: readonly MetricSample[]
}

/**
 * A family in the Prometheus text format 0.0.4; empty without a sample. Written by hand: thousands of labelled lines
 * take prom-client ten times as long.
 */
export function familyText({ name, type, help, samples }: Family): string {
  if (samples.length === 0) return ''
  let text = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
  for (const [labels, value, suffix = ''] of samples) {
    const all = labelText(labels)
    text += `${name}${suffix}${all === '' ? '' : `{${all}}`} ${value}\n`
  }
  return text
}

function labelText(labels: Labels): string {
  let text = ''
  for (const name in labels) text += `${text === '' ? '' : ','}${name}="${escaped(labels[name] ?? '')}"`
  return text
}

/** One sample a state: 1 for the present one, 0 for the others, so that no state is ever without a line. */
function stateSamples(states: readonly string[], present: string, labels: Labels = {}): MetricSample[] {
  return states.map(state => [{ ...labels, state }, state === present ? 1 : 0] as const)
}

/** A sample of a value that may be unknown; none while it is. */
function known(value: number | undefined, labels: Labels = {}): MetricSample[] {
  return value === undefined ? [] : [[labels, value]]
}

const special = /[\\"\n]/

function escaped(value: string): string {
  if (!special.test(value)) return value
  return value.replace(/[\\"\n]/g, character => (character === '\n' ? '\\n' : `\\${character}`))
}

type FamilyOf = (name: string, help: string, samples: readonly MetricSample[]) => Family

const gauge: FamilyOf = (name, help, samples) => ({ name, type: 'gauge', help, samples })
const counter: FamilyOf = (name, help, samples) => ({ name, type: 'counter', help, samples })
const summary: FamilyOf = (name, help, samples) => ({ name, type: 'summary', help, samples })

/** The metrics of a snapshot, under names that begin with `tidegauge_`. An unknown value has no sample, rather than a 0. */
export function snapshotFamilies(scrape: Scrape): Family[] {
  return [
    ...daemonFamilies(scrape),
    ...deliveryFamilies(scrape),
    ...fleetFamilies(scrape),
    ...endpointFamilies(scrape),
    ...hourFamilies(scrape),
  ]
}

/** Metrics of the process: readiness, configuration, clock, disk. */
function daemonFamilies({ version, ready, configuration, isClockBelieved, service, disk }: Scrape): Family[] {
  return [
    gauge('tidegauge_build_info', 'Version of the daemon; always 1.', [[{ version }, 1]]),
    readyFamily(ready.ok),
    gauge(
      'tidegauge_config_last_reload_successful',
      '0 while the configuration file was changed and is refused, else 1.',
      [[{}, configuration.refused ? 0 : 1]],
    ),
    gauge(
      'tidegauge_config_last_reload_success_timestamp_seconds',
      'When the configuration in force was taken, at the start or by a reload.',
      [[{}, configuration.inForceSinceMs / 1000]],
    ),
    gauge(
      'tidegauge_clock_believed',
      "1 while this machine's clock is believed; 0 while it is doubted and nothing is collected.",
      known(isClockBelieved === undefined ? undefined : Number(isClockBelieved)),
    ),
    gauge(
      'tidegauge_service_clock_skew_seconds',
      "Lead of the service's clock over this machine's; absent until an answer showed it.",
      known(service.skewMs === undefined ? undefined : service.skewMs / 1000),
    ),
    gauge('tidegauge_disk_full', '1 while there is no room to store anything new, and nothing is collected, else 0.', [
      [{}, disk.isFull ? 1 : 0],
    ]),
    gauge(
      'tidegauge_disk_free_bytes',
      'Free room of the disk below the outbox; absent when the system does not say.',
      known(disk.room?.freeBytes),
    ),
    gauge(
      'tidegauge_disk_size_bytes',
      'Size of the disk below the outbox; absent when the system does not say.',
      known(disk.room?.sizeBytes),
    ),
  ]
}

/** Readiness, which is exposed without an outbox, too. */
export function readyFamily(isReady: boolean): Family {
  return gauge(
    'tidegauge_ready',
    '1 while everything that is due was delivered in time, else 0; /readyz has the reasons.',
    [[{}, isReady ? 1 : 0]],
  )
}

const gateStates: readonly Scrape['gates'][number]['state'][] = [
  'open',
  'unavailable',
  'key-refused',
  'key-missing',
  'rejecting',
  'misdirected',
]

/** Kinds of warnings with a count of their own; those of other words are counted together, as there may be any number. */
const warningKinds: readonly string[] = ['label-long', 'unit-changed', 'already-exists', 'timestamp']

/** Metrics of delivery: what waits, and what the service answers. */
function deliveryFamilies({ balance, gates, service, counters, warnings }: Scrape): Family[] {
  return [
    gauge(
      'tidegauge_outbox_metrics',
      'Metrics in the outbox that are not delivered: due, dead (refused for good) or held (a person decides).',
      (['due', 'dead', 'held'] as const).map(state => [{ state }, balance[state]] as const),
    ),
    counter(
      'tidegauge_metrics_collected_total',
      'Metrics that collectors gave, since the start; of an hour that is tried again they count again.',
      [[{}, counters.collected]],
    ),
    counter(
      'tidegauge_metrics_delivered_total',
      'Metrics that the service took, since the start; one whose value was corrected counts again.',
      [[{}, counters.delivered]],
    ),
    gauge(
      'tidegauge_delivery_gate',
      '1 for the state of delivery with each key, by its last flush, 0 for the others.',
      gates.flatMap(({ destination, state }) => stateSamples(gateStates, state, { destination })),
    ),
    gauge(
      'tidegauge_delivery_consecutive_failures',
      'Flushes in a row that failed, with each key.',
      gates.map(({ destination, failures }) => [{ destination }, failures] as const),
    ),
    counter(
      'tidegauge_pushes_total',
      'Pushes by the verdict on their answer, since the start; one without an answer is transient.',
      Object.entries(counters.pushes).map(([verdict, count]) => [{ verdict }, count] as const),
    ),
    gauge(
      'tidegauge_last_push_timestamp_seconds',
      'When the last push was answered; absent before the first.',
      known(service.lastPush && service.lastPush.atMs / 1000),
    ),
    counter(
      'tidegauge_reports_total',
      'Reports to people by receiver and outcome, since the start; one that is not accepted is sent again.',
      [...counters.reports].flatMap(([receiver, counts]) =>
        (['accepted', 'refused'] as const).map(outcome => [{ receiver, outcome }, counts[outcome]] as const),
      ),
    ),
    ...warningFamilies(warnings),
  ]
}

function warningFamilies(warnings: Scrape['warnings']): Family[] {
  const counts = new Map([...warningKinds, 'other'].map(kind => [kind, 0]))
  for (const { kind, count } of warnings) {
    const shown = warningKinds.includes(kind) ? kind : 'other'
    counts.set(shown, (counts.get(shown) ?? 0) + count)
  }
  const lastMs = warnings.reduce<number | undefined>(
    (last, { lastSeenMs }) => Math.max(last ?? 0, lastSeenMs),
    undefined,
  )
  return [
    counter(
      'tidegauge_service_warnings_total',
      'Warnings of the service about pushes, by kind; tidegauge warnings has their words.',
      [...counts].map(([kind, count]) => [{ kind }, count] as const),
    ),
    gauge(
      'tidegauge_service_last_warning_timestamp_seconds',
      'When the service last warned; absent when it never did.',
      known(lastMs === undefined ? undefined : lastMs / 1000),
    ),
  ]
}

/** Metrics of the daemons that share the outbox, the same at each of them; none where it belongs to one. */
export function fleetFamilies({ fleet }: Pick<Scrape, 'fleet'>): Family[] {
  if (!fleet) return []
  const { daemons, differing: fleetDifferences } = fleet
  return [
    gauge(
      'tidegauge_fleet_daemon_up',
      'In a fleet, 1 for each daemon that lives, 0 for one that was not seen for longer than a heartbeat, for a day.',
      daemons.map(({ name, isAway }) => [{ daemon: name }, isAway ? 0 : 1] as const),
    ),
    gauge(
      'tidegauge_fleet_roles',
      'In a fleet, the protocols that each daemon delivers (deliver), and 1 for the one that reports (report).',
      daemons.flatMap(({ name, delivers, isReporting }) => [
        [{ daemon: name, role: 'deliver' }, delivers.length] as const,
        [{ daemon: name, role: 'report' }, isReporting ? 1 : 0] as const,
      ]),
    ),
    gauge(
      'tidegauge_fleet_differences',
      'In a fleet, differences between daemons by what differs (no-daemon: one has died that alone ran a collector); tidegauge fleet ls has their words.',
      differenceKinds.map(kind => [{ kind }, fleetDifferences.filter(each => each.kind === kind).length] as const),
    ),
  ]
}

const failedStates = ['unreachable', 'wrong-id', 'behind', 'pruned', 'limited', 'quarantine', 'no-address'] as const
const states = ['well', 'unasked', ...failedStates] as const

/** Metrics of the nodes that chains are read from. */
function endpointFamilies({ endpoints }: Scrape): Family[] {
  const sources = labelled(endpoints)
  return [
    gauge(
      'tidegauge_endpoint_state',
      '1 for the state of a node when it was asked last (unasked: it never was), 0 for the others.',
      sources.flatMap(({ labels, endpoint }) => stateSamples(states, stateOf(endpoint), labels)),
    ),
    gauge(
      'tidegauge_endpoint_consecutive_failures',
      'Times in a row that a node was asked in vain.',
      sources.map(({ labels, endpoint }) => [labels, endpoint.failuresInRow ?? 0] as const),
    ),
    gauge(
      'tidegauge_endpoint_head_timestamp_seconds',
      'Timestamp of the last block a node reported; absent before the first. Nodes are asked when an hour is read.',
      sources.flatMap(({ labels, endpoint: { head } }) => (head ? [[labels, head.atMs / 1000] as const] : [])),
    ),
    counter(
      'tidegauge_endpoint_calls_total',
      'Calls sent to a node by their outcome, since the start; one that is sent again counts again.',
      sources.flatMap(({ labels, endpoint: { calls = {} } }) =>
        Object.entries(calls).map(([outcome, count]) => [{ ...labels, outcome }, count] as const),
      ),
    ),
  ]
}

function stateOf({ state, trouble }: EndpointState): (typeof states)[number] {
  return state === 'no-address' || state === 'quarantine' || state === 'unasked' ? state : (trouble ?? 'well')
}

/** Labels of each endpoint. Two of a chain on one host, with different keys, are numbered: two lines with the same labels would be one series. */
function labelled(
  endpoints: readonly EndpointState[],
): { readonly labels: Labels; readonly endpoint: EndpointState }[] {
  const counts = new Map<string, number>()
  return endpoints.map(endpoint => {
    const { chain, host } = endpoint
    const count = (counts.get(`${chain} ${host}`) ?? 0) + 1
    counts.set(`${chain} ${host}`, count)
    return { labels: { chain, endpoint: count === 1 ? host : `${host} (${count})` }, endpoint }
  })
}

/** Metrics of hours, of the collectors that read them, and the values. */
function hourFamilies(scrape: Scrape): Family[] {
  const { nowMs, ages, hours } = scrape
  const ageOf = (hour: Hour | undefined) => (hour === undefined ? undefined : (nowMs - hour) / 1000)
  const labels = new Map(
    hours.rows.map(({ collector, protocolId }) => [collector, { protocol: protocolId, collector }]),
  )
  return [
    gauge(
      'tidegauge_oldest_hour_age_seconds',
      'Age of the oldest hour that is due, collected and not delivered, or held; absent when there is none.',
      Object.entries(ages.oldest).flatMap(([state, hour]) => known(ageOf(hour), { state })),
    ),
    gauge(
      'tidegauge_collector_delivered_age_seconds',
      'Age of the newest delivered hour of each collector; while none was delivered, of the first that is expected.',
      [...ages.newestDelivered].flatMap(([collector, hour]) =>
        of(labels, collector).map(own => [own, (nowMs - hour) / 1000] as const),
      ),
    ),
    gauge(
      'tidegauge_collections',
      'Hours of each collector among the last 48 by state; of gaps also by the code of the reason.',
      stateCounts(scrape, labels),
    ),
    gauge(
      'tidegauge_overdue_collections',
      'Hours that are overdue by 15 minutes, by the code of why the oldest failed; none: it was not tried yet.',
      scrape.late.flatMap(({ collector, hours: late, fault }) =>
        of(labels, collector).map(own => [{ ...own, code: fault?.code ?? 'none' }, late] as const),
      ),
    ),
    ...runFamilies(scrape, labels),
    gauge(
      'tidegauge_metric_value',
      'The newest value of each metric, collected for one of the last three hours; absent when there is none.',
      scrape.values.map(
        ({ id, protocolId, value, unit = '' }) =>
          [{ protocol: protocolId, metric: labelOf({ id, protocolId }), unit }, value] as const,
      ),
    ),
  ]
}

type LabelsById = ReadonlyMap<string, Labels>

function runFamilies({ counters }: Scrape, labels: LabelsById): Family[] {
  return [
    summary(
      'tidegauge_collection_duration_seconds',
      'Runs of each collector and their duration, waiting for its chains included, since the start.',
      [...counters.runs].flatMap(([collector, { runs, seconds }]) =>
        of(labels, collector).flatMap(
          family =>
            [
              [family, seconds, '_sum'],
              [family, runs, '_count'],
            ] as const,
        ),
      ),
    ),
    counter(
      'tidegauge_collection_failures_total',
      'Runs of each collector that failed, by the code of the fault, since the start; each is tried again.',
      [...counters.runs].flatMap(([collector, { failures }]) =>
        of(labels, collector).flatMap(own => [...failures].map(([code, count]) => [{ ...own, code }, count] as const)),
      ),
    ),
  ]
}

/** States that are counted. Gaps are counted with their codes. */
const counted = ['due', 'collected', 'delivered', 'dead', 'held', 'unexpected'] satisfies CellState[]

function stateCounts({ hours, gaps }: Scrape, labels: LabelsById): MetricSample[] {
  const byCollector = Map.groupBy(gaps, ({ collector }) => collector)
  return hours.rows.flatMap(({ collector, cells }): MetricSample[] => {
    const collectorLabels = labels.get(collector) ?? {}
    const rowsWithCode = byCollector.get(collector) ?? []
    return [
      ...counted.map(
        state => [{ ...collectorLabels, state }, cells.filter(cell => cell.state === state).length] as const,
      ),
      ...rowsWithCode.map(({ code, hours: count }) => [{ ...collectorLabels, state: 'gap', code }, count] as const),
      // A collector without a gap has a line that says so.
      ...(rowsWithCode.length === 0 ? [[{ ...collectorLabels, state: 'gap' }, 0] as const] : []),
    ]
  })
}

/** Labels of a configured collector; none of another one. */
function of(labels: LabelsById, collector: string): readonly Labels[] {
  const own = labels.get(collector)
  return own === undefined ? [] : [own]
}
