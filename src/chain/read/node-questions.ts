import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Time } from '../../edge/time.ts'
import type { Hex, LogFilter } from '../../model/block.ts'
import { hourMs } from '../../model/limits.ts'
import { type Endpoint, type OpenEndpoint, openEndpoint } from '../endpoint/endpoint.ts'
import { EndpointPool, type EndpointSource } from '../endpoint/endpoint-pool.ts'
import { EndpointFailure } from '../endpoint/failures.ts'
import type { ChainHead } from '../endpoint/learnt.ts'
import { headCall, type RpcAnswer, type RpcCall, type RpcOutcome, resultOf } from '../endpoint/rpc.ts'
import type { ReadAnswer, ReadRequest } from '../reads.ts'
import { type BlockHeader, hexOf, type NodeLog, parseBytes, parseHeader, parseLogs } from '../shapes.ts'
import { logAnswerBytesMax } from './logs.ts'
import { aggregated, aggregateInput, readAt } from './read.ts'
import { multicall3Address, ReadMemory } from './read-memory.ts'

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

/** Dependencies of `ContractReader`. */
interface ContractReaderDeps {
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
export class ContractReader {
  readonly #pool: EndpointPool
  readonly #deps: ContractReaderDeps
  readonly #multicall: Hex

  constructor(deps: ContractReaderDeps) {
    const { name, id, time, endpoints } = deps
    this.#deps = deps
    this.#multicall = deps.multicall ?? multicall3Address
    this.#pool = new EndpointPool({ name, id, time }, endpoints)
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
      const headerCalls = [
        { method: 'eth_getCode', params: [address, 'latest'] },
        ...Object.values(slots).map(slot => ({ method: 'eth_getStorageAt', params: [address, slot, 'latest'] })),
        headCall,
      ]
      // Requests of one tick travel together.
      const [first, answers] = await Promise.all([
        endpoint.call(headerCalls, signal),
        this.#together(endpoint, calls, signal),
      ])
      const last = first.at(-1)
      const header = parseHeader(resultOf(last))
      const [code, ...kept] = first.slice(0, -1).map(answer => bytesOf(endpoint, answer))
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
      const [eventLogs, contractLogs] = await Promise.all([
        recentLogs(endpoint, filter, signal),
        recentLogs(endpoint, { ...filter, topics: [] }, signal),
      ])
      const eventCounts = new Map<string, number>()
      for (const { topics } of contractLogs.logs)
        eventCounts.set(nameOf(topics), (eventCounts.get(nameOf(topics)) ?? 0) + 1)
      return {
        blocks: eventLogs.blocks,
        isSeen: eventLogs.logs.length > 0,
        emittedBlocks: contractLogs.blocks,
        emitted: eventCounts,
      }
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
  const [head] = await endpoint.call([headCall], signal)
  const last = parseHeader(resultOf(head))?.number
  if (last === undefined) throw new EndpointFailure(endpoint.host, 'answered no header of its last block', 'refused')
  for (const most of recentBlocks) {
    const blocks = Math.min(most, Number(last) + 1)
    const range = { fromBlock: hexOf(last - BigInt(blocks - 1)), toBlock: hexOf(last) }
    const call = { method: 'eth_getLogs', params: [{ address, topics, ...range }], answerBytesMax: logAnswerBytesMax }
    const [outcome] = await endpoint.callApart([call], signal)
    const logs = parseLogs(resultOf(outcome))
    if (logs) return { blocks, logs }
  }
  throw new EndpointFailure(endpoint.host, 'answers no logs of its last blocks', 'no-logs')
}

/** Answer that must be one, by its error's words. */
function bytesOf(endpoint: Endpoint, answer: RpcAnswer): Hex | undefined {
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
  const output = parseBytes(resultOf(answer))
  const together = output === undefined ? undefined : aggregated(output, calls.length)
  if (together) return together.answers
  const answers = await endpoint.call(calls.map(callOf), signal)
  return answers.map(each => {
    const own = parseBytes(resultOf(each))
    return own === undefined ? { kind: 'reverted', output: '0x' } : { kind: 'returned', output: own }
  })
}

function callOf({ to, input }: Pick<CallRequest, 'to' | 'input'>): RpcCall {
  return { method: 'eth_call', params: [{ to, data: input }, 'latest'] }
}

/** Spans of `eth_getLogs` that are tried, in blocks. */
const logSpans = [1, 100, 1_000, 10_000] as const

/** Blocks from which the time between two blocks is estimated. */
const paceBlocks = 1_000n

/** Blocks behind the head that every node of a provider knows. */
const blocksBehindHead = 16n

/** An address without a contract, so that no answer is large. */
const unused: Hex = '0x000000000000000000000000000000000000dEaD'
/** A topic that no event has. */
const noTopic: Hex = `0x${'f'.repeat(64)}`

/** Dependencies of `checkEndpoint`. */
interface EndpointCheckDeps {
  /** The expected answer to `eth_chainId`. */
  readonly chainId: number
  readonly source: EndpointSource
  /** Address of Multicall3. Default: the usual one. */
  readonly multicall?: Hex | undefined
  readonly time: Time
  /** Longest time for all questions, in milliseconds. */
  readonly timeoutMs: number
}

/** Whether the state of a block of some age is there. */
export interface StateAtAge {
  /** Age of the block in hours, about; `Infinity` for the chain's first block. */
  readonly hoursAgo: number
  /** Absent when it is there. */
  readonly missing?: string
}

/** Services of an endpoint, found by questions that change nothing. */
export interface EndpointCheck {
  readonly head: ChainHead
  /** Youngest first. */
  readonly states: readonly StateAtAge[]
  /** Longest span of `eth_getLogs` that it answered, in blocks; with why the next was refused. */
  readonly logs: { readonly blocks: number; readonly refusal?: string }
  /** Whether Multicall3 is where it is looked for. */
  readonly hasMulticall: boolean
  /** Whether it shows which block it reads. */
  readonly certificate: CertificateCheck
}

/** Whether a read of one of the last blocks was certain to be of that block. */
export interface CertificateCheck {
  /** Words for how its calls see their block, where that differs from its header. */
  readonly context?: string
  /** Reason why no read is certain. */
  readonly refusal?: string
}

/**
 * Asks one endpoint what it serves.
 *
 * @param hoursAgo ages at which its state is looked for
 * @throws EndpointFailure when it does not answer, or serves another chain; a Fault when its address cannot be read
 */
export async function checkEndpoint(deps: EndpointCheckDeps, hoursAgo: readonly number[]): Promise<EndpointCheck> {
  const { chainId, source, multicall = multicall3Address, time, timeoutMs } = deps
  const address = typeof source === 'string' ? { url: source } : 'read' in source ? source.read() : source
  const endpoint = openEndpoint(address, { chainId, time, isOnlyOne: true })
  try {
    const memory = new ReadMemory(chainId, multicall)
    return await new Questions(endpoint, memory, time.timeout(timeoutMs)).all(hoursAgo)
  } finally {
    endpoint.close()
  }
}

class Questions {
  readonly #endpoint: OpenEndpoint
  readonly #memory: ReadMemory
  readonly #signal: AbortSignal

