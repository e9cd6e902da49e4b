/** Longest memory that is kept, in bytes. */
const keptBytesMax = 1_048_576

/**
 * Memory of buffers that is used again. V8 collects its whole heap whenever some megabytes of buffers are new, which took
 * half of the CPU of reads that wait for a node. The longest buffer that was given back is kept; while nothing takes it,
 * V8 may free it.
 */
export class SpareMemory {
  #kept: WeakRef<ArrayBuffer> | undefined

  /** A buffer of so many bytes, with any content. */
  take(length: number): Buffer<ArrayBuffer> {
    const kept = this.#kept?.deref()
    if (!kept || kept.byteLength < length) return Buffer.allocUnsafeSlow(length)
    this.#kept = undefined
    return Buffer.from(kept, 0, length)
  }

  /** A buffer of pieces, one after the other. */
  concat(pieces: readonly Buffer[]): Buffer<ArrayBuffer> {
    const whole = this.take(pieces.reduce((sum, piece) => sum + piece.length, 0))
    let at = 0
    for (const piece of pieces) at += piece.copy(whole, at)
    return whole
  }

  /** Takes back a buffer that nothing reads any more. */
  give({ buffer }: Buffer<ArrayBuffer>): void {
    if (buffer.byteLength > keptBytesMax) return
    if (buffer.byteLength >= (this.#kept?.deref()?.byteLength ?? 0)) this.#kept = new WeakRef(buffer)
  }
}
