import { createHash } from 'node:crypto'

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
