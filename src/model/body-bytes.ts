import { batchMetricsMax } from './limits.ts'

const head = Buffer.from('{"metrics":[')
const end = Buffer.from(']}')
const [comma, closing] = [','.charCodeAt(0), ']'.charCodeAt(0)]

/** Longest JSON of a finite number, with the comma after it: from a millionth on it is written without an exponent. */
const valueCharsMax = '-0.0000012345678901234567,'.length

/** JSON of the values of the body that is being written. */
const json = Buffer.allocUnsafeSlow('[]'.length + batchMetricsMax * valueCharsMax)

/** JSON around the values of metrics that have the same start, in UTF-8. */
export interface BodyRun {
  /** Before each value; begins with a comma. */
  readonly start: Uint8Array
  /** After each value. */
  readonly rests: readonly Uint8Array[]
  /** Length of all rests together. */
  readonly restBytes: number
}

/**
 * The body of a push, in UTF-8. A string of so many pieces would be copied twice on its way to the socket, and leave each
 * piece to be collected.
 *
 * @param values finite, at most 100, in the order of the rests
 * @param bufferOf gives a buffer of at least so many bytes
 */
export function bodyBytes(
  runs: readonly BodyRun[],
  values: readonly number[],
  bufferOf: (bytes: number) => Buffer<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  // All at once: number by number it takes twice as long.
  let bytesMax = head.length + json.write(JSON.stringify(values), 'latin1') + end.length
  for (const { start, rests, restBytes } of runs) bytesMax += start.length * rests.length + restBytes
  const body = bufferOf(bytesMax)
  // The first comma is overwritten.
  let at = head.length - 1
  let from = '['.length
  for (const { start, rests } of runs) {
    for (const rest of rests) {
      body.set(start, at)
      at += start.length
      for (let byte = json[from]; byte !== undefined && byte !== comma && byte !== closing; byte = json[from]) {
        body[at] = byte
        at += 1
        from += 1
      }
      from += 1
      body.set(rest, at)
      at += rest.length
    }
  }
  body.set(head)
  body.set(end, at)
  // The rest was not written: it may hold anything of this process.
  return body.subarray(0, at + end.length)
}
