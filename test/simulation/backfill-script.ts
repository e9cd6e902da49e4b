import { hourAfter, hourAt } from '../../src/model/hour.ts'
import { Fortune } from './chance.ts'

/** Somebody fills past hours in, in a process next to the daemon. */
export interface BackfillScript {
  readonly atMs: number
  /** Number of hours back. */
  readonly hours: number
  readonly what: 'missing' | 'overwrite'
  readonly order: 'oldest-first' | 'newest-first'
  readonly concurrency: number
}

/** In some worlds one or two, whenever. */
export function backfills(
  seed: number,
  { startMs, healthyMs }: { readonly startMs: number; readonly healthyMs: number },
  isLong: boolean,
): BackfillScript[] {
  const chance = new Fortune(seed + 6)
  if (isLong || chance.is(0.75)) return []
  return chance.times(1, 2, () => ({
    atMs: whenever(chance, startMs, healthyMs),
    hours: chance.whole(1, 24),
    what: chance.pick(['missing', 'overwrite']),
    order: chance.pick(['oldest-first', 'newest-first']),
    concurrency: chance.pick([1, 4, 12]),
  }))
}

/** Often soon after an hour, when its block is not final. */
function whenever(chance: Fortune, startMs: number, healthyMs: number): number {
  const atMs = Math.floor(chance.between(startMs, healthyMs))
  const soonMs = hourAfter(hourAt(atMs), 1) + Math.floor(chance.spread(10_000, 600_000))
  return chance.is(0.5) && soonMs < healthyMs ? soonMs : atMs
}
