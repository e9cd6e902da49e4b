import { Fault } from '../model/fault.ts'
import type { Time } from '../time.ts'
import { EndpointFailure, hostOf, isNetworkUrl, redacted } from './endpoint-failure.ts'
import { httpWire } from './http-wire.ts'
import { answerMsMax } from './limits.ts'
import { socketWire } from './socket-wire.ts'
import { ipcDial, webSocketDial } from './sockets.ts'
import type { RpcAnswer, RpcCall, RpcError, Wire } from './wire.ts'

/** One node of one chain. */
export interface Endpoint {
  /** All that may be shown of its URL. */
  readonly host: string
  /** How its `eth_call` takes the block; unknown until one was answered for the right block. */
  pinnedBy?: 'hash' | 'number'
  /**
   * One round trip, answers in the order of the calls. The chain id is checked along with the first one.
   *
   * @throws EndpointFailure when it does not answer in time or answers garbage; the signal's reason when aborted
   */
  call(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]>
  /** The failure that an error answer amounts to, its text made safe to show. */
  failure(error: RpcError): EndpointFailure
  close(): void
}

/**
 * @param url http(s), ws(s) or the path of an IPC socket; a secret
 * @param chainId what `eth_chainId` must answer
 */
export function openEndpoint(url: string, chainId: number, time: Time): Endpoint {
  const host = hostOf(url)
  const wire = wireTo(url)
  let identified = false

  async function inTime(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]> {
    const timeout = time.timeout(answerMsMax)
    try {
      return await wire.send(calls, AbortSignal.any([signal, timeout]))
    } catch (error) {
      signal.throwIfAborted()
      if (timeout.aborted) throw new EndpointFailure(host, `did not answer within ${answerMsMax / 1000} s`)
      // Anything else would be a mistake of ours; its text is not shown, as it might hold the URL.
      throw error instanceof EndpointFailure ? error : new EndpointFailure(host, 'could not be asked')
    }
  }

  const failure = ({ message, code }: RpcError) =>
    new EndpointFailure(host, `answered an error: ${redacted(message, url)} (${code})`, 'refused')

  function identify(answer: RpcAnswer | undefined): void {
    if (answer?.kind === 'error') throw failure(answer.error)
    const served = Number(answer?.result)
    if (!Number.isSafeInteger(served)) throw new EndpointFailure(host, 'answered no chain id')
    if (served !== chainId) throw new EndpointFailure(host, `serves chain ${served}, not ${chainId}`, 'wrong-id')
    identified = true
  }

  return {
    host,
    failure,
    close: wire.close,
    async call(calls, signal) {
      if (identified) return inTime(calls, signal)
      const [id, ...answers] = await inTime([{ method: 'eth_chainId', params: [] }, ...calls], signal)
      identify(id)
      return answers
    },
  }
}

function wireTo(url: string): Wire {
  if (/^https?:/i.test(url) && isNetworkUrl(url)) return httpWire(url)
  if (/^wss?:/i.test(url) && isNetworkUrl(url)) return socketWire(hostOf(url), webSocketDial(url))
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url) || url.trim() === '') {
    throw new Fault('config', 'an RPC endpoint is neither an http(s) or ws(s) URL nor the path of an IPC socket')
  }
  return socketWire(hostOf(url), ipcDial(url))
}
