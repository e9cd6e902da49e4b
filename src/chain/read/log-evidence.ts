import type { Hex } from '../../model/block.ts'
import { isRecord } from '../../model/json.ts'
import { noContract } from '../endpoint/chain-faults.ts'
import { EndpointFailure, StateMissing } from '../endpoint/endpoint-failure.ts'
import { lacksPart } from '../endpoint/harmless-calls.ts'
import type { RpcCall, RpcOutcome } from '../endpoint/wire.ts'
import { headerCall } from '../look-up/as-of-search.ts'
import { type BlockHeader, hexOf, type NodeLog, parseBytes, parseHeader, parseLogs } from '../shapes.ts'
import { callWithHeader, pinOf, pinParam, requireKept, takesHashes } from './block-pin.ts'
import { fitting } from './checked-logs.ts'
import {
  logHoursBack,
  logReceiptBlocks,
  logReceiptBytesMax,
  logReceiptTransactionsMax,
  logSamples,
  logTailBlocks,
} from './limits.ts'
import { chanceOfNone, mayHaveLogs } from './log-bloom.ts'
import type { AnsweredLogs, LogsAsked } from './log-requests.ts'

/** A node answered without having all blocks; another one at the same address may have them. */
export class IncompleteLogs extends EndpointFailure {}

/** A node left out logs that its own receipts have. */
export class LeftOutLogs extends IncompleteLogs {}

/** A block by its header, as far as its logs are concerned. */
export interface LogBlock extends BlockHeader {
  readonly bloom: unknown
  readonly transactions: readonly unknown[]
}

/** Below this chance a Bloom filter is no coincidence. */
const chanceMin = 1e-9

/**
 * Evidence that the logs of an hour are complete, and of the chain's own branch. Logs do not prove that: a node that
 * lags, is on another branch or has no receipts answers fewer, or none, without a word. So headers of the last blocks
 * and of some in between are compared with them. Where a header's Bloom filter says maybe and there are no logs, the
 * receipts decide. A contract without logs must exist.
 */
export class LogEvidence {
  readonly #asked: LogsAsked

  constructor(asked: LogsAsked) {
    this.#asked = asked
  }

  /** Reads the blocks to compare with, newest first; they can travel with the logs. @throws EndpointFailure */
  blocks(): Promise<readonly LogBlock[]> {
    return this.#seenBlocks(this.#numbers())
  }

  /** @throws EndpointFailure when logs are missing or of another branch; Fault for an address without a contract */
  async check(answered: AnsweredLogs, seen: readonly LogBlock[]): Promise<void> {
    const blocks = this.#own(seen, answered)
    const suspects = blocks.filter(
      ({ number, bloom }) => !answered.blocks.has(number) && mayHaveLogs(bloom, this.#asked.filter),
    )
    await Promise.all([
      this.#requireContracts(answered),
      this.#requireLogs(suspects),
      ...this.#chosen(blocks, suspects, answered).map(block => this.#requireReceipts(block, answered)),
    ])
  }

  /** Checks one block that another host has logs of. @throws EndpointFailure when this endpoint lacks them */
  async checkBlock(number: bigint): Promise<void> {
    const answered = { blocks: new Map(), addresses: new Set<string>() }
    for (const block of await this.#seenBlocks([number])) await this.#requireReceipts(block, answered)
  }

  /** The last blocks of an hour near the head: a node hardly lags further. And some spread over the hour. */
  #numbers(): bigint[] {
    const { from, asOf } = this.#asked
    const count = Number(asOf.number - from) + 1
    if (count <= 0) return []
    const tail = Array.from({ length: this.#isRecent ? Math.min(logTailBlocks, count) : 1 }, (_, index) => index)
    const spread = Array.from({ length: logSamples }, (_, index) => Math.floor((index * count) / logSamples))
    const back = [...new Set([...tail, ...spread])].sort((a, b) => a - b)
    return back.map(index => asOf.number - BigInt(index))
  }

  get #isRecent(): boolean {
    const { endpoint, asOf } = this.#asked
    return endpoint.head !== undefined && endpoint.head.number - asOf.number < BigInt(logTailBlocks)
  }

  async #seenBlocks(numbers: readonly bigint[]): Promise<LogBlock[]> {
    if (numbers.length === 0) return []
    const { endpoint, signal } = this.#asked
    const outcomes = await endpoint.tryCall(numbers.map(headerCall), signal)
    const [last] = outcomes
    if (last instanceof EndpointFailure) throw last
    return outcomes.flatMap(outcome => {
      const result = resultOf(outcome)
      const header = parseHeader(result)
      if (!header || !isRecord(result)) return []
      const { logsBloom: bloom, transactions } = result
      return [{ ...header, bloom, transactions: Array.isArray(transactions) ? transactions : [] }]
    })
  }

  /** Blocks of the chain's own branch, as far as their headers show it, newest first. */
  #own(blocks: readonly LogBlock[], answered: AnsweredLogs): LogBlock[] {
    const { from, asOf } = this.#asked
    if (from <= asOf.number && blocks[0]?.hash !== asOf.hash) {
      throw this.#incomplete(`has another block ${asOf.number} than the as-of block`)
    }
    const own: LogBlock[] = []
    for (const [index, block] of blocks.entries()) {
      const child = blocks[index - 1]
      const isLinked = own.at(-1) === child && (child?.parentHash ?? block.hash) === block.hash
      if (isLinked || child?.number !== block.number + 1n) own.push(block)
    }
    const other = own.find(
      ({ number, hash }) => (answered.blocks.get(number)?.hash ?? hash).toLowerCase() !== hash.toLowerCase(),
    )
    if (other) throw this.#incomplete(`answered logs of another block ${other.number} than the chain’s`)
    return own
  }

