import { type Hour, hourNumber } from '../../../model/hour.ts'
import type { MetricCurve } from '../../contract/curves.ts'
import { metricAt } from '../../rows/metric-at.ts'
import { valueAt } from '../../rows/run-values.ts'
import { stateNumber, stateOf } from '../../rows/states.ts'
import { metricsByNumber, type RowReader } from './known-metrics.ts'
import { numbersOf, runColumnsText, type StoredRun } from './run-rows.ts'

/** Values of a metric while they are read. */
interface GrowingCurve {
  readonly values: (number | null)[]
  /** The newest run with it. */
  run: StoredRun
}

/** The values of all metrics in a range of hours, both ends included, in the order in which they were first stored. */
export async function metricCurves(reading: RowReader, from: Hour, to: Hour): Promise<MetricCurve[]> {
  const [oldest, newest] = [hourNumber(from), hourNumber(to)]
  const runs = await reading.query<StoredRun>(
    `SELECT ${runColumnsText} FROM tidegauge.outbox
     WHERE hour BETWEEN $1 AND $2 AND state <> ${stateNumber('dropped')} ORDER BY hour, first`,
    [oldest, newest],
  )
  const curves = new Map<number, GrowingCurve>()
  for (const run of runs) {
    for (const number of numbersOf(run)) {
      const curve = curves.get(number) ?? { run, values: Array<null>(newest - oldest + 1).fill(null) }
      curve.values[run.hour - oldest] = valueAt(run.bytes, number - run.first)
      curve.run = run
      curves.set(number, curve)
    }
  }
  const known = await metricsByNumber(reading, [...curves.keys()])
  return [...curves]
    .sort(([a], [b]) => a - b)
    .flatMap(([number, { run, values }]) => {
      const own = known.get(number)
      if (!own) return []
      const latest = metricAt(own, run.hour, valueAt(run.bytes, number - run.first))
      return [{ latest: { ...latest, state: stateOf(run.state), collector: own.collector }, values }]
    })
}
