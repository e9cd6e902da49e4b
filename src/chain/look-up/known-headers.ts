import type { AsOfBlock } from '../../model/block.ts'
import type { BlockHeader } from '../shapes.ts'

/** The known headers nearest to an instant: the last at or before it, the first after it. */
export interface HeadersAround {
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
    const there = this.#headers[place]
    if (there?.number === header.number) {
      if (there.hash !== header.hash) {
        this.#mismatch = `block ${header.number} is ${there.hash} and ${header.hash}`
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
    const away = (other: BlockHeader) => Math.abs(other.timestampSeconds - header.timestampSeconds)
    const better = (best: BlockHeader | undefined, other: BlockHeader) => {
      if (other.number === header.number || away(other) === 0) return best
      if (!best || best.number === 0n) return other
      if (other.number === 0n) return best
      const [isFar, isBestFar] = [away(other) >= seconds, away(best) >= seconds]
      if (isFar !== isBestFar) return isFar ? other : best
      return away(other) < away(best) === isFar ? other : best
    }
    return this.#headers.reduce<BlockHeader | undefined>(better, undefined)
  }

  /**
   * Common divisor of the distances between timestamps near an instant, in seconds: a beacon slot or a multiple of it.
   */
  tickSeconds(seconds: number): number {
    const after = this.#after(seconds)
    const near = this.#headers
      .slice(Math.max(0, after - tickHeadersMax / 2), after + tickHeadersMax / 2)
      .filter(({ number }) => number > 0n)
    const [first] = near
    return (
      near.reduce(
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
    const [before, after] = [this.#headers[place - 1], this.#headers[place]]
    if (!before || !after) return true
    const isChild = before.number + 1n === after.number && after.parentHash !== undefined
    if (before.timestampSeconds > after.timestampSeconds) {
      this.#mismatch = `block ${after.number} is older than block ${before.number}`
    } else if (isChild && after.parentHash !== before.hash) {
      this.#mismatch = `the parent of block ${after.number} is ${after.parentHash}, and block ${before.number} is ${before.hash}`
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
