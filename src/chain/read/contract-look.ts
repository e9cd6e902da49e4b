import type { Time } from '../../edge/time.ts'
import type { Hex } from '../../model/block.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointPool, type EndpointSource } from '../endpoint/endpoint-pool.ts'
import type { RpcAnswer, RpcCall } from '../endpoint/wire.ts'
import type { ReadAnswer, ReadRequest } from '../reads.ts'
import { parseBytes, parseHeader } from '../shapes.ts'
import { aggregateInput, multicall3Address } from './multicall.ts'
import { aggregated } from './multicall-answer.ts'

/** Slots in which a proxy names what it stands for (https://eips.ethereum.org/EIPS/eip-1967). */
const slots = {
  implementation: '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc',
  beacon: '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50',
} as const

/** Code and proxy slots of a contract, as of the chain's last block. */
export interface ContractBasics {
  readonly hasCode: boolean
  /** Addresses in the slots of a proxy; absent for an empty slot. */
  readonly implementation?: Hex
  readonly beacon?: Hex
  /** Of the last block; absent where the node does not give it. */
  readonly timestampSeconds?: number
}

/** Dependencies of `ContractLook`. */
export interface ContractLookDeps {
  /** Name of the chain in the configuration. */
  readonly name: string
  readonly id: number
  readonly endpoints: readonly EndpointSource[]
  readonly time: Time
  /** Longest wait for an answer, in milliseconds. */
  readonly timeoutMs: number
  /** Address of Multicall3. Default: the usual one. */
  readonly multicall?: Hex | undefined
}

type CallRequest = Extract<ReadRequest, { kind: 'call' }>

/** Reads of one chain's last block, for a person who looks at a contract. Collectors read as of hours. */
export class ContractLook {
  readonly #pool: EndpointPool
  readonly #deps: ContractLookDeps
  readonly #multicall: Hex

  constructor(deps: ContractLookDeps) {
    const { name, id, time, endpoints } = deps
    this.#deps = deps
    this.#multicall = deps.multicall ?? multicall3Address
    this.#pool = new EndpointPool({ name, id, time, passedOver: () => {} }, endpoints)
  }

  /**
   * The code, the proxy slots and some calls, in one request with one `eth_call`.
   *
   * @returns the answers in the order of the calls @throws Fault when no endpoint answers
   */
  async contract(
    address: Hex,
    calls: readonly CallRequest[],
  ): Promise<{ readonly basics: ContractBasics; readonly answers: readonly ReadAnswer[] }> {
    return this.#serve(async (endpoint, signal) => {
      const asked = [
        { method: 'eth_getCode', params: [address, 'latest'] },
        ...Object.values(slots).map(slot => ({ method: 'eth_getStorageAt', params: [address, slot, 'latest'] })),
        { method: 'eth_getBlockByNumber', params: ['latest', false] },
      ]
      // Of one turn: they travel together.
      const [first, answers] = await Promise.all([
        endpoint.call(asked, signal),
        this.#together(endpoint, calls, signal),
      ])
      const last = first.at(-1)
      const header = last?.kind === 'result' ? parseHeader(last.result) : undefined
      const [code, ...kept] = first.slice(0, -1).map(answer => resultOf(endpoint, answer))
      const [implementation, beacon] = kept.map(addressIn)
      const basics = {
        hasCode: code !== undefined && code !== '0x',
        ...(implementation && { implementation }),
        ...(beacon && { beacon }),
        ...(header && { timestampSeconds: header.timestampSeconds }),
      }
      return { basics, answers }
    })
  }

  /** Answers in the order of the calls, by one `eth_call`. @throws Fault when no endpoint answers */
  async read(calls: readonly CallRequest[]): Promise<readonly ReadAnswer[]> {
    return this.#serve((endpoint, signal) => this.#together(endpoint, calls, signal))
  }

  close(): void {
    this.#pool.close()
  }

  #together(endpoint: Endpoint, calls: readonly CallRequest[], signal: AbortSignal): Promise<readonly ReadAnswer[]> {
    return callsTogether(endpoint, calls, this.#multicall, signal)
  }

  #serve<T>(work: (endpoint: Endpoint, signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = this.#deps.time.timeout(this.#deps.timeoutMs)
    return this.#pool.serve({}, signal, endpoint => work(endpoint, signal))
  }
}

/** Answer that must be one, by its error's words. */
function resultOf(endpoint: Endpoint, answer: RpcAnswer): Hex | undefined {
  if (answer.kind === 'error') throw endpoint.failure(answer.error)
  return parseBytes(answer.result)
}

function addressIn(word: Hex | undefined): Hex | undefined {
  if (word === undefined || word.length !== 2 + 64 || !/^0x0{24}/.test(word)) return undefined
  const address: Hex = `0x${word.slice(26)}`
  return /^0x0{40}$/.test(address) ? undefined : address
}

/**
 * By one `eth_call`; by one batch where Multicall3 is not deployed, or where a call burns all gas, as fallbacks of old
 * contracts do, so that nothing is left for the others.
 */
async function callsTogether(
  endpoint: Endpoint,
  calls: readonly CallRequest[],
  multicall: Hex,
  signal: AbortSignal,
): Promise<readonly ReadAnswer[]> {
  const [answer] = await endpoint.call([callOf({ to: multicall, input: aggregateInput(calls, multicall) })], signal)
  const output = answer?.kind === 'result' ? parseBytes(answer.result) : undefined
  const together = output === undefined ? undefined : aggregated(output, calls.length)
  if (together) return together.answers
  const answers = await endpoint.call(calls.map(callOf), signal)
  return answers.map(each => {
    const own = each.kind === 'result' ? parseBytes(each.result) : undefined
    return own === undefined ? { kind: 'reverted', output: '0x' } : { kind: 'returned', output: own }
  })
}

function callOf({ to, input }: Pick<CallRequest, 'to' | 'input'>): RpcCall {
  return { method: 'eth_call', params: [{ to, data: input }, 'latest'] }
}
