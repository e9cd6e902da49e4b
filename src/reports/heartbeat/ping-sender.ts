import type { SecretRef } from '../../config/config.ts'
import { resolvePostAddress } from '../../config/secret.ts'
import type { PostAnswer } from '../../edge/post-message.ts'
import type { Time } from '../../edge/time.ts'
import { secretPartsOf } from '../../model/host.ts'
import type { Counters } from '../../telemetry/counters.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Redactor } from '../../telemetry/redactor.ts'
import { ReceiverLog } from '../receiver-log.ts'
import { judgeStatus, type ReportVerdict, sendReport } from '../send-report.ts'
import { type Ping, pingText, pingUrl } from './ping.ts'

/** Dependencies of `PingSender`. */
export interface PingSenderDeps {
  /** Where the address of the check is kept. */
  readonly url: SecretRef
  readonly time: Time
  readonly log: Log
  /** Counts the answers of receivers. Default: nothing is counted. */
  readonly counters?: Counters | undefined
  readonly redactor: Pick<Redactor, 'add' | 'redact'>
  /** Attempts at one ping, at most. Default: until the next hour. */
  readonly attemptsMax?: number
}

/** Sends the pings of one hour after the other: its start, then its result. Those of an hour before are given up. */
export class PingSender {
  readonly #deps: PingSenderDeps
  readonly #receiver: ReceiverLog
  readonly #stopping = new AbortController()
  #enough = new AbortController()
  #last: Promise<unknown> = Promise.resolve()

  constructor(deps: PingSenderDeps) {
    this.#deps = deps
    this.#receiver = new ReceiverLog('heartbeat', deps.log, deps.counters)
  }

  /**
   * Sends a ping after the one before, which is not repeated any more.
   *
   * @returns whether it was accepted, or refused for good. Never rejects
   */
  async send(ping: Ping): Promise<boolean> {
    this.#enough.abort()
    const enough = new AbortController()
    this.#enough = enough
    const sent = this.#last.then(() => this.#send(ping, enough.signal))
    this.#last = sent
    return sent
  }

  /** Ends all exchanges and waits; resolves when they have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    await this.#last
  }

  async #send(ping: Ping, enough: AbortSignal): Promise<boolean> {
    const { url, time, redactor, attemptsMax } = this.#deps
    const redact = (text: string) => redactor.redact(text)
    const post = () => {
      const check = resolvePostAddress(url)
      redactor.add(secretPartsOf(check))
      const body = redact(pingText(ping))
      return { url: pingUrl(check, ping.kind), contentType: 'text/plain; charset=utf-8', body }
    }
    const stop = this.#stopping.signal
    const deps = { time, receiver: this.#receiver, redact, stop, enough, ...(attemptsMax && { attemptsMax }) }
    return (await sendReport({ post, judge: judgePing }, deps)) !== 'left'
  }
}

/** Wait after a ping beyond the rate, in milliseconds: five a minute are taken for a check. */
const rateRestMs = 60_000

/** Judges an answer of Healthchecks.io, which has words for what it ignores although its status is 200. */
export function judgePing(answer: PostAnswer, nowMs: number): ReportVerdict {
  const text = answer.kind === 'answered' ? answer.text.trim() : ''
  if (text === 'OK (not found)') return { kind: 'refused', reason: 'there is no check at its address' }
  if (text === 'OK (rate limited)') {
    return { kind: 'later', reason: 'it was pinged too often', notBeforeMs: nowMs + rateRestMs }
  }
  return judgeStatus(answer)
}
