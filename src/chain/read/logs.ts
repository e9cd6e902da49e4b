import type { Hex, LogFilter } from '../../model/block.ts'
import { isRecord } from '../../model/json.ts'
import { type PeerText, peerText } from '../../model/text.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import type { EndpointPool, Served } from '../endpoint/endpoint-pool.ts'
import { EndpointFailure, logsDisputed, NoLogs, StateMissing, TimedOut } from '../endpoint/failures.ts'
import { type LogRefusal, type LogSpan, logRequestsAtOnceMax, nextBlocks } from '../endpoint/learnt.ts'
import { isMethodRefused, isPassing, partCall, type RpcCall, type RpcError, type RpcOutcome } from '../endpoint/rpc.ts'
import { LogList, packed } from '../log-list.ts'
import { blockMissing, headerCall } from '../look-up/look-ups.ts'
import { hexOf, type NodeLog, parseHeader } from '../shapes.ts'
import {
  type AnsweredLogs,
  byPlace,
  checkedLogs,
  IncompleteLogs,
  LeftOutLogs,
  LogEvidence,
  type LogRange,
  type LogsAsked,
} from './log-evidence.ts'
import { callAt } from './single-reads.ts'

/**
 * Limit of one answer with logs of several blocks, in bytes: a longer one is asked for in parts, so that little is in
 * memory at a time.
 */
export const logAnswerBytesMax = 4 * 1_048_576

/** Number of blocks in a range. */
function blocksIn({ from, to }: LogRange): number {
  return Number(to - from) + 1
}

/** Cuts ranges into ranges of at most that many blocks. Pure. */
function cut(ranges: readonly LogRange[], blocksMax: number): LogRange[] {
  return ranges.flatMap(range => {
    const blocksPerPart = Math.min(blocksMax, range.blocksMax ?? blocksMax, blocksIn(range))
    return Array.from({ length: Math.ceil(blocksIn(range) / blocksPerPart) }, (_, index) => {
      const from = range.from + BigInt(index * blocksPerPart)
      const last = from + BigInt(blocksPerPart - 1)
      return { ...range, from, to: last < range.to ? last : range.to }
    })
  })
}

/** The first, middle and last range: they show whether the size passes, even if one of them has too many logs. */
function samplesOf(ranges: readonly LogRange[]): LogRange[] {
  const places = new Set([0, Math.floor(ranges.length / 2), ranges.length - 1])
  return ranges.filter((_, index) => places.has(index))
}

/**
 * Number of blocks that would pass, from the text of a refusal: a suggested range that starts like the requested one,
 * else the largest number below its length that is named as a limit. Only a hint, to be tried. Pure.
 *
 * @returns undefined when it names none
 */
function suggestedBlocks(error: RpcError, range: LogRange): number | undefined {
  const texts = [error.message, textOf(error.data)]
  const ranges = [...texts.flatMap(rangesIn), ...rangeIn(error.data)]
  const named = ranges.find(([from, to]) => from === range.from && to >= from && to < range.to)
  if (named) return blocksIn({ from: named[0], to: named[1] })
  const numbers = texts.flatMap(limitsIn).filter(blocks => blocks >= 1 && blocks < blocksIn(range))
  return numbers.length > 0 ? Math.max(...numbers) : undefined
}

type Ends = readonly [from: bigint, to: bigint]

const bracketed = /\[\s*"?\b(0x[0-9a-f]+|\d+)"?\s*,\s*"?\b(0x[0-9a-f]+|\d+)"?\s*\]/gi
const dashed = /\b(0x[0-9a-f]+|\d+)\s*(?:-|\.\.|to)\s*(0x[0-9a-f]+|\d+)/gi

/** Digits of a number of a block, at most. */
const numberCharsMax = 18

function rangesIn(text: PeerText): Ends[] {
  return [...text.matchAll(bracketed), ...text.matchAll(dashed)].flatMap(([, from = '', to = '']): Ends[] =>
    Math.max(from.length, to.length) > numberCharsMax ? [] : [[BigInt(from), BigInt(to)]],
  )
}

/** A range in the error's data, as Infura and others send it. */
function rangeIn(data: unknown): Ends[] {
  if (!isRecord(data)) return []
  const [from, to] = [data['from'], data['to']].map(String)
  const isNumber = (end: string | undefined) => end !== undefined && /^(0x[0-9a-f]{1,16}|\d{1,18})$/i.test(end)
  return isNumber(from) && isNumber(to) ? [[BigInt(from ?? 0), BigInt(to ?? 0)]] : []
}

