import type { BlockHeader } from '../shapes.ts'
import type { HeadersAround, KnownHeaders } from './known-headers.ts'

/** The expected number of the as-of block. */
export interface Estimate {
  /** The most likely number. */
  readonly number: bigint
  /** Its standard deviation, in blocks. */
  readonly spread: number
}

/** Typical seconds between blocks: first guesses while only one header is known. */
const usualSpacingsSeconds = [12, 2, 1, 0.25]

/** A first block with a timestamp before 2001 says nothing about the chain's pace. */
const plausibleSeconds = 1_000_000_000

/**
 * Numbers to ask for while only a later block is known. Block 1, too: the first is often stamped years before its
 * child.
 */
export function firstGuesses(high: BlockHeader, hourSeconds: number): bigint[] {
  const seconds = high.timestampSeconds - hourSeconds
  return [0n, 1n, ...usualSpacingsSeconds.map(spacing => high.number - BigInt(Math.ceil(seconds / spacing) + 1))]
}

/**
 * Estimates the as-of block from the chain's pace near the hour. Models the chain as regular ticks (beacon slots, say),
 * some empty; the unknown is how many empty ones lie before the hour.
 *
 * Mean and deviation are those of drawing without replacement when the hour lies between two known blocks, else of a
 * running sum.
 */
export function estimateBetween(known: KnownHeaders, { low, high }: HeadersAround, hourSeconds: number): Estimate {
  const near = nearer(low, high, hourSeconds)
  if (!near) return { number: 0n, spread: Number.POSITIVE_INFINITY }
  const distance = Math.abs(hourSeconds - near.timestampSeconds)
  const pace = known.paceFrom(near, distance)
  if (!pace || (pace.number === 0n && pace.timestampSeconds < plausibleSeconds)) return unpaced(near, hourSeconds)
  const tick = known.tickSeconds(hourSeconds)
  const span: Span = {
    blocks: Math.abs(Number(near.number - pace.number)),
    ticks: Math.abs(near.timestampSeconds - pace.timestampSeconds) / tick,
    isAcross: pace === (near === low ? high : low),
  }
  const isBefore = near.timestampSeconds <= hourSeconds
  const { mean, spread } = counted(span, isBefore ? Math.floor(distance / tick) : Math.ceil(distance / tick), isBefore)
  const count = BigInt(Math.round(mean))
  return { number: isBefore ? near.number + count : near.number - count, spread }
}

interface Span {
  readonly blocks: number
  readonly ticks: number
  /** Whether the hour lies within it. */
  readonly isAcross: boolean
}

/**
 * Blocks between the near block and the hour: those after it up to the hour, or those after the hour up to and
 * including it.
 */
function counted(
  { blocks, ticks, isAcross }: Span,
  passed: number,
  isBefore: boolean,
): { mean: number; spread: number } {
  const share = passed / ticks
  const bridge = share * (isAcross ? Math.max(0, 1 - share) : 1 + share)
  const density = blocks / ticks
  if (density <= 1) {
    const inner = isAcross && ticks > 1 ? (blocks - 1) / (ticks - 1) : density
    const mean = isBefore ? passed * inner : 1 + (passed - 1) * inner
    return { mean, spread: Math.sqrt(blocks * (1 - density) * bridge) }
  }
  // With several blocks a tick, the near one may be any of its tick's.
  const mean = isBefore ? passed * density + (density - 1) / 2 : (passed - 1) * density + (density + 1) / 2
  return { mean, spread: Math.sqrt((density * density) / 6 + blocks * unevenness * bridge) }
}

/** Deviation for chains with several blocks a tick: small, because such chains follow the clock. */
const unevenness = 0.02

function nearer(
  low: BlockHeader | undefined,
  high: BlockHeader | undefined,
  hourSeconds: number,
): BlockHeader | undefined {
  if (!low || !high) return low ?? high
  return hourSeconds - low.timestampSeconds <= high.timestampSeconds - hourSeconds ? low : high
}

/** Estimate without a known pace: the most common one. */
function unpaced(near: BlockHeader, hourSeconds: number): Estimate {
  const blocks = Math.round((hourSeconds - near.timestampSeconds) / 12)
  return { number: near.number + BigInt(blocks), spread: Math.abs(blocks) }
}
