import type { AsOfBlock, Hex, LogFilter } from '../../model/block.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure, StateMissing, TimedOut } from '../endpoint/endpoint-failure.ts'
import type { LogRefusal } from '../endpoint/log-span.ts'
import type { RpcCall, RpcOutcome } from '../endpoint/wire.ts'
import { LogList, packed } from '../log-list.ts'
import { headerCall } from '../look-up/as-of-search.ts'
import { hexOf, type NodeLog, parseHeader } from '../shapes.ts'
import { checkedLogs } from './checked-logs.ts'
import { logAnswerBytesMax, logTriesMax } from './limits.ts'
import type { LogMemory } from './log-memory.ts'
import { blocksIn, type LogRange } from './log-ranges.ts'
import { suggestedBlocks } from './log-suggestion.ts'
import { callAt } from './single-reads.ts'

/** Logs that an endpoint answered for an hour, as far as they are evidence. */
export interface AnsweredLogs {
  /** Of each block with logs: its hash, if the logs have it, and their number. */
  readonly blocks: ReadonlyMap<bigint, { readonly hash: string | undefined; readonly count: number }>
  /** Contracts that emitted them, in small letters. */
  readonly addresses: ReadonlySet<string>
}

/** Outcome of requesting the logs of a range. */
export type RangeOutcome =
  | { readonly kind: 'logs'; readonly range: LogRange; readonly logs: LogList }
  | {
      readonly kind: 'refused'
      readonly range: LogRange
      readonly failure: EndpointFailure
      readonly refusal: LogRefusal
    }

/** Logs of an hour that are asked for, and of whom. */
export interface LogsAsked {
  /** Name of the chain in the configuration. */
  readonly chain: string
  readonly endpoint: Endpoint
  readonly memory: LogMemory
  /** First block. */
  readonly from: bigint
  /** Last block. */
  readonly asOf: AsOfBlock
  readonly filter: LogFilter
  readonly signal: AbortSignal
}

/**
 * Requests logs of ranges from one endpoint. If it accepts batches, the as-of block's header is read before and after
 * the logs: a node behind a load balancer that has not seen that block leaves logs out silently.
 */
export class LogRequests {
  readonly #asked: LogsAsked
  readonly #hashes: ReadonlyMap<bigint, Hex>
  readonly #blocks = new Map<bigint, { readonly hash: string | undefined; count: number }>()
  readonly #addresses = new Set<string>()

  constructor(asked: LogsAsked) {
    this.#asked = asked
    this.#hashes = new Map([[asked.asOf.number, asked.asOf.hash]])
  }

  get signal(): AbortSignal {
    return this.#asked.signal
  }

