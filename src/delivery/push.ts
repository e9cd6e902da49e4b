import type { Time } from '../edge/time.ts'
import { backoffMs } from '../model/backoff.ts'
import { type Batch, pushBody } from '../model/batch.ts'
import { backoffBaseMs, backoffCapMs, retryAfterWaitMsMax } from '../model/limits.ts'
import { type Verdict, verdict } from '../model/verdict.ts'
import type { ServiceClient } from '../service/client.ts'
import { slowPushMs } from './limits.ts'
import type { Pacer } from './pacer.ts'
import type { Quiet } from './quiet.ts'
import type { ServiceClock } from './service-clock.ts'

/** What a push works with. */
export interface PushContext {
  readonly client: Pick<ServiceClient, 'push'>
  readonly key: string
  /** Whether the service has refused the key meanwhile, in the answer to another push. */
  readonly isKeyRefused: () => boolean
  /** Shared by all destinations. */
  readonly pacer: Pacer
  /** The destination's own: slower for a while after a 429, which is about its key. */
  readonly ownPacer: Pacer
  readonly quiet: Quiet
  /** Whether one of a batch was taken back, so that the batch is not to be sent as it is. */
  readonly hasWithdrawn: (batch: Batch) => boolean
  readonly clock: ServiceClock
  readonly time: Time
  /** Ends what is waited for. */
  readonly signal: AbortSignal
  /** Breaks off a request under way. */
  readonly breakOff: AbortSignal
}

/** What came of a push. */
export interface Pushed {
  readonly verdict: Verdict
  /** How often the batch was sent; 0 when the service wants to be left alone, or the key is refused. */
  readonly attempts: number
  /** It failed after so long that it is not repeated as it is. */
  readonly isSlow?: true
}

/** How often a batch is sent. */
export interface Attempts {
  /** At most. */
  readonly attemptsMax: number
  /** Attempts of other batches that failed just before: the first of these waits as if they were its own. */
  readonly failedBefore?: number
}

/**
 * Pushes one batch until there is a verdict that waiting does not change: at most `attemptsMax` attempts, with full
 * jitter, never before the service's `Retry-After`. One that fails slowly is not repeated, nor one of which something was
 * dropped meanwhile: the caller knows better what else there is to send.
 *
 * Rejects only with the signal's reason, when it is stopped during or between attempts.
 */
export async function pushBatch(
  batch: Batch,
  { attemptsMax, failedBefore = 0 }: Attempts,
  context: PushContext,
): Promise<Pushed> {
  const { client, key, ownPacer, quiet, hasWithdrawn, clock, time, signal, breakOff } = context
  const body = pushBody(batch)
  if (failedBefore > 0) await time.sleep(jitterMs(failedBefore, time), signal)
  for (let attempts = 1; ; attempts += 1) {
    const wish = await untilItMayStart(context)
    if (wish) return { verdict: wish, attempts: attempts - 1 }
    const sentMs = time.nowMs()
    const answer = await client.push(body, key, breakOff)
    const isSlow = time.nowMs() - sentMs >= slowPushMs
    clock.observe(answer)
    // What a stop broke off says nothing about the service, at the last attempt either.
    if (answer.kind === 'unanswered') signal.throwIfAborted()
    const found = verdict(answer, batch)
    if (found.kind === 'settled') ownPacer.quicken()
    if (found.kind !== 'transient') return { verdict: found, attempts }
    if (found.status === 429) ownPacer.slow()
    quiet.keep(found.notBeforeMs ?? 0)
    if (isSlow) return { verdict: found, attempts, isSlow }
    if (attempts === attemptsMax || !isShort(quiet, time)) return { verdict: found, attempts }
    await time.sleep(jitterMs(failedBefore + attempts, time), signal)
    if (hasWithdrawn(batch)) return { verdict: found, attempts }
  }
}

function jitterMs(failed: number, time: Time): number {
  return backoffMs({ baseMs: backoffBaseMs, capMs: backoffCapMs }, failed, time.chance())
}

/** @returns a verdict when the service wants to be left alone for longer than a flush waits, or refuses the key */
async function untilItMayStart(context: PushContext): Promise<Verdict | undefined> {
  const { isKeyRefused, pacer, ownPacer, quiet, time, signal } = context
  for (;;) {
    signal.throwIfAborted()
    if (!isShort(quiet, time)) break
    await quiet.over(time, signal)
    await ownPacer.turn(signal)
    await pacer.turn(signal)
    // Either may have happened while this one waited for its turn.
    if (isKeyRefused()) return { kind: 'key-refused', reason: '401' }
    if (quiet.untilMs(time.nowMs()) === 0) return undefined
  }
  const notBeforeMs = quiet.untilMs(time.nowMs())
  return { kind: 'transient', reason: 'the service asked to wait', notBeforeMs }
}

function isShort(quiet: Quiet, time: Time): boolean {
  const nowMs = time.nowMs()
  return quiet.untilMs(nowMs) - nowMs <= retryAfterWaitMsMax
}
