import { BatchScheduler } from '../../edge/batch-scheduler.ts'
import type { RateBounds } from '../../edge/rate/discovered-rate.ts'
import { RateLimit } from '../../edge/rate/rate-limit.ts'
import type { Time } from '../../edge/time.ts'
import { unlessAborted } from '../../edge/unless-aborted.ts'
import { Fault } from '../../model/fault.ts'
import { hostOf, isNetworkUrl } from '../../model/host.ts'
import { isRecord } from '../../model/json.ts'
import { type CallMeter, type CallOutcome, CallOutcomes, type CountsOf } from './call-meter.ts'
import { CallSender, chainIdCall } from './call-sender.ts'
import { accountAdvice, EndpointFailure, type FailureKind } from './failures.ts'
import { errorText, httpWire, requestsAtOnceMax } from './http.ts'
import {
  BatchLimit,
  type ChainHead,
  type LearntOfNode,
  LogSpans,
  NodeIdentity,
  ObservedBlocks,
  quantity,
  StateAvailability,
  stateBlocksMin,
} from './learnt.ts'
import {
  failureKindOf,
  headCall,
  isRateError,
  meaningOf,
  type RpcAnswer,
  type RpcCall,
  type RpcError,
  type RpcOutcome,
  resultOf,
  type SendCalls,
  type Wire,
} from './rpc.ts'
import { ipcDial, SocketWire, webSocketDial } from './sockets.ts'

/** Bounds of the rate of a node, as learnt from its refusals. */
export const nodeRate: RateBounds = {
  perSecondMin: 5,
  doublesMs: 3_000,
  doublesMsMax: 60_000,
  retryAfterMsMax: 5 * 60_000,
}

/**
 * Sends the calls of one event-loop tick together, equal ones once. Each caller gets the outcomes of its own calls. Calls
 * aborted before they are sent are left out, and the request is aborted when no caller waits any more.
 */
function batchedCalls(send: SendCalls): SendCalls {
  const scheduler = new BatchScheduler<readonly RpcCall[], readonly RpcOutcome[]>(async (jobs, { signal }) => {
    const distinctCalls = new Map<string, { readonly call: RpcCall; readonly place: number }>()
    for (const call of jobs.flatMap(({ request }) => request)) {
      const key = JSON.stringify(call)
      if (!distinctCalls.has(key)) distinctCalls.set(key, { call, place: distinctCalls.size })
    }
    const outcomes = await send(
      [...distinctCalls.values()].map(({ call }) => call),
      signal,
    )
    for (const { request, resolve } of jobs) {
      resolve(request.flatMap(call => outcomes[distinctCalls.get(JSON.stringify(call))?.place ?? -1] ?? []))
    }
  })
  return async (calls, signal) => {
    signal.throwIfAborted()
    return calls.length === 0 ? [] : scheduler.schedule(calls, signal)
  }
}

/** The answers of calls that all succeeded. @throws EndpointFailure of the first that did not */
export function answersOf(outcomes: readonly RpcOutcome[]): RpcAnswer[] {
  return outcomes.map(outcome => {
    if (outcome instanceof EndpointFailure) throw outcome
    return outcome
  })
}

/** Copies of the calls that are sent at once in each round: they reach several nodes of a balancer. */
const copiesByRound = [1, 3, 3]

/** Sends calls in one request. */
type Send = (calls: readonly RpcCall[]) => Promise<readonly RpcOutcome[]>

/**
 * Outcomes in which those of a lagging node behind a balancer are replaced by another node's: an endpoint that has shown
 * a block lacks it, or answers an earlier last block. The calls are sent again with the question for the last block: a
 * node that has the block and answers alike means it.
 */
async function withoutLag(
  calls: readonly RpcCall[],
  outcomes: readonly RpcOutcome[],
  blocksSeen: ObservedBlocks,
  send: Send,
): Promise<readonly RpcOutcome[]> {
  const finalOutcomes = [...outcomes]
  let doubtfulPlaces = calls.flatMap((call, index) => (isDoubted(call, outcomes[index], blocksSeen) ? [index] : []))
  for (const copies of copiesByRound) {
    if (doubtfulPlaces.length === 0) break
    const asked = [headCall, ...doubtfulPlaces.flatMap(index => calls[index] ?? [])]
    const answers = await Promise.all(Array.from({ length: copies }, () => send(asked)))
    // A lagging node answers for its own last block: one that does not is not lagging, and more copies do not help it.
    if (!answers.some(([head]) => isRecord(resultOf(head)))) break
    doubtfulPlaces = doubtfulPlaces.filter((index, place) => {
      const call = calls[index]
      const certainOutcome =
        call && answers.map(answer => answer[place + 1]).find(one => !isDoubted(call, one, blocksSeen))
      if (certainOutcome) finalOutcomes[index] = certainOutcome
      const number = call && blocksSeen.numberOf(call)
      return !certainOutcome && (number === undefined || !answers.some(([head]) => isPast(head, number)))
    })
  }
  return finalOutcomes
}

