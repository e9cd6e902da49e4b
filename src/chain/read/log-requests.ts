import type { Hex } from '../../model/block.ts'
import { EndpointFailure, TimedOut } from '../endpoint/endpoint-failure.ts'
import type { LogRefusal } from '../endpoint/log-span.ts'
import type { RpcCall, RpcOutcome } from '../endpoint/wire.ts'
import { LogList, packed } from '../log-list.ts'
import { headerCall } from '../look-up/as-of-search.ts'
import { hexOf, parseHeader } from '../shapes.ts'
import { checkedLogs } from './checked-logs.ts'
import { logAnswerBytesMax, logTailBlocks, logTriesMax } from './limits.ts'
import { blocksIn, type LogRange } from './log-ranges.ts'
import { suggestedBlocks } from './log-suggestion.ts'
import { mistakeInTail } from './log-tail.ts'
import type { LogsAsked } from './logs-asked.ts'
import { callAt } from './single-reads.ts'

/** Outcome of requesting the logs of a range. */
export type RangeOutcome =
  | { readonly kind: 'logs'; readonly range: LogRange; readonly logs: LogList }
  | {
      readonly kind: 'refused'
      readonly range: LogRange
      readonly failure: EndpointFailure
      readonly refusal: LogRefusal
    }

/** A node answered without having all blocks; another one at the same address may have them. */
export class IncompleteLogs extends EndpointFailure {}

/**
 * Requests logs of ranges from one endpoint. If it accepts batches, the as-of block's header is read before and after
 * the logs: a node behind a load balancer that has not seen that block leaves logs out silently.
 */
export class LogRequests {
  readonly #asked: LogsAsked
  readonly #hashes: ReadonlyMap<bigint, Hex>
  /** Hash of each recent block, as answered logs have it. */
  readonly #seen = new Map<bigint, string | undefined>()

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

  /**
   * Checks that the block is still the chain's, and that the nodes had seen it.
   * @param from first block of all ranges
   */
  async certify(from: bigint): Promise<void> {
    const { endpoint, asOf, signal } = this.#asked
    if (!endpoint.logs.takesBatches) await callAt(endpoint, asOf, [], signal)
    const mistake = await mistakeInTail(this.#asked, from, this.#seen)
    if (mistake !== undefined) throw new IncompleteLogs(endpoint.host, mistake, 'refused')
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

  #see(number: bigint, hash: string | undefined): void {
    if (this.#asked.asOf.number - number < BigInt(logTailBlocks)) this.#seen.set(number, hash)
  }

  #callOf({ from, to }: LogRange): RpcCall {
    const { address, topics } = this.#asked.filter
    const params = [{ address, topics, fromBlock: hexOf(from), toBlock: hexOf(to) }]
    return { method: 'eth_getLogs', params, ...(from < to && { answerBytesMax: logAnswerBytesMax }) }
  }

  #outcome(range: LogRange, outcome: RpcOutcome | undefined): RangeOutcome {
    const { endpoint, filter } = this.#asked
    if (outcome instanceof EndpointFailure) {
      if (outcome.kind === 'rate' || outcome.kind === 'wrong-id') throw outcome
      return { kind: 'refused', range, failure: outcome, refusal: { isSlow: outcome instanceof TimedOut } }
    }
    if (outcome?.kind === 'error') {
      const { error } = outcome
      const refusal = { suggested: suggestedBlocks(error, range) }
      return { kind: 'refused', range, failure: endpoint.failure(error), refusal }
    }
    const logs = checkedLogs(outcome?.result, { range, filter, hashes: this.#hashes })
    if (typeof logs !== 'string') {
      for (const { blockNumber, blockHash } of logs) this.#see(blockNumber, blockHash)
      return { kind: 'logs', range, logs: new LogList([packed(logs)]) }
    }
    const failure = new EndpointFailure(endpoint.host, logs, 'refused')
    if (outcome?.result !== null || blocksIn(range) === 1) throw failure
    return { kind: 'refused', range, failure, refusal: {} }
  }
}
