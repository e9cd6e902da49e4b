import type { Time } from '../../edge/time.ts'
import type { CallOutcome } from './call-outcomes.ts'
import type { EndpointFailure, FailureKind } from './endpoint-failure.ts'
import { endpointQuarantineMs, endpointRestMs, endpointRestMsMax } from './limits.ts'
import type { ChainHead } from './observed-blocks.ts'

/** State of an endpoint, for status output. */
export interface EndpointReport {
  /** Of its address. */
  readonly host: string
  /**
   * `wrong-id`: it serves another chain. `resting`: it failed, and is asked last. `quarantine`: another host answers
   * otherwise, or its logs contradict its receipts, so it is asked last. `no-address`: its address cannot be read.
   */
  readonly state: 'well' | 'resting' | 'wrong-id' | 'quarantine' | 'no-address'
  /** Why its address cannot be read, or it is in quarantine; absent otherwise. */
  readonly reason?: string
  /**
   * Why it could not serve when it was asked last, whether it still rests or not; absent when it served. `behind`: it
   * has no block past the hour, or no state of its last blocks.
   */
  readonly trouble?: EndpointTrouble
  /** Failures in a row with which it rested; absent when there are none. */
  readonly failuresInRow?: number
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
  /** Calls sent so far, by their outcome; absent while its address cannot be read. */
  readonly calls?: Readonly<Record<CallOutcome, number>>
}

/** Failures that are the endpoint's own, whatever was read. */
export type EndpointTrouble = 'unreachable' | 'wrong-id' | 'behind' | 'pruned' | 'limited'

const troubleByKind: Readonly<Partial<Record<FailureKind, EndpointTrouble>>> = {
  unreachable: 'unreachable',
  'wrong-id': 'wrong-id',
  behind: 'behind',
  'recent-state': 'behind',
  'wrong-block': 'unreachable',
  pruned: 'pruned',
  rate: 'limited',
}

/** Failures after which an endpoint is asked last for a while. */
const disabling: ReadonlySet<FailureKind> = new Set(['unreachable', 'wrong-id', 'wrong-block'])

/** Tracks whether an endpoint is well, rests after a failure, or is being probed. */
export class EndpointHealth {
  readonly #time: Time
  #failuresInRow = 0
  #restsUntilMs = 0
  #isWrongId = false
  #quarantineUntilMs = 0
  #quarantineReason = ''
  #trouble: EndpointTrouble | undefined
  #trials = 0

  constructor(time: Time) {
    this.#time = time
  }

  get isResting(): boolean {
    return this.#time.nowMs() < this.#restsUntilMs || this.isInQuarantine
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

  /** Whether its answers were contradicted within the last hour. */
  get isInQuarantine(): boolean {
    return this.#time.nowMs() < this.#quarantineUntilMs
  }

  /** Makes it asked last for an hour, whatever it answers: its answers cannot be trusted. */
  quarantine(reason: string): void {
    this.#quarantineReason = reason
    this.#quarantineUntilMs = this.#time.nowMs() + endpointQuarantineMs
  }

  /** Records a success. */
  didWell(): void {
    this.#failuresInRow = 0
    this.#restsUntilMs = 0
    this.#isWrongId = false
    this.#trouble = undefined
  }

  /** Records a failure. Failures of concurrent work, or during a rest, count once. */
  failed({ kind, retryAtMs }: Pick<EndpointFailure, 'kind' | 'retryAtMs'>): void {
    const nowMs = this.#time.nowMs()
    this.#trouble = troubleByKind[kind] ?? this.#trouble
    if (kind === 'rate') this.#rest(Math.min((retryAtMs ?? nowMs) - nowMs, endpointRestMsMax))
    if (kind === 'behind') this.#rest(endpointRestMs)
    if (this.isResting || !disabling.has(kind)) return
    this.#failuresInRow += 1
    this.#isWrongId = kind === 'wrong-id'
    const grownMs = Math.min(endpointRestMs * 2 ** (this.#failuresInRow - 1), endpointRestMsMax)
    this.#rest(kind === 'wrong-id' ? endpointRestMsMax : grownMs)
  }

  #rest(ms: number): void {
    this.#restsUntilMs = Math.max(this.#restsUntilMs, this.#time.nowMs() + ms)
  }

  /** State for status output. */
  get report(): Pick<EndpointReport, 'state' | 'reason' | 'restsUntilMs' | 'trouble' | 'failuresInRow'> {
    const [trouble, failuresInRow] = [this.#trouble, this.#failuresInRow]
    const last = { ...(trouble && { trouble }), ...(failuresInRow > 0 && { failuresInRow }) }
    if (this.isInQuarantine) {
      const [reason, restsUntilMs] = [this.#quarantineReason, this.#quarantineUntilMs]
      return { state: 'quarantine', reason, restsUntilMs, ...last }
    }
    if (!this.isResting) return { state: this.#isWrongId ? 'wrong-id' : 'well', ...last }
    return { state: this.#isWrongId ? 'wrong-id' : 'resting', restsUntilMs: this.#restsUntilMs, ...last }
  }
}
