import { type Hour, hourNumber } from '../../../model/hour.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { MetricCurve } from '../../contract/curves.ts'
import { metricAt } from '../../rows/metric-at.ts'
import { valuesOf } from '../../rows/run-values.ts'
import { stateOf } from '../../rows/states.ts'
import type { MetricRegistry } from './metric-registry.ts'

interface ValuesRow {
  readonly first: number
  readonly state: number
  readonly bytes: Buffer
}

/** Values of one metric while they are read. */
interface OpenCurve {
  readonly values: (number | null)[]
  hour: number
  state: number
}

/** Reads the values of all metrics hour by hour: 1 ms an hour of 5,000. */
export class Curves {
  readonly #registry: MetricRegistry
  readonly #statements

  constructor(database: Sqlite, { registry }: { readonly registry: MetricRegistry }) {
    this.#registry = registry
    this.#statements = {
      ofHour: database.prepare<[number], ValuesRow>(
        'SELECT first, state, metric_values AS bytes FROM outbox WHERE hour = +? AND state <> 4 ORDER BY first',
      ),
    }
  }

  /** @returns the range's curves, for `OpenCurves.add` of each hour, the oldest first */
  open(from: Hour, to: Hour): OpenCurves {
    const [oldest, hours] = [hourNumber(from), hourNumber(to) - hourNumber(from) + 1]
    const curves = new Map<number, OpenCurve>()
    return {
      add: hour => {
        for (const { first, state, bytes } of this.#statements.ofHour.all(hourNumber(hour))) {
          for (const [place, value] of valuesOf(bytes).entries()) {
            const curve = curves.get(first + place) ?? { values: Array<null>(hours).fill(null), hour: 0, state }
            curve.values[hourNumber(hour) - oldest] = value
            curve.hour = hourNumber(hour)
            curve.state = state
            curves.set(first + place, curve)
          }
        }
      },
      numbers: () => [...curves.keys()].sort((a, b) => a - b),
      curves: numbers =>
        this.#registry.reading(() => numbers.flatMap(number => this.#closed(number, curves.get(number)))),
    }
  }

  #closed(number: number, curve: OpenCurve | undefined): MetricCurve[] {
    if (!curve) return []
    const { hour, state, values } = curve
    const known = this.#registry.numbered(number)
    const last = values.findLast(value => value !== null) ?? 0
    return [{ latest: { ...metricAt(known, hour, last), state: stateOf(state), collector: known.collector }, values }]
  }
}

/** Curves of a range while they are read. */
export interface OpenCurves {
  /** Reads an hour; a later one than before. */
  add(hour: Hour): void
  /** Numbers of the metrics that have a value. */
  numbers(): readonly number[]
  /** The curves of some of those numbers. */
  curves(numbers: readonly number[]): MetricCurve[]
}
