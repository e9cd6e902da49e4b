import { z } from 'zod'
import type { Hex } from '../model/block.ts'
import type { Header } from './look-up/known-headers.ts'
import type { RawLog, ReadRequest } from './reads.ts'

/** What a node answers, checked before it is believed: a field that is missing or odd is the node's fault. */

const quantity = z.string().regex(/^0x[0-9a-fA-F]{1,64}$/)
const bytes = z.custom<Hex>(isBytes)
const hash = z.custom<Hex>(value => typeof value === 'string' && /^0x[0-9a-fA-F]{64}$/.test(value))
const address = z.custom<Hex>(isAddress)

function isBytes(value: unknown): value is Hex {
  return typeof value === 'string' && value.length % 2 === 0 && /^0x[0-9a-fA-F]*$/.test(value)
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value)
}

const headerShape = z.object({ number: quantity, hash, parentHash: hash, timestamp: quantity })

/** A block’s header out of `eth_getBlockBy…`; `undefined` for anything else. */
export function parseHeader(result: unknown): Header | undefined {
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

const logShape = z.object({
  address,
  topics: z.array(hash).max(4),
  data: bytes,
  blockNumber: quantity,
  logIndex: quantity,
})

/** Logs out of `eth_getLogs`; `undefined` when one of them is none. */
export function parseLogs(result: unknown): RawLog[] | undefined {
  const parsed = z.array(logShape).safeParse(result)
  return parsed.data?.map(({ blockNumber, logIndex, ...log }) => ({
    ...log,
    blockNumber: BigInt(blockNumber),
    logIndex: Number(logIndex),
  }))
}

/** A number as JSON-RPC writes it. */
export function hexOf(number: bigint): Hex {
  return `0x${number.toString(16)}`
}