function isPast(head: RpcOutcome | undefined, number: bigint): boolean {
  const last = numberIn(head)
  return last !== undefined && last >= number
}

/** Whether an outcome contradicts the last block that the endpoint has shown. */
function isDoubted(call: RpcCall, outcome: RpcOutcome | undefined, blocksSeen: ObservedBlocks): boolean {
  const head = blocksSeen.head?.number
  if (head === undefined || !outcome || outcome instanceof EndpointFailure) return false
  if (isHeadCall(call)) return outcome.kind === 'result' && (numberIn(outcome) ?? head) < head
  const number = blocksSeen.numberOf(call)
  if (number === undefined || number > head || head - number >= stateBlocksMin) return false
  if (outcome.kind === 'result') return outcome.result === null
  return meaningOf(outcome.error).kind !== 'reverted' && !isRateError(outcome.error)
}

function isHeadCall({ method, params }: RpcCall): boolean {
  return method === headCall.method && params[0] === 'latest'
}

function numberIn(outcome: RpcOutcome | undefined): bigint | undefined {
  const block = resultOf(outcome)
  return isRecord(block) ? quantity(block['number']) : undefined
}

/** One node of one chain. */
export interface Endpoint {
  /** Host name for messages: the only part of its URL that may be shown. */
  readonly host: string
  /** Facts of the node at the address: a new object, in which nothing is known, once it may be another node. */
  readonly node: LearntOfNode
  /**
   * Answers in the order of the calls. Calls of one event-loop tick are sent together, in as few requests as the node
   * accepts. Whenever another node may answer, the next request also checks the chain id (`NodeIdentity`).
   *
   * @throws EndpointFailure when it does not answer in time or cannot be understood; the signal's reason when aborted
   */
  call(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]>
  /** The last block it reported; absent before. */
  readonly head?: ChainHead | undefined
  /** Learnt limits of `eth_getLogs`. */
  readonly logs: LogSpans
  /**
   * Outcomes of calls that are sent in requests of their own and never split: for calls that may be too much, which
   * must not harm others. Rejects with the signal's reason when aborted.
   */
  callApart(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcOutcome[]>
  /**
   * As `call`, but a failure of one call stands in its place and the others keep their answers.
   *
   * @param answerMsMax time limit of the request; given when the calls have a request of their own
   */
  tryCall(calls: readonly RpcCall[], signal: AbortSignal, answerMsMax?: number): Promise<readonly RpcOutcome[]>
  /** The failure that an error answer means, with its text made safe to show. */
  failure(error: RpcError): EndpointFailure
  close(): void
}

/** An endpoint with its observed state. */
export interface OpenEndpoint extends Endpoint {
  /** The last block it reported; `undefined` before. */
  readonly head: ChainHead | undefined
  /** The same for people: also one that it reported before a reload. */
  readonly reportedHead: ChainHead | undefined
  readonly depth: StateAvailability
  readonly batch: BatchLimit
  readonly rate: RateLimit
  /** Number of its answers that did not fit what the chain was seen to be: another chain, or a reorg. */
  readonly contradictions: number
  /** Calls sent so far, by their outcome. */
  readonly calls: Readonly<Record<CallOutcome, number>>
}

/** Calls in one request, until a node refuses that many. */
const batchCallsMax = 1_000

/** Address of an endpoint and its known limits. Absent limits are discovered. */
export interface EndpointDeps {
  /** URL (http, https, ws, wss) or path of an IPC socket; a secret. */
  readonly url: string
  /** Returns the headers for each request; secrets. May throw a Fault. Default: none. */
  readonly headers?: () => Readonly<Record<string, string>>
  /** Calls a second, at most. */
  readonly callsPerSecondMax?: number
  /** Calls in one request, at most. */
  readonly batchCallsMax?: number
  /** Blocks of one `eth_getLogs`, at most. */
  readonly logBlocksMax?: number
}

/** Dependencies an endpoint shares with the others of its chain. */
interface EndpointShared {
  /** The expected answer to `eth_chainId`. */
  readonly chainId: number
  /** Whether it is the chain's only endpoint, so that a short retry-after is waited for. */
  readonly isOnlyOne: boolean
  readonly time: Time
  /** Counts what is sent. Default: it is not counted. */
  readonly meter?: CallMeter | undefined
  /** Where the outcomes of calls are counted. Default: from 0. */
  readonly countsOf?: CountsOf | undefined
}

/** Creates an endpoint. @throws Fault `config` when the address is neither a URL nor a path */
export function openEndpoint(deps: EndpointDeps, shared: EndpointShared): OpenEndpoint {
  return new Node(deps, shared)
}

class Node implements OpenEndpoint {
  readonly host: string
  readonly depth: StateAvailability
  readonly batch: BatchLimit
  readonly rate: RateLimit
  readonly logs: LogSpans
  readonly #url: string
  readonly #chainId: number
  readonly #wire: Wire
  readonly #sender: CallSender
  readonly #observed: ObservedBlocks
  readonly #counted: CallOutcomes
  readonly #together = batchedCalls((calls, signal) => this.#send(calls, signal))
  readonly #identity: NodeIdentity
  /** Whether the node serves the chain, while it is asked for that. */
  #identifying: Promise<boolean> | undefined