  /** Asks for the logs of the last blocks that may have some, each by its hash. */
  async #requireLogs(suspects: readonly LogBlock[]): Promise<void> {
    const { endpoint, asOf, filter, signal } = this.#asked
    const last = suspects.filter(({ number }) => asOf.number - number < BigInt(logTailBlocks))
    if (last.length === 0 || !this.#isRecent) return
    const { address, topics } = filter
    const calls = last.map(({ hash }) => ({ method: 'eth_getLogs', params: [{ address, topics, blockHash: hash }] }))
    const outcomes = await endpoint.callApart(calls, signal)
    const missed = last.find((_, index) => (parseLogs(resultOf(outcomes[index])) ?? []).length > 0)
    if (missed) throw new IncompleteLogs(endpoint.host, `left out the logs of block ${missed.number}`, 'no-logs')
  }

  /**
   * Blocks whose receipts are asked for: those without logs whose Bloom filter is least likely to say maybe by chance.
   * Where there is none, one that shows whether the node has receipts of that time at all, and whether it answers more
   * than the first logs.
   */
  #chosen(blocks: readonly LogBlock[], suspects: readonly LogBlock[], answered: AnsweredLogs): LogBlock[] {
    const { endpoint, filter, from, memory } = this.#asked
    if (suspects.length > 0) {
      const chances = new Map(suspects.map(block => [block, chanceOfNone(block.bloom, filter)]))
      return suspects.toSorted((a, b) => (chances.get(a) ?? 1) - (chances.get(b) ?? 1)).slice(0, logReceiptBlocks)
    }
    if (memory.hasReceipts(endpoint, from)) return []
    const some = { address: [], topics: [] }
    const full = blocks.filter(({ bloom }) => /^0x0*[1-9a-f]/i.test(String(bloom)) && mayHaveLogs(bloom, some))
    const first = full.find(({ number }) => answered.blocks.has(number)) ?? full.at(-1)
    return first ? [first] : []
  }

  /** Compares the logs of a block with its receipts. @throws EndpointFailure */
  async #requireReceipts(block: LogBlock, answered: AnsweredLogs): Promise<void> {
    const { endpoint, filter, memory } = this.#asked
    const { number, bloom } = block
    const logs = await this.#receiptLogs(block)
    if (logs === 'none') {
      throw new StateMissing(endpoint.host, `has no receipts of block ${number}, so it cannot know its logs`)
    }
    const count = answered.blocks.get(number)?.count ?? 0
    if (logs === undefined) {
      const isChance = count > 0 || !mayHaveLogs(bloom, filter) || chanceOfNone(bloom, filter) > chanceMin
      if (isChance) return
      const reason = `answered no logs of block ${number}, whose header says that it has some`
      throw new IncompleteLogs(endpoint.host, reason, 'no-logs')
    }
    const fitted = logs.filter(fitting(filter)).length
    if (fitted > count) {
      const reason = `left out logs of block ${number}: its receipts have ${fitted}, and ${count} were answered`
      throw new LeftOutLogs(endpoint.host, reason, 'no-logs')
    }
    memory.sawReceipts(endpoint, number)
  }

  /**
   * Logs of a block by its receipts, `none` when the node has none. By transaction where it has no receipts by block:
   * those of the first ones, so that the cost is bounded.
   *
   * @returns undefined when it does not say
   */
  async #receiptLogs(block: LogBlock): Promise<readonly NodeLog[] | 'none' | undefined> {
    const { endpoint, memory, signal } = this.#asked
    if (!memory.withoutBlockReceipts.has(endpoint)) {
      const [outcome] = await endpoint.callApart([receiptsCall(block.number)], signal)
      if (outcome === undefined || outcome instanceof EndpointFailure) return undefined
      if (outcome.kind === 'result') return logsIn(outcome.result, block)
      if (endpoint.failure(outcome.error).kind === 'pruned') return 'none'
      memory.withoutBlockReceipts.add(endpoint)
    }
    const hashes = block.transactions.slice(0, logReceiptTransactionsMax)
    if (hashes.length === 0) return undefined
    const calls = hashes.map(hash => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
    const receipts = (await endpoint.tryCall(calls, signal)).map(resultOf)
    return receipts.includes(undefined) ? undefined : logsIn(receipts, block)
  }

  /** @throws Fault for a contract without logs that does not exist at the as-of block */
  async #requireContracts({ addresses }: AnsweredLogs): Promise<void> {
    const { chain, endpoint, asOf, filter, memory, signal } = this.#asked
    for (const address of addresses) memory.sawContract(address as Hex, asOf.number)
    const all = typeof filter.address === 'string' ? [filter.address] : filter.address
    const unknown = all.filter(address => !memory.exists(address, asOf.number))
    if (unknown.length === 0) return
    // A node without old state does not say whether it takes hashes; it may still know what the contract emitted.
    await takesHashes(endpoint, asOf, signal).catch(() => undefined)
    const at = pinParam(asOf, pinOf(endpoint))
    const calls = unknown.map(address => ({ method: 'eth_getCode', params: [address, at] }))
    const { outcomes } = await callWithHeader(endpoint, asOf, calls, signal)
    for (const [index, address] of unknown.entries()) {
      const outcome = outcomes[index]
      const code = parseBytes(resultOf(outcome))
      if (code === '0x') {
        await requireKept(endpoint, asOf, signal)
        throw noContract(chain, address)
      }
      if (code === undefined && !(await this.#hasEmitted(address))) throw await this.#codeFailure(address, outcome)
      memory.sawContract(address, asOf.number)
    }
  }

  /** Whether a contract has emitted anything within a day, as a node without old state still knows. */
  async #hasEmitted(address: Hex): Promise<boolean> {
    const { endpoint, from, asOf, signal } = this.#asked
    const first = asOf.number - (asOf.number - from + 1n) * BigInt(logHoursBack)
    const calls = [from, first > 0n ? first : 0n].map(start => ({
      method: 'eth_getLogs',
      params: [{ address, topics: [], fromBlock: hexOf(start), toBlock: hexOf(asOf.number) }],
    }))
    const outcomes = await endpoint.callApart(calls, signal)
    return outcomes.some(outcome => (parseLogs(resultOf(outcome)) ?? []).length > 0)
  }

  async #codeFailure(address: Hex, outcome: RpcOutcome | undefined): Promise<EndpointFailure> {
    const { endpoint, asOf, signal } = this.#asked
    if (outcome instanceof EndpointFailure) return outcome
    const asked = `when asked whether there is a contract at ${address}`
    if (outcome?.kind !== 'error') return new EndpointFailure(endpoint.host, `answered nothing ${asked}`, 'refused')
    const { reason, kind } = endpoint.failure(outcome.error)
    const isMissing =
      !this.#isRecent &&
      (await lacksPart((calls, until) => endpoint.tryCall(calls, until), 'state', asOf.number, signal))
    if (isMissing) return new StateMissing(endpoint.host, `${reason}, ${asked}`)
    return new EndpointFailure(endpoint.host, `${reason}, ${asked}`, kind)
  }

  #incomplete(reason: string): IncompleteLogs {
    return new IncompleteLogs(this.#asked.endpoint.host, reason, 'refused')
  }
}

function receiptsCall(number: bigint): RpcCall {
  return { method: 'eth_getBlockReceipts', params: [hexOf(number)], answerBytesMax: logReceiptBytesMax }
}

/** Logs in receipts of a block that has some; `none` when a receipt is missing, undefined when they are of another block. */
function logsIn(receipts: unknown, { hash }: LogBlock): readonly NodeLog[] | 'none' | undefined {
  if (receipts === null || receipts === undefined) return 'none'
  if (!Array.isArray(receipts)) return undefined
  if (receipts.length === 0 || receipts.includes(null)) return 'none'
  const isOwn = receipts.every(receipt => isRecord(receipt) && receipt['blockHash'] === hash)
  return isOwn ? parseLogs(receipts.flatMap(receipt => receipt['logs'])) : undefined
}

function resultOf(outcome: RpcOutcome | undefined): unknown {
  if (outcome === undefined || outcome instanceof EndpointFailure || outcome.kind === 'error') return undefined
  return outcome.result
}
