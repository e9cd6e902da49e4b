import { isRecord } from '../../model/json.ts'
import { blocksRememberedMax } from './limits.ts'
import type { StateAvailability } from './state-availability.ts'
import type { RpcCall, RpcOutcome } from './wire.ts'

/** The last block of a chain, as reported by a node. */
export interface ChainHead {
  /** Number of the last block. */
  readonly number: bigint
  /** Seconds since 1970. */
  readonly timestampSeconds: number
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

  /** Adds what calls and their outcomes show. */
  add(calls: readonly RpcCall[], outcomes: readonly RpcOutcome[]): void {
    calls.forEach(({ method, params }, index) => {
      const outcome = outcomes[index]
      if (!outcome || !('kind' in outcome) || outcome.kind !== 'result') return
      if (method.startsWith('eth_getBlockBy')) this.#addHeader(params[0], outcome.result)
      else if (stateMethods.has(method)) this.#addState(params[1])
    })
  }

  #addHeader(asked: unknown, block: unknown): void {
    if (!isRecord(block)) return
    const [number, timestamp] = [quantity(block['number']), quantity(block['timestamp'])]
    if (number === undefined || timestamp === undefined) return
    if (asked === 'latest') this.#head = { number, timestampSeconds: Number(timestamp) }
    if (typeof block['hash'] !== 'string') return
    this.#numbers.set(block['hash'], number)
    const [oldest] = this.#numbers.keys()
    if (this.#numbers.size > blocksRememberedMax && oldest !== undefined) this.#numbers.delete(oldest)
  }

  #addState(at: unknown): void {
    const number = isRecord(at) ? this.#numbers.get(String(at['blockHash'])) : quantity(at)
    if (number !== undefined) this.#depth.served(number)
  }
}

const stateMethods: ReadonlySet<string> = new Set(['eth_call', 'eth_getBalance'])

function quantity(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value) ? BigInt(value) : undefined
}
