import type { Hex } from '../../model/block.ts'
import type { SeenBlock } from '../endpoint/certified-code.ts'
import type { ReadAnswer } from '../reads.ts'
import { isBytes } from '../shapes.ts'
import { certifyingReads } from './multicall.ts'

/** Parsed answer of one `aggregate3`. */
export interface Aggregated {
  /** The block the reads were made in, as the contract sees it. */
  readonly seen: SeenBlock
  readonly answers: readonly ReadAnswer[]
}

/**
 * Parses an answer to `aggregateInput` of `count` requests. Multicall3 has the same code everywhere and encodes its
 * answer in one way; any other encoding is rejected.
 *
 * @returns undefined unless the answer is complete
 */
export function aggregated(output: Hex, count: number): Aggregated | undefined {
  const results = isBytes(output) ? resultsOf(output, count + certifyingReads) : undefined
  const [number, timestamp, parent] = results ?? []
  if (!results || !isWord(number) || !isWord(timestamp)) return undefined
  const seen = { number: BigInt(number.output), timestampSeconds: BigInt(timestamp.output) }
  return {
    // A contract that stands in for Multicall3 may not know the hash.
    seen: { ...seen, ...(isWord(parent) && { parentHash: parent.output }) },
    answers: results.slice(certifyingReads),
  }
}

function isWord(answer: ReadAnswer | undefined): answer is ReadAnswer {
  return answer?.kind === 'returned' && answer.output.length === 2 + 64
}

/** Parses a list of (success, bytes): offset of the list, its length, offset of each result, the results. */
function resultsOf(output: Hex, count: number): ReadAnswer[] | undefined {
  const wordAt = (place: number) => numberOf(output.slice(2 + 64 * place, 2 + 64 * (place + 1)))
  if (wordAt(0) !== 32 || wordAt(1) !== count) return undefined
  const results: ReadAnswer[] = []
  let at = 2 + count
  for (let index = 0; index < count; index += 1) {
    if (wordAt(2 + index) !== 32 * (at - 2)) return undefined
    const [success, offset, length] = [wordAt(at), wordAt(at + 1), wordAt(at + 2)]
    const start = 2 + 64 * (at + 3)
    const [end, next] = [start + 2 * length, start + 64 * Math.ceil(length / 32)]
    if (success > 1 || offset !== 64 || next > output.length || !/^0*$/.test(output.slice(end, next))) return undefined
    results.push({ kind: success === 1 ? 'returned' : 'reverted', output: `0x${output.slice(start, end)}` })
    at += 3 + Math.ceil(length / 32)
  }
  return 2 + 64 * at === output.length ? results : undefined
}

/** A word as a length or an offset; infinite for one that is cut, or too large. */
function numberOf(digits: string): number {
  return /^0{52}[0-9a-f]{12}$/i.test(digits) ? Number(`0x${digits}`) : Number.POSITIVE_INFINITY
}
