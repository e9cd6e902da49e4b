import { deserialize, serialize } from 'node:v8'

/** File descriptor of the connection in a child. */
export const lineDescriptor = 3

/**
 * A message to a child: its length in four bytes, then the value in V8's serialization, which supports big integers and
 * shared references. Only a child reads it, and it trusts the daemon.
 */
export function frameOf(value: unknown): Buffer {
  const body = serialize(value)
  const head = Buffer.alloc(4)
  head.writeUInt32LE(body.length)
  return Buffer.concat([head, body])
}

/** Reads frames from pieces of bytes. @param take called with each complete value */
export function frameReader(take: (value: unknown) => void): (piece: Buffer) => void {
  let pieces: Buffer[] = []
  let length = 0
  let wanted = 4

  return piece => {
    pieces.push(piece)
    length += piece.length
    while (length >= wanted) {
      const all = pieces.length === 1 ? (pieces[0] ?? piece) : Buffer.concat(pieces)
      const end = 4 + all.readUInt32LE()
      const whole = all.length >= end
      pieces = [whole ? all.subarray(end) : all]
      length = whole ? all.length - end : all.length
      wanted = whole ? 4 : end
      if (whole) take(deserialize(all.subarray(4, end)))
    }
  }
}
