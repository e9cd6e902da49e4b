import type { HourOrder, Work } from '../../intake/backfill/work.ts'
import { windowsOf } from '../../intake/backfill/work.ts'
import type { Hour } from '../../model/hour.ts'
import { batchMetricsMax } from '../../model/limits.ts'

/** Requests and calls to a chain. */
export interface Cost {
  /** HTTP requests, or groups of messages over a socket. */
  readonly requests: number
  /** Calls by method. */
  readonly calls: Readonly<Record<string, number>>
}

/** Sent to each endpoint when it is first used, whatever the number of hours. */
const onceMethod = 'eth_chainId'

/**
 * Estimates a chain's cost for all windows of hours from a sample: as many requests for each window, as many calls for
 * each hour.
 *
 * @param sampled cost of `sampledHours`, which were read together
 */
export function scaledCost(sampled: Cost, sampledHours: number, windows: readonly (readonly Hour[])[]): Cost {
  const hours = windows.reduce((sum, { length }) => sum + length, 0)
  const calls = Object.entries(sampled.calls).map(([method, count]) => {
    return [method, method === onceMethod ? count : Math.ceil((count * hours) / sampledHours)]
  })
  return { requests: sampled.requests * windows.length, calls: Object.fromEntries(calls) }
}

/** The hours in which a chain is read, by window; windows in which it is not are left out. */
export function chainWindows(
  works: readonly Work[],
  size: number,
  order: HourOrder,
  isRead: (work: Work) => boolean,
): Hour[][] {
  return windowsOf(works, size, order)
    .map(shares => {
      const readers = shares.filter(({ work }) =>
        works.some(({ collector }) => collector === work.collector && isRead(work)),
      )
      return [...new Set(readers.flatMap(({ hours }) => hours))].sort((a, b) => a - b)
    })
    .filter(hours => hours.length > 0)
}

/** The sum of some costs. */
export function sumOf(costs: readonly Cost[]): Cost {
  const calls: Record<string, number> = {}
  for (const [method, count] of costs.flatMap(cost => Object.entries(cost.calls))) {
    calls[method] = (calls[method] ?? 0) + count
  }
  return { requests: costs.reduce((sum, { requests }) => sum + requests, 0), calls }
}

/** Number of pushes for that many metrics; all but the last are full. */
export function pushesOf(metrics: number): number {
  return Math.ceil(metrics / batchMetricsMax)
}

/** Number of calls of all methods. */
export function callsIn({ calls }: Pick<Cost, 'calls'>): number {
  return Object.values(calls).reduce((sum, count) => sum + count, 0)
}
