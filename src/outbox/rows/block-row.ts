import type { AsOfBlock, Hex } from '../../model/block.ts'

/** A block as a row stores it. */
export interface BlockRow {
  readonly number: number
  /** The block's hash, 32 bytes. */
  readonly hash: Buffer
  /** Seconds since 1970. */
  readonly timestamp: number
}

/** The columns of a block. */
export function blockColumns({ number, hash, timestampSeconds }: AsOfBlock): [bigint, Buffer, number] {
  return [number, Buffer.from(hash.slice(2), 'hex'), timestampSeconds]
}

/** The block of a row. */
export function blockOf({ number, hash, timestamp }: BlockRow): AsOfBlock {
  return { number: BigInt(number), hash: hexOf(hash), timestampSeconds: timestamp }
}

function hexOf(bytes: Buffer): Hex {
  return `0x${bytes.toString('hex')}`
}