  constructor(deps: EndpointDeps, poolParts: EndpointShared) {
    const { url } = deps
    const { chainId, time, countsOf } = poolParts
    const { wire, callsMax, requestsMax } = wireTo(deps, time)
    this.host = hostOf(url)
    this.depth = new StateAvailability(time)
    this.batch = new BatchLimit(deps.batchCallsMax ?? callsMax)
    this.rate = new RateLimit(time, nodeRate, deps.callsPerSecondMax)
    this.logs = new LogSpans(time, deps.logBlocksMax)
    this.#url = url
    this.#chainId = chainId
    this.#wire = wire
    this.#identity = new NodeIdentity(time)
    this.#observed = new ObservedBlocks(this.depth)
    this.#counted = countsOf?.(url) ?? new CallOutcomes()
    const { host, depth, batch, rate } = this
    const reportUnreachable = () => this.#identity.doubt()
    const limits = { requestsMax, batch, rate, observed: this.#observed, depth, reportUnreachable }
    this.#sender = new CallSender({ ...poolParts, ...limits, host, url, wire, outcomeCounts: this.#counted })
  }

  get head(): ChainHead | undefined {
    return this.#observed.head
  }

  get reportedHead(): ChainHead | undefined {
    return this.head ?? this.#counted.lastHead
  }

  get node(): LearntOfNode {
    return this.#identity.node
  }

  get contradictions(): number {
    return this.#observed.contradictions
  }

  get calls(): Readonly<Record<CallOutcome, number>> {
    return this.#counted.counts
  }

  async call(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]> {
    return answersOf(await this.#together(calls, signal))
  }

  async callApart(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcOutcome[]> {
    const outcomes = await this.#identified(calls, signal, 'apart')
    return this.#confirmed(calls, outcomes, signal, false)
  }

  tryCall(calls: readonly RpcCall[], signal: AbortSignal, answerMsMax?: number): Promise<readonly RpcOutcome[]> {
    return answerMsMax === undefined ? this.#together(calls, signal) : this.#send(calls, signal, answerMsMax)
  }

  failure(error: RpcError, kind: FailureKind = failureKindOf(error)): EndpointFailure {
    return new EndpointFailure(this.host, errorText(error, this.#url), kind, undefined, accountAdvice(error.message))
  }

  close(): void {
    this.#counted.lastHead = this.reportedHead
    this.#wire.close()
  }

  async #send(calls: readonly RpcCall[], signal: AbortSignal, answerMsMax?: number): Promise<readonly RpcOutcome[]> {
    const send = (asked: readonly RpcCall[]) => this.#identified(asked, signal, 'together', answerMsMax)
    const outcomes = await withoutLag(calls, await send(calls), this.#observed, send)
    return this.#confirmed(calls, outcomes, signal, true)
  }

  /**
   * The outcomes, unless they contradict what the endpoint has shown and it serves another chain now: a gateway may have
   * changed without a connection that failed.
   */
  async #confirmed(
    calls: readonly RpcCall[],
    outcomes: readonly RpcOutcome[],
    signal: AbortSignal,
    isSure: boolean,
  ): Promise<readonly RpcOutcome[]> {
    if (this.#observed.add(calls, outcomes, isSure)) return outcomes
    this.#identity.doubt()
    const [id] = await this.#sender.send([chainIdCall], signal)
    const mistake = this.#mistakeIn(id)
    if (mistake?.kind === 'wrong-id') return calls.map(() => mistake)
    if (!mistake) this.#identity.confirmed()
    return outcomes
  }

  /**
   * Sends the calls, with the question which chain the node serves where it may be another one: no answer of another
   * chain counts.
   */
  async #identified(
    calls: readonly RpcCall[],
    signal: AbortSignal,
    way: 'together' | 'apart',
    answerMsMax?: number,
  ): Promise<readonly RpcOutcome[]> {
    if (this.#identity.isKnown) return this.#sender.send(calls, signal, way, answerMsMax)
    const identification = this.#identifying
    if (identification) {
      const [outcomes, isSame] = await Promise.all([
        this.#sender.send(calls, signal, way, answerMsMax),
        unlessAborted(identification, signal),
      ])
      return isSame ? outcomes : this.#identify(calls, signal, way, answerMsMax)
    }
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#identifying = promise
    try {
      return await this.#identify(calls, signal, way, answerMsMax)
    } finally {
      this.#identifying = undefined
      resolve(this.#identity.isKnown)
    }
  }

  /** Asks which chain the node serves, with the calls. */
  async #identify(
    calls: readonly RpcCall[],
    signal: AbortSignal,
    way: 'together' | 'apart',
    answerMsMax?: number,
  ): Promise<readonly RpcOutcome[]> {
    const asked = way === 'together' ? calls : []
    const [id, ...outcomes] = await this.#sender.send([chainIdCall, ...asked], signal, 'together', answerMsMax)
    const mistake = this.#mistakeIn(id)
    if (mistake) return calls.map(() => mistake)
    this.#identity.confirmed()
    return way === 'together' ? outcomes : this.#sender.send(calls, signal, way)
  }

  /** The failure for a wrong or missing answer to `eth_chainId`. */
  #mistakeIn(answer: RpcOutcome | undefined): EndpointFailure | undefined {
    if (answer instanceof EndpointFailure) return answer
    if (answer?.kind === 'error') return this.failure(answer.error, 'refused')
    const servedId = Number(answer?.result)
    // As a number null and an empty text are 0, which no chain has.
    if (!Number.isSafeInteger(servedId) || servedId < 1) {
      const fix =
        'check that this address under rpc: is of a node of the chain; a second endpoint under rpc: takes over'
      return new EndpointFailure(this.host, 'answered no chain id', 'unreachable', undefined, fix)
    }
    if (servedId === this.#chainId) return undefined
    return new EndpointFailure(this.host, `serves chain ${servedId}, not ${this.#chainId}`, 'wrong-id')
  }
}

interface WireTo {
  readonly wire: Wire
  /** Calls in one request at first, and concurrent requests. */
  readonly callsMax: number
  readonly requestsMax: number
}

/**
 * Messages sent together over a socket, where there are no batches, and how many such groups before the first is
 * answered.
 */
const socketCallsMax = 100
const socketRequestsMax = 4

function wireTo({ url, headers = () => ({}) }: EndpointDeps, time: Time): WireTo {
  const socket = { callsMax: socketCallsMax, requestsMax: socketRequestsMax }
  if (/^https?:/i.test(url) && isNetworkUrl(url)) {
    return { wire: httpWire(url, time, headers), callsMax: batchCallsMax, requestsMax: requestsAtOnceMax }
  }
  if (/^wss?:/i.test(url) && isNetworkUrl(url)) {
    return { wire: new SocketWire(hostOf(url), webSocketDial(url, headers)), ...socket }
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url) || url.trim() === '') {
    throw new Fault('config', 'an RPC endpoint is neither an http(s) or ws(s) URL nor the path of an IPC socket')
  }
  return { wire: new SocketWire(hostOf(url), ipcDial(url)), ...socket }
}
