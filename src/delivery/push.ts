import { backoffMs } from '../model/backoff.ts'
import { type Batch, pushBody } from '../model/batch.ts'
import { backoffBaseMs, backoffCapMs, retryAfterWaitMsMax } from '../model/limits.ts'
import { type Verdict, verdict } from '../model/verdict.ts'
import type { ServiceClient } from '../service/client.ts'
import type { Time } from '../time.ts'
import type { Pacer } from './pacer.ts'
import type { Quiet } from './quiet.ts'
import type { ServiceClock } from './service-clock.ts'

/** What a push works with. */
export interface PushContext {
  readonly client: Pick<ServiceClient, 'push'>
  readonly key: string
  /** Whether the service has refused the key meanwhile, in the answer to another push. */
  readonly isKeyRefused: () => boolean
  readonly pacer: Pacer
  readonly quiet: Quiet
  readonly clock: ServiceClock
  readonly time: Time
  readonly signal: AbortSignal
}

/** What came of a push. */
export interface Pushed {
  readonly verdict: Verdict
  /** How often the batch was sent; 0 when the service wants to be left alone, or the key is refused. */
  readonly attempts: number
}

/**
 * Pushes one batch until there is a verdict that waiting does not change: at most `attemptsMax` attempts, with full
 * jitter, never before the service's `Retry-After`.
 *
 * Rejects only with the signal's reason, when it is stopped during or between attempts.
 */
export async function pushBatch(batch: Batch, attemptsMax: number, context: PushContext): Promise<Pushed> {
  const { client, key, pacer, quiet, clock, time, signal } = context
  const body = pushBody(batch)
  for (let attempts = 1; ; attempts += 1) {
    const wish = await untilItMayStart(context)
    if (wish) return { verdict: wish, attempts: attempts - 1 }
    const answer = await client.push(body, key, signal)
    clock.observe(answer)
    // What a stop broke off says nothing about the service, at the last attempt either.
    if (answer.kind === 'unanswered') signal.throwIfAborted()
    const found = verdict(answer, batch)
    if (found.kind === 'settled') pacer.quicken()
    if (found.kind !== 'transient') return { verdict: found, attempts }
    if (found.status === 429) pacer.slow()
    quiet.keep(found.notBeforeMs ?? 0)
    if (attempts === attemptsMax) return { verdict: found, attempts }
    const jitterMs = backoffMs({ baseMs: backoffBaseMs, capMs: backoffCapMs }, attempts, time.chance())
    if (isShort(quiet, time)) await time.sleep(jitterMs, signal)
    else return { verdict: found, attempts }
  }
}

/** @returns a verdict when the service wants to be left alone for longer than a flush waits, or refuses the key */
async function untilItMayStart(context: PushContext): Promise<Verdict | undefined> {
  const { isKeyRefused, pacer, quiet, time, signal } = context
  for (;;) {
    if (!isShort(quiet, time)) break
    await quiet.over(time, signal)
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
