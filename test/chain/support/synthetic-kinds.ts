import type { ScriptedChain } from './scripted-chain.ts'
import { type Steps, steppedChain } from './stepped-chain.ts'

/** Start of Ethereum's beacon chain: every slot is stamped 11 seconds after a multiple of 12. */
const beaconSeconds = 1_606_824_023
const slotSeconds = 12

const blocksAll = 20_000_000

/** A number from 0 up to, not including, 1 that depends on two others and on nothing else (the finalizer of MurmurHash3). */
export function chanceOf(seed: number, step: number): number {
  let mixed = Math.imul(step + 1, 0x9e3779b1) ^ Math.imul(seed + 1, 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
}

/** Slots of 12 seconds, each missed with a chance that may be another one at each. */
function slots(seed: number, missedShare: (slot: number) => number): Steps {
  return {
    blocks: slot => (slot > 0 && chanceOf(seed, slot) < missedShare(slot) ? 0 : 1),
    seconds: () => slotSeconds,
  }
}

/** The halt of the bumpy chain: a little less than six hours without a block. */
export const halt = { fromSlot: 11_500_000, toSlot: 11_501_750 }

/** Seconds since 1970 of the middle of the halt. */
export const haltSeconds = beaconSeconds + ((halt.fromSlot + halt.toSlot) / 2) * slotSeconds

/** From 4 % to 30 %, wandering between values that are drawn again every 1,500 slots: five hours. */
function bumpyShare(slot: number): number {
  if (slot >= halt.fromSlot && slot < halt.toSlot) return 1
  const along = slot / 1_500
  const [from, to] = [chanceOf(77, Math.floor(along)), chanceOf(77, Math.floor(along) + 1)]
  return 0.04 + 0.26 * (from + (to - from) * (along - Math.floor(along)))
}

/** Gaps of whole seconds, as proof of work has them: exponential with a mean of 13.3, at least 1. */
function randomGaps(seed: number): Steps {
  // Floored to whole seconds and 1 added, an exponential gap of this mean has 13.3.
  const meanSeconds = -1 / Math.log(1 - 1 / 13.3)
  const table = Array.from({ length: 4_096 }, (_, index) => {
    return 1 + Math.floor(-meanSeconds * Math.log(1 - (index + 0.5) / 4_096))
  })
  return { blocks: () => 1, seconds: step => table[Math.floor(chanceOf(seed, step) * 4_096)] ?? 1 }
}

/** The synthetic archives: what they are, and how they are made. Each takes up to a second to make. */
export const syntheticKinds = {
  /** 12 s slots, 1 % of them missed. */
  slots: (blocks = blocksAll, seed = 1): ScriptedChain =>
    steppedChain(
      slots(seed, () => 0.01),
      blocks,
      beaconSeconds,
    ),
  /** 12 s slots, 4 % to 30 % of them missed, and a halt. */
  bumpy: (blocks = blocksAll, seed = 2): ScriptedChain => steppedChain(slots(seed, bumpyShare), blocks, beaconSeconds),
  /** Random gaps of 13.3 s on average. */
  random: (blocks = blocksAll, seed = 3): ScriptedChain => steppedChain(randomGaps(seed), blocks, 1_438_269_988),
  /** 4 blocks in every second. */
  fast: (blocks = blocksAll): ScriptedChain =>
    steppedChain({ blocks: () => 4, seconds: () => 1 }, blocks, 1_650_000_001),
  /** 4 blocks a second on average: from 2 to 6 in each. */
  uneven: (blocks = blocksAll, seed = 5): ScriptedChain =>
    steppedChain(
      { blocks: second => 2 + Math.floor(5 * chanceOf(seed, second)), seconds: () => 1 },
      blocks,
      1_650_000_001,
    ),
} as const

export type SyntheticKind = keyof typeof syntheticKinds
