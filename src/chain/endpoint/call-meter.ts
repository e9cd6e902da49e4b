import { EndpointFailure } from './failures.ts'
import type { ChainHead } from './learnt.ts'
import type { RpcOutcome } from './rpc.ts'

/** Number of requests and calls sent so far. */
export interface CallCounts {
  /** HTTP requests; over a socket, groups of messages sent together. */
  readonly requests: number
  /** Number of calls by method; a call sent twice counts twice. */
  readonly calls: Readonly<Record<string, number>>
}

/** Counts what is sent to the endpoints of one or more chains. */
export class CallMeter {
  readonly #beforeRequest: (calls: number) => void
  readonly #calls: Record<string, number> = {}
  #requests = 0

  /** @param beforeRequest called with the number of calls about to be sent; a Fault it throws stops them */
  constructor(beforeRequest: (calls: number) => void = () => {}) {
    this.#beforeRequest = beforeRequest
  }

  /** Counts a request about to be sent. Throws what `beforeRequest` throws. */
  request(methods: readonly string[]): void {
    this.#beforeRequest(methods.length)
    this.#requests += 1
    for (const method of methods) this.#calls[method] = (this.#calls[method] ?? 0) + 1
  }

  /** A copy of the counts. */
  counts(): CallCounts {
    return { requests: this.#requests, calls: { ...this.#calls } }
  }

  /** The counts since others were taken, without methods that were not called. */
  countsSince(countsBefore: CallCounts): CallCounts {
    const { requests, calls } = this.counts()
    const increases = Object.entries(calls).map(
      ([method, count]) => [method, count - (countsBefore.calls[method] ?? 0)] as const,
    )
    return {
      requests: requests - countsBefore.requests,
      calls: Object.fromEntries(increases.filter(([, count]) => count > 0)),
    }
  }
}

/**
 * Outcome of a call as it was sent. `error`: the node answered a JSON-RPC error; `limited`: it was refused for the
 * rate; `unanswered`: no answer that can be used.
 */
export type CallOutcome = 'answered' | 'error' | 'limited' | 'unanswered'

/** Where the calls to an endpoint are counted, by its address (a secret). */
export type CountsOf = (url: string) => CallOutcomes | undefined

/** Counts the calls sent to one endpoint, each time they are sent, by their outcome. It outlives the endpoint's parts. */
export class CallOutcomes {
  /** The last block it reported before its parts were closed, for people: a reload has closed them. */
  lastHead: ChainHead | undefined
  readonly #counts: Record<CallOutcome, number> = { answered: 0, error: 0, limited: 0, unanswered: 0 }

  /** A copy of the counts. */
  get counts(): Readonly<Record<CallOutcome, number>> {
    return { ...this.#counts }
  }

  /** Counts the outcomes of an answered request. */
  answered(outcomes: readonly RpcOutcome[]): void {
    for (const outcome of outcomes) {
      if (outcome instanceof EndpointFailure) this.#counts.limited += 1
      else this.#counts[outcome.kind === 'result' ? 'answered' : 'error'] += 1
    }
  }

  /** Counts the calls of a request that failed as a whole. */
  failed(calls: number, error: unknown): void {
    if (!(error instanceof EndpointFailure)) return
    this.#counts[error.kind === 'rate' ? 'limited' : 'unanswered'] += calls
  }
}