  /** Requests ranges in one request. Throws failures that are not about the ranges. */
  async ask(ranges: readonly LogRange[]): Promise<readonly RangeOutcome[]> {
    const { endpoint } = this.#asked
    if (!endpoint.logs.takesBatches) return this.#askBare(ranges)
    for (let tries = 1; ; tries += 1) {
      const [before, after, ...outcomes] = await this.#between(ranges)
      const failure = [before, after].find(one => one instanceof EndpointFailure)
      if (failure) return this.#askOtherwise(ranges, failure)
      const mistake = [before, after].map(header => this.#mistakeIn(header)).find(one => one !== undefined)
      if (!mistake) return ranges.map((range, index) => this.#outcome(range, outcomes[index]))
      // The next request may reach a node that has the block.
      if (tries >= logTriesMax) throw mistake
    }
  }

  /** Logs answered so far. */
  get answered(): AnsweredLogs {
    return { blocks: this.#blocks, addresses: this.#addresses }
  }

  /** Outcomes of the header before, the ranges, and the header after. */
  async #between(ranges: readonly LogRange[]): Promise<readonly RpcOutcome[]> {
    const { endpoint, asOf, signal } = this.#asked
    const header = headerCall(asOf.number)
    const outcomes = await endpoint.callApart([header, ...ranges.map(range => this.#callOf(range)), header], signal)
    const [before] = outcomes
    const after = outcomes.at(-1)
    return before && after ? [before, after, ...outcomes.slice(1, -1)] : outcomes
  }

  #mistakeIn(header: RpcOutcome | undefined): EndpointFailure | undefined {
    const { endpoint, asOf } = this.#asked
    if (header instanceof EndpointFailure) return header
    if (header?.kind === 'error') return endpoint.failure(header.error)
    if (parseHeader(header?.result)?.hash === asOf.hash) return undefined
    return new EndpointFailure(endpoint.host, `has another block ${asOf.number} than the as-of block`, 'refused')
  }

  /**
   * Handles a request that failed as a whole: the node is dead if it answers nothing else; otherwise the ranges, or
   * batching them, failed.
   */
  async #askOtherwise(ranges: readonly LogRange[], failure: EndpointFailure): Promise<readonly RangeOutcome[]> {
    const { endpoint, asOf, signal } = this.#asked
    if (failure.kind === 'rate' || failure.kind === 'wrong-id') throw failure
    await callAt(endpoint, asOf, [], signal)
    const [only] = ranges
    if (only && ranges.length === 1 && failure instanceof TimedOut) return [this.#outcome(only, failure)]
    const outcomes = await this.#askBare(ranges)
    if (ranges.length === 1 && outcomes.every(({ kind }) => kind === 'logs')) endpoint.logs.takesBatches = false
    return outcomes
  }

  /** Requests each range in a request of its own. */
  async #askBare(ranges: readonly LogRange[]): Promise<readonly RangeOutcome[]> {
    const { endpoint, asOf, signal } = this.#asked
    const outcomes: RangeOutcome[] = []
    for (const range of ranges) {
      const [outcome] = await endpoint.callApart([this.#callOf(range)], signal)
      // A node that answers nothing else is not asked for smaller and smaller ranges.
      if (outcome instanceof EndpointFailure && outcome.kind === 'unreachable') await callAt(endpoint, asOf, [], signal)
      outcomes.push(this.#outcome(range, outcome))
    }
    return outcomes
  }

  #see({ address, blockNumber, blockHash }: NodeLog): void {
    this.#addresses.add(address.toLowerCase())
    const block = this.#blocks.get(blockNumber)
    if (block) block.count += 1
    else this.#blocks.set(blockNumber, { hash: blockHash, count: 1 })
  }

  #callOf({ from, to }: LogRange): RpcCall {
    const { address, topics } = this.#asked.filter
    const params = [{ address, topics, fromBlock: hexOf(from), toBlock: hexOf(to) }]
    return { method: 'eth_getLogs', params, ...(from < to && { answerBytesMax: logAnswerBytesMax }) }
  }

  #outcome(range: LogRange, outcome: RpcOutcome | undefined): RangeOutcome {
    const { endpoint, filter, memory } = this.#asked
    if (outcome instanceof EndpointFailure) {
      if (outcome.kind === 'rate' || outcome.kind === 'wrong-id' || outcome instanceof StateMissing) throw outcome
      return { kind: 'refused', range, failure: outcome, refusal: { isSlow: outcome instanceof TimedOut } }
    }
    if (outcome?.kind === 'error') {
      const { error } = outcome
      const refusal = { suggested: suggestedBlocks(error, range) }
      return { kind: 'refused', range, failure: endpoint.failure(error), refusal }
    }
    const checked = checkedLogs(outcome?.result, { range, filter, hashes: this.#hashes })
    if (typeof checked !== 'string') {
      for (const log of checked.logs) this.#see(log)
      for (const remark of checked.remarks) memory.remark(endpoint, remark)
      return { kind: 'logs', range, logs: new LogList([packed(checked.logs)]) }
    }
    const failure = new EndpointFailure(endpoint.host, checked, 'refused')
    if (outcome?.result !== null || blocksIn(range) === 1) throw failure
    return { kind: 'refused', range, failure, refusal: {} }
  }
}
