import type { Readable } from 'node:stream'

/**
 * Reads a body up to a limit.
 *
 * @returns its bytes; `undefined` when it is longer (the rest is not read and the connection is closed)
 */
export async function readBoundedBytes(body: Readable, bytesMax: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += (chunk as Buffer).length
    // Leaving the loop destroys the stream.
    if (bytes > bytesMax) return undefined
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}
