import { isRecord } from '../../model/json.ts'
import type { BlockPart } from './harmless-calls.ts'
import { blocksRememberedMax, stateBlocksMin } from './limits.ts'
import type { StateAvailability } from './state-availability.ts'
import type { RpcCall, RpcOutcome } from './wire.ts'

/** The last block of a chain, as reported by a node. */
export interface ChainHead {
  /** Number of the last block. */
  readonly number: bigint
  /** Seconds since 1970. */
  readonly timestampSeconds: number
}

/** A part of a block that an endpoint need not have. */
export interface OldPart {
  readonly part: BlockPart
  readonly number: bigint
}

/** Observes an endpoint's answers: its head, and the blocks whose state it serves. */
export class ObservedBlocks {
  readonly #depth: StateAvailability
  readonly #numbers = new Map<string, bigint>()
  #head: ChainHead | undefined

  constructor(depth: StateAvailability) {
    this.#depth = depth
  }

  /** The last head observed; undefined before. */
  get head(): ChainHead | undefined {
    return this.#head
  }

  /** Number of the block that a call names; undefined when it names none or one that was not seen. */
  numberOf({ method, params }: RpcCall): bigint | undefined {
    if (method === 'eth_getBlockByNumber') return quantity(params[0])
    const at = stateMethods.has(method) ? params[method === 'eth_getStorageAt' ? 2 : 1] : undefined
    return isRecord(at) ? this.#numbers.get(String(at['blockHash'])) : quantity(at)
  }

  /** The part of an old block that a call needs; undefined for a block that every node should have, or an unknown one. */
  oldPartOf({ method, params }: RpcCall): OldPart | undefined {
    const part = stateMethods.has(method) ? 'state' : partsOfMethods[method]
    const [filter] = params
    const number =
      part === 'logs' && isRecord(filter) ? quantity(filter['fromBlock']) : this.numberOf({ method, params })
    const head = this.#head?.number
    if (part === undefined || number === undefined || head === undefined) return undefined
    return head - number < stateBlocksMin ? undefined : { part, number }
  }

  /** Adds what calls and their outcomes show. @param isSure whether an earlier last block counts: it was asked again */
  add(calls: readonly RpcCall[], outcomes: readonly RpcOutcome[], isSure = true): void {
    calls.forEach(({ method, params }, index) => {
      const outcome = outcomes[index]
      if (!outcome || !('kind' in outcome) || outcome.kind !== 'result') return
      if (method.startsWith('eth_getBlockBy')) this.#addHeader(params[0], outcome.result, isSure)
      const number = stateMethods.has(method) ? this.numberOf({ method, params }) : undefined
      if (number !== undefined) this.#depth.served(number)
    })
  }

  #addHeader(asked: unknown, block: unknown, isSure: boolean): void {
    if (!isRecord(block)) return
    const [number, timestamp] = [quantity(block['number']), quantity(block['timestamp'])]
    if (number === undefined || timestamp === undefined) return
    const isLater = isSure || this.#head === undefined || number > this.#head.number
    if (asked === 'latest' && isLater) this.#head = { number, timestampSeconds: Number(timestamp) }
    if (typeof block['hash'] !== 'string') return
    this.#numbers.set(block['hash'], number)
    const [oldest] = this.#numbers.keys()
    if (this.#numbers.size > blocksRememberedMax && oldest !== undefined) this.#numbers.delete(oldest)
  }
}

const stateMethods: ReadonlySet<string> = new Set(['eth_call', 'eth_getBalance', 'eth_getStorageAt', 'eth_getCode'])

const partsOfMethods: Readonly<Record<string, BlockPart>> = { eth_getBlockByNumber: 'header', eth_getLogs: 'logs' }

/** A number of JSON-RPC; undefined for anything else. */
export function quantity(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value) ? BigInt(value) : undefined
}
