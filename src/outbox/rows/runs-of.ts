import { runMetricsMax } from './run-values.ts'

/** A metric of an hour to be stored. */
export interface NewMetric {
  /** In hours since 1970. */
  readonly hour: number
  /** Number of the metric. */
  readonly number: number
  /** Number of its protocol. */
  readonly protocol: number
  /** Number of its state. */
  readonly state: number
  /** When it was collected, in milliseconds since 1970. */
  readonly collectedMs: number
  /** When it was delivered; as `collectedMs` until it is. */
  readonly deliveredMs: number
  readonly value: number
}

/** Splits sorted metrics into those of one hour with consecutive numbers, none twice: mostly all that a collector gives. */
export function consecutive<T extends NewMetric>(sorted: readonly T[]): T[][] {
  return splitWhere(sorted, (before, metric) => !follows(before, metric))
}

/** Splits metrics, sorted by hour and number, into runs. */
export function runsOf<T extends NewMetric>(sorted: readonly T[]): T[][] {
  return splitWhere(
    sorted,
    (before, metric, length) =>
      !follows(before, metric) ||
      before.protocol !== metric.protocol ||
      before.state !== metric.state ||
      before.collectedMs !== metric.collectedMs ||
      before.deliveredMs !== metric.deliveredMs ||
      length === runMetricsMax,
  )
}

/** Splits a list before each element where `ends` says so. @param ends given the length of the part so far, too */
export function splitWhere<T>(all: readonly T[], ends: (before: T, one: T, length: number) => boolean): T[][] {
  const parts: T[][] = []
  let [before, part]: [T | undefined, T[]] = [undefined, []]
  for (const one of all) {
    if (before === undefined || ends(before, one, part.length)) {
      part = []
      parts.push(part)
    }
    part.push(one)
    before = one
  }
  return parts
}

function follows(before: NewMetric, metric: NewMetric): boolean {
  return before.hour === metric.hour && before.number + 1 === metric.number
}
