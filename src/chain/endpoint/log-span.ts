import { logRisesAfter, logRisesAfterMax } from '../limits.ts'

/** What a refusal of a range of blocks tells beside that it was refused. */
export interface LogRefusal {
  /** Blocks of a range that would pass, as the node says. */
  readonly suggested?: number | undefined
  /** It took the node too long: to try as much again costs as long again. */
  readonly isSlow?: boolean
}

/**
 * How many blocks one `eth_getLogs` of a filter may span on one endpoint: found out from what the endpoint refuses, whatever its
 * words. After some hours it is tried whether more passes by now; a limit that stands is tried less and less often.
 */
export class LogSpan {
  readonly #most: number
  #blocksMax: number
  #proven = 0
  #readings = 0
  #risesAfter = logRisesAfter

  /** @param most blocks that are ever asked for at once @param start what passed for other filters */
  constructor(most: number, start = most) {
    this.#most = most
    this.#blocksMax = start
  }

  /** Blocks of the next range. */
  get blocksMax(): number {
    return this.#blocksMax
  }

  /** Blocks of the largest range that was answered since a smaller one was refused; 0 before. */
  get proven(): number {
    return this.#proven
  }

  /** The logs of so many blocks are about to be read. */
  begin(blocks: number): void {
    if (this.#proven === 0 || this.#proven < this.#blocksMax || blocks <= this.#blocksMax) return
    if (this.#blocksMax >= this.#most || ++this.#readings < this.#risesAfter) return
    this.#blocksMax = Math.min(this.#most, blocksAbove(this.#blocksMax))
  }

  /** So many blocks were answered. */
  answered(blocks: number): void {
    if (blocks < this.#blocksMax || blocks <= this.#proven) return
    // A rise that passed is followed by the next one with the next reading.
    this.#readings = this.#proven > 0 ? this.#risesAfter : 0
    this.#proven = blocks
  }

  /** So many blocks, more than one, were refused where no more passed. */
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

  /** Not even single blocks passed: that is not the span's fault. */
  forget(): void {
    this.#blocksMax = this.#most
    this.#proven = 0
  }
}

/** Blocks to try after so many, more than one, were refused. Pure. */
export function nextBlocks(blocks: number, { suggested, isSlow = false }: LogRefusal): number {
  if (suggested !== undefined && suggested >= 1 && suggested < blocks) return suggested
  const below = blocksBelow(blocks)
  return isSlow ? blocksBelow(Math.max(2, blocksBelow(Math.max(2, below)))) : below
}

/** The next smaller of 1, 2, 5, 10, 20, 50, …: the limits of providers are such numbers. */
function blocksBelow(blocks: number): number {
  const unit = 10 ** Math.floor(Math.log10(Number.isFinite(blocks) ? blocks : Number.MAX_SAFE_INTEGER))
  return [5 * unit, 2 * unit, unit, unit / 2].find(one => one < blocks) ?? 1
}

/** The next larger of them. */
function blocksAbove(blocks: number): number {
  const unit = 10 ** Math.floor(Math.log10(blocks))
  return [2 * unit, 5 * unit, 10 * unit].find(one => one > blocks) ?? blocks + 1
}
