/** Result of enqueuing metrics of an hour. */
export interface Enqueued {
  /** Number of new metrics. */
  readonly metrics: number
  /** Number of metrics whose value changed. */
  readonly corrected: number
  /** Change of the sum of the rows' digests. */
  readonly digest: number
}

const bits = new DataView(new ArrayBuffer(8))

/**
 * 32 bits that say which value a metric has at an hour. Those of an hour are added up, so that their order does not
 * matter, and tell after a damage whether its values are what they were. The mixing is that of MurmurHash3 by Austin
 * Appleby, public domain. `zlib.crc32` would not do: it is linear, so the same bit flipped in two rows leaves the sum as
 * it was once in 8,000 times.
 *
 * @param hour in hours since 1970
 * @param metric its number
 */
export function rowDigest(hour: number, metric: number, value: number): number {
  // −0 comes back from the file as 0.
  bits.setFloat64(0, value === 0 ? 0 : value)
  let mixed = mix(mix(mix(mix(0, hour), metric), bits.getUint32(0)), bits.getUint32(4))
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

function mix(before: number, word: number): number {
  const turned = Math.imul(word, 0xcc9e2d51)
  const mixed = before ^ Math.imul((turned << 15) | (turned >>> 17), 0x1b873593)
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0
}
