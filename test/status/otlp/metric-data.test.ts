import { expect, it } from 'vitest'
import { instantOf, metricDataOf } from '../../../src/status/otlp/metric-data.ts'

const instants = { start: instantOf(1_000), now: instantOf(61_500.25) }
const times = { startTime: [1, 0], endTime: [61, 500_250_000] }

it('gauges, counters and summaries keep names, labels and values', () => {
  const gauge = { name: 'tidegauge_age_seconds', type: 'gauge', help: 'Age.' } as const
  const data = metricDataOf(
    [
      {
        ...gauge,
        samples: [
          [{ a: '1' }, 5],
          [{ a: '2' }, Number.NaN],
          [{ a: '3' }, 7],
        ],
      },
      { name: 'tidegauge_runs_total', type: 'counter', help: 'Runs.', samples: [[{}, 3]] },
      {
        name: 'tidegauge_duration_seconds',
        type: 'summary',
        help: 'Duration.',
        samples: [
          [{ c: 'x' }, 2.5, '_sum'],
          [{ c: 'x' }, 2, '_count'],
        ],
      },
      { name: 'tidegauge_none', type: 'gauge', help: 'None.', samples: [] },
    ],
    instants,
  )
  expect(data.map(({ descriptor: { name, unit } }) => [name, unit])).toEqual([
    ['tidegauge_age_seconds', 's'],
    ['tidegauge_runs_total', ''],
    ['tidegauge_duration_seconds', 's'],
  ])
  expect(data[0]?.dataPoints).toEqual([
    { attributes: { a: '1' }, value: 5, ...times },
    { attributes: { a: '3' }, value: 7, ...times },
  ])
  expect(data[1]).toMatchObject({ isMonotonic: true, dataPoints: [{ value: 3 }] })
  const value = { sum: 2.5, count: 2, buckets: { boundaries: [], counts: [2] } }
  expect(data[2]?.dataPoints).toEqual([{ attributes: { c: 'x' }, value, ...times }])
})

it('the buckets of a histogram count what the smaller ones do not', () => {
  const bucket = (le: string, value: number) => [{ kind: 'minor', le }, value, '_bucket'] as const
  const samples = [
    bucket('0.1', 4),
    bucket('0.01', 1),
    bucket('+Inf', 6),
    [{ kind: 'minor' }, 0.75, '_sum'] as const,
    [{ kind: 'minor' }, 6, '_count'] as const,
  ]
  const [data] = metricDataOf([{ name: 'gc_seconds', type: 'histogram', help: 'GC.', samples }], instants)
  expect(data?.dataPoints[0]?.value).toEqual({
    sum: 0.75,
    count: 6,
    buckets: { boundaries: [0.01, 0.1], counts: [1, 3, 2] },
  })
})
