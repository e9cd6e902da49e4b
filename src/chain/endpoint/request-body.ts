import { requestStart, requestText, type WrittenCall } from './wire.ts'

/**
 * The body of a request, in pieces. Prewritten parts are bytes: converting them to text and back would take longer than
 * all the rest.
 */
export function bodyPieces(calls: readonly WrittenCall[]): readonly Buffer[] {
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
