import { headersPerRoundMax } from './limits.ts'
import type { AsOfBlock, Hex } from './reads.ts'

/** What the search needs of a block's header. */
export interface Header extends AsOfBlock {
  readonly parentHash: Hex
}

/** What is known of a chain so far. More headers never change the answer, only how fast it is found. */
export interface Known {
  readonly headers: readonly Header[]
  /** The chain's last block; set once it was asked for in this search. */
  readonly head?: Header
}

export type Step =
  | { readonly kind: 'ask'; readonly numbers: readonly (bigint | 'latest')[] }
  /** `block` is the last one at or before the hour, proven by `after`: its child, later than the hour. */
  | { readonly kind: 'found'; readonly block: Header; readonly after: Header }
  | { readonly kind: 'before-first'; readonly first: Header }
  /** No block past the hour, so none is proven to be the last before it. */
  | { readonly kind: 'past-head'; readonly head: Header }
  /** The known headers are not of one chain: a reorg between two answers, or nodes that disagree. */
  | { readonly kind: 'contradiction' }

/** Seconds between blocks that chains are known for: first guesses while only one header is known. */
const usualSpacingsSeconds = [12, 2, 1, 0.25]

/**
 * One step of the search for the last block with a timestamp at or before an hour. Pure: ask for the headers it names,
 * add them to what is known, and call it again.
 *
 * Timestamps never fall along a chain (equal ones are fine), so the answer lies between the last known block at or
 * before the hour and the first known one after it. Each question names the middle of that range besides what
 * interpolation suggests, so the range at least halves with each round trip, however irregular the chain.
 *
 * @param hourSeconds seconds since 1970
 */
export function nextStep(known: Known, hourSeconds: number): Step {
  const { low, high } = bounds(known.headers, hourSeconds)
  if (!high) return known.head ? { kind: 'past-head', head: known.head } : { kind: 'ask', numbers: ['latest'] }
  if (!low) return high.number === 0n ? { kind: 'before-first', first: high } : firstGuesses(high, hourSeconds)
  const width = Number(high.number - low.number)
  if (width <= 0) return { kind: 'contradiction' }
  if (width > 1) return { kind: 'ask', numbers: guessesBetween(low, high, hourSeconds) }
  return high.parentHash === low.hash ? { kind: 'found', block: low, after: high } : { kind: 'contradiction' }
}

interface Bounds {
  readonly low?: Header
  readonly high?: Header
}

function bounds(headers: readonly Header[], hourSeconds: number): Bounds {
  return headers.reduce<Bounds>(({ low, high }, header) => {
    if (header.timestampSeconds <= hourSeconds) {
      return { low: !low || header.number > low.number ? header : low, ...(high && { high }) }
    }
    return { high: !high || header.number < high.number ? header : high, ...(low && { low }) }
  }, {})
}

function firstGuesses(high: Header, hourSeconds: number): Step {
  const top = Number(high.number)
  const back = usualSpacingsSeconds.map(spacing => Math.ceil((high.timestampSeconds - hourSeconds) / spacing) + 1)
  // Block 1 too: the first block is often stamped 1970, or years before its child.
  return { kind: 'ask', numbers: inside([0, 1, ...back.map(count => top - count)], -1, top) }
}

function guessesBetween(low: Header, high: Header, hourSeconds: number): bigint[] {
  const [from, to] = [Number(low.number), Number(high.number)]
  const width = to - from
  if (width - 1 <= headersPerRoundMax) {
    return Array.from({ length: width - 1 }, (_, index) => BigInt(from + 1 + index))
  }
  const share = (hourSeconds - low.timestampSeconds) / (high.timestampSeconds - low.timestampSeconds)
  const guess = from + Math.floor(share * width)
  // Missed slots make the guess err about as a random walk does: with the root of the distance.
  const spread = Math.ceil(Math.sqrt(width) / 4)
  const middle = from + Math.floor(width / 2)
  return inside([guess - spread, guess, guess + 1, guess + 1 + spread, middle], from, to)
}

/** The different numbers strictly between two others, ascending. */
function inside(numbers: readonly number[], from: number, to: number): bigint[] {
  const kept = new Set(numbers.filter(number => number > from && number < to))
  return [...kept].sort((a, b) => a - b).map(BigInt)
}
