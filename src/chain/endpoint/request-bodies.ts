import { requestStart, requestText, type WrittenCall } from './wire.ts'

/** Longest body whose memory is used again, in bytes. */
const keptBytesMax = 1_048_576

/**
 * Writes the bodies of requests into memory that is used again: V8 collects its whole heap when much memory of buffers
 * is new, which took a tenth of the CPU of a read. While nothing is read, V8 may free the memory.
 */
export class RequestBodies {
  #kept: WeakRef<ArrayBuffer> | undefined

  /**
   * Body of a request. Prewritten parts are copied as bytes: converting them to text and back would take longer than all
   * the rest.
   */
  written(calls: readonly WrittenCall[]): Buffer<ArrayBuffer> {
    const pieces = piecesOf(calls)
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
    const body = this.#memory(length)
    let at = 0
    for (const piece of pieces) at += piece.copy(body, at)
    return body
  }

  /** Takes back the memory of a body whose request was answered: the node has read it. */
  free({ buffer }: Buffer<ArrayBuffer>): void {
    if (buffer.byteLength > keptBytesMax) return
    if (buffer.byteLength >= (this.#kept?.deref()?.byteLength ?? 0)) this.#kept = new WeakRef(buffer)
  }

  #memory(length: number): Buffer<ArrayBuffer> {
    const kept = this.#kept?.deref()
    if (!kept || kept.byteLength < length) return Buffer.allocUnsafeSlow(length)
    this.#kept = undefined
    return Buffer.from(kept, 0, length)
  }
}

function piecesOf(calls: readonly WrittenCall[]): readonly Buffer[] {
  const pieces: Buffer[] = []
  let text = calls.length === 1 ? '' : '['
  calls.forEach((written, index) => {
    const { written: before } = written.call
    if (index > 0) text += ','
    if (before) {
      pieces.push(Buffer.from(`${text}${requestStart(index + 1)}`), before.startBytes.subarray(1))
      text = before.end
    } else {
      text += requestText(written, index + 1)
    }
  })
  return [...pieces, Buffer.from(calls.length === 1 ? text : `${text}]`)]
}
