import type { BlockHeader } from '../shapes.ts'
import { type Estimate, estimateBetween, firstGuesses } from './estimate.ts'
import type { KnownHeaders } from './known-headers.ts'
import { headersPerRoundMax } from './limits.ts'

/** The as-of block of an hour with the block that proves it, or the reason why there is none. */
export type AsOfAnswer =
  /** `block` is the last one at or before the hour, proven by `after`: its child, later than the hour. */
  | { readonly kind: 'found'; readonly block: BlockHeader; readonly after: BlockHeader }
  | { readonly kind: 'before-first'; readonly first: BlockHeader }
  /** There is no block past the hour, so none is proven to be the last before it. */
  | { readonly kind: 'past-head'; readonly head: BlockHeader }
  /** The endpoint lacks a block that the proof needs, and the numbers around it are not known to be empty. */
  | { readonly kind: 'missing'; readonly number: bigint }

/** The next blocks to ask for. `latest` is the chain's last block; numbers may lie past it. */
export interface Question {
  readonly kind: 'ask'
  /** Whether the chain's last block is asked for, too. */
  readonly latest: boolean
  /** Block numbers. */
  readonly numbers: readonly bigint[]
}

/** Parameters of one step of the search. */
export interface SearchStep {
  /** Rounds taken for this hour so far. */
  readonly rounds: number
  /** Number of last rounds that returned no block: the more, the more blocks are asked for. */
  readonly emptyRounds: number
  /**
   * `rounds` asks for more headers a round, when one hour is waited for; `calls` for fewer, when there are many
   * hours.
   */
  readonly minimise: 'rounds' | 'calls'
  /** Seconds since 1970. */
  readonly nowSeconds: number
}

/** Closer to the present than this, the last block is better than any estimate. */
export const nearPresentSeconds = 600

/** Rounds after which the range is halved as well: estimates have failed, because of a halt or another pace. */
const estimatedRoundsMax = 4

/**
 * One step of the search for the last block with a timestamp at or before an hour. Pure: ask for the headers it names,
 * add them to the known ones, and call it again. The as-of block lies between the last known block at or before the
 * hour and the first known one after it. Within these, the chain's local pace determines what is asked for.
 *
 * Block numbers may have holes (Filecoin's null rounds), so a child is identified by its parent's hash, not by its
 * number.
 *
 * @param hourSeconds seconds since 1970
 */
export function nextStep(known: KnownHeaders, hourSeconds: number, step: SearchStep): AsOfAnswer | Question {
  const { low, high } = known.around(hourSeconds)
  if (!high) return beyond(known, low, hourSeconds, step)
  if (!low) {
    if (high.number === 0n) return { kind: 'before-first', first: high }
    return askOrMiss(open(known, firstGuesses(high, hourSeconds), -1n, high.number), high.number - 1n)
  }
  if (high.parentHash === low.hash) return { kind: 'found', block: low, after: high }
  const numbers = between(known, low, high, hourSeconds, step)
  // A block of an earlier search has no parent hash.
  if (numbers.length === 0 && high.parentHash === undefined) return ask([high.number])
  return askOrMiss(numbers, high.number - 1n)
}

function askOrMiss(numbers: readonly bigint[], missing: bigint): AsOfAnswer | Question {
  return numbers.length > 0 ? ask(numbers) : { kind: 'missing', number: missing }
}

function ask(numbers: readonly bigint[], latest = false): Question {
  return { kind: 'ask', latest, numbers }
}

function beyond(
  known: KnownHeaders,
  low: BlockHeader | undefined,
  hourSeconds: number,
  { nowSeconds }: SearchStep,
): AsOfAnswer | Question {
  if (known.head) return { kind: 'past-head', head: known.head }
  if (!low) return ask([0n], true)
  if (nowSeconds - hourSeconds < nearPresentSeconds) return ask([], true)
  const { number } = estimateBetween(known, { low }, hourSeconds)
  return ask(open(known, [number, number + 1n], low.number), true)
}

/** Numbers to ask for between two known blocks; empty when all numbers between them are known to be empty. */
function between(
  known: KnownHeaders,
  low: BlockHeader,
  high: BlockHeader,
  hourSeconds: number,
  step: SearchStep,
): bigint[] {
  const isOfFewCalls = step.minimise === 'calls'
  const count = high.number - low.number - 1n
  if (count <= (isOfFewCalls ? 3n : BigInt(headersPerRoundMax))) {
    return allBetween(low, high).filter(number => !known.isAbsent(number))
  }
  const estimate = estimateBetween(known, { low, high }, hourSeconds)
  const middle = (low.number + high.number) / 2n
  const safe = step.rounds < estimatedRoundsMax ? [] : [middle]
  const numbers = step.emptyRounds > 0 ? nearby(known, estimate.number, low, high) : around(estimate, isOfFewCalls)
  return open(known, [...numbers, ...safe], low.number, high.number)
}

function allBetween(low: BlockHeader, high: BlockHeader): bigint[] {
  return Array.from({ length: Number(high.number - low.number) - 1 }, (_, index) => low.number + 1n + BigInt(index))
}

/** The next numbers when all around the estimate are empty: as many as one round may ask for. */
function nearby(known: KnownHeaders, estimate: bigint, low: BlockHeader, high: BlockHeader): bigint[] {
  const [number = low.number] = within([estimate], low.number, high.number)
  const chosen: bigint[] = []
  const awayMax = BigInt(known.absentCount + headersPerRoundMax)
  for (let away = 0n; away <= awayMax && chosen.length < headersPerRoundMax; away += 1n) {
    const both = [number - away, number + away].filter(one => one > low.number && one < high.number)
    chosen.push(...both.filter(one => !known.isAbsent(one)))
  }
  return chosen
}

/**
 * Numbers around an estimate. An as-of block is proven by its child, so both are asked for together once the estimate
 * may be right.
 */
function around({ number, spread }: Estimate, isOfFewCalls: boolean): bigint[] {
  const pair = [number, number + 1n]
  if (isOfFewCalls) return spread <= fewCallsSpreadMax ? pair : [number]
  const wide = BigInt(Math.ceil(spread))
  return spread < 0.3 ? pair : [number - wide, ...pair, number + 1n + wide]
}

/** In blocks; with a larger spread a pair is too seldom the right one. */
const fewCallsSpreadMax = 1.2

/**
 * Distinct numbers strictly between two others, ascending; the nearest one if none is. A number known to be empty is
 * replaced by the nearest that is not; the result is empty when all are.
 */
function open(known: KnownHeaders, numbers: readonly bigint[], from: bigint, to?: bigint): bigint[] {
  const chosen = within(numbers, from, to).flatMap(number => nearestOpen(known, number, from, to) ?? [])
  return [...new Set(chosen)].sort((a, b) => (a < b ? -1 : 1))
}

/** The numbers strictly between two others; if none is, the nearest ones. */
function within(numbers: readonly bigint[], from: bigint, to?: bigint): readonly bigint[] {
  const inside = numbers.filter(number => number > from && (to === undefined || number < to))
  if (inside.length > 0) return inside
  return numbers.map(number => (number <= from ? from + 1n : to !== undefined && number >= to ? to - 1n : number))
}

function nearestOpen(known: KnownHeaders, number: bigint, from: bigint, to?: bigint): bigint | undefined {
  const isInside = (other: bigint) => other > from && (to === undefined || other < to)
  for (let away = 0n; away <= BigInt(known.absentCount); away += 1n) {
    const candidate = [number - away, number + away].find(other => isInside(other) && !known.isAbsent(other))
    if (candidate !== undefined) return candidate
  }
  return undefined
}
