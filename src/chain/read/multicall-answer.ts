import type { Hex } from '../../model/block.ts'
import { SpareMemory } from '../../model/spare-memory.ts'
import type { SeenBlock } from '../endpoint/certified-code.ts'
import type { ReadAnswer } from '../reads.ts'
import { certifyingReads } from './multicall.ts'

const memory = new SpareMemory()

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
  const bytes = memory.take((output.length - 2) >>> 1)
  // At an invalid or single digit the bytes end.
  const isWhole = bytes.write(output.slice(2), 'hex') * 2 === output.length - 2 && bytes.length % 32 === 0
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const results = isWhole ? resultsOf(output, view, count + certifyingReads) : undefined
  memory.give(bytes)
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
function resultsOf(output: Hex, bytes: DataView, count: number): ReadAnswer[] | undefined {
  if (numberAt(bytes, 0) !== 32 || numberAt(bytes, 32) !== count) return undefined
  const results: ReadAnswer[] = []
  const first = 64 + count * 32
  let at = first
  for (let index = 0; index < count; index += 1) {
    if (numberAt(bytes, 64 + index * 32) !== at - 64) return undefined
    const success = numberAt(bytes, at)
    const length = numberAt(bytes, at + 64)
    if (success > 1 || numberAt(bytes, at + 32) !== 64 || !isZero(bytes, at + 96 + length)) return undefined
    const digits = output.slice(2 + 2 * (at + 96), 2 + 2 * (at + 96 + length))
    results.push({ kind: success === 1 ? 'returned' : 'reverted', output: `0x${digits}` })
    at += 96 + wholeWords(length)
  }
  return at === bytes.byteLength ? results : undefined
}

const tooLarge = Number.POSITIVE_INFINITY

/** The word at an offset, as an offset or a length; infinite past the end. */
function numberAt(bytes: DataView, at: number): number {
  if (at + 32 > bytes.byteLength) return tooLarge
  for (let part = 0; part < 28; part += 4) if (bytes.getUint32(at + part) !== 0) return tooLarge
  return bytes.getUint32(at + 28)
}

/** Whether the rest of the word is zero and within the bytes. */
function isZero(bytes: DataView, from: number): boolean {
  if (from > bytes.byteLength) return false
  for (let at = from; at < wholeWords(from); at += 1) if (bytes.getUint8(at) !== 0) return false
  return true
}

function wholeWords(length: number): number {
  return Math.ceil(length / 32) * 32
}
