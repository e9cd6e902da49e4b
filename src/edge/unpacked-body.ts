import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'

/** Reason why a body cannot be decompressed. */
export type Unpackable = 'too-long' | 'unknown-encoding' | 'damaged'

const unpackers = {
  gzip: promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip),
  deflate: promisify<Buffer, { maxOutputLength: number }, Buffer>(inflate),
  br: promisify<Buffer, { maxOutputLength: number }, Buffer>(brotliDecompress),
} as const

/**
 * Decompresses a body. Tidegauge asks for `identity`, but some servers compress their answers anyway.
 *
 * @param contentEncoding as in the header; absent when the body is not compressed
 * @param bytesMax of the decompressed body
 */
export async function unpackedBody(
  bytes: Buffer,
  contentEncoding: string | undefined,
  bytesMax: number,
): Promise<Buffer | Unpackable> {
  const encoding = (contentEncoding ?? '').trim().toLowerCase().replace(/^x-/, '')
  if (encoding === '' || encoding === 'identity' || bytes.length === 0) return bytes
  if (encoding !== 'gzip' && encoding !== 'deflate' && encoding !== 'br') return 'unknown-encoding'
  try {
    return await unpackers[encoding](bytes, { maxOutputLength: bytesMax })
  } catch (error) {
    const isTooLong = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    return isTooLong ? 'too-long' : 'damaged'
  }
}
