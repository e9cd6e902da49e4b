import type { ProtocolConfig } from '../config/config.ts'
import type { ServiceClient } from '../edge/service-client.ts'
import type { Time } from '../edge/time.ts'
import { backoffMs } from '../model/backoff.ts'
import { type Batch, pushBody } from '../model/batch.ts'
import { hourText } from '../model/hour.ts'
import { batchMetricsMax } from '../model/limits.ts'
import { foreignFact, isForeign, reasonOf, transientOf, type Verdict, verdict } from '../model/verdict.ts'
import { registration } from '../model/wire.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { Log } from '../telemetry/log.ts'
import type { Destination } from './destination.ts'
import type { Gate, GateHold } from './gate.ts'
import { type Attempts, type NotRegistered, type Pushed, smallerSize } from './isolate/pieces.ts'
import type { UnconfirmedSends } from './recorder.ts'

/** Duration from which a failed push is not repeated: pushes behind it would be late. */
const slowPushMs = 5_000

/** Full jitter: the wait before attempt n + 1 is drawn from 0 up to base × 2^(n-1), at most the cap. */
const backoffBaseMs = 500
const backoffCapMs = 30_000

/** The parts of a delivery that its requests need. */
export interface SenderDeps {
  readonly client: Pick<ServiceClient, 'push' | 'register'>
  readonly destination: Pick<Destination, 'protocols'>
  readonly gate: Pick<Gate, 'pushSlot' | 'requestSlot' | 'noteClock' | 'pushed' | 'isRetrySoon'>
  readonly outbox: Pick<DeliveryStore, 'present' | 'stillDue'>
  readonly unconfirmedSends: Pick<UnconfirmedSends, 'add'>
  readonly batchSize: BatchSize
  /** Called with a batch when its push has ended, whatever the outcome. Default: nothing is. */
  readonly onPushed?: (batch: Batch) => void
  readonly log: Log
  readonly time: Time
}

/** A flush that the gate has admitted. */
interface AdmittedFlush {
  /** The API key; never logged. */
  readonly key: string
  /** Ends waits. */
  readonly signal: AbortSignal
  /** Aborts requests under way. */
  readonly breakOff: AbortSignal
}

/** Sends the pushes and registrations of one flush, each when the gate admits it. */
export class Sender {
  readonly #deps: SenderDeps
  readonly #flush: AdmittedFlush

  constructor(deps: SenderDeps, flush: AdmittedFlush) {
    this.#deps = deps
    this.#flush = flush
  }

  /** Metrics of the next batch, at most. */
  get batchSizeMax(): number {
    return this.#deps.batchSize.max
  }

  /**
   * Pushes one batch until there is a verdict that waiting does not change: at most `attemptsMax` attempts, with full
   * jitter, each when the gate admits it. A batch that fails slowly, or of which a metric was withdrawn, is not repeated:
   * the caller decides what to send next.
   *
   * Rejects only with the signal's reason, when it is stopped during or between attempts.
   */
  async push(batch: Batch, attempts: Attempts): Promise<Pushed> {
    const { unconfirmedSends, onPushed } = this.#deps
    try {
      const pushed = await this.#pushed(batch, attempts)
      this.#note(batch, pushed)
      return pushed
    } catch (error) {
      unconfirmedSends.add(batch)
      throw error
    } finally {
      onPushed?.(batch)
    }
  }

  /** @returns why the protocol is not registered; `undefined` when it is */
  async register(protocolId: string): Promise<NotRegistered | undefined> {
    const { client, destination, gate } = this.#deps
    const { key, signal } = this.#flush
    const protocol = destination.protocols.find(({ id }) => id === protocolId)
    if (!protocol) return { kind: 'refused', reason: 'it is not configured' }
    await gate.requestSlot(signal)
    const refusal = await registerProtocol(client, protocol, key, signal)
    if (refusal?.kind === 'transient') await gate.pushed(refusal, key)
    return refusal
  }

