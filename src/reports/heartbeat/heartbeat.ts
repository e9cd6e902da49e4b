import { z } from 'zod'
import type { SecretRef } from '../../config/config.ts'
import { resolvePostAddress } from '../../config/secret.ts'
import { Loop } from '../../edge/loop.ts'
import type { PostAnswer } from '../../edge/post-message.ts'
import type { Time } from '../../edge/time.ts'
import { faultFromRecord, isPermanent } from '../../model/fault.ts'
import { secretPartsOf } from '../../model/host.ts'
import { type Hour, hourText } from '../../model/hour.ts'
import { jsonOf } from '../../model/json.ts'
import { overdueMs } from '../../model/limits.ts'
import { withoutEnd } from '../../model/text.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import type { Lateness } from '../../outbox/contract/status-store.ts'
import type { Readiness } from '../../status/snapshot.ts'
import type { Counters } from '../../telemetry/counters.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Redactor } from '../../telemetry/redactor.ts'
import { judgeStatus, ReceiverLog, type ReportVerdict, sendReport } from '../send-report.ts'

/** Interval of looking at the hour. */
const lookMs = 5_000

/** The hour that was reported last, which survives a restart. */
const storedBeat = z.object({ hour: z.number(), phase: z.enum(['started', 'ended']) })
type Beat = Readonly<z.infer<typeof storedBeat>>

interface HeartbeatDeps extends PingSenderDeps {
  readonly outbox: Pick<Outbox, 'reports' | 'health'>
  /** The current hour; `undefined` while the clock is not believed. */
  readonly hour: () => Hour | undefined
  /** The current hour as it is now. Rejects with the outbox's errors. */
  readonly look: (hour: Hour) => Promise<OpenHour>
}

/** Reports each hour once: that its collecting begins, and its result. Nothing waits for it. */
export class Heartbeat {
  readonly #deps: HeartbeatDeps
  readonly #sender: PingSender
  readonly #loop: Loop
  #beat: Beat | undefined
  #ending: Promise<void> = Promise.resolve()

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps
    this.#sender = new PingSender(deps)
    this.#loop = new Loop(signal => this.#pass(signal))
    this.#loop.start()
  }

  /** Stops it; resolves when nothing is under way. A result that was not accepted yet is sent after a restart. */
  async stop(): Promise<void> {
    await Promise.all([this.#loop.stop(), this.#sender.stop()])
    await this.#ending
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { outbox, time } = this.#deps
    // An outbox that cannot be read is reported by those that work with it.
    await this.#look().catch(error => outbox.health.recover(error))
    await time.sleep(lookMs, signal).catch(() => {})
  }

  async #look(): Promise<void> {
    const { hour: currentHour, look } = this.#deps
    const hour = currentHour()
    if (hour === undefined) return
    this.#beat ??= await this.#stored()
    if (this.#beat?.hour !== hour) {
      this.#beat = { hour, phase: 'started' }
      void this.#sender.send({ kind: 'start', hour, sentences: [] })
      await this.#save(this.#beat)
    }
    if (this.#beat.phase === 'ended') return
    const result = resultOf(await look(hour))
    if (!result) return
    const endBeat: Beat = { hour, phase: 'ended' }
    this.#beat = endBeat
    // One that was not accepted is sent again after a restart.
    this.#ending = this.#sender.send(result).then(isOver => (isOver ? this.#save(endBeat) : undefined))
  }

  async #stored(): Promise<Beat | undefined> {
    const text = await this.#deps.outbox.reports.read('heartbeat')
    return text === undefined ? undefined : storedBeat.safeParse(jsonOf(text)).data
  }

  async #save(beat: Beat): Promise<void> {
    const { reports, health } = this.#deps.outbox
    await reports.save('heartbeat', JSON.stringify(beat)).catch(error => health.recover(error))
  }
}

