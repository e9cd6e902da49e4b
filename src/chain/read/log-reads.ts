import { logsDisputed, notAskable } from '../endpoint/chain-faults.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import type { EndpointPool, Served } from '../endpoint/endpoint-pool.ts'
import { type LogSpan, nextBlocks } from '../endpoint/log-span.ts'
import { logRequestsAtOnceMax } from '../limits.ts'
import { LogList } from '../log-list.ts'
import { oddAddress } from '../shapes.ts'
import { logCallsMax, logsPerRequestMax, logTriesMax } from './limits.ts'
import { IncompleteLogs, LeftOutLogs, LogEvidence } from './log-evidence.ts'
import { blocksIn, cut, type LogRange, samplesOf } from './log-ranges.ts'
import { LogRequests, type LogsAsked, type RangeOutcome } from './log-requests.ts'

/**
 * Reads the logs of an hour, oldest first, and checks that they are complete. A refused range is split, down to single
 * blocks; the span that passes is remembered. Ranges of a known size are requested concurrently.
 *
 * @throws EndpointFailure; Fault for an address without a contract
 */
async function readLogs(asked: LogsAsked): Promise<LogList> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await readOnce(asked)
    } catch (error) {
      if (!(error instanceof IncompleteLogs) || tries >= logTriesMax) throw error
    }
  }
}

async function readOnce(asked: LogsAsked): Promise<LogList> {
  const { endpoint, from, asOf, filter, signal } = asked
  const failed = new AbortController()
  const own = { ...asked, signal: AbortSignal.any([signal, failed.signal]) }
  const evidence = new LogEvidence(own)
  const blocks = evidence.blocks()
  blocks.catch(() => {})
  const requests = new LogRequests(own)
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
    failed.abort(error)
    throw error
  }
}

/** Selects the logs of a chain to read. */
export interface LogsWanted extends Omit<LogsAsked, 'endpoint'> {
  readonly pool: EndpointPool
}

/**
 * Reads the logs of an hour on any endpoint that can. When an endpoint has no logs, the hour's other reads stay with
 * it. Where there are none although the hour before had some, another host is asked, too.
 *
 * @throws Fault
 */
export async function readLogsOnAny({ pool, ...wanted }: LogsWanted, hour: Served): Promise<LogList> {
  const { chain, filter, memory, signal } = wanted
  const odd = oddAddress(filter)
  if (odd !== undefined) throw notAskable(chain, odd)
  return pool.serve({ ...hour, blockNumber: wanted.from, part: 'logs' }, signal, async endpoint => {
    try {
      const list = await readLogs({ ...wanted, endpoint })
      if (list.length === 0 && memory.isNewlyEmpty(filter)) await confirmNone({ ...wanted, pool, endpoint }, hour)
      memory.sawHour(filter, list.length > 0)
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
async function confirmNone({ pool, ...asked }: LogsWanted & LogsAsked, hour: Served): Promise<void> {
  const { chain, endpoint, signal } = asked
  const other = await pool.secondOpinion(endpoint.host, hour, signal, async (endpoint, signal) => {
    return { host: endpoint.host, logs: await readLogs({ ...asked, endpoint, signal }) }
  })
  if (!other) return
  for (const { blockNumber } of other.logs) {
    await new LogEvidence(asked).checkBlock(blockNumber)
    throw logsDisputed(chain, endpoint.host, other.host, other.logs.length)
  }
}

type RefusedRange = Extract<RangeOutcome, { kind: 'refused' }>

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
    const outcomes = await this.#ask([...asked], isSure)
    const unasked = parts.filter(part => !asked.has(part))
    for (const outcome of outcomes) if (outcome.kind === 'logs') this.#took(outcome)
    const refused = outcomes.filter(outcome => outcome.kind === 'refused').map(outcome => this.#refused(outcome))
    this.#rest = [...unasked, ...refused].sort((a, b) => (a.from < b.from ? -1 : 1))
  }

  async #ask(parts: readonly LogRange[], isSure: boolean): Promise<RangeOutcome[]> {
    const { logs } = this.#endpoint
    const fair = Math.ceil(parts.length / logRequestsAtOnceMax)
    const light = Math.max(1, Math.floor(logsPerRequestMax / this.#logsSeen))
    const count = isSure && logs.takesBatches ? Math.min(fair, light, logCallsMax) : 1
    const starts = Array.from({ length: Math.ceil(parts.length / count) }, (_, index) => index * count)
    const { signal } = this.#requests
    const asked = starts.map(start => {
      const some = parts.slice(start, start + count)
      return logs.semaphore.with(signal, () => this.#requests.ask(some))
    })
    return (await Promise.all(asked)).flat()
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
    return new EndpointFailure(host, `serves no logs, not even of single blocks: it ${reason}`, 'no-logs')
  }
}