const limited =
  /(?:limit|max|up to|exceed|than|over|at most|within|distance|allow|only|between)[^\d[]{0,40}?(?:0\s?-\s?)?(\d[\d,_]{0,20})\s?(k\b)?/gi
const ofResults = /^\s*(?:logs|results|bytes|[km]?b\b)/i
const ofBlocks = /(\d[\d,_]{0,20})\s?(k\b)?[ -]?(?:blocks?|ranges?)\b/gi

/** Numbers named as a limit, but not of results. */
function limitsIn(text: PeerText): number[] {
  const named = [...text.matchAll(limited)].filter(match => !ofResults.test(text.slice(match.index + match[0].length)))
  return [...named, ...text.matchAll(ofBlocks)].map(
    ([, digits = '', k]) => Number(digits.replaceAll(/[,_]/g, '')) * (k === undefined ? 1 : 1_000),
  )
}

function textOf(data: unknown): PeerText {
  return peerText(typeof data === 'string' ? data : JSON.stringify(data ?? ''))
}

/** Outcome of requesting the logs of a range. */
type RangeOutcome =
  | { readonly kind: 'logs'; readonly range: LogRange; readonly logs: LogList }
  | {
      readonly kind: 'refused'
      readonly range: LogRange
      readonly failure: EndpointFailure
      readonly refusal: LogRefusal
    }

/** Attempts for the same logs while the node answers from before the as-of block, or from another branch. */
const logTriesMax = 3

/**
 * Requests logs of ranges from one endpoint. If it accepts batches, the as-of block's header is read before and after
 * the logs: a node behind a load balancer that has not seen that block leaves logs out silently.
 */
class LogRequests {
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
    const { endpoint, signal } = this.#asked
    if (endpoint.node.servesLogs === false) await requireLogs(endpoint, signal)
    if (endpoint.node.takesLogBatches === false) return this.#askBare(ranges)
    for (let tries = 1; ; tries += 1) {
      const [headerBefore, headerAfter, ...outcomes] = await this.#between(ranges)
      const failure = [headerBefore, headerAfter].find(one => one instanceof EndpointFailure)
      if (failure) return this.#askOtherwise(ranges, failure)
      const mistake = [headerBefore, headerAfter].map(header => this.#mistakeIn(header)).find(one => one !== undefined)
      if (!mistake) return ranges.map((range, index) => this.#outcome(range, outcomes[index]))
      // The next request may reach a node that has the block.
      if (tries >= logTriesMax) throw mistake
    }
  }

  /** Logs of one block from its receipts: some nodes refuse more logs than fit, even of one block. Undefined without them. */
  async fromReceipts(range: LogRange): Promise<RangeOutcome | undefined> {
    const logs = await new LogEvidence(this.#asked).receiptsOf(range.from)
    if (!logs) return undefined
    for (const log of logs) this.#see(log)
    return { kind: 'logs', range, logs: new LogList([packed(logs)]) }
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
    if (header?.result === null) return blockMissing(endpoint, asOf.number)
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
    if (ranges.length === 1 && outcomes.every(({ kind }) => kind === 'logs')) endpoint.node.takesLogBatches = false
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
      const refusal = { blocksSuggested: suggestedBlocks(error, range) }
      return { kind: 'refused', range, failure: endpoint.failure(error), refusal }
    }
    const result = checkedLogs(outcome?.result, { range, filter, hashes: this.#hashes })
    if (typeof result !== 'string') {
      for (const log of result.logs) this.#see(log)
      for (const remark of result.remarks) memory.remark(endpoint, remark)
      return { kind: 'logs', range, logs: new LogList([packed(result.logs)]) }
    }
    const failure = new EndpointFailure(endpoint.host, result, 'refused')
    if (outcome?.result !== null || blocksIn(range) === 1) throw failure
    return { kind: 'refused', range, failure, refusal: {} }
  }
}

/**
 * Reads the logs of an hour, oldest first, and checks that they are complete. A refused range is split, down to single
 * blocks; the span that passes is remembered. Ranges of a known size are requested concurrently.
 *
 * @throws EndpointFailure; Fault for an address without a contract
 */
async function readLogs(request: LogsAsked): Promise<LogList> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await readOnce(request)
    } catch (error) {
      if (!(error instanceof IncompleteLogs) || tries >= logTriesMax) throw error
    }
  }
}

/**
 * Checks that a node serves logs at all, by those of its last block. One that does not have the method is asked for them
 * once an hour, one that fails at them in each attempt.
 *
 * @throws NoLogs
 */
async function requireLogs(endpoint: Endpoint, signal: AbortSignal): Promise<void> {
  const { host, node, logs } = endpoint
  if (node.servesLogs === false && logs.refusal) throw logs.refusal
  const [outcome] = await endpoint.tryCall([partCall('logs', 'latest')], signal)
  if (!outcome || isPassing(outcome)) return
  const isFailure = outcome instanceof EndpointFailure
  const failure = isFailure ? outcome : outcome.kind === 'error' && endpoint.failure(outcome.error)
  node.servesLogs = !failure
  if (!failure) return
  const refusal = new NoLogs(host, failure.reason)
  if ('error' in outcome && isMethodRefused(outcome.error)) logs.refused(refusal)
  throw refusal
}

async function readOnce(request: LogsAsked): Promise<LogList> {
  const { endpoint, from, asOf, filter, signal } = request
  const failure = new AbortController()
  const stoppable = { ...request, signal: AbortSignal.any([signal, failure.signal]) }
  if (endpoint.node.servesLogs === false) await requireLogs(endpoint, signal)
  const evidence = new LogEvidence(stoppable)
  const blocks = evidence.blocks()
  blocks.catch(() => {})
  const requests = new LogRequests(stoppable)
  try {
    const isAny = from <= asOf.number
    const range = { from, to: asOf.number }
    const list = isAny
      ? await new HourLogs(endpoint, requests, endpoint.logs.of(filter), range).read()
      : new LogList([])
    // Asked for once more, as the logs may have kept the node busy.
    await evidence.check(requests.answered, await blocks.catch(() => evidence.blocks()))
    return list
  } catch (error) {
    // The other requests are useless now.
    failure.abort(error)
    throw error
  }
}

/** Selects the logs of a chain to read. */
interface LogsWanted extends Omit<LogsAsked, 'endpoint'> {
  readonly pool: EndpointPool
  /** Number of hours whose logs are remembered. Absent where they are of one hour, and count for that alone. */
  readonly hours?: number | undefined
}

/** Most addresses of one filter: geth, Erigon and others refuse more. */
const logAddressesMax = 1_000

/** Logs in one piece of a list that is put together. */
const logsPerPiece = 5_000

/**
 * Reads the logs of an hour, oldest first, on any endpoint that can; of more contracts than nodes take at once, in parts.
 *
 * @throws Fault
 */
export async function readLogsOnAny(wanted: LogsWanted, hour: Served): Promise<LogList> {
  const parts = partsOf(wanted.filter)
  const lists = await Promise.all(parts.map(filter => readPartOnAny({ ...wanted, filter }, hour)))
  const [only] = lists
  if (only && lists.length === 1) return only
  const all = lists.flatMap(list => [...list]).sort(byPlace)
  const pieces = Array.from({ length: Math.ceil(all.length / logsPerPiece) }, (_, index) =>
    packed(all.slice(index * logsPerPiece, (index + 1) * logsPerPiece)),
  )
  return new LogList(pieces)
}

/** A filter as filters of as many addresses as nodes take. Together they have the same logs, and each log once. */
function partsOf(filter: LogFilter): LogFilter[] {
  const { address } = filter
  if (typeof address === 'string' || address.length <= logAddressesMax) return [filter]
  const each = [...new Map(address.map(one => [one.toLowerCase(), one])).values()]
  return Array.from({ length: Math.ceil(each.length / logAddressesMax) }, (_, index) => {
    return { ...filter, address: each.slice(index * logAddressesMax, (index + 1) * logAddressesMax) }
  })
}

/**
 * Reads the logs of a filter. When an endpoint has no logs, the hour's other reads stay with it. Where there are none
 * although the hour before had some, another host is asked, too.
 *
 * @throws Fault
 */
async function readPartOnAny({ pool, ...range }: LogsWanted, hour: Served): Promise<LogList> {
  const { filter, memory, signal } = range
  return pool.serve({ ...hour, blockNumber: range.from, part: 'logs' }, signal, async endpoint => {
    try {
      const list = await readLogs({ ...range, endpoint })
      const asked = { ...range, pool, endpoint }
      if (range.hours !== undefined) await confirmAll(asked, list, hour)
      else if (list.length === 0 && memory.isNewlyEmpty(filter)) await confirmNone(asked, hour)
      if (range.hours === undefined) memory.sawHour(filter, list.length > 0)
      return list
    } catch (error) {
      if (error instanceof LeftOutLogs) pool.quarantine(endpoint.host, error.reason)
      throw error
    }
  })
}

/**
 * Asks another host for logs where an endpoint has none. If it has some, the endpoint's own receipts decide.
 *
 * @throws EndpointFailure when the endpoint left them out; Fault `chain-disagreement` when that cannot be decided
 */
async function confirmNone({ pool, ...range }: LogsWanted & LogsAsked, hour: Served): Promise<void> {
  const { chain, endpoint, signal } = range
  const opinion = await pool.secondOpinion(endpoint.host, hour, signal, async (endpoint, signal) => {
    return { host: endpoint.host, logs: await readLogs({ ...range, endpoint, signal }) }
  })
  if (!opinion) return
  for (const { blockNumber } of opinion.logs) {
    await new LogEvidence(range).checkBlock(blockNumber)
    throw logsDisputed(chain, endpoint.host, opinion.host, opinion.logs.length)
  }
}

/** Blocks of a past on one host whose Bloom filters are compared. Of a longer one they would cost more than the logs. */
const comparedBlocksMax = 2_000

/**
 * Asks for evidence that logs are all, since they are remembered: another host has no more of them. Where there is no other
 * host, and they have not been read before as those of an open hour, no header says that there are more.
 *
 * @throws EndpointFailure when the endpoint left some out; Fault `chain-disagreement` when that cannot be decided
 */
async function confirmAll(range: LogsWanted & LogsAsked, list: LogList, hour: Served): Promise<void> {
  const { pool, hours = 1, chain, endpoint, from, asOf, signal } = range
  if (from > asOf.number) return
  const evidence = new LogEvidence(range)
  const counts = countsOf(list)
  const opinion = await pool.secondOpinion(endpoint.host, hour, signal, async (endpoint, signal) => {
    return { host: endpoint.host, counts: countsOf(await readLogs({ ...range, endpoint, signal })) }
  })
  if (!opinion) {
    const isShort = asOf.number - from < BigInt(comparedBlocksMax)
    return hours > 1 && isShort ? evidence.checkBlooms(counts) : undefined
  }
  for (const [number, count] of opinion.counts) {
    const answerCount = counts.get(number) ?? 0
    if (count <= answerCount) continue
    await evidence.checkBlock(number, answerCount)
    throw logsDisputed(chain, endpoint.host, opinion.host, count - answerCount)
  }
}

/** Number of logs by the number of their block. */
function countsOf(list: LogList): ReadonlyMap<bigint, number> {
  const counts = new Map<bigint, number>()
  for (const { blockNumber } of list) counts.set(blockNumber, (counts.get(blockNumber) ?? 0) + 1)
  return counts
}

type RefusedRange = Extract<RangeOutcome, { kind: 'refused' }>

/** Calls in one request for logs. */
const logCallsMax = 20

/** Most logs that the answers of one request are expected to hold. */
const logsPerRequestMax = 5_000

/** Reading of one hour's logs of a filter. */
class HourLogs {
  readonly #endpoint: Endpoint
  readonly #requests: LogRequests
  readonly #span: LogSpan
  readonly #answered = new Map<bigint, LogList>()
  #rest: readonly LogRange[]
  /** Blocks of the largest answered range, and logs of the fullest. */
  #blocksPassed = 0
  #logsSeen = 1

  constructor(endpoint: Endpoint, requests: LogRequests, span: LogSpan, range: LogRange) {
    this.#endpoint = endpoint
    this.#requests = requests
    this.#span = span
    this.#rest = [range]
    span.begin(blocksIn(range))
  }

  async read(): Promise<LogList> {
    while (this.#rest.length > 0) await this.#round()
    const oldestFirst = [...this.#answered].sort(([a], [b]) => (a < b ? -1 : 1))
    return new LogList(oldestFirst.flatMap(([, { pieces }]) => pieces))
  }

  /** Requests all remaining ranges if their size is known to pass; otherwise a few, to find out. */
  async #round(): Promise<void> {
    const parts = cut(this.#rest, this.#span.blocksMax)
    const passing = Math.max(this.#blocksPassed, this.#span.proven)
    const isSure = parts.every(part => blocksIn(part) <= passing)
    const asked = new Set(isSure ? parts : samplesOf(parts))
    const answers = await this.#ask([...asked], isSure)
    const openParts = parts.filter(part => !asked.has(part))
    for (const outcome of answers) if (outcome.kind === 'logs') this.#took(outcome)
    const outcomes = await Promise.all(answers.map(outcome => this.#orReceipts(outcome)))
    const refused = outcomes.filter(outcome => outcome.kind === 'refused').map(outcome => this.#refused(outcome))
    this.#rest = [...openParts, ...refused].sort((a, b) => (a.from < b.from ? -1 : 1))
  }

  /** An outcome; in place of the refusal of one block, where other ranges pass, what its receipts have. */
  async #orReceipts(outcome: RangeOutcome): Promise<RangeOutcome> {
    if (outcome.kind === 'logs' || blocksIn(outcome.range) > 1 || this.#blocksPassed === 0) return outcome
    const found = await this.#requests.fromReceipts(outcome.range)
    if (found?.kind === 'logs') this.#answered.set(outcome.range.from, found.logs)
    return found ?? outcome
  }

  async #ask(parts: readonly LogRange[], isSure: boolean): Promise<RangeOutcome[]> {
    const { logs, node } = this.#endpoint
    const fair = Math.ceil(parts.length / logRequestsAtOnceMax)
    const light = Math.max(1, Math.floor(logsPerRequestMax / this.#logsSeen))
    const count = isSure && node.takesLogBatches !== false ? Math.min(fair, light, logCallsMax) : 1
    const starts = Array.from({ length: Math.ceil(parts.length / count) }, (_, index) => index * count)
    const { signal } = this.#requests
    const reads = starts.map(start => {
      const some = parts.slice(start, start + count)
      return logs.semaphore.with(signal, () => this.#askServed(some))
    })
    return (await Promise.all(reads)).flat()
  }

  /** Asks for the logs of ranges; where a node refuses the first, whether it serves any. */
  async #askServed(ranges: readonly LogRange[]): Promise<readonly RangeOutcome[]> {
    const outcomes = await this.#requests.ask(ranges)
    const { node } = this.#endpoint
    if (outcomes.some(({ kind }) => kind === 'logs')) node.servesLogs = true
    const isSlow = outcomes.some(outcome => outcome.kind === 'refused' && outcome.refusal.isSlow)
    if (node.servesLogs === undefined && !isSlow) await requireLogs(this.#endpoint, this.#requests.signal)
    return outcomes
  }

  #took({ range, logs }: Extract<RangeOutcome, { kind: 'logs' }>): void {
    this.#answered.set(range.from, logs)
    this.#blocksPassed = Math.max(this.#blocksPassed, blocksIn(range))
    this.#logsSeen = Math.max(this.#logsSeen, logs.length)
    this.#span.answered(blocksIn(range))
  }

  /** @returns the range to request next */
  #refused({ range, failure, refusal }: RefusedRange): LogRange {
    const blocks = blocksIn(range)
    if (blocks === 1) throw this.#alone(range, failure)
    // As large a range passed elsewhere: this part of the hour has too many logs.
    if (blocks <= this.#blocksPassed) return { ...range, blocksMax: nextBlocks(blocks, refusal) }
    this.#span.refused(blocks, refusal)
    return range
  }

  /** The failure when even a single block's logs are refused. */
  #alone({ from }: LogRange, { host, reason, kind }: EndpointFailure): EndpointFailure {
    const isOfBlock = kind === 'pruned' || kind === 'unknown-block'
    if (this.#blocksPassed > 0 || isOfBlock) {
      const text = `${reason}, when asked for the logs of block ${from} alone`
      return new EndpointFailure(host, text, isOfBlock ? kind : 'too-much')
    }
    this.#span.forget()
    delete this.#endpoint.node.servesLogs
    return new EndpointFailure(host, `serves no logs, not even of single blocks: it ${reason}`, 'no-logs')
  }
}
