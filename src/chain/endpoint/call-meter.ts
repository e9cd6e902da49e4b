/** What was sent so far. */
export interface CallCounts {
  /** HTTP requests; over a socket, the messages that went together. */
  readonly requests: number
  /** Calls by their method, each time they were sent. */
  readonly calls: Readonly<Record<string, number>>
}

/** Counts what is sent to the endpoints of a chain, or of several. */
export class CallMeter {
  readonly #beforeRequest: (calls: number) => void
  readonly #calls: Record<string, number> = {}
  #requests = 0

  /** @param beforeRequest told how many calls are about to be sent; what it throws, a Fault, stops them */
  constructor(beforeRequest: (calls: number) => void = () => {}) {
    this.#beforeRequest = beforeRequest
  }

  /** One request with calls of these methods is about to be sent. Throws what `beforeRequest` throws. */
  request(methods: readonly string[]): void {
    this.#beforeRequest(methods.length)
    this.#requests++
    for (const method of methods) this.#calls[method] = (this.#calls[method] ?? 0) + 1
  }

  /** A copy. */
  counts(): CallCounts {
    return { requests: this.#requests, calls: { ...this.#calls } }
  }
}
