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
}
