import { z } from 'zod'
import type { Hex, LogFilter } from '../model/block.ts'
import type { BlockHeader } from './look-up/known-headers.ts'
import type { RawLog, ReadRequest } from './reads.ts'

/** What a node answers, checked before it is believed: a field that is missing or odd is the node's fault. */

const quantity = z.custom<Hex>(isQuantity)
const hash = z.custom<Hex>(isHash)

function isQuantity(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value)
}

function isHash(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{64}$/.test(value)
}

function isBytes(value: unknown): value is Hex {
  return typeof value === 'string' && value.length % 2 === 0 && /^0x[0-9a-fA-F]*$/.test(value)
}

function isAddress(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value)
}

const headerShape = z.object({ number: quantity, hash, parentHash: hash, timestamp: quantity })

/** A block’s header out of `eth_getBlockBy…`; `undefined` for anything else. */
export function parseHeader(result: unknown): BlockHeader | undefined {
  const parsed = headerShape.safeParse(result)
  if (!parsed.success) return undefined
  const { number, timestamp, ...hashes } = parsed.data
  const timestampSeconds = Number(timestamp)
  return Number.isSafeInteger(timestampSeconds) ? { ...hashes, number: BigInt(number), timestampSeconds } : undefined
}

/** Whether a read can be put to a node: one that cannot must not travel with others. */
export function isAskable(request: ReadRequest): boolean {
  if (request.kind === 'balance') return isAddress(request.address)
  return isAddress(request.to) && isBytes(request.input)
}

/** An address of a filter that is none; undefined when all are. */
export function oddAddress({ address }: LogFilter): string | undefined {
  return (typeof address === 'string' ? [address] : address).find(one => !isAddress(one))
}

/** Bytes out of `eth_call`; `undefined` for anything else. */
export function parseBytes(result: unknown): Hex | undefined {
  return isBytes(result) ? result : undefined
}

/** A quantity as 32 bytes, as a contract would return it. */
export function parseWord(result: unknown): Hex | undefined {
  const parsed = quantity.safeParse(result)
  return parsed.success ? word(BigInt(parsed.data)) : undefined
}

/** A number as 32 bytes. */
export function word(amount: bigint): Hex {
  return `0x${amount.toString(16).padStart(64, '0')}`
}

/** A log as a node answers it. */
export interface NodeLog extends RawLog {
  readonly blockHash: string | undefined
  readonly transactionHash: unknown
  /** A reorg has taken its block. */
  readonly removed: boolean
}

/** Logs out of `eth_getLogs`; `undefined` when one of them is none. By hand: there may be very many. */
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
  const { address, topics, data, blockNumber, logIndex, blockHash, transactionHash, removed } = value as Partial<
    Record<string, unknown>
  >
  if (!isAddress(address) || !isTopics(topics) || !isBytes(data)) return undefined
  if (!isQuantity(blockNumber) || !isQuantity(logIndex)) return undefined
  if (blockHash !== undefined && !isHash(blockHash)) return undefined
  return {
    ...{ address, topics, data, blockHash, transactionHash },
    blockNumber: BigInt(blockNumber),
    logIndex: Number(logIndex),
    removed: removed === true,
  }
}

const isTopics = (value: unknown): value is Hex[] => Array.isArray(value) && value.length <= 4 && value.every(isHash)

/** A number as JSON-RPC writes it. */
export function hexOf(number: bigint): Hex {
  return `0x${number.toString(16)}`
}
