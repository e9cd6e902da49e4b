import { lastBy, type ScriptedChain, scriptedChain } from './scripted-chain.ts'

/**
 * The time of a chain, step by step: in each step some blocks, all with the step's timestamp, then some seconds
 * until the next step. Must say the same of a step each time.
 */
export interface Steps {
  /** Blocks of the step; 0 for a missed slot. */
  blocks(step: number): number
  /** Seconds from this step to the next. */
  seconds(step: number): number
}

/** A step that is remembered: how many blocks and seconds lie before it. */
interface Place {
  readonly step: number
  readonly number: number
  readonly seconds: number
}

const stepsAPlace = 1_024

/**
 * A chain of any length from steps: nothing is stored but one place in every thousand of them.
 *
 * @param genesisSeconds timestamp of the first step, which must have a block
 */
export function steppedChain(steps: Steps, blocks: number, genesisSeconds: number): ScriptedChain {
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

  return scriptedChain(blocks - 1, timestampOf, { asOf })
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
  const last = lastBy(places.length, index => {
    const place = places[index]
    return place !== undefined && fits(place)
  })
  const place = places[last]
  if (!place) throw new Error('a stepped chain needs a block')
  return place
}
