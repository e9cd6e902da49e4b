import { z } from 'zod'
import type { AsOfBlock, Hex } from '../model/block.ts'
import type { RawLog } from './log-list.ts'

/** The fields of a block's header that the search needs. */
export interface BlockHeader extends AsOfBlock {
  /** Absent for a block of an earlier search; such a block proves no other. */
  readonly parentHash?: Hex
}

/** Schemas of a node's answers: a missing or odd field is a failure of the node. */

const quantity = z.custom<Hex>(isQuantity)
const hash = z.custom<Hex>(isHash)

function isQuantity(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value)
}

/** Whether a value is 32 bytes as hexadecimal text. */
export function isHash(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{64}$/.test(value)
}

/** Whether a value is whole bytes as hexadecimal text. */
export function isBytes(value: unknown): value is Hex {
  return typeof value === 'string' && value.length % 2 === 0 && /^0x[0-9a-fA-F]*$/.test(value)
}

/** Whether a value is an address as hexadecimal text. */
export function isAddress(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value)
}

/** Later instants of blocks, in seconds since 1970, are of another unit: they are of the year 5138. */
export const secondsMax = 1e11

const headerShape = z.object({ number: quantity, hash, parentHash: hash, timestamp: quantity })

/** Parses a block's header of `eth_getBlockBy…`; `undefined` for anything else. */
export function parseHeader(result: unknown): BlockHeader | undefined {
  const parsed = headerShape.safeParse(result)
  if (!parsed.success) return undefined
  const { number, timestamp, ...hashes } = parsed.data
  const timestampSeconds = Number(timestamp)
  return Number.isSafeInteger(timestampSeconds) ? { ...hashes, number: BigInt(number), timestampSeconds } : undefined
}

/** Parses the bytes of `eth_call`; `undefined` for anything else. */
export function parseBytes(result: unknown): Hex | undefined {
  return isBytes(result) ? result : undefined
}

/** Parses a quantity into 32 bytes, as a contract would return it. */
export function parseWord(result: unknown): Hex | undefined {
  const parsed = quantity.safeParse(result)
  return parsed.success ? word(BigInt(parsed.data)) : undefined
}

/** A number as 32 bytes. */
export function word(amount: bigint): Hex {
  return `0x${amount.toString(16).padStart(64, '0')}`
}

/** A log as answered by a node. */
export interface NodeLog extends RawLog {
  /** Absent from nodes that do not send it. */
  readonly blockHash: string | undefined
  /** Whether a reorg has removed its block. */
  readonly removed: boolean
}

/** Parses logs of `eth_getLogs`; `undefined` when one of them is invalid. By hand, as there may be very many. */
export function parseLogs(result: unknown): NodeLog[] | undefined {
  if (!Array.isArray(result)) return undefined
  const logs: NodeLog[] = []
  for (const one of result) {
    const log = parseLog(one)
    if (!log) return undefined
    logs.push(log)
  }
  return logs
}

function parseLog(value: unknown): NodeLog | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const fields = value as Partial<Record<string, unknown>>
  const { address, topics, data, blockNumber, logIndex, blockHash, transactionHash } = fields
  if (!isAddress(address) || !isTopics(topics) || !isBytes(data)) return undefined
  if (!isQuantity(blockNumber) || !isQuantity(logIndex)) return undefined
  if (blockHash !== undefined && !isHash(blockHash)) return undefined
  if (!isHash(transactionHash)) return undefined
  return {
    ...{ address, topics, data, blockHash, transactionHash },
    blockNumber: BigInt(blockNumber),
    logIndex: Number(logIndex),
    removed: fields['removed'] === true,
  }
}

const isTopics = (value: unknown): value is Hex[] => Array.isArray(value) && value.length <= 4 && value.every(isHash)

/** A number in JSON-RPC's notation. */
export function hexOf(number: bigint): Hex {
  return `0x${number.toString(16)}`
}
