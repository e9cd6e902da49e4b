import { createHash } from 'node:crypto'

const bits = new DataView(new ArrayBuffer(8))

/**
 * Digest of a metric's value at an hour, 32 bits. Digests of an hour are summed, so that order does not matter; after
 * damage the sum shows whether the values changed. The mixing is that of MurmurHash3 by Austin Appleby, public domain.
 * `zlib.crc32` is not enough: it is linear, so the same bit flipped in two rows leaves the sum unchanged once in 8,000
 * times.
 *
 * @param hour in hours since 1970
 * @param metric its number in the file
 */
export function rowDigest(hour: number, metric: number, value: number): number {
  // −0 comes back from the file as 0.
  bits.setFloat64(0, value === 0 ? 0 : value)
  let hash = mix(mix(mix(mix(0, hour), metric), bits.getUint32(0)), bits.getUint32(4))
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

function mix(before: number, word: number): number {
  const turned = Math.imul(word, 0xcc9e2d51)
  const mixed = before ^ Math.imul((turned << 15) | (turned >>> 17), 0x1b873593)
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0
}

/** Number of rows, and the sum of their digests: their order does not matter. */
export class RowsDigest {
  rows = 0
  #sum = 0n

  add(row: readonly unknown[]): void {
    this.rows += 1
    const digest = createHash('sha256')
      .update(JSON.stringify(row.map(comparable)))
      .digest()
    this.#sum = (this.#sum + digest.readBigUInt64LE()) % 2n ** 64n
  }

  get text(): string {
    return `${this.rows} rows, digest ${this.#sum.toString(16)}`
  }
}

function comparable(value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') }
  // PostgreSQL's texts cannot hold it.
  return typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : (value ?? null)
}
