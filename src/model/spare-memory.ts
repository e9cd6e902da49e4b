/** Longest memory that is kept, in bytes. */
const keptBytesMax = 1_048_576

/**
 * Memory of buffers that is used again. V8 collects its whole heap whenever some megabytes of buffers are new, which took
 * half of the CPU of reads that wait for a node. The longest buffers that were given back are kept; while nothing takes
 * them, V8 may free them.
 */
export class SpareMemory {
  readonly #countMax: number
  /** The one given back last, which caches still hold, at the end. */
  readonly #kept: WeakRef<ArrayBuffer>[] = []

  /** @param countMax buffers that are kept, at most */
  constructor(countMax = 1) {
    this.#countMax = countMax
  }

  /** A buffer of so many bytes, with any content. It shares its memory with no other that was not given back. */
  take(length: number): Buffer<ArrayBuffer> {
    const place = this.#kept.findLastIndex(kept => lengthOf(kept) >= length)
    const [kept] = place < 0 ? [] : this.#kept.splice(place, 1)
    const buffer = kept?.deref()
    return buffer ? Buffer.from(buffer, 0, length) : Buffer.allocUnsafeSlow(length)
  }

  /** A buffer of pieces, one after the other. */
  concat(pieces: readonly Buffer[]): Buffer<ArrayBuffer> {
    const whole = this.take(pieces.reduce((sum, piece) => sum + piece.length, 0))
    let at = 0
    for (const piece of pieces) at += piece.copy(whole, at)
    return whole
  }

  /** Takes back a buffer, or a part of it, that nothing reads any more. */
  give({ buffer }: Uint8Array<ArrayBuffer>): void {
    if (buffer.byteLength > keptBytesMax) return
    // Two takers of one buffer would be the worst of defects.
    if (this.#kept.some(kept => kept.deref() === buffer)) return
    if (this.#kept.length === this.#countMax) {
      const place = this.#kept.findIndex(kept => lengthOf(kept) <= buffer.byteLength)
      if (place < 0) return
      this.#kept.splice(place, 1)
    }
    this.#kept.push(new WeakRef(buffer))
  }
}

/** Length of a buffer; -1 once V8 has freed it. */
function lengthOf(kept: WeakRef<ArrayBuffer>): number {
  return kept.deref()?.byteLength ?? -1
}