  constructor(endpoint: OpenEndpoint, memory: ReadMemory, signal: AbortSignal) {
    this.#endpoint = endpoint
    this.#memory = memory
    this.#signal = signal
  }

  async all(hoursAgo: readonly number[]): Promise<EndpointCheck> {
    const head = await this.#header('latest')
    const [states, logs, hasMulticall, certificate] = await Promise.all([
      this.#states(head, hoursAgo),
      this.#logs(head),
      this.#hasMulticall(),
      this.#certificate(head),
    ])
    return { head, states, logs, hasMulticall, certificate }
  }

  async #certificate(head: ChainHead): Promise<CertificateCheck> {
    const blocksBack = head.number > blocksBehindHead ? blocksBehindHead : 1n
    const block = await this.#header(hexOf(head.number > 0n ? head.number - blocksBack : 0n))
    const read = { kind: 'balance', address: unused } as const
    const outcome = await readAt(this.#endpoint, block, [read], this.#signal, this.#memory).then(
      ([only]) => only,
      (error: unknown) => error,
    )
    if (outcome instanceof EndpointFailure) return outcome.kind === 'wrong-block' ? { refusal: outcome.reason } : {}
    if (outcome instanceof Error) throw outcome
    const context = this.#memory.aggregates.words ?? this.#memory.singles.words
    return context === undefined ? {} : { context }
  }

