import { mayBeAcceptedLater, type Post, type PostAnswer, postMessage } from '../edge/post-message.ts'
import type { Time } from '../edge/time.ts'
import { withFile } from '../model/advice.ts'
import { backoffMs } from '../model/backoff.ts'
import { faultLine } from '../model/fault.ts'
import type { Counters } from '../telemetry/counters.ts'
import type { Log } from '../telemetry/log.ts'
import type { Redactor } from '../telemetry/redactor.ts'

/** Meaning of the answer to a report. `later`: it is sent again, not before an instant if the server names one. */
export type ReportVerdict =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'later'; readonly reason: string; readonly notBeforeMs?: number }
  | { readonly kind: 'refused'; readonly reason: string }

interface OutgoingReport {
  /** Makes the request; reads secrets each time. @throws Fault when one cannot be used */
  readonly post: () => Post
  /** Judges an answer; without it by its status alone. */
  readonly judge?: (answer: PostAnswer, nowMs: number) => ReportVerdict
}

/** Time limit of one POST, whole answer included. */
const postTimeoutMs = 10_000

/** Wait after a report that was not accepted, doubled with each further one up to the cap; half of it at least. */
const repeatBaseMs = 2_000
const repeatCapMs = 5 * 60_000

interface ReportDeps {
  readonly time: Time
  readonly receiver: ReceiverLog
  readonly redactor: Pick<Redactor, 'redact'>
  /** Ends the exchange and all waits. */
  readonly stop: AbortSignal
  /** Ends the waits between attempts. Default: nothing but `stop`. */
  readonly giveUpSignal?: AbortSignal
  /** Attempts, at most. Default: without end. */
  readonly attemptsMax?: number
}

/**
 * Sends a report until it is accepted or refused for good. Never rejects.
 *
 * @returns `left` when it was ended before
 */
export async function sendReport(report: OutgoingReport, deps: ReportDeps): Promise<'accepted' | 'refused' | 'left'> {
  const { time, receiver, stop, giveUpSignal, attemptsMax = Number.POSITIVE_INFINITY } = deps
  const waitSignal = giveUpSignal ? AbortSignal.any([stop, giveUpSignal]) : stop
  for (let attempt = 1; ; attempt += 1) {
    const verdict = await verdictOf(report, deps)
    if (stop.aborted) return 'left'
    if (verdict.kind === 'accepted') receiver.accepted()
    else receiver.refused(deps.redactor.redact(verdict.reason))
    if (verdict.kind !== 'later') return verdict.kind
    if (attempt >= attemptsMax) return 'left'
    const backoff = backoffMs({ baseMs: repeatBaseMs, capMs: repeatCapMs }, attempt, 0.5 + time.chance() / 2)
    const restMs = Math.max(backoff, (verdict.notBeforeMs ?? 0) - time.nowMs())
    const isOver = await time.sleep(restMs, waitSignal).then(
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
    const written = post()
    const body = withFile(written.body, written.contentType.includes('json') ? 'json' : 'plain')
    const answer = await postMessage({ ...written, body }, { time, timeoutMs: postTimeoutMs, stop })
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

const fix = 'tidegauge doctor says whether it can be reached; nothing else waits for it'

/** Logs that a receiver does not accept reports, once when it begins and once when it is over, and counts its answers. */
export class ReceiverLog {
  readonly #receiver: string
  readonly #log: Log
  readonly #counters: Counters | undefined
  #isRefused = false

  /** @param receiver its name, for messages */
  constructor(receiver: string, log: Log, counters?: Counters) {
    this.#receiver = receiver
    this.#log = log
    this.#counters = counters
    if (counters && !counters.reports.has(receiver)) counters.reports.set(receiver, { accepted: 0, refused: 0 })
  }

  /** Records that a report was accepted. */
  accepted(): void {
    if (this.#isRefused) this.#log.info({ receiver: this.#receiver }, 'reports are accepted again')
    this.#isRefused = false
    this.#counters?.reported(this.#receiver)
  }

  /** Records that a report was not accepted. @param reason without a secret */
  refused(reason: string): void {
    if (!this.#isRefused) this.#log.warn({ receiver: this.#receiver, reason, fix }, 'a report is not accepted')
    this.#isRefused = true
    this.#counters?.reported(this.#receiver, reason)
  }
}
