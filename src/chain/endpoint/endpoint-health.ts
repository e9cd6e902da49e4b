import type { Time } from '../../edge/time.ts'
import { endpointRestMs, endpointRestMsMax } from '../limits.ts'
import type { EndpointFailure } from './endpoint-failure.ts'
import type { ChainHead } from './sightings.ts'

/** What is known of an endpoint, to be shown. */
export interface EndpointReport {
  readonly host: string
  /** `wrong-id`: it serves another chain. `resting`: it failed and is asked last. `no-address`: where it is cannot be read. */
  readonly state: 'well' | 'resting' | 'wrong-id' | 'no-address'
  /** Why it has no address. */
  readonly reason?: string
  /** Until when it rests: milliseconds since 1970. */
  readonly restsUntilMs?: number
  /** The last block it told of. */
  readonly head?: ChainHead
  /** The lowest block whose state it is known to have. */
  readonly servesStateFrom?: bigint
  /** In calls a second, where there is a limit. */
  readonly callsPerSecondMax?: number
  /** In one request; absent while it has no address. */
  readonly batchCallsMax?: number
}

/** Whether an endpoint is asked, rests after a failure, or is tried again. */
export class EndpointHealth {
  readonly #time: Time
  #failuresInRow = 0
  #restsUntilMs = 0
  #isWrongId = false
  #trials = 0

  constructor(time: Time) {
    this.#time = time
  }

  get isResting(): boolean {
    return this.#time.nowMs() < this.#restsUntilMs
  }

  /** Whether it is asked last: it rests, or somebody tries whether it is well again. */
  get isSpared(): boolean {
    return this.isResting || (this.#failuresInRow > 0 && this.#trials > 0)
  }

  /** Work on it begins. @returns what is to be called when it ends */
  begin(): () => void {
    this.#trials++
    return () => {
      this.#trials--
    }
  }

  /** It did what was asked of it. */
  didWell(): void {
    this.#failuresInRow = 0
    this.#restsUntilMs = 0
    this.#isWrongId = false
  }

  /** It failed. What failed together with others, or while it rests, counts once. */
  failed({ kind, retryAtMs }: Pick<EndpointFailure, 'kind' | 'retryAtMs'>): void {
    const nowMs = this.#time.nowMs()
    if (kind === 'rate') this.#rest(Math.min((retryAtMs ?? nowMs) - nowMs, endpointRestMsMax))
    if (kind === 'behind') this.#rest(endpointRestMs)
    if (this.isResting || (kind !== 'unreachable' && kind !== 'wrong-id')) return
    this.#failuresInRow++
    this.#isWrongId = kind === 'wrong-id'
    const grownMs = Math.min(endpointRestMs * 2 ** (this.#failuresInRow - 1), endpointRestMsMax)
    this.#rest(kind === 'wrong-id' ? endpointRestMsMax : grownMs)
  }

  #rest(ms: number): void {
    this.#restsUntilMs = Math.max(this.#restsUntilMs, this.#time.nowMs() + ms)
  }

  /** For people. */
  get report(): Pick<EndpointReport, 'state' | 'restsUntilMs'> {
    if (!this.isResting) return { state: this.#isWrongId ? 'wrong-id' : 'well' }
    return { state: this.#isWrongId ? 'wrong-id' : 'resting', restsUntilMs: this.#restsUntilMs }
  }
}
