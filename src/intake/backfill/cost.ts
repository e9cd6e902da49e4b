import type { Hour } from '../../model/hour.ts'
import { batchMetricsMax } from '../../model/limits.ts'
import type { HourOrder, Work } from './work.ts'
import { windowsOf } from './work.ts'

/** What is asked of a chain. */
export interface Cost {
  readonly requests: number
  /** By method. */
  readonly calls: Readonly<Record<string, number>>
}

/** What was asked of one chain for some hours together. */
export interface ChainSample {
  /** How many hours. */
  readonly hours: number
  /** Asked once, whatever the number of hours. */
  readonly once: Cost
  /** To find the as-of blocks. */
  readonly lookUps: Cost
  /** To read at them: a request for each stage of reads that wait for one another. */
  readonly reads: Cost
}

/** What it takes to find the as-of blocks of windows of hours; `about` where it is not known exactly. */
export interface LookUpCost extends Cost {
  readonly certainty: 'exact' | 'about'
}

/** Methods that find blocks and read nothing of them. */
const lookUpMethods: ReadonlySet<string> = new Set(['eth_blockNumber', 'eth_getBlockByNumber', 'eth_getBlockByHash'])

/** Each endpoint is asked for it when it is first used. */
const onceMethod = 'eth_chainId'

/** Sorts what was asked for a sample. @param requests the methods of each request */
export function chainSample(requests: readonly (readonly string[])[], hours: number): ChainSample {
  const isLookUp = (methods: readonly string[]) => methods.every(method => lookUpMethods.has(method))
  const isOnce = (methods: readonly string[]) => methods.every(method => method === onceMethod)
  const repeated = requests.map(methods => methods.filter(method => method !== onceMethod))
  const once = costOfRequests(requests.filter(isOnce))
  const count = requests.flat().filter(method => method === onceMethod).length
  return {
    hours,
    once: { requests: once.requests, calls: count === 0 ? {} : { [onceMethod]: count } },
    lookUps: costOfRequests(repeated.filter(methods => methods.length > 0 && isLookUp(methods))),
    reads: costOfRequests(repeated.filter(methods => !isLookUp(methods))),
  }
}

function costOfRequests(requests: readonly (readonly string[])[]): Cost {
  const byMethod = Map.groupBy(requests.flat(), method => method)
  return {
    requests: requests.length,
    calls: Object.fromEntries([...byMethod].map(([method, { length }]) => [method, length])),
  }
}

/** The hours in which a chain is read, window by window; without the windows in which it is not. */
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

/** Reads of all hours: as many stages for each window as for the sample, as many calls for each hour. */
export function readCost({ hours: sampled, reads }: ChainSample, windows: readonly (readonly Hour[])[]): Cost {
  const hours = windows.reduce((sum, { length }) => sum + length, 0)
  return { requests: reads.requests * windows.length, calls: scaled(reads.calls, sampled === 0 ? 0 : hours / sampled) }
}

/** What finding the blocks takes where nothing better is known than what it took for the sample. */
export function lookUpsLike(
  { hours: sampled, lookUps }: ChainSample,
  windows: readonly (readonly Hour[])[],
): LookUpCost {
  const hours = windows.reduce((sum, { length }) => sum + length, 0)
  return {
    requests: lookUps.requests * windows.length,
    calls: scaled(lookUps.calls, sampled === 0 ? 0 : hours / sampled),
    certainty: 'about',
  }
}

function scaled(calls: Cost['calls'], factor: number): Record<string, number> {
  return Object.fromEntries(Object.entries(calls).map(([method, count]) => [method, Math.ceil(count * factor)]))
}

/** All of them together. */
export function sumOf(costs: readonly Cost[]): Cost {
  const calls: Record<string, number> = {}
  for (const [method, count] of costs.flatMap(cost => Object.entries(cost.calls))) {
    calls[method] = (calls[method] ?? 0) + count
  }
  return { requests: costs.reduce((sum, { requests }) => sum + requests, 0), calls }
}

/** Pushes of so many metrics: all but the last are full. */
export function pushesOf(metrics: number): number {
  return Math.ceil(metrics / batchMetricsMax)
}

/** Calls of all methods. */
export function callsIn({ calls }: Pick<Cost, 'calls'>): number {
  return Object.values(calls).reduce((sum, count) => sum + count, 0)
}
