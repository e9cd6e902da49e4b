import { headersPerRoundMax } from '../limits.ts'
import { type Estimate, estimateBetween, firstGuesses } from './estimate.ts'
import type { BlockHeader, KnownHeaders } from './known-headers.ts'

/** The as-of block of an hour with the block that proves it, or why there is none. */
export type AsOfAnswer =
  /** `block` is the last one at or before the hour, proven by `after`: its child, later than the hour. */
  | { readonly kind: 'found'; readonly block: BlockHeader; readonly after: BlockHeader }
  | { readonly kind: 'before-first'; readonly first: BlockHeader }
  /** No block past the hour, so none is proven to be the last before it. */
  | { readonly kind: 'past-head'; readonly head: BlockHeader }
  /** The endpoint does not have a block that the proof needs, and the numbers around it are not known to be empty. */
  | { readonly kind: 'missing'; readonly number: bigint }

/** What to ask for next. `latest` is the chain's last block; numbers may lie behind it then. */
export interface Question {
  readonly kind: 'ask'
  readonly latest: boolean
  readonly numbers: readonly bigint[]
}

/** How one step is taken. */
export interface SearchStep {
  /** Rounds that this hour has taken so far. */
  readonly rounds: number
  /** Of these, how many of the last ones gave it no block at all: then it asks for more. */
  readonly emptyRounds: number
  /** `few-rounds` asks for more headers a round: where one hour is waited for. `few-calls`: where many are. */
  readonly thrift: 'few-rounds' | 'few-calls'
  /** Seconds since 1970. */
  readonly nowSeconds: number
}

/** So near the present, the last block tells more than any estimate. */
export const nearPresentSeconds = 600

/** After so many rounds estimates have failed (a halt, another pace): then the range is halved, too. */
const estimatedRoundsMax = 4

/**
 * One step of the search for the last block with a timestamp at or before an hour. Pure: ask for the headers it names, add
 * them to what is known, and call it again. The answer lies between the last known block at or before the hour and the
 * first known one after it; what is asked for lies between them, where the chain's pace around there suggests.
 *
 * Block numbers may have holes (Filecoin's null rounds), so the child is known by its parent's hash and not by its number.
 *
 * @param hourSeconds seconds since 1970
 */
export function nextStep(known: KnownHeaders, hourSeconds: number, manner: SearchStep): AsOfAnswer | Question {
  const { low, high } = known.around(hourSeconds)
  if (!high) return beyond(known, low, hourSeconds, manner)
  if (!low) {
    if (high.number === 0n) return { kind: 'before-first', first: high }
    return askOrMiss(open(known, firstGuesses(high, hourSeconds), -1n, high.number), high.number - 1n)
  }
  if (high.parentHash === low.hash) return { kind: 'found', block: low, after: high }
  const numbers = between(known, low, high, hourSeconds, manner)
  // A block of an earlier search does not say whose child it is.
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

/** Numbers to ask for between two known blocks; none where all numbers between them are known to be empty. */
function between(
  known: KnownHeaders,
  low: BlockHeader,
  high: BlockHeader,
  hourSeconds: number,
  manner: SearchStep,
): bigint[] {
  const isThrifty = manner.thrift === 'few-calls'
  const count = high.number - low.number - 1n
  if (count <= (isThrifty ? 3n : BigInt(headersPerRoundMax))) {
    return allBetween(low, high).filter(number => !known.isAbsent(number))
  }
  const estimate = estimateBetween(known, { low, high }, hourSeconds)
  const middle = (low.number + high.number) / 2n
  const safe = manner.rounds < estimatedRoundsMax ? [] : [middle]
  const numbers = manner.emptyRounds > 0 ? nearby(known, estimate.number, low, high) : around(estimate, isThrifty)
  return open(known, [...numbers, ...safe], low.number, high.number)
}

function allBetween(low: BlockHeader, high: BlockHeader): bigint[] {
  return Array.from({ length: Number(high.number - low.number) - 1 }, (_, index) => low.number + 1n + BigInt(index))
}

/** Where all numbers around the estimate are empty: as many of the next ones as one round may ask for. */
function nearby(known: KnownHeaders, estimate: bigint, low: BlockHeader, high: BlockHeader): bigint[] {
  const [number = low.number] = within([estimate], low.number, high.number)
  const chosen: bigint[] = []
  const awayMax = BigInt(known.absentCount + headersPerRoundMax)
  for (let away = 0n; away <= awayMax && chosen.length < headersPerRoundMax; away++) {
    const both = [number - away, number + away].filter(one => one > low.number && one < high.number)
    chosen.push(...both.filter(one => !known.isAbsent(one)))
  }
  return chosen
}

/** An as-of block is proven by its child, so they are asked for together as soon as the estimate may be right. */
function around({ number, spread }: Estimate, isThrifty: boolean): bigint[] {
  const pair = [number, number + 1n]
  if (isThrifty) return spread <= thriftySpreadMax ? pair : [number]
  const wide = BigInt(Math.ceil(spread))
  return spread < 0.3 ? pair : [number - wide, ...pair, number + 1n + wide]
}

/** Blocks; with a larger spread a pair is too seldom the right one. */
const thriftySpreadMax = 1.2

/**
 * The different numbers strictly between two others, ascending; where none is, the one nearest. In place of one that is
 * known to be empty stands the nearest that is not; none where all are.
 */
function open(known: KnownHeaders, numbers: readonly bigint[], from: bigint, to?: bigint): bigint[] {
  const chosen = within(numbers, from, to).flatMap(number => nearestOpen(known, number, from, to) ?? [])
  return [...new Set(chosen)].sort((a, b) => (a < b ? -1 : 1))
}

/** Those strictly between two others; where none is, the ones nearest. */
function within(numbers: readonly bigint[], from: bigint, to?: bigint): readonly bigint[] {
  const inside = numbers.filter(number => number > from && (to === undefined || number < to))
  if (inside.length > 0) return inside
  return numbers.map(number => (number <= from ? from + 1n : to !== undefined && number >= to ? to - 1n : number))
}

function nearestOpen(known: KnownHeaders, number: bigint, from: bigint, to?: bigint): bigint | undefined {
  const isInside = (other: bigint) => other > from && (to === undefined || other < to)
  for (let away = 0n; away <= BigInt(known.absentCount); away++) {
    const candidate = [number - away, number + away].find(other => isInside(other) && !known.isAbsent(other))
    if (candidate !== undefined) return candidate
  }
  return undefined
}
