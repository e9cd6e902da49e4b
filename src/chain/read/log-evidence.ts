import { keccak_256 } from '@noble/hashes/sha3.js'
import type { AsOfBlock, Hex, LogFilter } from '../../model/block.ts'
import { isRecord } from '../../model/json.ts'
import { receiptsMethod } from '../endpoint/call-sender.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import type { EndpointWatch } from '../endpoint/endpoint-pool.ts'
import { EndpointFailure, noContract, StateMissing } from '../endpoint/failures.ts'
import { filterKey, type LearntOfNode } from '../endpoint/learnt.ts'
import { lacksPart, type RpcCall, type RpcOutcome, resultOf } from '../endpoint/rpc.ts'
import type { RawLog } from '../log-list.ts'
import { headerCall, SharedWork } from '../look-up/look-ups.ts'
import { type BlockHeader, hexOf, type NodeLog, parseHeader, parseLogs } from '../shapes.ts'
import { requireKept } from './certificate.ts'
import type { ReadMemory } from './read-memory.ts'
import { isAnswer, type ReadOutcome, readOneByOne } from './single-reads.ts'

/** A range of blocks whose logs are requested, both ends included. */
export interface LogRange {
  /** First block. */
  readonly from: bigint
  /** Last block, included. */
  readonly to: bigint
  /**
   * Blocks of it that may be requested at once, when a larger part was refused though others passed. Default: the span
   * of the filter.
   */
  readonly blocksMax?: number
}

/** Logs that an endpoint answered for an hour, as far as they are evidence. */
export interface AnsweredLogs {
  /** Blocks with logs: the hash, if the logs have it, and the number of logs. */
  readonly blocks: ReadonlyMap<bigint, { readonly hash: string | undefined; readonly count: number }>
  /** Contracts that emitted them, in small letters. */
  readonly addresses: ReadonlySet<string>
}

/** Logs of an hour that are asked for, and of whom. */
export interface LogsAsked {
  /** Name of the chain in the configuration. */
  readonly chain: string
  readonly endpoint: Endpoint
  readonly memory: LogMemory
  /** Of the chain's reads. */
  readonly reads: ReadMemory
  /** First block. */
  readonly from: bigint
  /** Last block. */
  readonly asOf: AsOfBlock
  readonly filter: LogFilter
  readonly signal: AbortSignal
}

/** Bytes of a block's Bloom filter over the addresses and topics of its logs (Ethereum's yellow paper, 4.4.3). */
const bloomBytes = 256

/**
 * Whether a block may have logs of a filter, by its header's Bloom filter. A few chains leave it empty whatever the
 * block holds; a check is then skipped that would be useful. Pure.
 *
 * @returns false only when it certainly has none; undefined when the header has no such filter, or a full one, as all
 * have on a few chains
 */
export function mayHaveLogs(bloom: unknown, { address, topics }: LogFilter): boolean | undefined {
  if (typeof bloom !== 'string' || !/^0x(?!f*$)[0-9a-f]{512}$/i.test(bloom)) return undefined
  const bits = Buffer.from(bloom.slice(2), 'hex')
  const mayHold = (one: Hex | readonly Hex[] | null) => {
    const list = one === null ? [] : typeof one === 'string' ? [one] : one
    return list.length === 0 || list.some(hex => isIn(bits, hex))
  }
  return mayHold(address) && topics.every(mayHold)
}

/**
 * Chance that a Bloom filter says maybe to a filter although the block has no such log: next to 0 for one with few
 * bits. Pure.
 */
function chanceOfNone(bloom: unknown, { address, topics }: LogFilter): number {
  const bits = Buffer.from(String(bloom).slice(2), 'hex')
  const filled = bits.reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0) / (bloomBytes * 8)
  const counts = [address, ...topics].map(one => (one === null ? 0 : typeof one === 'string' ? 1 : one.length))
  return counts.filter(Boolean).reduce((chance, count) => chance * Math.min(1, count * filled ** 3), 1)
}

/** Whether the filter contains an address or a topic: three bits, each from two bytes of its hash. */
function isIn(bits: Buffer, hex: Hex): boolean {
  const hash = Buffer.from(keccak_256(Buffer.from(hex.slice(2), 'hex')))
  return [0, 2, 4].every(at => {
    const bit = hash.readUInt16BE(at) % (bloomBytes * 8)
    return ((bits[bloomBytes - 1 - Math.floor(bit / 8)] ?? 0) & (1 << (bit % 8))) !== 0
  })
}

