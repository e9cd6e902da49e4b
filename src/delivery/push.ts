import { backoffMs } from '../model/backoff.ts'
import { type Batch, pushBody } from '../model/batch.ts'
import { attemptsMax, backoffBaseMs, backoffCapMs, retryAfterWaitMsMax } from '../model/limits.ts'
import { type Verdict, verdict } from '../model/verdict.ts'
import type { ServiceClient } from '../service/client.ts'
import type { Time } from '../time.ts'
import type { Pacer } from './pacer.ts'

/** What a push works with. */
export interface PushContext {
  readonly client: Pick<ServiceClient, 'push'>
  readonly key: string
  readonly pacer: Pacer
  readonly time: Time
  readonly signal: AbortSignal
}

/**
 * Pushes one batch until there is a verdict that waiting does not change: at most five attempts, with full jitter, never
 * before the service's `Retry-After`.
 *
 * Rejects only with the signal's reason, when it is stopped during or between attempts.
 */
export async function pushBatch(batch: Batch, { client, key, pacer, time, signal }: PushContext): Promise<Verdict> {
  const body = pushBody(batch)
  for (let attempt = 1; ; attempt += 1) {
    await pacer.turn(signal)
    const answer = await client.push(body, key, signal)
    // What a stop broke off says nothing about the service, at the last attempt either.
    if (answer.kind === 'unanswered') signal.throwIfAborted()
    const found = verdict(answer, batch)
    if (found.kind !== 'transient' || attempt === attemptsMax) return found
    const askedMs = (found.notBeforeMs ?? 0) - time.nowMs()
    if (askedMs > retryAfterWaitMsMax) return found
    const jitterMs = backoffMs({ baseMs: backoffBaseMs, capMs: backoffCapMs }, attempt, time.chance())
    await time.sleep(Math.max(jitterMs, askedMs), signal)
  }
}
