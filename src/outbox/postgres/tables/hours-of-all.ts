import { type Hour, hourNumber, hoursFrom } from '../../../model/hour.ts'
import type { HourOfAll } from '../../contract/hours.ts'
import type { MetricState } from '../../contract/metrics.ts'
import { hourStateOf } from '../../rows/hour-rows.ts'
import { stateNumber } from '../../rows/states.ts'
import type { RowReader } from './known-metrics.ts'

/** A collector and a state in one number, so that a thousand are read fast. */
const radix = 8

interface PackedHour {
  readonly hour: number
  readonly packed: readonly number[]
}

/** As `StatusStore.hoursOfAll`. */
export async function hoursOfAll(
  reading: RowReader,
  collectors: readonly string[],
  from: Hour,
  to: Hour,
): Promise<HourOfAll[]> {
  const range = [hourNumber(from), hourNumber(to)]
  const [names, rows, open] = await Promise.all([
    reading.query<{ name: string; id: number }>('SELECT name, id FROM tidegauge.collector WHERE name = ANY($1)', [
      collectors,
    ]),
    reading.query<PackedHour>(
      `SELECT hour, array_agg(collector * ${radix} + state) AS packed FROM tidegauge.collection
       WHERE hour BETWEEN $1 AND $2 GROUP BY hour`,
      range,
    ),
    reading.query<PackedHour>(
      `WITH open AS (
         SELECT hour FROM tidegauge.due_count WHERE hour BETWEEN $1 AND $2
           AND protocol IN (SELECT protocol FROM tidegauge.tally WHERE state = 0 AND metrics > 0)
         UNION SELECT hour FROM tidegauge.detained WHERE hour BETWEEN $1 AND $2)
       SELECT outbox.hour, array_agg(DISTINCT metric.collector * ${radix} + outbox.state) AS packed FROM open
         JOIN tidegauge.outbox ON outbox.hour = open.hour AND outbox.state IN (0, 2, 3)
         JOIN tidegauge.metric ON metric.id BETWEEN outbox.first AND outbox.first + outbox.metrics - 1
       GROUP BY outbox.hour`,
      range,
    ),
  ])
  const byName = new Map(names.map(({ name, id }) => [name, id]))
  const numbers = collectors.map(name => byName.get(name) ?? -1)
  const [states, opened] = [byHour(rows), byHour(open)]
  return hoursFrom(from, to).map(hour => hourOf(numbers, states.get(hourNumber(hour)), opened.get(hourNumber(hour))))
}

function byHour(rows: readonly PackedHour[]): ReadonlyMap<number, readonly number[]> {
  return new Map(rows.map(({ hour, packed }) => [hour, packed]))
}

function hourOf(numbers: readonly number[], packed: readonly number[] = [], opened: readonly number[] = []): HourOfAll {
  const states = new Map(packed.map(both => [Math.floor(both / radix), both % radix]))
  const open = new Set(opened)
  return {
    stateOf(place) {
      const state = states.get(numbers[place] ?? -1)
      return state === undefined ? undefined : hourStateOf(state)
    },
    has: (place, state: MetricState) => open.size > 0 && open.has((numbers[place] ?? -1) * radix + stateNumber(state)),
  }
}