  async #pushed(batch: Batch, limits: Attempts): Promise<Pushed> {
    const { client, gate, outbox, time } = this.#deps
    const { key, signal, breakOff } = this.#flush
    const { attemptsMax, failedBefore = 0 } = limits
    const body = pushBody(batch)
    if (failedBefore > 0) await time.sleep(jitterMs(failedBefore, time), signal)
    let verdictBefore: Verdict | undefined
    for (let attempts = 1; ; attempts += 1) {
      let hold = await gate.pushSlot(key, signal)
      if (verdictBefore && !hold) {
        // After all waiting: it may have taken as long as the service has asked for.
        if (await hasWithdrawn(batch, limits, outbox)) return { verdict: verdictBefore, attempts: attempts - 1 }
        // A slow disk may have let the slot pass, and the next push has the next one.
        hold = await gate.pushSlot(key, signal)
      }
      if (hold) return { verdict: verdictOf(hold), attempts: attempts - 1 }
      const sentMs = time.nowMs()
      const answer = await client.push(body, key, breakOff)
      const isSlow = time.nowMs() - sentMs >= slowPushMs
      gate.noteClock(answer)
      // An aborted request says nothing about the service, not even at the last attempt.
      if (answer.kind === 'unanswered') signal.throwIfAborted()
      const judgement = verdict(answer, batch)
      await gate.pushed(judgement, key)
      if (judgement.kind !== 'transient') return { verdict: judgement, attempts }
      if (isSlow) return { verdict: judgement, attempts, isSlow }
      if (attempts === attemptsMax || !gate.isRetrySoon) return { verdict: judgement, attempts }
      verdictBefore = judgement
      await time.sleep(jitterMs(failedBefore + attempts, time), signal)
    }
  }

  #note(batch: Batch, { verdict: judgement, attempts }: Pushed): void {
    const { unconfirmedSends, batchSize, log } = this.#deps
    // An earlier attempt may have been stored, whatever the last one was answered.
    if (judgement.kind === 'transient' || (judgement.kind !== 'settled' && attempts > 1)) unconfirmedSends.add(batch)
    if (judgement.kind === 'settled') {
      unconfirmedSends.add(judgement.resend)
      if (judgement.delivered.length > 0) batchSize.accepted(batch.length)
    }
    if (judgement.kind === 'refused' && judgement.status === 413) batchSize.refused(batch.length)
    if (log.isLevelEnabled('debug')) {
      log.debug({ metrics: batch.length, first: hourText(batch[0].hour), verdict: judgement.kind, attempts }, 'pushed')
    }
  }
}

/**
 * Whether a metric of a batch was withdrawn, so that the batch must not be sent again unchanged. The known-good metric need
 * not be due, so another worker may have sent a correction of it, which its old value would overwrite.
 */
async function hasWithdrawn(batch: Batch, { isKnownGood }: Attempts, outbox: SenderDeps['outbox']): Promise<boolean> {
  if (!isKnownGood) return (await outbox.stillDue(batch)).length < batch.length
  const present = await outbox.present(batch[0])
  return present?.value !== batch[0].value || present.unit !== batch[0].unit
}

function jitterMs(failed: number, time: Time): number {
  return backoffMs({ baseMs: backoffBaseMs, capMs: backoffCapMs }, failed, time.chance())
}

/** Verdict on a batch that a hold kept from being sent. */
function verdictOf({ why, untilMs }: GateHold): Verdict {
  if (why === 'key-refused') return { kind: 'key-refused', reason: '401' }
  return { kind: 'transient', reason: 'the service asked to wait', notBeforeMs: untilMs }
}

/**
 * Registers a protocol with the service.
 *
 * @returns why it is not registered; `undefined` when it is
 */
export async function registerProtocol(
  client: Pick<ServiceClient, 'register'>,
  { id, name, logo, chains }: ProtocolConfig,
  key: string,
  stop?: AbortSignal,
): Promise<NotRegistered | undefined> {
  const body = registration.parse({ id, name, ...(logo && { logo }), ...(chains && { chains }) })
  const answer = await client.register(body, key, stop)
  const transient = transientOf(answer)
  if (transient || answer.kind === 'unanswered') return transient
  if (isForeign(answer)) return { kind: 'refused', reason: `${foreignFact(answer)}: check service.url` }
  if (answer.status >= 200 && answer.status < 300) return undefined
  const isTaken = answer.status === 400
  const reason = `registration refused${isTaken ? ', is the id taken by another key?' : ''} (${reasonOf(answer)})`
  return { kind: 'refused', reason }
}

/** Full batches accepted in a row after which twice as many metrics are tried. */
const acceptedMin = 100

/**
 * Number of metrics that the service takes at once, as its answers show. It shrinks with a 413 and is remembered while the
 * process lives; after a hundred full batches twice as many are tried, since one odd metric may be answered with 413, too.
 */
export class BatchSize {
  #max = batchMetricsMax
  /** The size before it was doubled: that much was accepted. */
  #passed = 0
  #accepted = 0

  get max(): number {
    return this.#max
  }

  /** Notes that so many metrics are too large together. */
  refused(count: number): void {
    if (count <= this.#passed) this.#passed = 0
    this.#max = Math.min(this.#max, Math.max(this.#passed, smallerSize(count, true)))
    this.#accepted = 0
  }

  /** Notes that so many metrics were accepted together. */
  accepted(count: number): void {
    if (count < this.#max || this.#max === batchMetricsMax) return
    this.#accepted += 1
    if (this.#accepted < acceptedMin) return
    this.#passed = this.#max
    this.#max = Math.min(batchMetricsMax, 2 * this.#max)
    this.#accepted = 0
  }
}
