import { createHash } from 'node:crypto'
import type { Hex } from '../model/block.ts'

/** One log; its `args` are still encoded in topics and data. */
export interface RawLog {
  /** Address of the contract. */
  readonly address: Hex
  /** Up to four; the first is usually the event's hash. */
  readonly topics: readonly Hex[]
  /** Arguments that are not indexed, ABI-encoded. */
  readonly data: Hex
  readonly blockNumber: bigint
  /** Index in the block; on a few chains, in the transaction. */
  readonly logIndex: number
  readonly transactionHash: Hex
}

/**
 * Logs as bytes, much smaller than as objects or as JSON, so that an hour with very many fits into memory and can be
 * sent to another process. Each is parsed when it is iterated.
 */
export class LogList implements Iterable<RawLog> {
  /** In the order of the logs. Concatenated, the bytes of equal lists are equal, however they are cut. */
  readonly pieces: readonly Uint8Array[]
  /** Number of logs. */
  readonly length: number

  constructor(pieces: readonly Uint8Array[]) {
    this.pieces = pieces
    this.length = pieces.reduce((sum, piece) => sum + countIn(piece), 0)
  }

  /** Equal for equal logs, different for different ones. */
  get digest(): string {
    const hash = createHash('sha256')
    for (const piece of this.pieces) hash.update(piece)
    return hash.digest('hex')
  }

  *[Symbol.iterator](): Generator<RawLog> {
    for (const piece of this.pieces) {
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
      for (let offset = 0; offset < bytes.length; offset += sizeAt(bytes, offset)) yield logAt(bytes, offset)
    }
  }
}

/** Before the topics: block, index in it, bytes of data, count of topics, address, hash of the transaction. */
const headBytes = 8 + 8 + 4 + 1 + 20 + 32
const topicBytes = 32

/** Encodes logs as a piece of a list. */
export function packed(logs: readonly RawLog[]): Uint8Array {
  const size = logs.reduce((sum, log) => sum + sizeOf(log), 0)
  const bytes = Buffer.alloc(size)
  let offset = 0
  for (const log of logs) {
    const { blockNumber, logIndex, address, topics, data, transactionHash } = log
    bytes.writeBigUInt64LE(blockNumber, offset)
    bytes.writeDoubleLE(logIndex, offset + 8)
    bytes.writeUInt32LE((data.length - 2) / 2, offset + 16)
    bytes.writeUInt8(topics.length, offset + 20)
    bytes.write(address.slice(2), offset + 21, 'hex')
    bytes.write(transactionHash.slice(2), offset + 41, 'hex')
    for (const [index, topic] of topics.entries())
      bytes.write(topic.slice(2), offset + headBytes + index * topicBytes, 'hex')
    bytes.write(data.slice(2), offset + headBytes + topics.length * topicBytes, 'hex')
    offset += sizeOf(log)
  }
  return bytes
}

function sizeOf({ topics, data }: RawLog): number {
  return headBytes + topics.length * topicBytes + (data.length - 2) / 2
}

function sizeAt(bytes: Buffer, offset: number): number {
  return headBytes + bytes.readUInt8(offset + 20) * topicBytes + bytes.readUInt32LE(offset + 16)
}

function countIn(piece: Uint8Array): number {
  const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
  let count = 0
  for (let offset = 0; offset < bytes.length; offset += sizeAt(bytes, offset)) count += 1
  return count
}

function logAt(bytes: Buffer, offset: number): RawLog {
  const hex = (from: number, to: number): Hex => `0x${bytes.toString('hex', from, to)}`
  const topicsAt = offset + headBytes
  const dataAt = topicsAt + bytes.readUInt8(offset + 20) * topicBytes
  const topics: Hex[] = []
  for (let from = topicsAt; from < dataAt; from += topicBytes) topics.push(hex(from, from + topicBytes))
  return {
    address: hex(offset + 21, offset + 41),
    transactionHash: hex(offset + 41, topicsAt),
    topics,
    data: hex(dataAt, offset + sizeAt(bytes, offset)),
    blockNumber: bytes.readBigUInt64LE(offset),
    logIndex: bytes.readDoubleLE(offset + 8),
  }
}