/** Facts learnt from reading logs of a chain. They save questions: an answer that is known is not asked for again. */
export class LogMemory {
  /** Nodes that do not serve `eth_getBlockReceipts`. */
  readonly withoutBlockReceipts = new WeakSet<LearntOfNode>()
  readonly #watch: EndpointWatch | undefined
  /** The lowest block at which a contract is known to exist. */
  readonly #existsFrom = new Map<string, bigint>()
  /** The lowest block whose receipts an endpoint is known to have. */
  readonly #receiptsFrom = new WeakMap<LearntOfNode, bigint>()
  readonly #hadLogs = new Map<string, boolean>()
  readonly #remarks = new WeakMap<Endpoint, Set<string>>()
  /** Receipts that are being read, by endpoint and block: logs of several filters are compared with them. */
  readonly #receipts = new WeakMap<Endpoint, Map<Hex, SharedWork<RpcOutcome | undefined>>>()

  constructor(watch?: EndpointWatch) {
    this.#watch = watch
  }

  /** Whether a contract is known to exist at a block: it existed at that one, or at an earlier one. */
  exists(address: Hex, number: bigint): boolean {
    return isFrom(this.#existsFrom.get(address.toLowerCase()), number)
  }

  /** Records that a contract exists at a block. */
  sawContract(address: Hex, number: bigint): void {
    const key = address.toLowerCase()
    if (!this.exists(address, number)) keep(this.#existsFrom, key, number)
  }

  /** Whether an endpoint is known to have the receipts of a block: it had those of that one, or of an earlier one. */
  hasReceipts(endpoint: Endpoint, number: bigint): boolean {
    return isFrom(this.#receiptsFrom.get(endpoint.node), number)
  }

  /** Records that an endpoint has the receipts of a block. */
  sawReceipts(endpoint: Endpoint, number: bigint): void {
    if (!this.hasReceipts(endpoint, number)) this.#receiptsFrom.set(endpoint.node, number)
  }

  /** Whether receipts of a block are being read. */
  isReading(endpoint: Endpoint, hash: Hex): boolean {
    return this.#receipts.get(endpoint)?.has(hash) ?? false
  }

  /** Receipts of a block, asked for once by all that wait for them. */
  async receipts(endpoint: Endpoint, { number, hash }: LogBlock, signal: AbortSignal): Promise<RpcOutcome | undefined> {
    const reading = this.#receipts.get(endpoint) ?? new Map<Hex, SharedWork<RpcOutcome | undefined>>()
    this.#receipts.set(endpoint, reading)
    const before = reading.get(hash)
    if (before?.isUsable) return before.join(signal)
    const work = new SharedWork(async shared => (await endpoint.callApart([receiptsCall(number)], shared))[0])
    reading.set(hash, work)
    try {
      return await work.join(signal)
    } finally {
      if (reading.get(hash) === work) reading.delete(hash)
    }
  }

  /** Whether an hour without logs of a filter is news: the hour read before had some, or none was read yet. */
  isNewlyEmpty(filter: LogFilter): boolean {
    return this.#hadLogs.get(filterKey(filter)) ?? true
  }

  /** Records whether an hour had logs of a filter. */
  sawHour(filter: LogFilter, hasLogs: boolean): void {
    keep(this.#hadLogs, filterKey(filter), hasLogs)
  }

  /** Reports a mistake of an endpoint that does no harm, once. */
  remark(endpoint: Endpoint, text: string): void {
    const said = this.#remarks.get(endpoint) ?? new Set()
    if (said.has(text)) return
    this.#remarks.set(endpoint, said.add(text))
    this.#watch?.remarked(endpoint, text)
  }
}

function isFrom(from: bigint | undefined, number: bigint): boolean {
  return from !== undefined && from <= number
}

/** Contracts and filters whose logs are remembered to be there: more than two of the longest lists. */
const logSourcesRememberedMax = 50_000

function keep<V>(map: Map<string, V>, key: string, value: V): void {
  if (map.size >= logSourcesRememberedMax && !map.has(key)) map.clear()
  map.set(key, value)
}

/** Conditions that an answer to `eth_getLogs` must meet. */
interface LogQuestion {
  readonly range: LogRange
  readonly filter: LogFilter
  /** Hashes of blocks, as far as known. */
  readonly hashes: ReadonlyMap<bigint, Hex>
}

/** Logs of a node that are those asked for. */
interface CheckedLogs {
  /** Oldest first. */
  readonly logs: readonly NodeLog[]
  /** Mistakes that do no harm, in words that follow the node's name. */
  readonly remarks: readonly string[]
}

/** The order of logs, the oldest first; on a few chains the index is that in the transaction. */
export function byPlace(a: RawLog, b: RawLog): number {
  return (
    Number(a.blockNumber - b.blockNumber) ||
    a.logIndex - b.logIndex ||
    (a.transactionHash < b.transactionHash ? -1 : Number(a.transactionHash > b.transactionHash))
  )
}

/**
 * Validates a node's logs. Logs that a reorg has removed, and repetitions, are left out: what is asked for is what the
 * chain has. Pure.
 *
 * @returns the mistake, in words that follow the node's name, when they are not the logs asked for
 */
export function checkedLogs(result: unknown, question: LogQuestion): CheckedLogs | string {
  const allLogs = parseLogs(result)
  if (!allLogs) return 'answered something other than logs'
  const validLogs = allLogs.filter(({ removed }) => !removed)
  const logsByPlace = validLogs.sort(byPlace)
  const fits = fitting(question.filter)
  const logs: NodeLog[] = []
  for (const log of logsByPlace) {
    const previousLog = logs.at(-1)
    if (previousLog && isRepeated(previousLog, log)) continue
    const mistake = mistakeIn(log, question, fits) ?? mistakeBetween(previousLog, log)
    if (mistake) return mistake
    logs.push(log)
  }
  const isSome = { removed: validLogs.length < allLogs.length, repeated: logs.length < validLogs.length }
  const remarks = [
    ...(isSome.removed ? ['answers logs that a reorg has removed: they are left out'] : []),
    ...(isSome.repeated ? ['answers logs twice: they count once'] : []),
  ]
  return { logs, remarks }
}

/** Whether two neighbours are one log, byte for byte. */
function isRepeated(previousLog: NodeLog, log: NodeLog): boolean {
  if (previousLog.logIndex !== log.logIndex || previousLog.blockNumber !== log.blockNumber) return false
  const text = ({ blockNumber, ...fields }: NodeLog) =>
    JSON.stringify(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))).toLowerCase()
  return text(previousLog) === text(log)
}

function mistakeIn(log: NodeLog, { range, hashes }: LogQuestion, fits: (log: RawLog) => boolean): string | undefined {
  const { blockNumber, blockHash } = log
  const { from, to } = range
  if (blockNumber < from || blockNumber > to)
    return `answered a log of block ${blockNumber} when asked for ${from} to ${to}`
  const hash = hashes.get(blockNumber)
  if (hash && blockHash && blockHash.toLowerCase() !== hash.toLowerCase()) {
    return `answered a log of another block ${blockNumber} than the chain’s`
  }
  return fits(log) ? undefined : `answered a log of block ${blockNumber} that was not asked for`
}

/**
 * Mistake in the order of two neighbours. Indices alone do not identify logs: on a few chains each transaction counts
 * from 0.
 */
function mistakeBetween(previousLog: NodeLog | undefined, log: NodeLog): string | undefined {
  if (previousLog?.blockNumber !== log.blockNumber) return undefined
  if (previousLog.blockHash !== log.blockHash) return `answered logs of two blocks ${log.blockNumber}`
  const isSame = previousLog.logIndex === log.logIndex && previousLog.transactionHash === log.transactionHash
  return isSame ? `answered a log of block ${log.blockNumber} twice` : undefined
}

/** A function that tells whether a log matches a filter. */
function fitting({ address, topics }: LogFilter): (log: RawLog) => boolean {
  const addresses = setOf(address)
  const sets = topics.map(topic => (topic === null ? undefined : setOf(topic)))
  return log => {
    if (addresses && !addresses.has(log.address.toLowerCase())) return false
    return sets.every((set, index) => !set || set.has(log.topics[index]?.toLowerCase() ?? ''))
  }
}

/** The accepted values; undefined when all are. */
function setOf(one: Hex | readonly Hex[]): ReadonlySet<string> | undefined {
  const list = typeof one === 'string' ? [one] : one
  return list.length === 0 ? undefined : new Set(list.map(text => text.toLowerCase()))
}

/** A node answered without having all blocks; another one at the same address may have them. */
export class IncompleteLogs extends EndpointFailure {}

/** A node left out logs that its own receipts have. */
export class LeftOutLogs extends IncompleteLogs {}

/** A block by its header, as far as its logs are concerned. */
interface LogBlock extends BlockHeader {
  readonly bloom: unknown
  readonly transactions: readonly unknown[]
}

/** Below this chance a Bloom filter is no coincidence. */
const chanceMin = 1e-9

/** Last blocks of an hour that are checked for logs answered by a node that had not seen them. */
const logTailBlocks = 32

/** Blocks spread over an hour whose headers tell whether logs were left out. */
const logSamples = 8

/** Blocks of an hour whose receipts are asked for, and bytes of those of one block. */
const logReceiptBlocks = 2
const logReceiptBytesMax = 16 * 1_048_576

/** Headers asked for at once where the Bloom filters of all blocks are compared, and blocks whose receipts are asked for then. */
const bloomsAtOnce = 500
const bloomReceiptBlocks = 8

function chunksOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  )
}

