import type { Scrape } from '../scrape.ts'
import { type Family, known, stateSamples } from './text.ts'

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
