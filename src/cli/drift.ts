import type { Collected } from '../intake/validate.ts'
import type { Hour } from '../model/hour.ts'
import { labelOf, type Metric, type MetricId } from '../model/metric.ts'

/** A metric whose value differs when it is read again. */
export interface Difference {
  readonly metric: MetricId
  readonly hour: Hour
  /** The value that was delivered. */
  readonly stored: number
  /** The value read now. */
  readonly again: number
}

/** Result of comparing an hour of a collector. */
export interface Comparison {
  /** Number of compared values, differing ones included. */
  readonly compared: number
  readonly differences: readonly Difference[]
  /** Metrics without a value this time, and why. */
  readonly unread: readonly { readonly metric: MetricId; readonly reason: string }[]
}

/** Compares the delivered values of an hour with those read again, bit for bit. Pure. */
export function compare(delivered: readonly Metric[], again: Collected): Comparison {
  const values = new Map(again.accepted.map(({ metric }) => [metric.id, metric.value]))
  const pairs = delivered.flatMap(({ id, hour, value }) => {
    const read = values.get(id)
    return read === undefined ? [] : [{ metric: id, hour, stored: value, again: read }]
  })
  const missing = delivered.filter(({ id }) => !values.has(id))
  return {
    compared: pairs.length,
    differences: pairs.filter(pair => !Object.is(pair.stored, pair.again)),
    unread: missing.map(metric => ({ metric: metric.id, reason: reasonOf(metric, again) })),
  }
}

function reasonOf(metric: Metric, { failures, fault }: Collected): string {
  return failures[labelOf(metric)]?.message ?? fault?.message ?? 'the collector no longer returns it'
}

/** Draws up to `count` elements by a seed (a whole number): the same ones for the same seed, in the order of `all`. */
export function drawn<T>(all: readonly T[], count: number, seed: number): T[] {
  const places = all.map((_, place) => place)
  const roll = rolls(seed)
  const size = Math.min(count, all.length)
  for (let place = 0; place < size; place += 1) {
    const other = place + Math.floor(roll() * (places.length - place))
    ;[places[place], places[other]] = [places[other] ?? 0, places[place] ?? 0]
  }
  const chosen = new Set(places.slice(0, size))
  return all.filter((_, place) => chosen.has(place))
}

/** Pseudo-random numbers from 0 up to 1: Mulberry32 by Tommy Ettinger, public domain. */
function rolls(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