/** Transactions of a block whose receipts are asked for where a node has no receipts by block. */
const logReceiptTransactionsMax = 20

/** Hours back in which any log of a contract shows that it exists, where a node has no state of the hour. */
const logHoursBack = 24

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
  async check(logsOfNode: AnsweredLogs, seen: readonly LogBlock[]): Promise<void> {
    const blocks = this.#own(seen, logsOfNode)
    const suspects = blocks.filter(
      ({ number, bloom }) => !logsOfNode.blocks.has(number) && mayHaveLogs(bloom, this.#asked.filter),
    )
    await Promise.all([
      this.#requireContracts(logsOfNode),
      this.#requireLogs(suspects),
      ...this.#chosen(blocks, suspects, logsOfNode).map(block => this.#requireReceipts(block, logsOfNode)),
    ])
  }

  /** Checks one block that another host has more logs of. @param count logs that this endpoint answered of it @throws EndpointFailure when this endpoint lacks them */
  async checkBlock(number: bigint, count = 0): Promise<void> {
    const blocks = new Map(count > 0 ? [[number, { hash: undefined, count }]] : [])
    const answered = { blocks, addresses: new Set<string>() }
    for (const block of await this.#seenBlocks([number])) await this.#requireReceipts(block, answered)
  }

  /**
   * Compares the Bloom filter of each block with the logs answered of it.
   *
   * @param counts number of logs by block @throws EndpointFailure when receipts, or a filter that cannot be chance, have more
   */
  async checkBlooms(counts: ReadonlyMap<bigint, number>): Promise<void> {
    const { from, asOf, filter } = this.#asked
    const all = Array.from({ length: Number(asOf.number - from) + 1 }, (_, index) => from + BigInt(index))
    const suspects: LogBlock[] = []
    for (const numbers of chunksOf(all, bloomsAtOnce)) {
      const blocks = await this.#seenBlocks(numbers)
      suspects.push(...blocks.filter(({ number, bloom }) => !counts.has(number) && mayHaveLogs(bloom, filter)))
    }
    const chances = new Map(suspects.map(block => [block, chanceOfNone(block.bloom, filter)]))
    const likely = suspects.toSorted((a, b) => (chances.get(a) ?? 1) - (chances.get(b) ?? 1))
    const answered = { blocks: new Map(), addresses: new Set<string>() }
    for (const block of likely.slice(0, bloomReceiptBlocks)) await this.#requireReceipts(block, answered)
  }

  /** Logs of a block from its receipts, oldest first; undefined where the node does not have all of them. */
  async receiptsOf(number: bigint): Promise<readonly NodeLog[] | undefined> {
    const { endpoint, filter, memory, signal } = this.#asked
    const [block] = await this.#seenBlocks([number])
    const outcome = block && (await memory.receipts(endpoint, block, signal))
    const logs = block && logsIn(resultOf(outcome), block)
    return Array.isArray(logs) ? logs.filter(fitting(filter)).sort(byPlace) : undefined
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
  #own(blocks: readonly LogBlock[], logsOfNode: AnsweredLogs): LogBlock[] {
    const { from, asOf } = this.#asked
    if (from <= asOf.number && blocks[0]?.hash !== asOf.hash) {
      throw this.#incomplete(`has another block ${asOf.number} than the as-of block`)
    }
    const linkedBlocks: LogBlock[] = []
    for (const [index, block] of blocks.entries()) {
      const child = blocks[index - 1]
      const isLinked = linkedBlocks.at(-1) === child && (child?.parentHash ?? block.hash) === block.hash
      if (isLinked || child?.number !== block.number + 1n) linkedBlocks.push(block)
    }
    const strayBlock = linkedBlocks.find(
      ({ number, hash }) => (logsOfNode.blocks.get(number)?.hash ?? hash).toLowerCase() !== hash.toLowerCase(),
    )
    if (strayBlock) throw this.#incomplete(`answered logs of another block ${strayBlock.number} than the chain’s`)
    return linkedBlocks
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
  #chosen(blocks: readonly LogBlock[], suspects: readonly LogBlock[], logsOfNode: AnsweredLogs): LogBlock[] {
    const { endpoint, filter, from, memory } = this.#asked
    if (suspects.length > 0) {
      const chances = new Map(suspects.map(block => [block, chanceOfNone(block.bloom, filter)]))
      return suspects.toSorted((a, b) => (chances.get(a) ?? 1) - (chances.get(b) ?? 1)).slice(0, logReceiptBlocks)
    }
    if (memory.hasReceipts(endpoint, from)) return []
    const some = { address: [], topics: [] }
    const full = blocks.filter(({ bloom }) => /^0x0*[1-9a-f]/i.test(String(bloom)) && mayHaveLogs(bloom, some))
    const isRead = ({ hash }: LogBlock) => memory.isReading(endpoint, hash)
    const first = full.find(({ number }) => logsOfNode.blocks.has(number)) ?? full.find(isRead) ?? full.at(-1)
    return first ? [first] : []
  }

  /** Compares the logs of a block with its receipts. @throws EndpointFailure */
  async #requireReceipts(block: LogBlock, logsOfNode: AnsweredLogs): Promise<void> {
    const { endpoint, filter, memory } = this.#asked
    const { number, bloom } = block
    const logs = await this.#receiptLogs(block)
    if (logs === 'none') {
      throw new StateMissing(endpoint.host, `has no receipts of block ${number}, so it cannot know its logs`)
    }
    const count = logsOfNode.blocks.get(number)?.count ?? 0
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
    if (!memory.withoutBlockReceipts.has(endpoint.node)) {
      const outcome = await memory.receipts(endpoint, block, signal)
      if (outcome === undefined || outcome instanceof EndpointFailure) return undefined
      if (outcome.kind === 'result') return logsIn(outcome.result, block)
      if (endpoint.failure(outcome.error).kind === 'pruned') return 'none'
      memory.withoutBlockReceipts.add(endpoint.node)
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
    const outcomes = await this.#codeSizes(unknown)
    for (const [index, address] of unknown.entries()) {
      const outcome = outcomes[index]
      if (isAnswer(outcome) && outcome.kind === 'returned' && BigInt(outcome.output) === 0n) {
        await requireKept(endpoint, asOf, signal)
        throw noContract(chain, address)
      }
      if (!isAnswer(outcome) && !(await this.#hasEmitted(address))) throw await this.#codeFailure(address, outcome)
      memory.sawContract(address, asOf.number)
    }
  }

  /**
   * Sizes of the code of contracts, certified as other reads are: a node that answers each block with its latest has code
   * before the deployment.
   */
  async #codeSizes(addresses: readonly Hex[]): Promise<readonly (ReadOutcome | undefined)[]> {
    const { endpoint, asOf, reads, signal } = this.#asked
    const requests = addresses.map(address => ({ kind: 'code-size', address }) as const)
    return readOneByOne({ endpoint, block: asOf, memory: reads, signal }, requests).catch((error: unknown) => {
      // A node without old state may still know what the contracts emitted.
      if (error instanceof EndpointFailure) return addresses.map(() => error)
      throw error
    })
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

  async #codeFailure(address: Hex, outcome: ReadOutcome | undefined): Promise<Error> {
    const { endpoint, asOf, signal } = this.#asked
    const question = `when asked whether there is a contract at ${address}`
    if (!(outcome instanceof EndpointFailure))
      return new EndpointFailure(endpoint.host, `answered nothing ${question}`, 'refused')
    const { reason, kind } = outcome
    const isMissing =
      outcome instanceof StateMissing ||
      (!this.#isRecent &&
        (await lacksPart((calls, until) => endpoint.tryCall(calls, until), 'state', asOf.number, signal)))
    if (isMissing) return new StateMissing(endpoint.host, `${reason}, ${question}`)
    return new EndpointFailure(endpoint.host, `${reason}, ${question}`, kind, outcome.retryAtMs)
  }

  #incomplete(reason: string): IncompleteLogs {
    return new IncompleteLogs(this.#asked.endpoint.host, reason, 'refused')
  }
}

function receiptsCall(number: bigint): RpcCall {
  return { method: receiptsMethod, params: [hexOf(number)], answerBytesMax: logReceiptBytesMax }
}

/** Logs in receipts of a block that has some; `none` when a receipt is missing, undefined when they are of another block. */
function logsIn(receipts: unknown, { hash }: LogBlock): readonly NodeLog[] | 'none' | undefined {
  if (receipts === null || receipts === undefined) return 'none'
  if (!Array.isArray(receipts)) return undefined
  if (receipts.length === 0 || receipts.includes(null)) return 'none'
  const isOwn = receipts.every(receipt => isRecord(receipt) && receipt['blockHash'] === hash)
  return isOwn ? parseLogs(receipts.flatMap(receipt => receipt['logs'])) : undefined
}
