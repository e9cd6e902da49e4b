/** Chance that is the same in every run: mulberry32, by Tommy Ettinger, public domain. */
export interface Dice {
  /** A number from 0 up to, not including, 1. */
  roll(): number
  /** A number from `low` up to, not including, `high`. */
  between(low: number, high: number): number
  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number
}

/** @param seed equal ones give equal chance */
export function dice(seed: number): Dice {
  let state = seed
  const roll = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number) => low + (high - low) * roll()
  return { roll, between, whole: (low, high) => Math.floor(between(low, high + 1)) }
}
