import type { MetricSeries } from '../../../model/metric.ts'
import { DamageError } from '../../../sqlite/damage.ts'
import { type KnownMetric, seriesAt } from '../../rows/known-metric.ts'

/** Lists that are kept, at most: where runs are cut, each metric may be the first of one. */
const keptMax = 2_000

/**
 * The series of runs. Most runs come again every hour, and have the same list each time: what a body says of its series is
 * known by the list.
 */
export class SeriesLists {
  readonly #numbered: (number: number) => KnownMetric
  /** Of those metrics that have the same series at every hour, by their number. */
  readonly #series: (MetricSeries | undefined)[] = []
  /** By the first number. */
  readonly #lists = new Map<number, readonly MetricSeries[]>()

  /** @param numbered gives a metric by its number */
  constructor(numbered: (number: number) => KnownMetric) {
    this.#numbered = numbered
  }

  /**
   * The series of consecutive numbers, both ends included, at an hour, in hours since 1970.
   *
   * @throws DamageError when they are not of one protocol; what `numbered` throws
   */
  of(first: number, last: number, hour: number): readonly MetricSeries[] {
    const kept = this.#lists.get(first)
    if (kept && kept.length === last - first + 1) return kept
    const list = Array.from({ length: last - first + 1 }, (_, place) => this.#at(first + place, hour))
    const [one] = list
    if (list.some(({ protocolId }) => protocolId !== one?.protocolId)) {
      throw new DamageError('a run has metrics of two protocols')
    }
    if (list.every((series, place) => series === this.#series[first + place])) this.#keep(first, list)
    return list
  }

  /** Forgets a metric whose description changes. */
  changed(number: number): void {
    this.#series[number] = undefined
    this.#lists.clear()
  }

  /** Forgets all. */
  clear(): void {
    this.#series.length = 0
    this.#lists.clear()
  }

  #at(number: number, hour: number): MetricSeries {
    const kept = this.#series[number]
    if (kept) return kept
    const known = this.#numbered(number)
    const series = seriesAt(known, hour)
    if (known.descriptions.length === 1) this.#series[number] = series
    return series
  }

  #keep(first: number, list: readonly MetricSeries[]): void {
    if (this.#lists.size >= keptMax) this.#lists.clear()
    this.#lists.set(first, list)
  }
}
