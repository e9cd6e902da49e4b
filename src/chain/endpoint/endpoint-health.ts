import type { Time } from '../../edge/time.ts'
import type { EndpointFailure } from './endpoint-failure.ts'
import { endpointQuarantineMs, endpointRestMs, endpointRestMsMax } from './limits.ts'
import type { ChainHead } from './observed-blocks.ts'

/** State of an endpoint, for status output. */
export interface EndpointReport {
  /** Of its address. */
  readonly host: string
  /**
   * `wrong-id`: it serves another chain. `resting`: it failed, and is asked last. `quarantine`: another host answers
   * otherwise, so it is asked last. `no-address`: its address cannot be read.
   */
  readonly state: 'well' | 'resting' | 'wrong-id' | 'quarantine' | 'no-address'
  /** Why its address cannot be read; absent otherwise. */
  readonly reason?: string
  /** End of its rest, in milliseconds since 1970; absent when it does not rest. */
  readonly restsUntilMs?: number
  /** The last block it reported; absent before. */
  readonly head?: ChainHead
  /** The lowest block whose state it is known to have; absent while unknown. */
  readonly servesStateFrom?: bigint
  /** Its rate limit, configured or discovered; absent when there is none. */
  readonly callsPerSecondMax?: number
  /** Calls in one request, at most; absent while its address cannot be read. */
  readonly batchCallsMax?: number
}

/** Tracks whether an endpoint is well, rests after a failure, or is being probed. */
export class EndpointHealth {
  readonly #time: Time
  #failuresInRow = 0
  #restsUntilMs = 0
  #isWrongId = false
  #quarantineUntilMs = 0
  #trials = 0

  constructor(time: Time) {
    this.#time = time
  }

  get isResting(): boolean {
    return this.#time.nowMs() < this.#restsUntilMs || this.#isInQuarantine
  }

  /** Whether it is asked last: it rests or is being probed. */
  get isSpared(): boolean {
    return this.isResting || (this.#failuresInRow > 0 && this.#trials > 0)
  }

  /** Records that work on it begins. @returns a function to call when the work ends */
  begin(): () => void {
    this.#trials += 1
    return () => {
      this.#trials--
    }
  }

  get #isInQuarantine(): boolean {
    return this.#time.nowMs() < this.#quarantineUntilMs
  }

  /** Makes it asked last for an hour, whatever it answers: its answers cannot be trusted. */
  quarantine(): void {
    this.#quarantineUntilMs = this.#time.nowMs() + endpointQuarantineMs
  }

  /** Records a success. */
  didWell(): void {
    this.#failuresInRow = 0
    this.#restsUntilMs = 0
    this.#isWrongId = false
  }

  /** Records a failure. Failures of concurrent work, or during a rest, count once. */
  failed({ kind, retryAtMs }: Pick<EndpointFailure, 'kind' | 'retryAtMs'>): void {
    const nowMs = this.#time.nowMs()
    if (kind === 'rate') this.#rest(Math.min((retryAtMs ?? nowMs) - nowMs, endpointRestMsMax))
    if (kind === 'behind') this.#rest(endpointRestMs)
    if (this.isResting || (kind !== 'unreachable' && kind !== 'wrong-id')) return
    this.#failuresInRow += 1
    this.#isWrongId = kind === 'wrong-id'
    const grownMs = Math.min(endpointRestMs * 2 ** (this.#failuresInRow - 1), endpointRestMsMax)
    this.#rest(kind === 'wrong-id' ? endpointRestMsMax : grownMs)
  }

  #rest(ms: number): void {
    this.#restsUntilMs = Math.max(this.#restsUntilMs, this.#time.nowMs() + ms)
  }

  /** State for status output. */
  get report(): Pick<EndpointReport, 'state' | 'restsUntilMs'> {
    if (this.#isInQuarantine) return { state: 'quarantine', restsUntilMs: this.#quarantineUntilMs }
    if (!this.isResting) return { state: this.#isWrongId ? 'wrong-id' : 'well' }
    return { state: this.#isWrongId ? 'wrong-id' : 'resting', restsUntilMs: this.#restsUntilMs }
  }
}
