import type { AsOfBlock } from '../../model/block.ts'
import type { BlockHeader } from '../shapes.ts'

/** The known headers nearest to an instant: the last at or before it, the first after it. */
interface HeadersAround {
  /** The last header at or before the instant; absent when none is known. */
  readonly low?: BlockHeader
  /** The first header after it; absent when none is known. */
  readonly high?: BlockHeader
}

/** Number of headers from which the chain's tick is derived. */
const tickHeadersMax = 8

/**
 * Known headers of one chain, ordered by number. Timestamps never fall along a chain (equal ones are fine), so they are
 * ordered by timestamp, too. More headers make a search faster and never change its result.
 */
export class KnownHeaders {
  readonly #headers: BlockHeader[] = []
  readonly #absent = new Set<bigint>()
  /** The chain's last block; set once it was asked for in this search. */
  head: BlockHeader | undefined
  #mismatch: string | undefined

  /** Why a header was refused that is not of one chain with the others; undefined when none was. */
  get mismatch(): string | undefined {
    return this.#mismatch
  }

  get count(): number {
    return this.#headers.length
  }

  /** Number of blocks that this node says do not exist. */
  get absentCount(): number {
    return this.#absent.size
  }

  isAbsent(number: bigint): boolean {
    return this.#absent.has(number)
  }

  /** Records that the node has no block at a number not past its head: a null round, pruned history, or lag. */
  addAbsent(number: bigint): void {
    this.#absent.add(number)
  }

  /**
   * Adds a header.
   * @returns whether it is of one chain with the others; if not, there was a reorg, or nodes disagree
   */
  add(header: BlockHeader): boolean {
    const place = this.#headers.findLastIndex(({ number }) => number < header.number) + 1
    const headerAtPlace = this.#headers[place]
    if (headerAtPlace?.number === header.number) {
      if (headerAtPlace.hash !== header.hash) {
        this.#mismatch = `block ${header.number} is ${headerAtPlace.hash} and ${header.hash}`
        return false
      }
      if (header.parentHash !== undefined) this.#headers[place] = header
    } else this.#headers.splice(place, 0, header)
    return this.#follows(place) && this.#follows(place + 1)
  }

  around(seconds: number): HeadersAround {
    const after = this.#after(seconds)
    const [low, high] = [this.#headers[after - 1], this.#headers[after]]
    return { ...(low && { low }), ...(high && { high }) }
  }

  /**
   * A second header to measure the chain's pace with: the nearest one at least `seconds` away, else the farthest. The
   * first block, whose timestamp is often made up, is used only if there is no other.
   */
  paceFrom(header: BlockHeader, seconds: number): BlockHeader | undefined {
    const distanceTo = (other: BlockHeader) => Math.abs(other.timestampSeconds - header.timestampSeconds)
    const pickBetter = (bestHeader: BlockHeader | undefined, candidate: BlockHeader) => {
      if (candidate.number === header.number || distanceTo(candidate) === 0) return bestHeader
      if (!bestHeader || bestHeader.number === 0n) return candidate
      const [isFar, isBestFar] = [distanceTo(candidate) >= seconds, distanceTo(bestHeader) >= seconds]
      if (isFar !== isBestFar) return isFar ? candidate : bestHeader
      return distanceTo(candidate) < distanceTo(bestHeader) === isFar ? candidate : bestHeader
    }
    return this.#headers.reduce<BlockHeader | undefined>(pickBetter, undefined)
  }

  /**
   * Common divisor of the distances between timestamps near an instant, in seconds: a beacon slot or a multiple of it.
   */
  tickSeconds(seconds: number): number {
    const after = this.#after(seconds)
    const nearHeaders = this.#headers
      .slice(Math.max(0, after - tickHeadersMax / 2), after + tickHeadersMax / 2)
      .filter(({ number }) => number > 0n)
    const [first] = nearHeaders
    return (
      nearHeaders.reduce(
        (tick, { timestampSeconds }) => divisor(tick, timestampSeconds - (first?.timestampSeconds ?? 0)),
        0,
      ) || 1
    )
  }

  #after(seconds: number): number {
    let [from, to] = [0, this.#headers.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if ((this.#headers[middle]?.timestampSeconds ?? 0) <= seconds) from = middle + 1
      else to = middle
    }
    return from
  }

