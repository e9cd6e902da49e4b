import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Time } from '../../edge/time.ts'
import type { Hex, LogFilter } from '../../model/block.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import { EndpointPool, type EndpointSource } from '../endpoint/endpoint-pool.ts'
import type { RpcAnswer, RpcCall } from '../endpoint/wire.ts'
import type { ReadAnswer, ReadRequest } from '../reads.ts'
import { hexOf, type NodeLog, parseBytes, parseHeader, parseLogs } from '../shapes.ts'
import { logAnswerBytesMax } from './limits.ts'
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

/** Events that many contracts emit, by the hash of their signature. */
const wellKnown = new Map(
  [
    ...['Transfer(address,address,uint256)', 'Approval(address,address,uint256)', 'Upgraded(address)'],
    ...['ApprovalForAll(address,address,bool)', 'TransferSingle(address,address,address,uint256,uint256)'],
    ...['Swap(address,uint256,uint256,uint256,uint256,address)', 'Sync(uint112,uint112)'],
    ...['Swap(address,address,int256,int256,uint160,uint128,int24)', 'OwnershipTransferred(address,address)'],
    ...['Deposit(address,uint256)', 'Withdrawal(address,uint256)', 'Deposit(address,address,uint256,uint256)'],
    ...['Withdraw(address,address,address,uint256,uint256)', 'AnswerUpdated(int256,uint256,uint256)'],
  ].map(event => [`0x${Buffer.from(keccak_256(Buffer.from(event))).toString('hex')}`, event.replace(/\(.*/, '')]),
)

function nameOf([topic]: readonly Hex[]): string {
  if (topic === undefined) return 'events without a topic'
  return wellKnown.get(topic.toLowerCase()) ?? `${topic.slice(0, 10)}…`
}

/** Numbers of last blocks whose logs are asked for, until an endpoint answers. */
const recentBlocks = [10_000, 1_000, 100, 10] as const

/** Events of the last blocks. */
export interface RecentEvents {
  /** Number of the last blocks in which the events of the filter were looked for. */
  readonly blocks: number
  readonly isSeen: boolean
  /** Number of the last blocks in which all events of its contracts were looked for. */
  readonly emittedBlocks: number
  /** Number of these events by name, or by a part of their first topic where the name is not known. */
  readonly emitted: ReadonlyMap<string, number>
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

  /** Looks for the events of a filter, and for any of its contracts, in the last blocks. @throws Fault */
  async events(filter: LogFilter): Promise<RecentEvents> {
    return this.#serve(async (endpoint, signal) => {
      const [sought, all] = await Promise.all([
        recentLogs(endpoint, filter, signal),
        recentLogs(endpoint, { ...filter, topics: [] }, signal),
      ])
      const emitted = new Map<string, number>()
      for (const { topics } of all.logs) emitted.set(nameOf(topics), (emitted.get(nameOf(topics)) ?? 0) + 1)
      return { blocks: sought.blocks, isSeen: sought.logs.length > 0, emittedBlocks: all.blocks, emitted }
    })
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

/** Logs of as many last blocks as the endpoint answers. @throws EndpointFailure when it answers none */
async function recentLogs(
  endpoint: Endpoint,
  { address, topics }: LogFilter,
  signal: AbortSignal,
): Promise<{ readonly blocks: number; readonly logs: readonly NodeLog[] }> {
  const [head] = await endpoint.call([{ method: 'eth_getBlockByNumber', params: ['latest', false] }], signal)
  const last = parseHeader(head?.kind === 'result' ? head.result : undefined)?.number
  if (last === undefined) throw new EndpointFailure(endpoint.host, 'answered no header of its last block', 'refused')
  for (const most of recentBlocks) {
    const blocks = Math.min(most, Number(last) + 1)
    const range = { fromBlock: hexOf(last - BigInt(blocks - 1)), toBlock: hexOf(last) }
    const call = { method: 'eth_getLogs', params: [{ address, topics, ...range }], answerBytesMax: logAnswerBytesMax }
    const [outcome] = await endpoint.callApart([call], signal)
    const logs = outcome && 'kind' in outcome && outcome.kind === 'result' ? parseLogs(outcome.result) : undefined
    if (logs) return { blocks, logs }
  }
  throw new EndpointFailure(endpoint.host, 'answers no logs of its last blocks', 'no-logs')
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
