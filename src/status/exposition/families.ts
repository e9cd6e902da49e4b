import type { Hour } from '../../model/hour.ts'
import { labelOf } from '../../model/metric.ts'
import type { Scrape } from '../observe.ts'
import type { CellState, EndpointState } from '../snapshot.ts'
import { type Family, known, type Labels, type MetricSample, stateSamples } from './text.ts'

/** Metrics of the process: readiness, configuration, clock, disk. */
export function daemonFamilies({ version, ready, configuration, isClockBelieved, service, disk }: Scrape): Family[] {
  return [
    {
      name: 'tidegauge_build_info',
      type: 'gauge',
      help: 'Version of the daemon; always 1.',
      samples: [[{ version }, 1]],
    },
    readyFamily(ready.ok),
    {
      name: 'tidegauge_config_last_reload_successful',
      type: 'gauge',
      help: '0 while the configuration file was changed and is refused, else 1.',
      samples: [[{}, configuration.refused ? 0 : 1]],
    },
    {
      name: 'tidegauge_config_last_reload_success_timestamp_seconds',
      type: 'gauge',
      help: 'When the configuration in force was taken, at the start or by a reload.',
      samples: [[{}, configuration.inForceSinceMs / 1000]],
    },
    {
      name: 'tidegauge_clock_believed',
      type: 'gauge',
      help: "1 while this machine's clock is believed; 0 while it is doubted and nothing is collected.",
      samples: known(isClockBelieved === undefined ? undefined : Number(isClockBelieved)),
    },
    {
      name: 'tidegauge_service_clock_skew_seconds',
      type: 'gauge',
      help: "Lead of the service's clock over this machine's; absent until an answer showed it.",
      samples: known(service.skewMs === undefined ? undefined : service.skewMs / 1000),
    },
    {
      name: 'tidegauge_disk_full',
      type: 'gauge',
      help: '1 while there is no room to store anything new, and nothing is collected, else 0.',
      samples: [[{}, disk.isFull ? 1 : 0]],
    },
    {
      name: 'tidegauge_disk_free_bytes',
      type: 'gauge',
      help: 'Free room of the disk below the outbox; absent when the system does not say.',
      samples: known(disk.room?.freeBytes),
    },
    {
      name: 'tidegauge_disk_size_bytes',
      type: 'gauge',
      help: 'Size of the disk below the outbox; absent when the system does not say.',
      samples: known(disk.room?.sizeBytes),
    },
  ]
}

