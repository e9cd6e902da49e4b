import { RateLimit } from '../../edge/rate/rate-limit.ts'
import type { Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import { batchCallsMax } from '../limits.ts'
import { BatchLimit } from './batch-limit.ts'
import { answersOf, batchedCalls } from './batched-calls.ts'
import type { CallMeter } from './call-meter.ts'
import { type CallOutcome, CallOutcomes, type CountsOf } from './call-outcomes.ts'
import { CallSender } from './call-sender.ts'
import { EndpointFailure, hostOf, isNetworkUrl } from './endpoint-failure.ts'
import { errorText } from './http-answer.ts'
import { httpWire } from './http-wire.ts'
import { IdentifiedSender } from './identified-sender.ts'
import { withoutLag } from './lagging-answers.ts'
import { nodeRate, requestsAtOnceMax, socketCallsMax, socketRequestsMax } from './limits.ts'
import { LogSpans } from './log-spans.ts'
import { type ChainHead, ObservedBlocks } from './observed-blocks.ts'
import { failureKindOf } from './rpc-errors.ts'
import { SocketWire } from './socket-wire.ts'
import { ipcDial, webSocketDial } from './sockets.ts'
import { StateAvailability } from './state-availability.ts'
import type { RpcAnswer, RpcCall, RpcError, RpcOutcome, Wire } from './wire.ts'

/** One node of one chain. */
export interface Endpoint {
  /** Host name for messages: the only part of its URL that may be shown. */
  readonly host: string
  /** Whether its `eth_call` reads the block that a hash names, and no other; absent until it was asked. */
  takesHashes?: boolean
  /**
   * Answers in the order of the calls. Calls of one event-loop turn are sent together, in as few requests as the node
   * accepts. The first request also checks the chain id.
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
  readonly depth: StateAvailability
  readonly batch: BatchLimit
  readonly rate: RateLimit
  /** Calls sent so far, by their outcome. */
  readonly calls: Readonly<Record<CallOutcome, number>>
}

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
export interface EndpointShared {
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
export function openEndpoint(deps: EndpointDeps, context: EndpointShared): OpenEndpoint {
  const { url } = deps
  const { chainId, time } = context
  const host = hostOf(url)
  const { wire, callsMax, requestsMax } = wireTo(deps, time)
  const batch = new BatchLimit(deps.batchCallsMax ?? callsMax)
  const rate = new RateLimit(time, nodeRate, deps.callsPerSecondMax)
  const depth = new StateAvailability(time)
  const counted = context.countsOf?.(url) ?? new CallOutcomes()
  const observed = new ObservedBlocks(depth)
  const limits = { requestsMax, batch, rate }
  const sender = new CallSender({ ...context, host, url, wire, ...limits, observed, depth, counted })
  const textOf = (error: RpcError) => errorText(error, url)
  const failure = (error: RpcError) => new EndpointFailure(host, textOf(error), failureKindOf(error))
  const identified = new IdentifiedSender(sender, { host, chainId, textOf })

  async function send(
    calls: readonly RpcCall[],
    signal: AbortSignal,
    answerMsMax?: number,
  ): Promise<readonly RpcOutcome[]> {
    const sent = (asked: readonly RpcCall[]) => identified.together(asked, signal, answerMsMax)
    const outcomes = await withoutLag(calls, await sent(calls), observed, sent)
    observed.add(calls, outcomes)
    return outcomes
  }

  const together = batchedCalls(send)
  return {
    host,
    depth,
    batch,
    rate,
    get head() {
      return observed.head
    },
    get calls() {
      return counted.counts
    },
    failure,
    logs: new LogSpans(deps.logBlocksMax),
    close: () => wire.close(),
    async callApart(calls, signal) {
      const outcomes = await identified.apart(calls, signal)
      observed.add(calls, outcomes, false)
      return outcomes
    },
    call: async (calls, signal) => answersOf(await together(calls, signal)),
    tryCall: (calls, signal, answerMsMax) =>
      answerMsMax === undefined ? together(calls, signal) : send(calls, signal, answerMsMax),
  }
}

interface WireTo {
  readonly wire: Wire
  /** Calls in one request at first, and concurrent requests. */
  readonly callsMax: number
  readonly requestsMax: number
}

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
