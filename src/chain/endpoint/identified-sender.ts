import type { CallSender } from './call-sender.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import { chainIdCall } from './heavy-calls.ts'
import type { RpcCall, RpcError, RpcOutcome } from './wire.ts'

/** Whom the calls are sent to, and the chain that is expected there. */
export interface SenderIdentity {
  readonly host: string
  readonly chainId: number
  /** An error as a text that is safe to show. */
  readonly textOf: (error: RpcError) => string
}

/** Sends the first calls with the question which chain the endpoint serves: no answer of another chain counts. */
export class IdentifiedSender {
  readonly #sender: CallSender
  readonly #identity: SenderIdentity
  #isIdentified = false

  constructor(sender: CallSender, identity: SenderIdentity) {
    this.#sender = sender
    this.#identity = identity
  }

  /** Sends calls in one request. @param answerMsMax time for the answer, in milliseconds; default: that of all calls */
  async together(calls: readonly RpcCall[], signal: AbortSignal, answerMsMax?: number): Promise<readonly RpcOutcome[]> {
    if (this.#isIdentified) return this.#sender.send(calls, signal, 'together', answerMsMax)
    const [id, ...outcomes] = await this.#sender.send([chainIdCall, ...calls], signal, 'together', answerMsMax)
    const mistake = this.#mistaken(id)
    if (mistake) return calls.map(() => mistake)
    this.#isIdentified = true
    return outcomes
  }

  /** Sends each call in a request of its own. */
  async apart(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcOutcome[]> {
    const mistake = this.#isIdentified ? undefined : this.#mistaken((await this.#sender.send([chainIdCall], signal))[0])
    if (mistake) return calls.map(() => mistake)
    this.#isIdentified = true
    return this.#sender.send(calls, signal, 'apart')
  }

  /** The failure for a wrong or missing answer to `eth_chainId`. */
  #mistaken(answer: RpcOutcome | undefined): EndpointFailure | undefined {
    const { host, chainId, textOf } = this.#identity
    if (answer instanceof EndpointFailure) return answer
    if (answer?.kind === 'error') return new EndpointFailure(host, textOf(answer.error), 'refused')
    const served = Number(answer?.result)
    if (!Number.isSafeInteger(served)) return new EndpointFailure(host, 'answered no chain id')
    if (served === chainId) return undefined
    return new EndpointFailure(host, `serves chain ${served}, not ${chainId}`, 'wrong-id')
  }
}
