import { inFlightMax } from './limits.ts'

/** A buffer has a multiple of so many bytes, so that the next body, slightly longer, fits as well. */
const stepBytes = 4_096

/** Longest buffer that is kept, in bytes: of a hundred metrics with rather long ids. */
const keptBytesMax = 65_536

/**
 * Memory of bodies that is used again, the one given back last first, which caches still hold: as many buffers as may be
 * under way.
 */
export class SpareBuffers {
  readonly #spare: Buffer[] = []

  /** A buffer of at least so many bytes, with any content. It shares its memory with no other that is not given back. */
  take(bytes: number): Buffer {
    const spare = this.#spare.pop()
    return spare && spare.length >= bytes ? spare : Buffer.allocUnsafeSlow(Math.ceil(bytes / stepBytes) * stepBytes)
  }

  /** Takes back a buffer, or the part of it that was used. The caller must not use it any more. */
  give({ buffer }: Uint8Array): void {
    if (this.#spare.length >= inFlightMax || buffer.byteLength > keptBytesMax) return
    // Two bodies in one buffer would be the worst of defects.
    if (this.#spare.every(spare => spare.buffer !== buffer)) this.#spare.push(Buffer.from(buffer))
  }
}
