import type { BlockHeader } from '../../../src/chain/shapes.ts'
import { scriptedChain } from './scripted-chain.ts'

/**
 * How a chain's time passes, step by step: in each step some blocks, all with the step's timestamp, then some seconds
 * until the next step. Must say the same of a step each time.
 */
export interface Steps {
  /** How many blocks the step has; 0 for a missed slot. */
  blocks(step: number): number
  /** Seconds from this step to the next. */
  seconds(step: number): number
}

/** A chain of any length with a known truth: nothing is stored but one place in every thousand steps. */
export interface SyntheticChain {
  /** How many blocks there are: from 0 up to, not including, this. */
  readonly blocks: number
  /** Seconds since 1970 of a block. */
  timestampOf(number: number): number
  /** Number of the last block at or before an instant; -1 when all are later. */
  asOf(seconds: number): number
  header(number: number): BlockHeader
}

/** A step that is remembered: how many blocks and seconds lie before it. */
interface Place {
  readonly step: number
  readonly number: number
  readonly seconds: number
}

const stepsAPlace = 1_024

/** @param genesisSeconds timestamp of the first step, which must have a block */
export function syntheticChain(steps: Steps, blocks: number, genesisSeconds: number): SyntheticChain {
  const places = placesOf(steps, blocks)

  function timestampOf(number: number): number {
    let { step, number: next, seconds } = lastAtOrBefore(places, place => place.number <= number)
    for (next += steps.blocks(step); next <= number; next += steps.blocks(step)) {
      seconds += steps.seconds(step)
      step += 1
    }
    return genesisSeconds + seconds
  }

  function asOf(at: number): number {
    const until = at - genesisSeconds
    if (until < 0) return -1
    let { step, number, seconds } = lastAtOrBefore(places, place => place.seconds <= until)
    for (; seconds <= until && number < blocks; step += 1) {
      number += steps.blocks(step)
      seconds += steps.seconds(step)
    }
    return Math.min(number, blocks) - 1
  }

  const scripted = scriptedChain(blocks - 1, timestampOf)
  return {
    blocks,
    timestampOf,
    asOf,
    header(number) {
      const header = scripted.header(BigInt(number))
      if (!header) throw new Error(`the synthetic chain has no block ${number}`)
      return header
    },
  }
}

function placesOf(steps: Steps, blocks: number): Place[] {
  const places: Place[] = []
  for (let [step, number, seconds] = [0, 0, 0]; number < blocks; step += 1) {
    if (step % stepsAPlace === 0) places.push({ step, number, seconds })
    number += steps.blocks(step)
    seconds += steps.seconds(step)
  }
  return places
}

/** The last place that fits, of places that fit up to one and not after it; the first fits always. */
function lastAtOrBefore(places: readonly Place[], fits: (place: Place) => boolean): Place {
  let [from, to] = [0, places.length]
  while (to - from > 1) {
    const middle = (from + to) >>> 1
    const place = places[middle]
    if (place && fits(place)) from = middle
    else to = middle
  }
  const place = places[from]
  if (!place) throw new Error('a synthetic chain needs a block')
  return place
}
