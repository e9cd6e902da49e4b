import { Fault, faultRecord } from '../../../model/fault.ts'
import type { HttpRead, HttpReply, ShownRequests } from '../../messages.ts'
import type { Hop } from './hops.ts'

/** The off-chain requests of one run, where the daemon records or answers them. */
export class ShownHttp {
  readonly #requests: ShownRequests
  readonly #show: (request: HttpRead) => Promise<string>
  #places = 0

  /** @param show shows a request to the daemon. @returns the answer */
  constructor(requests: ShownRequests, show: (request: HttpRead) => Promise<string>) {
    this.#requests = requests
    this.#show = show
  }

  /** The answer to a request. @throws the Fault of the source. @param send sends it and follows redirects */
  async answerTo({ method, address, headers, body }: Hop, as: HttpRead['as'], send: () => Promise<string>) {
    const place = this.#places
    this.#places += 1
    const request = { as, method, url: address.href, headers, place, ...(body !== undefined && { body }) }
    return this.#show(this.#requests === 'unsent' ? request : { ...request, answer: await answerOf(send) })
  }
}

async function answerOf(send: () => Promise<string>): Promise<HttpReply> {
  try {
    return { kind: 'http', text: await send() }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { kind: 'faulted', fault: faultRecord(error) }
  }
}
