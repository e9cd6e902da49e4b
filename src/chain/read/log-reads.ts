import type { AsOfBlock, LogFilter } from '../../model/block.ts'
import { notAskable } from '../endpoint/chain-faults.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import type { EndpointPool, Served } from '../endpoint/endpoint-pool.ts'
import { type LogSpan, nextBlocks } from '../endpoint/log-span.ts'
import { logRequestsAtOnceMax } from '../limits.ts'
import { LogList } from '../log-list.ts'
import { oddAddress } from '../shapes.ts'
import { logCallsMax, logsPerRequestMax, logTriesMax } from './limits.ts'
import { blocksIn, cut, type LogRange, samplesOf } from './log-ranges.ts'
import { IncompleteLogs, LogRequests, type RangeOutcome } from './log-requests.ts'

/**
 * Reads logs from block `from` to `to`, both included, oldest first. A refused range is split, down to single blocks;
 * the span that passes is remembered. Ranges of a known size are requested concurrently.
 *
 * @throws EndpointFailure
 */
export async function readLogs(
  endpoint: Endpoint,
  from: bigint,
  to: AsOfBlock,
  filter: LogFilter,
  signal: AbortSignal,
): Promise<LogList> {
  if (from > to.number) return new LogList([])
  for (let tries = 1; ; tries += 1) {
    try {
      return await readOnce(endpoint, from, to, filter, signal)
    } catch (error) {
      if (!(error instanceof IncompleteLogs) || tries >= logTriesMax) throw error
    }
  }
}

async function readOnce(...[endpoint, from, to, filter, signal]: Parameters<typeof readLogs>): Promise<LogList> {
  const failed = new AbortController()
  const requests = new LogRequests({ endpoint, asOf: to, filter, signal: AbortSignal.any([signal, failed.signal]) })
  const reading = new HourLogs(endpoint, requests, endpoint.logs.of(filter), { from, to: to.number })
  try {
    const list = await reading.read()
    await requests.certify(from)
    return list
  } catch (error) {
    // The other requests are useless now.
    failed.abort(error)
    throw error
  }
}

/** Selects the logs of a chain to read. */
export interface LogsWanted {
  /** Name of the chain in the configuration. */
  readonly name: string
  readonly pool: EndpointPool
  /** First block. */
  readonly from: bigint
  readonly to: AsOfBlock
  readonly filter: LogFilter
  readonly signal: AbortSignal
}

/**
 * As `readLogs`, on any endpoint that can. When an endpoint has no logs, the hour's other reads stay with it.
 * @throws Fault
 */
export async function readLogsOnAny(
  { name, pool, from, to, filter, signal }: LogsWanted,
  hour: Served,
): Promise<LogList> {
  const odd = oddAddress(filter)
  if (odd !== undefined) throw notAskable(name, odd)
  return pool.serve({ ...hour }, signal, endpoint => readLogs(endpoint, from, to, filter, signal))
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
