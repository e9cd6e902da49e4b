import { batchMetricsMax } from './limits.ts'

const head = Buffer.from('{"metrics":[')
const end = Buffer.from(']}')
const [comma, closing] = [','.charCodeAt(0), ']'.charCodeAt(0)]

/** Longest JSON of a finite number, with the comma after it: from a millionth on it is written without an exponent. */
const valueCharsMax = '-0.0000012345678901234567,'.length

/** JSON of the values of the body that is being written. */
const json = Buffer.allocUnsafeSlow('[]'.length + batchMetricsMax * valueCharsMax)

/**
 * The body of a push, in UTF-8. A string of so many pieces would be copied twice on its way to the socket, and leave each
 * piece to be collected.
 *
 * @param pieces JSON before and after each value, in turn; the first of each metric begins with a comma
 * @param values finite, at most 100
 * @param bufferOf gives a buffer of at least so many bytes
 */
export function bodyBytes(
  pieces: readonly Uint8Array[],
  values: readonly number[],
  bufferOf: (bytes: number) => Buffer<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  // All at once: number by number it takes twice as long.
  let bytesMax = head.length + json.write(JSON.stringify(values), 'latin1') + end.length
  for (const { length } of pieces) bytesMax += length
  const body = bufferOf(bytesMax)
  // The first comma is overwritten.
  let at = head.length - 1
  let from = '['.length
  let isBeforeValue = true
  for (const piece of pieces) {
    body.set(piece, at)
    at += piece.length
    if (isBeforeValue) {
      for (let byte = json[from]; byte !== undefined && byte !== comma && byte !== closing; byte = json[from]) {
        body[at] = byte
        at += 1
        from += 1
      }
      from += 1
    }
    isBeforeValue = !isBeforeValue
  }
  body.set(head)
  body.set(end, at)
  // The rest was not written: it may hold anything of this process.
  return body.subarray(0, at + end.length)
}
