/** A range of blocks whose logs are requested, both ends included. */
export interface LogRange {
  /** First block. */
  readonly from: bigint
  /** Last block, included. */
  readonly to: bigint
  /**
   * Blocks of it that may be requested at once, when a larger part was refused though others passed. Default: the span
   * of the filter.
   */
  readonly blocksMax?: number
}

/** Number of blocks in a range. */
export function blocksIn({ from, to }: LogRange): number {
  return Number(to - from) + 1
}

/** Cuts ranges into ranges of at most that many blocks. Pure. */
export function cut(ranges: readonly LogRange[], blocksMax: number): LogRange[] {
  return ranges.flatMap(range => {
    const most = Math.min(blocksMax, range.blocksMax ?? blocksMax, blocksIn(range))
    return Array.from({ length: Math.ceil(blocksIn(range) / most) }, (_, index) => {
      const from = range.from + BigInt(index * most)
      const last = from + BigInt(most - 1)
      return { ...range, from, to: last < range.to ? last : range.to }
    })
  })
}

/** The first, middle and last range: they show whether the size passes, even if one of them has too many logs. */
export function samplesOf(ranges: readonly LogRange[]): LogRange[] {
  const places = new Set([0, Math.floor(ranges.length / 2), ranges.length - 1])
  return ranges.filter((_, index) => places.has(index))
}
