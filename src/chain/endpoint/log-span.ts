import { logRisesAfter, logRisesAfterMax } from './limits.ts'

/** Details of a refused range of blocks. */
export interface LogRefusal {
  /** Blocks of a range that would pass, by the node's own words; absent when it names none. */
  readonly suggested?: number | undefined
  /** The node took too long: a range of the same size would take as long again. */
  readonly isSlow?: boolean
}

/**
 * Limit of the blocks that one `eth_getLogs` of a filter may span on one endpoint, learnt from refusals of any wording.
 * After some hours a larger span is tried; a limit that stands is tried less and less often.
 */
export class LogSpan {
  readonly #most: number
  #blocksMax: number
  #proven = 0
  #readings = 0
  #risesAfter = logRisesAfter

  /** @param most blocks asked for at once, ever @param start span that passed for other filters */
  constructor(most: number, start = most) {
    this.#most = most
    this.#blocksMax = start
  }

  /** Blocks of the next range. */
  get blocksMax(): number {
    return this.#blocksMax
  }

  /** Blocks of the largest range answered since a smaller one was refused; 0 before. */
  get proven(): number {
    return this.#proven
  }

  /** Records that the logs of this many blocks are about to be read. */
  begin(blocks: number): void {
    if (this.#proven === 0 || this.#proven < this.#blocksMax || blocks <= this.#blocksMax) return
    if (this.#blocksMax >= this.#most) return
    this.#readings += 1
    if (this.#readings < this.#risesAfter) return
    this.#blocksMax = Math.min(this.#most, blocksAbove(this.#blocksMax))
  }

  /** Records that a range of this many blocks was answered. */
  answered(blocks: number): void {
    if (blocks < this.#blocksMax || blocks <= this.#proven) return
    // After a rise that passed, the next reading rises again.
    this.#readings = this.#proven > 0 ? this.#risesAfter : 0
    this.#proven = blocks
  }

  /** Records that a range of this many blocks, more than one, was refused. */
  refused(blocks: number, { suggested, isSlow = false }: LogRefusal): void {
    if (blocks > this.#blocksMax) return
    const isRise = this.#proven > 0 && this.#proven < blocks
    if (isRise) this.#risesAfter = isSlow ? logRisesAfterMax : Math.min(this.#risesAfter * 2, logRisesAfterMax)
    else {
      this.#proven = 0
      if (isSlow) this.#risesAfter = logRisesAfterMax
    }
    this.#readings = 0
    this.#blocksMax = isRise ? this.#proven : nextBlocks(blocks, { suggested, isSlow })
  }

  /** Discards what was learnt: even single blocks failed, so the span was not the reason. */
  forget(): void {
    this.#blocksMax = this.#most
    this.#proven = 0
  }
}

/** Blocks to try after a refused range of more than one. Pure. */
export function nextBlocks(blocks: number, { suggested, isSlow = false }: LogRefusal): number {
  if (suggested !== undefined && suggested >= 1 && suggested < blocks) return suggested
  const below = blocksBelow(blocks)
  return isSlow ? blocksBelow(Math.max(2, blocksBelow(Math.max(2, below)))) : below
}

/** The next smaller of 1, 2, 5, 10, 20, 50, …: typical limits of providers. */
function blocksBelow(blocks: number): number {
  const unit = 10 ** Math.floor(Math.log10(Number.isFinite(blocks) ? blocks : Number.MAX_SAFE_INTEGER))
  return [5 * unit, 2 * unit, unit, unit / 2].find(one => one < blocks) ?? 1
}

/** The next larger of 1, 2, 5, 10, 20, 50, …. */
function blocksAbove(blocks: number): number {
  const unit = 10 ** Math.floor(Math.log10(blocks))
  return [2 * unit, 5 * unit, 10 * unit].find(one => one > blocks) ?? blocks + 1
}