  #follows(place: number): boolean {
    const [headerBefore, headerAfter] = [this.#headers[place - 1], this.#headers[place]]
    if (!headerBefore || !headerAfter) return true
    const isChild = headerBefore.number + 1n === headerAfter.number && headerAfter.parentHash !== undefined
    if (headerBefore.timestampSeconds > headerAfter.timestampSeconds) {
      this.#mismatch = `block ${headerAfter.number} is older than block ${headerBefore.number}`
    } else if (isChild && headerAfter.parentHash !== headerBefore.hash) {
      this.#mismatch = `the parent of block ${headerAfter.number} is ${headerAfter.parentHash}, and block ${headerBefore.number} is ${headerBefore.hash}`
    } else return true
    return false
  }
}

/** Greatest common divisor. */
function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b)
}

/** A block without its parent. */
export function plain({ number, hash, timestampSeconds }: AsOfBlock): AsOfBlock {
  return { number, hash, timestampSeconds }
}

/** The expected number of the as-of block. */
interface Estimate {
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
function firstGuesses(high: BlockHeader, hourSeconds: number): bigint[] {
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
function estimateBetween(headers: KnownHeaders, { low, high }: HeadersAround, hourSeconds: number): Estimate {
  const nearHeader = nearer(low, high, hourSeconds)
  if (!nearHeader) return { number: 0n, spread: Number.POSITIVE_INFINITY }
  const distance = Math.abs(hourSeconds - nearHeader.timestampSeconds)
  const pace = headers.paceFrom(nearHeader, distance)
  if (!pace || (pace.number === 0n && pace.timestampSeconds < plausibleSeconds)) return unpaced(nearHeader, hourSeconds)
  const tick = headers.tickSeconds(hourSeconds)
  const span: Span = {
    blocks: Math.abs(Number(nearHeader.number - pace.number)),
    ticks: Math.abs(nearHeader.timestampSeconds - pace.timestampSeconds) / tick,
    isAcross: pace === (nearHeader === low ? high : low),
  }
  const isBefore = nearHeader.timestampSeconds <= hourSeconds
  const { mean, spread } = counted(span, isBefore ? Math.floor(distance / tick) : Math.ceil(distance / tick), isBefore)
  const count = BigInt(Math.round(mean))
  return { number: isBefore ? nearHeader.number + count : nearHeader.number - count, spread }
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
  passedTicks: number,
  isBefore: boolean,
): { mean: number; spread: number } {
  const share = passedTicks / ticks
  const bridge = share * (isAcross ? Math.max(0, 1 - share) : 1 + share)
  const density = blocks / ticks
  if (density <= 1) {
    const inner = isAcross ? (blocks - 1) / (ticks - 1) : density
    const mean = isBefore ? passedTicks * inner : 1 + (passedTicks - 1) * inner
    return { mean, spread: Math.sqrt(blocks * (1 - density) * bridge) }
  }
  // With several blocks a tick, the near one may be any of its tick's.
  const mean = isBefore ? passedTicks * density + (density - 1) / 2 : (passedTicks - 1) * density + (density + 1) / 2
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
function unpaced(nearHeader: BlockHeader, hourSeconds: number): Estimate {
  const blocks = Math.round((hourSeconds - nearHeader.timestampSeconds) / 12)
  return { number: nearHeader.number + BigInt(blocks), spread: Math.abs(blocks) }
}

/** The as-of block of an hour with the block that proves it, or the reason why there is none. */
export type AsOfAnswer =
  /** `block` is the last one at or before the hour, proven by `after`: its child, later than the hour. */
  | { readonly kind: 'found'; readonly block: BlockHeader; readonly after: BlockHeader }
  | { readonly kind: 'before-first'; readonly first: BlockHeader }
  /** There is no block past the hour, so none is proven to be the last before it. */
  | { readonly kind: 'past-head'; readonly head: BlockHeader }
  /**
   * The endpoint lacks a block that the proof needs, and the numbers around it are not known to be empty. `isHole`: it has
   * the blocks on either side.
   */
  | { readonly kind: 'missing'; readonly number: bigint; readonly isHole: boolean }

/** The next blocks to ask for. `latest` is the chain's last block; numbers may lie past it. */
export interface Question {
  readonly kind: 'ask'
  /** Whether the chain's last block is asked for, too. */
  readonly latest: boolean
  /** Block numbers. */
  readonly numbers: readonly bigint[]
}

/** Parameters of one step of the search. */
interface SearchStep {
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
export function nextStep(headers: KnownHeaders, hourSeconds: number, step: SearchStep): AsOfAnswer | Question {
  const { low, high } = headers.around(hourSeconds)
  if (!high) return beyond(headers, low, hourSeconds, step)
  if (!low) {
    if (high.number === 0n) return { kind: 'before-first', first: high }
    const numbers = open(headers, firstGuesses(high, hourSeconds), -1n, high.number)
    return numbers.length > 0 ? ask(numbers) : { kind: 'missing', number: high.number - 1n, isHole: false }
  }
  if (high.parentHash === low.hash) return { kind: 'found', block: low, after: high }
  const numbers = between(headers, low, high, hourSeconds, step)
  // A block of an earlier search has no parent hash.
  if (numbers.length === 0 && high.parentHash === undefined) return ask([high.number])
  return numbers.length > 0 ? ask(numbers) : { kind: 'missing', number: high.number - 1n, isHole: true }
}

function ask(numbers: readonly bigint[], latest = false): Question {
  return { kind: 'ask', latest, numbers }
}

function beyond(
  headers: KnownHeaders,
  low: BlockHeader | undefined,
  hourSeconds: number,
  { nowSeconds }: SearchStep,
): AsOfAnswer | Question {
  if (headers.head) return { kind: 'past-head', head: headers.head }
  if (!low) return ask([0n], true)
  if (nowSeconds - hourSeconds < nearPresentSeconds) return ask([], true)
  const { number } = estimateBetween(headers, { low }, hourSeconds)
  return ask(open(headers, [number, number + 1n], low.number), true)
}

/** Headers requested in one round of the as-of search. */
const headersPerRoundMax = 8

/** Numbers to ask for between two known blocks; empty when all numbers between them are known to be empty. */
function between(
  headers: KnownHeaders,
  low: BlockHeader,
  high: BlockHeader,
  hourSeconds: number,
  step: SearchStep,
): bigint[] {
  const isOfFewCalls = step.minimise === 'calls'
  const count = high.number - low.number - 1n
  if (count <= (isOfFewCalls ? 3n : BigInt(headersPerRoundMax))) {
    return allBetween(low, high).filter(number => !headers.isAbsent(number))
  }
  const estimate = estimateBetween(headers, { low, high }, hourSeconds)
  const middle = (low.number + high.number) / 2n
  const safe = step.rounds < estimatedRoundsMax ? [] : [middle]
  const numbers = step.emptyRounds > 0 ? nearby(headers, estimate.number, low, high) : around(estimate, isOfFewCalls)
  return open(headers, [...numbers, ...safe], low.number, high.number)
}

function allBetween(low: BlockHeader, high: BlockHeader): bigint[] {
  return Array.from({ length: Number(high.number - low.number) - 1 }, (_, index) => low.number + 1n + BigInt(index))
}

/** The next numbers when all around the estimate are empty: as many as one round may ask for. */
function nearby(headers: KnownHeaders, estimate: bigint, low: BlockHeader, high: BlockHeader): bigint[] {
  const [number = low.number] = within([estimate], low.number, high.number)
  const numbers: bigint[] = []
  const awayMax = BigInt(headers.absentCount + headersPerRoundMax)
  for (let away = 0n; away <= awayMax && numbers.length < headersPerRoundMax; away += 1n) {
    const both = [number - away, number + away].filter(one => one > low.number && one < high.number)
    numbers.push(...both.filter(one => !headers.isAbsent(one)))
  }
  return numbers
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
 * Distinct numbers strictly between two others; the nearest one if none is. A number known to be empty is
 * replaced by the nearest that is not; the result is empty when all are.
 */
function open(known: KnownHeaders, numbers: readonly bigint[], from: bigint, to?: bigint): bigint[] {
  const chosen = within(numbers, from, to).flatMap(number => nearestOpen(known, number, from, to) ?? [])
  return [...new Set(chosen)]
}

/** The numbers strictly between two others; if none is, the nearest ones. */
function within(numbers: readonly bigint[], from: bigint, to?: bigint): readonly bigint[] {
  const inside = numbers.filter(number => number > from && (to === undefined || number < to))
  if (inside.length > 0) return inside
  return numbers.map(number => (number <= from ? from + 1n : to !== undefined && number >= to ? to - 1n : number))
}

function nearestOpen(headers: KnownHeaders, number: bigint, from: bigint, to?: bigint): bigint | undefined {
  const isInside = (other: bigint) => other > from && (to === undefined || other < to)
  for (let away = 0n; away <= BigInt(headers.absentCount); away += 1n) {
    const candidate = [number - away, number + away].find(other => isInside(other) && !headers.isAbsent(other))
    if (candidate !== undefined) return candidate
  }
  return undefined
}
