import type { Hour } from '../../model/hour.ts'
import { labelOf } from '../../model/metric.ts'
import type { Scrape } from '../scrape.ts'
import type { CellState } from '../snapshot.ts'
import { type Family, known, type Labels, type MetricSample } from './text.ts'

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
