/** Blocks whose logs are asked for, both ends included. */
export interface LogRange {
  readonly from: bigint
  readonly to: bigint
  /** Most of its blocks that may be asked for at once, where a larger part of it was refused though others passed. */
  readonly blocksMax?: number
}

/** How many blocks a range has. */
export function blocksIn({ from, to }: LogRange): number {
  return Number(to - from) + 1
}

/** The same blocks in ranges of at most so many. Pure. */
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

/** The first, the middle and the last: whether their size passes is told although there is too much in one of them. */
export function samplesOf(ranges: readonly LogRange[]): LogRange[] {
  const places = new Set([0, Math.floor(ranges.length / 2), ranges.length - 1])
  return ranges.filter((_, index) => places.has(index))
}
