import { dice } from '../../src/devchain/dice.ts'

/** A number from 0 up to 1 that depends on the seed and the words alone: what is true of a thing whenever it is asked. */
export function chanceOf(seed: number, ...words: readonly (string | number)[]): number {
  let hash = 0x811c9dc5 ^ seed
  for (const character of words.join(' ')) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193)
  return dice(hash).roll()
}

/** More of the world's chance than bare numbers. */
export class Fortune {
  readonly roll: () => number

  constructor(seed: number) {
    this.roll = dice(seed).roll
  }

  /** Whether something of this probability happens. */
  is(probability: number): boolean {
    return this.roll() < probability
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.roll()
  }

  /** A whole number, both ends included. */
  whole(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1))
  }

  /** A number from `low` to `high`, each order of magnitude as likely as any other. */
  spread(low: number, high: number): number {
    return low * (high / low) ** this.roll()
  }

  pick<const T>(choices: readonly [T, ...T[]]): T {
    return choices[this.whole(0, choices.length - 1)] ?? choices[0]
  }

  times<T>(low: number, high: number, make: (index: number) => T): T[] {
    return Array.from({ length: this.whole(low, high) }, (_, index) => make(index))
  }
}