  async #header(block: Hex | 'latest'): Promise<BlockHeader> {
    const [answer] = await this.#endpoint.call(
      [{ method: 'eth_getBlockByNumber', params: [block, false] }],
      this.#signal,
    )
    if (answer?.kind === 'error') throw this.#endpoint.failure(answer.error)
    const header = parseHeader(answer?.result)
    if (!header) throw new EndpointFailure(this.#endpoint.host, `answered no header for block ${block}`)
    return header
  }

  async #states(head: ChainHead, hoursAgo: readonly number[]): Promise<StateAtAge[]> {
    const blocksAnHour = await this.#blocksAnHour(head)
    const pastBlocks = hoursAgo.map(hours => {
      const blocksBack = Number.isFinite(hours)
        ? BigInt(Math.round(hours * blocksAnHour)) + blocksBehindHead
        : head.number
      return { hours, number: blocksBack < head.number ? head.number - blocksBack : 1n }
    })
    const calls = pastBlocks.map(({ number }) => ({ method: 'eth_getBalance', params: [unused, hexOf(number)] }))
    const outcomes = await this.#apart(calls)
    return pastBlocks.map(({ hours }, place) => {
      const missing = this.#refusal(outcomes[place])
      return { hoursAgo: hours, ...(missing !== undefined && { missing }) }
    })
  }

  /** As of the last blocks. A chain that is younger than that has no older state. */
  async #blocksAnHour(head: ChainHead): Promise<number> {
    const blocksBack = head.number > paceBlocks ? paceBlocks : head.number
    if (blocksBack === 0n) return 1
    const before = await this.#header(hexOf(head.number - blocksBack))
    const seconds = head.timestampSeconds - before.timestampSeconds
    return seconds > 0 ? (Number(blocksBack) * hourMs) / 1_000 / seconds : 1
  }

  async #logs(head: ChainHead): Promise<EndpointCheck['logs']> {
    const spans = logSpans.filter(blocks => BigInt(blocks) <= head.number + 1n)
    const calls = spans.map(blocks => {
      const fromBlock = hexOf(head.number - BigInt(blocks) + 1n)
      return {
        method: 'eth_getLogs',
        params: [{ fromBlock, toBlock: hexOf(head.number), address: unused, topics: [noTopic] }],
      }
    })
    const outcomes = await this.#apart(calls)
    const refusals = outcomes.map(outcome => this.#refusal(outcome))
    const first = refusals.findIndex(refusal => refusal !== undefined)
    const refusal = refusals[first]
    const answered = first < 0 ? spans : spans.slice(0, first)
    return { blocks: answered.at(-1) ?? 0, ...(refusal !== undefined && { refusal }) }
  }

  async #hasMulticall(): Promise<boolean> {
    const [answer] = await this.#apart([{ method: 'eth_getCode', params: [this.#memory.multicall, 'latest'] }])
    const code = parseBytes(resultOf(answer))
    return code !== undefined && code !== '0x'
  }

  #apart(calls: readonly RpcCall[]): Promise<readonly RpcOutcome[]> {
    return this.#endpoint.callApart(calls, this.#signal)
  }

  /** Why there is no result; `undefined` when there is one. */
  #refusal(outcome: RpcOutcome | undefined): string | undefined {
    if (outcome === undefined) return 'no answer'
    if (outcome instanceof EndpointFailure) return outcome.reason
    if (outcome.kind === 'error') return this.#endpoint.failure(outcome.error).reason
    return outcome.result === null || outcome.result === undefined ? 'no answer' : undefined
  }
}
