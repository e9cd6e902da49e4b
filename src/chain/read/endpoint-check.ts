import type { Time } from '../../edge/time.ts'
import type { Hex } from '../../model/block.ts'
import { hourMs } from '../../model/limits.ts'
import { type OpenEndpoint, openEndpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import type { EndpointSource } from '../endpoint/endpoint-pool.ts'
import type { ChainHead } from '../endpoint/observed-blocks.ts'
import type { RpcCall, RpcOutcome } from '../endpoint/wire.ts'
import { type BlockHeader, hexOf, parseBytes, parseHeader } from '../shapes.ts'
import { readAt } from './aggregate-reads.ts'
import { multicall3Address } from './multicall.ts'
import { ReadMemory } from './read-memory.ts'

/** Spans of `eth_getLogs` that are tried, in blocks. */
const logSpans = [1, 100, 1_000, 10_000] as const

/** Blocks from which the time between two blocks is estimated. */
const paceBlocks = 1_000n

/** Blocks behind the head that every node of a provider knows. */
const recentBlocks = 16n

/** An address without a contract, so that no answer is large. */
const unused: Hex = '0x000000000000000000000000000000000000dEaD'
/** A topic that no event has. */
const noTopic: Hex = `0x${'f'.repeat(64)}`

/** Dependencies of `checkEndpoint`. */
export interface EndpointCheckDeps {
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
    const back = head.number > recentBlocks ? recentBlocks : 1n
    const block = await this.#header(hexOf(head.number > 0n ? head.number - back : 0n))
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
    const numbered = hoursAgo.map(hours => {
      const back = Number.isFinite(hours) ? BigInt(Math.round(hours * blocksAnHour)) + recentBlocks : head.number
      return { hours, number: back < head.number ? head.number - back : 1n }
    })
    const calls = numbered.map(({ number }) => ({ method: 'eth_getBalance', params: [unused, hexOf(number)] }))
    const outcomes = await this.#apart(calls)
    return numbered.map(({ hours }, place) => {
      const missing = this.#refusal(outcomes[place])
      return { hoursAgo: hours, ...(missing !== undefined && { missing }) }
    })
  }

  /** As of the last blocks. A chain that is younger than that has no older state. */
  async #blocksAnHour(head: ChainHead): Promise<number> {
    const back = head.number > paceBlocks ? paceBlocks : head.number
    if (back === 0n) return 1
    const before = await this.#header(hexOf(head.number - back))
    const seconds = head.timestampSeconds - before.timestampSeconds
    return seconds > 0 ? (Number(back) * hourMs) / 1_000 / seconds : 1
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
    const code = answer && 'kind' in answer && answer.kind === 'result' ? parseBytes(answer.result) : undefined
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