interface PingSenderDeps {
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
    const giveUpController = new AbortController()
    this.#enough = giveUpController
    const sent = this.#last.then(() => this.#send(ping, giveUpController.signal))
    this.#last = sent
    return sent
  }

  /** Ends all exchanges and waits; resolves when they have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    await this.#last
  }

  async #send(ping: Ping, giveUpSignal: AbortSignal): Promise<boolean> {
    const { url, time, redactor, attemptsMax } = this.#deps
    const post = () => {
      const check = resolvePostAddress(url)
      redactor.add(secretPartsOf(check))
      const body = redactor.redact(pingText(ping))
      return { url: pingUrl(check, ping.kind), contentType: 'text/plain; charset=utf-8', body }
    }
    const stop = this.#stopping.signal
    const deps = { time, receiver: this.#receiver, redactor, stop, giveUpSignal, ...(attemptsMax && { attemptsMax }) }
    return (await sendReport({ post, judge: judgePing }, deps)) !== 'left'
  }
}

/** Wait after a ping beyond the rate, in milliseconds: five a minute are taken for a check. */
const rateRestMs = 60_000

/** Judges an answer of Healthchecks.io, which has words for what it ignores although its status is 200. */
function judgePing(answer: PostAnswer, nowMs: number): ReportVerdict {
  const text = answer.kind === 'answered' ? answer.text.trim() : ''
  if (text === 'OK (not found)') return { kind: 'refused', reason: 'there is no check at its address' }
  if (text === 'OK (rate limited)') {
    return { kind: 'later', reason: 'it was pinged too often', notBeforeMs: nowMs + rateRestMs }
  }
  return judgeStatus(answer)
}

/** Longest text of a ping, in characters; older servers of the Healthchecks.io convention keep 10 kB. */
const summaryCharsMax = 8_000

/** Report of an hour: that its collecting begins, or its result. */
export interface Ping {
  readonly kind: 'start' | 'success' | 'fail'
  readonly hour: Hour
  /** Why it failed, and what waits for a person, a sentence each. */
  readonly sentences: readonly string[]
}

/** An hour that is not reported yet. */
export interface OpenHour {
  readonly hour: Hour
  /** Lateness as of the hour itself. */
  readonly lateness: Lateness
  /** Readiness as of the hour itself, at an instant when nothing is still caught up. */
  readonly ready: Readiness
  readonly nowMs: number
  /** When the loops were started, in milliseconds since 1970. */
  readonly startedAtMs: number
}

/**
 * The result of an hour, as soon as it is known: all is collected and delivered; all that is left fails until something
 * is changed; or a quarter of an hour has passed since its turn, or since a start after it. It is what readiness says of
 * that hour, so that the two agree: what waits for a person's decision is no failure, unless it turns readiness red. Pure.
 *
 * @returns `undefined` while it is open
 */
export function resultOf({ hour, lateness, ready, nowMs, startedAtMs }: OpenHour): Ping | undefined {
  const { late, missing, due } = lateness
  const isFinal =
    missing.length === 0 && !due && late.every(({ fault }) => fault && isPermanent(faultFromRecord(fault)))
  // The start lies in the future if the clock was set back since.
  const sinceMs = startedAtMs > nowMs ? hour : Math.max(hour, startedAtMs)
  if (!isFinal && nowMs - sinceMs < overdueMs) return undefined
  return { kind: ready.ok ? 'success' : 'fail', hour, sentences: [...ready.reasons, ...(ready.warnings ?? [])] }
}

/** Text of a ping: the hour, and its sentences. */
export function pingText({ hour, sentences }: Ping): string {
  const text = [hourText(hour), ...sentences].join('\n')
  return text.length > summaryCharsMax ? `${text.slice(0, summaryCharsMax)}…` : text
}

const endings = { start: '/start', success: '', fail: '/fail' } as const

/** Address of a ping: the check's, with `/start` or `/fail` after its path. Secret. */
export function pingUrl(check: string, kind: Ping['kind']): string {
  const url = new URL(check)
  url.pathname = `${withoutEnd(url.pathname, '/')}${endings[kind]}`
  return url.href
}