/** Readiness, which is exposed without an outbox, too. */
export function readyFamily(isReady: boolean): Family {
  return {
    name: 'tidegauge_ready',
    type: 'gauge',
    help: '1 while everything that is due was delivered in time, else 0; /readyz has the reasons.',
    samples: [[{}, isReady ? 1 : 0]],
  }
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
export function deliveryFamilies({ balance, gates, service, counters, warnings }: Scrape): Family[] {
  const { due, dead, held } = balance
  return [
    {
      name: 'tidegauge_outbox_metrics',
      type: 'gauge',
      help: 'Metrics in the outbox that are not delivered: due, dead (refused for good) or held (a person decides).',
      samples: Object.entries({ due, dead, held }).map(([state, count]) => [{ state }, count] as const),
    },
    {
      name: 'tidegauge_metrics_collected_total',
      type: 'counter',
      help: 'Metrics that collectors gave, since the start; of an hour that is tried again they count again.',
      samples: [[{}, counters.collected]],
    },
    {
      name: 'tidegauge_metrics_delivered_total',
      type: 'counter',
      help: 'Metrics that the service took, since the start; one whose value was corrected counts again.',
      samples: [[{}, counters.delivered]],
    },
    {
      name: 'tidegauge_delivery_gate',
      type: 'gauge',
      help: '1 for the state of delivery with each key, by its last flush, 0 for the others.',
      samples: gates.flatMap(({ destination, state }) => stateSamples(gateStates, state, { destination })),
    },
    {
      name: 'tidegauge_delivery_consecutive_failures',
      type: 'gauge',
      help: 'Flushes in a row that failed, with each key.',
      samples: gates.map(({ destination, failures }) => [{ destination }, failures] as const),
    },
    {
      name: 'tidegauge_pushes_total',
      type: 'counter',
      help: 'Pushes by the verdict on their answer, since the start; one without an answer is transient.',
      samples: Object.entries(counters.pushes).map(([verdict, count]) => [{ verdict }, count] as const),
    },
    {
      name: 'tidegauge_last_push_timestamp_seconds',
      type: 'gauge',
      help: 'When the last push was answered; absent before the first.',
      samples: known(service.lastPush && service.lastPush.atMs / 1000),
    },
    {
      name: 'tidegauge_reports_total',
      type: 'counter',
      help: 'Reports to people by receiver and outcome, since the start; one that is not accepted is sent again.',
      samples: [...counters.reports].flatMap(([receiver, counts]) =>
        (['accepted', 'refused'] as const).map(outcome => [{ receiver, outcome }, counts[outcome]] as const),
      ),
    },
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
    {
      name: 'tidegauge_service_warnings_total',
      type: 'counter',
      help: 'Warnings of the service about pushes, by kind; tidegauge warnings has their words.',
      samples: [...counts].map(([kind, count]) => [{ kind }, count] as const),
    },
    {
      name: 'tidegauge_service_last_warning_timestamp_seconds',
      type: 'gauge',
      help: 'When the service last warned; absent when it never did.',
      samples: known(lastMs === undefined ? undefined : lastMs / 1000),
    },
  ]
}

const states = ['well', 'unreachable', 'wrong-id', 'behind', 'pruned', 'limited', 'quarantine', 'no-address'] as const

/** Metrics of the nodes that chains are read from. */
export function endpointFamilies({ endpoints }: Scrape): Family[] {
  const named = labelled(endpoints)
  return [
    {
      name: 'tidegauge_endpoint_state',
      type: 'gauge',
      help: '1 for the state of a node when it was asked last, 0 for the others.',
      samples: named.flatMap(({ labels, endpoint }) => stateSamples(states, stateOf(endpoint), labels)),
    },
    {
      name: 'tidegauge_endpoint_consecutive_failures',
      type: 'gauge',
      help: 'Times in a row that a node was asked in vain.',
      samples: named.map(({ labels, endpoint }) => [labels, endpoint.failuresInRow ?? 0] as const),
    },
    {
      name: 'tidegauge_endpoint_head_timestamp_seconds',
      type: 'gauge',
      help: 'Timestamp of the last block a node reported; absent before the first. Nodes are asked when an hour is read.',
      samples: named.flatMap(({ labels, endpoint: { head } }) => (head ? [[labels, head.atMs / 1000] as const] : [])),
    },
    {
      name: 'tidegauge_endpoint_calls_total',
      type: 'counter',
      help: 'Calls sent to a node by their outcome, since the start; one that is sent again counts again.',
      samples: named.flatMap(({ labels, endpoint: { calls = {} } }) =>
        Object.entries(calls).map(([outcome, count]) => [{ ...labels, outcome }, count] as const),
      ),
    },
  ]
}

function stateOf({ state, trouble }: EndpointState): (typeof states)[number] {
  return state === 'no-address' || state === 'quarantine' ? state : (trouble ?? 'well')
}

/** Labels of each endpoint. Two of a chain on one host, with different keys, are numbered: two lines with the same labels would be one series. */
function labelled(
  endpoints: readonly EndpointState[],
): { readonly labels: Labels; readonly endpoint: EndpointState }[] {
  const seen = new Map<string, number>()
  return endpoints.map(endpoint => {
    const { chain, host } = endpoint
    const count = (seen.get(`${chain} ${host}`) ?? 0) + 1
    seen.set(`${chain} ${host}`, count)
    return { labels: { chain, endpoint: count === 1 ? host : `${host} (${count})` }, endpoint }
  })
}

/** Metrics of hours, of the collectors that read them, and the values. */
export function hourFamilies(scrape: Scrape): Family[] {
  const { nowMs, ages, hours } = scrape
  const ageOf = (hour: Hour | undefined) => (hour === undefined ? undefined : (nowMs - hour) / 1000)
  const labels = new Map(
    hours.rows.map(({ collector, protocolId }) => [collector, { protocol: protocolId, collector }]),
  )
  return [
    {
      name: 'tidegauge_oldest_hour_age_seconds',
      type: 'gauge',
      help: 'Age of the oldest hour that is due, collected and not delivered, or held; absent when there is none.',
      samples: Object.entries(ages.oldest).flatMap(([state, hour]) => known(ageOf(hour), { state })),
    },
    {
      name: 'tidegauge_collector_delivered_age_seconds',
      type: 'gauge',
      help: 'Age of the newest delivered hour of each collector; while none was delivered, of the first that is expected.',
      samples: [...ages.newestDelivered].flatMap(([collector, hour]) =>
        of(labels, collector).map(own => [own, (nowMs - hour) / 1000] as const),
      ),
    },
    {
      name: 'tidegauge_collections',
      type: 'gauge',
      help: 'Hours of each collector among the last 48 by state; of gaps also by the code of the reason.',
      samples: stateCounts(scrape, labels),
    },
    {
      name: 'tidegauge_overdue_collections',
      type: 'gauge',
      help: 'Hours that are overdue by 15 minutes, by the code of why the oldest failed; none: it was not tried yet.',
      samples: scrape.late.flatMap(({ collector, hours: late, fault }) =>
        of(labels, collector).map(own => [{ ...own, code: fault?.code ?? 'none' }, late] as const),
      ),
    },
    ...runFamilies(scrape, labels),
    {
      name: 'tidegauge_metric_value',
      type: 'gauge',
      help: 'The newest value of each metric, collected for one of the last three hours; absent when there is none.',
      samples: scrape.values.map(
        ({ id, protocolId, value, unit = '' }) =>
          [{ protocol: protocolId, metric: labelOf({ id, protocolId }), unit }, value] as const,
      ),
    },
  ]
}

/** Labels of a collector by its id. */
type LabelsById = ReadonlyMap<string, Labels>

function runFamilies({ counters }: Scrape, labels: LabelsById): Family[] {
  return [
    {
      name: 'tidegauge_collection_duration_seconds',
      type: 'summary',
      help: 'Runs of each collector and their duration, waiting for its chains included, since the start.',
      samples: [...counters.runs].flatMap(([collector, { runs, seconds }]) =>
        of(labels, collector).flatMap(
          own =>
            [
              [own, seconds, '_sum'],
              [own, runs, '_count'],
            ] as const,
        ),
      ),
    },
    {
      name: 'tidegauge_collection_failures_total',
      type: 'counter',
      help: 'Runs of each collector that failed, by the code of the fault, since the start; each is tried again.',
      samples: [...counters.runs].flatMap(([collector, { failures }]) =>
        of(labels, collector).flatMap(own => [...failures].map(([code, count]) => [{ ...own, code }, count] as const)),
      ),
    },
  ]
}

/** States that are counted. Gaps are counted with their codes. */
const counted = ['due', 'collected', 'delivered', 'dead', 'held', 'unexpected'] satisfies CellState[]

function stateCounts({ hours, gaps }: Scrape, labels: LabelsById): MetricSample[] {
  const byCollector = Map.groupBy(gaps, ({ collector }) => collector)
  return hours.rows.flatMap(({ collector, cells }): MetricSample[] => {
    const own = labels.get(collector) ?? {}
    const coded = byCollector.get(collector) ?? []
    return [
      ...counted.map(state => [{ ...own, state }, cells.filter(cell => cell.state === state).length] as const),
      ...coded.map(({ code, hours: count }) => [{ ...own, state: 'gap', code }, count] as const),
      // A collector without a gap has a line that says so.
      ...(coded.length === 0 ? [[{ ...own, state: 'gap' }, 0] as const] : []),
    ]
  })
}

/** Labels of a configured collector; none of another one. */
function of(labels: LabelsById, collector: string): readonly Labels[] {
  const own = labels.get(collector)
  return own === undefined ? [] : [own]
}
