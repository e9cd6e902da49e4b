import type { Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import type { EndpointDeps, OpenEndpoint } from './endpoint.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import { EndpointHealth, type EndpointReport } from './endpoint-health.ts'
import { addressLookMs } from './limits.ts'

/** An endpoint whose address is kept in a file or a variable. */
export interface KeptEndpoint {
  /** Name for messages while its address is unknown; not a secret. */
  readonly name: string
  /** Reads the address. @throws Fault that says what is missing, and where */
  read(): EndpointDeps
}

/** One endpoint of a chain, opened once its address is known. A missing address is looked for again each minute. */
export class PoolMember {
  readonly health: EndpointHealth
  readonly #time: Time
  readonly #source: EndpointDeps | KeptEndpoint
  readonly #openWith: (deps: EndpointDeps) => OpenEndpoint
  #open: OpenEndpoint | undefined
  #address: string | undefined
  #missing: EndpointFailure | undefined
  #lookAgainAtMs = 0

  constructor(source: EndpointDeps | KeptEndpoint, open: (deps: EndpointDeps) => OpenEndpoint, time: Time) {
    this.health = new EndpointHealth(time)
    this.#time = time
    this.#source = source
    this.#openWith = open
    this.#look()
  }

  /** `undefined` while its address is not known. */
  get endpoint(): OpenEndpoint | undefined {
    if (!this.#open && this.#time.nowMs() >= this.#lookAgainAtMs) this.#look()
    return this.#open
  }

  /** Why there is no endpoint; `undefined` when there is one. */
  get missing(): EndpointFailure | undefined {
    return this.endpoint ? undefined : this.#missing
  }

  /**
   * Reads a kept address again, as it or a header may have changed, and no longer counts the failures with what was there.
   */
  renew(): void {
    if (!('read' in this.#source)) return
    this.#look()
    this.health.didWell()
  }

  #look(): void {
    const source = this.#source
    try {
      const deps = 'read' in source ? source.read() : source
      if (this.#open && deps.url === this.#address) return
      this.#open?.close()
      this.#open = this.#openWith(deps)
      this.#address = deps.url
    } catch (error) {
      if (!(error instanceof Fault) || !('read' in source)) throw error
      this.#missing = new EndpointFailure(source.name, `cannot be asked: ${error.message}`, 'no-address')
      this.#lookAgainAtMs = this.#time.nowMs() + addressLookMs
    }
  }

  /** State for status output. */
  get report(): EndpointReport {
    const { endpoint, missing, health } = this
    if (!endpoint) return { host: missing?.host ?? '', state: 'no-address', reason: missing?.reason ?? '' }
    const { host, head, depth, rate, batch, calls } = endpoint
    return {
      host,
      ...health.report,
      ...(head && { head }),
      ...(depth.servesFrom !== undefined && { servesStateFrom: depth.servesFrom }),
      ...(Number.isFinite(rate.callsPerSecondMax) && { callsPerSecondMax: rate.callsPerSecondMax }),
      batchCallsMax: batch.callsMax,
      calls,
    }
  }
}
