import type { Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import { batchCallsMax, requestsAtOnceMax, socketCallsMax, socketRequestsMax } from '../limits.ts'
import { BatchLimit } from './batch-limit.ts'
import type { CallMeter } from './call-meter.ts'
import { CallSender } from './call-sender.ts'
import { answersOf, coalesced } from './coalesce.ts'
import { EndpointFailure, hostOf, isNetworkUrl } from './endpoint-failure.ts'
import { chainIdCall } from './heavy-calls.ts'
import { errorText } from './http-answer.ts'
import { httpWire } from './http-wire.ts'
import { LogSpans } from './log-spans.ts'
import { RateLimit } from './rate-limit.ts'
import { failureKindOf } from './rpc-errors.ts'
import { type ChainHead, Sightings } from './sightings.ts'
import { socketWire } from './socket-wire.ts'
import { ipcDial, webSocketDial } from './sockets.ts'
import { StateDepth } from './state-depth.ts'
import type { RpcAnswer, RpcCall, RpcError, RpcOutcome, Wire } from './wire.ts'

/** One node of one chain. */
export interface Endpoint {
  /** All that may be shown of its URL. */
  readonly host: string
  /** How its `eth_call` takes the block; unknown until one was answered for the right block. */
  pinnedBy?: 'hash' | 'number'
  /**
   * Answers in the order of the calls. All that is asked in one turn of the event loop travels together, in as few
   * requests as the node takes. The chain id is checked along with the first one.
   *
   * @throws EndpointFailure when it does not answer in time or answers garbage; the signal's reason when aborted
   */
  call(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]>
  /** The last block it told of. */
  readonly head?: ChainHead | undefined
  /** How it takes `eth_getLogs`. */
  readonly logs: LogSpans
  /**
   * What each call came to, in their order. They travel in requests of their own, and are not asked again in smaller ones:
   * for calls that may be too much, which must not harm others. Rejects with the signal's reason when aborted.
   */
  callApart(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcOutcome[]>
  /**
   * The same, only that what concerns one call is a failure in its place: the other calls have their answers.
   *
   * @param answerMsMax given where the calls travel in a request of their own, which has so long
   */
  tryCall(calls: readonly RpcCall[], signal: AbortSignal, answerMsMax?: number): Promise<readonly RpcOutcome[]>
  /** The failure that an error answer amounts to, its text made safe to show. */
  failure(error: RpcError): EndpointFailure
  close(): void
}

/** An endpoint with what is known of it. */
export interface OpenEndpoint extends Endpoint {
  /** The last block it told of. */
  readonly head: ChainHead | undefined
  readonly depth: StateDepth
  readonly batch: BatchLimit
  readonly rate: RateLimit
}

/** Where an endpoint is, and what an operator knows of its limits; what is absent is found out. */
export interface EndpointDeps {
  /** http(s), ws(s) or the path of an IPC socket; a secret. */
  readonly url: string
  /** Headers of each request, asked for anew; secrets. May throw a Fault. */
  readonly headers?: () => Readonly<Record<string, string>>
  readonly callsPerSecondMax?: number
  /** Calls in one request. */
  readonly batchCallsMax?: number
  /** Blocks of one `eth_getLogs`. */
  readonly logBlocksMax?: number
}

/** What an endpoint shares with the others of its chain. */
export interface EndpointShared {
  /** What `eth_chainId` must answer. */
  readonly chainId: number
  /** Then short waits that it asks for are waited out. */
  readonly isOnlyOne: boolean
  readonly time: Time
  readonly meter?: CallMeter | undefined
}

/** @throws Fault `config` for what is neither URL nor path */
export function openEndpoint(parts: EndpointDeps, surroundings: EndpointShared): OpenEndpoint {
  const { url } = parts
  const { chainId, time } = surroundings
  const host = hostOf(url)
  const { wire, callsMax, requestsMax } = wireTo(parts, time)
  const batch = new BatchLimit(parts.batchCallsMax ?? callsMax)
  const rate = new RateLimit(time, parts.callsPerSecondMax)
  const depth = new StateDepth(time)
  const sightings = new Sightings(depth)
  const sender = new CallSender({ ...surroundings, host, url, wire, requestsMax, batch, rate })
  let identified = false

  const failure = (error: RpcError) => new EndpointFailure(host, errorText(error, url), failureKindOf(error))

  /** What is wrong with the answer to `eth_chainId`. */
  function mistaken(answer: RpcOutcome | undefined): EndpointFailure | undefined {
    if (answer instanceof EndpointFailure) return answer
    if (answer?.kind === 'error') return failure(answer.error)
    const served = Number(answer?.result)
    if (!Number.isSafeInteger(served)) return new EndpointFailure(host, 'answered no chain id')
    if (served === chainId) return undefined
    return new EndpointFailure(host, `serves chain ${served}, not ${chainId}`, 'wrong-id')
  }

  async function identifiedOutcomes(
    calls: readonly RpcCall[],
    signal: AbortSignal,
    answerMsMax?: number,
  ): Promise<readonly RpcOutcome[]> {
    if (identified) return sender.send(calls, signal, 'together', answerMsMax)
    const [id, ...outcomes] = await sender.send([chainIdCall, ...calls], signal, 'together', answerMsMax)
    const mistake = mistaken(id)
    if (mistake) return calls.map(() => mistake)
    identified = true
    return outcomes
  }

  async function travelApart(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcOutcome[]> {
    const mistake = identified ? undefined : mistaken((await sender.send([chainIdCall], signal))[0])
    if (mistake) return calls.map(() => mistake)
    identified = true
    return sender.send(calls, signal, 'apart')
  }

  async function travel(...asked: Parameters<typeof identifiedOutcomes>): Promise<readonly RpcOutcome[]> {
    const outcomes = await identifiedOutcomes(...asked)
    sightings.saw(asked[0], outcomes)
    return outcomes
  }

  const together = coalesced(travel)
  return {
    host,
    depth,
    batch,
    rate,
    get head() {
      return sightings.head
    },
    failure,
    logs: new LogSpans(parts.logBlocksMax),
    close: wire.close,
    callApart: travelApart,
    call: async (calls, signal) => answersOf(await together(calls, signal)),
    tryCall: (calls, signal, answerMsMax) =>
      answerMsMax === undefined ? together(calls, signal) : travel(calls, signal, answerMsMax),
  }
}

interface WireTo {
  readonly wire: Wire
  /** Calls in one request to begin with, and requests at a time. */
  readonly callsMax: number
  readonly requestsMax: number
}

function wireTo({ url, headers = () => ({}) }: EndpointDeps, time: Time): WireTo {
  const socket = { callsMax: socketCallsMax, requestsMax: socketRequestsMax }
  if (/^https?:/i.test(url) && isNetworkUrl(url)) {
    return { wire: httpWire(url, time, headers), callsMax: batchCallsMax, requestsMax: requestsAtOnceMax }
  }
  if (/^wss?:/i.test(url) && isNetworkUrl(url)) {
    return { wire: socketWire(hostOf(url), webSocketDial(url, headers)), ...socket }
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url) || url.trim() === '') {
    throw new Fault('config', 'an RPC endpoint is neither an http(s) or ws(s) URL nor the path of an IPC socket')
  }
  return { wire: socketWire(hostOf(url), ipcDial(url)), ...socket }
}
