import type { ServiceClient } from '../edge/service-client.ts'
import type { Time } from '../edge/time.ts'
import { backoffMs } from '../model/backoff.ts'
import { type Batch, pushBody } from '../model/batch.ts'
import { batchMetricsMax } from '../model/limits.ts'
import { type Verdict, verdict } from '../model/verdict.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { Gate, GateHold } from './gate.ts'
import { type Attempts, type Pushed, smallerSize } from './isolate/pieces.ts'

/** Duration from which a failed push is not repeated: pushes behind it would be late. */
const slowPushMs = 5_000

/** Full jitter: the wait before attempt n + 1 is drawn from 0 up to base × 2^(n-1), at most the cap. */
const backoffBaseMs = 500
const backoffCapMs = 30_000

/** Dependencies of `pushBatch`. */
export interface PushDeps {
  readonly client: Pick<ServiceClient, 'push'>
  /** The API key; never logged. */
  readonly key: string
  readonly gate: Pick<Gate, 'pushSlot' | 'noteClock' | 'pushed' | 'isRetrySoon'>
  readonly outbox: Pick<DeliveryStore, 'present' | 'stillDue'>
  readonly time: Time
  /** Ends waits. */
  readonly signal: AbortSignal
  /** Aborts a request under way. */
  readonly breakOff: AbortSignal
}

/**
 * Pushes one batch until there is a verdict that waiting does not change: at most `attemptsMax` attempts, with full
 * jitter, each when the gate admits it. A batch that fails slowly, or of which a metric was withdrawn, is not repeated:
 * the caller decides what to send next.
 *
 * Rejects only with the signal's reason, when it is stopped during or between attempts.
 */
export async function pushBatch(
  batch: Batch,
  wanted: Attempts,
  { client, key, gate, outbox, time, signal, breakOff }: PushDeps,
): Promise<Pushed> {
  const { attemptsMax, failedBefore = 0 } = wanted
  const body = pushBody(batch)
  if (failedBefore > 0) await time.sleep(jitterMs(failedBefore, time), signal)
  let before: Verdict | undefined
  for (let attempts = 1; ; attempts += 1) {
    let hold = await gate.pushSlot(key, signal)
    if (before && !hold) {
      // After all waiting: it may have taken as long as the service has asked for.
      if (await hasWithdrawn(batch, wanted, outbox)) return { verdict: before, attempts: attempts - 1 }
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
    const found = verdict(answer, batch)
    await gate.pushed(found, key)
    if (found.kind !== 'transient') return { verdict: found, attempts }
    if (isSlow) return { verdict: found, attempts, isSlow }
    if (attempts === attemptsMax || !gate.isRetrySoon) return { verdict: found, attempts }
    before = found
    await time.sleep(jitterMs(failedBefore + attempts, time), signal)
  }
}

/**
 * Whether a metric of a batch was withdrawn, so that the batch must not be sent again unchanged. The known-good metric need
 * not be due, so another worker may have sent a correction of it, which its old value would overwrite.
 */
async function hasWithdrawn(batch: Batch, { isKnownGood }: Attempts, outbox: PushDeps['outbox']): Promise<boolean> {
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

  /** Metrics of the next batch, at most. */
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
