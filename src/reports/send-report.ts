import { mayBeAcceptedLater, type Post, type PostAnswer, postMessage } from '../edge/post-message.ts'
import type { Time } from '../edge/time.ts'
import { backoffMs } from '../model/backoff.ts'
import { faultLine } from '../model/fault.ts'
import { postTimeoutMs, repeatBaseMs, repeatCapMs } from './limits.ts'
import type { ReceiverLog } from './receiver-log.ts'

/** Meaning of the answer to a report. `later`: it is sent again, not before an instant if the server names one. */
export type ReportVerdict =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'later'; readonly reason: string; readonly notBeforeMs?: number }
  | { readonly kind: 'refused'; readonly reason: string }

/** A report and its receiver. */
export interface OutgoingReport {
  /** Makes the request; reads secrets each time. @throws Fault when one cannot be used */
  readonly post: () => Post
  /** Judges an answer; without it by its status alone. */
  readonly judge?: (answer: PostAnswer, nowMs: number) => ReportVerdict
}

/** Dependencies of `sendReport`. */
export interface ReportDeps {
  readonly time: Time
  readonly receiver: ReceiverLog
  /** Removes secrets from an answer. */
  readonly redact: (text: string) => string
  /** Ends the exchange and all waits. */
  readonly stop: AbortSignal
  /** Ends the waits between attempts. Default: nothing but `stop`. */
  readonly enough?: AbortSignal
  /** Attempts, at most. Default: without end. */
  readonly attemptsMax?: number
}

/**
 * Sends a report until it is accepted or refused for good. Never rejects.
 *
 * @returns `left` when it was ended before
 */
export async function sendReport(report: OutgoingReport, deps: ReportDeps): Promise<'accepted' | 'refused' | 'left'> {
  const { time, receiver, stop, enough, attemptsMax = Number.POSITIVE_INFINITY } = deps
  const waiting = enough ? AbortSignal.any([stop, enough]) : stop
  for (let attempt = 1; ; attempt += 1) {
    const verdict = await verdictOf(report, deps)
    if (stop.aborted) return 'left'
    if (verdict.kind === 'accepted') receiver.accepted()
    else receiver.refused(deps.redact(verdict.reason))
    if (verdict.kind !== 'later') return verdict.kind
    if (attempt >= attemptsMax) return 'left'
    const backoff = backoffMs({ baseMs: repeatBaseMs, capMs: repeatCapMs }, attempt, 0.5 + time.chance() / 2)
    const restMs = Math.max(backoff, (verdict.notBeforeMs ?? 0) - time.nowMs())
    const isOver = await time.sleep(restMs, waiting).then(
      () => false,
      () => true,
    )
    if (isOver) return 'left'
  }
}

async function verdictOf(
  { post, judge = judgeStatus }: OutgoingReport,
  { time, stop }: ReportDeps,
): Promise<ReportVerdict> {
  try {
    const answer = await postMessage(post(), { time, timeoutMs: postTimeoutMs, stop })
    return judge(answer, time.nowMs())
  } catch (error) {
    // A secret that cannot be used may be put right meanwhile: it is read at each attempt.
    return { kind: 'later', reason: faultLine(error) }
  }
}

/** Judges an answer by its status alone. */
export function judgeStatus(answer: PostAnswer): ReportVerdict {
  if (answer.kind === 'unanswered') return { kind: 'later', reason: answer.reason }
  const { status, notBeforeMs } = answer
  if (status >= 200 && status < 300) return { kind: 'accepted' }
  const reason = `it answered ${status}`
  if (!mayBeAcceptedLater(answer)) return { kind: 'refused', reason }
  return { kind: 'later', reason, ...(notBeforeMs !== undefined && { notBeforeMs }) }
}
