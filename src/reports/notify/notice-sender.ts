import { Loop } from '../../edge/loop.ts'
import type { Time } from '../../edge/time.ts'
import type { Counters } from '../../telemetry/counters.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Redactor } from '../../telemetry/redactor.ts'
import { ReceiverLog } from '../receiver-log.ts'
import { sendReport } from '../send-report.ts'
import type { NoticeReceiver } from './receivers.ts'
import type { Notice } from './trouble.ts'

/** Attempts at one notice: about a day. */
const attemptsMax = 300

/** Pause between two notices: Slack and Telegram take one a second. */
const paceMs = 1_000

/** Time for the answer to a notice that is on its way when the process stops. */
const graceMs = 2_000

/** Dependencies of `NoticeSender`. */
export interface NoticeSenderDeps {
  readonly receiver: NoticeReceiver
  /** The notice to be sent next; `undefined` when there is none. */
  readonly next: () => Notice | undefined
  /** Called once a notice needs no further attempt. Never rejects. */
  readonly done: (notice: Notice) => Promise<void>
  readonly time: Time
  readonly log: Log
  /** Counts the answers of receivers. Default: nothing is counted. */
  readonly counters?: Counters | undefined
  readonly redactor: Pick<Redactor, 'redact'>
}

/** Sends one receiver its notices, one after the other. */
export class NoticeSender {
  readonly #deps: NoticeSenderDeps
  readonly #loop: Loop
  readonly #log: ReceiverLog
  readonly #aborting = new AbortController()
  #wake = Promise.withResolvers<void>()

  constructor(deps: NoticeSenderDeps) {
    this.#deps = deps
    this.#log = new ReceiverLog(deps.receiver.name, deps.log, deps.counters)
    this.#loop = new Loop(signal => this.#turn(signal))
    this.#loop.start()
  }

  /** Lets it look for a notice. */
  wake(): void {
    this.#wake.resolve()
  }

  /** Stops it; resolves when nothing is on its way any more. */
  async stop(): Promise<void> {
    const ended = this.#loop.stop()
    this.wake()
    const waiting = new AbortController()
    const grace = this.#deps.time.sleep(graceMs, waiting.signal).catch(() => {})
    await Promise.race([ended, grace])
    waiting.abort()
    this.#aborting.abort(new Error('stopped'))
    await ended
  }

  async #turn(enough: AbortSignal): Promise<void> {
    const { receiver, next, done, time, redactor } = this.#deps
    await this.#wake.promise
    this.#wake = Promise.withResolvers<void>()
    for (let notice = next(); notice && !enough.aborted; notice = next()) {
      const own = notice
      const end = await sendReport(
        { post: () => receiver.post(own), judge: receiver.judge },
        {
          time,
          receiver: this.#log,
          redact: text => redactor.redact(text),
          stop: this.#aborting.signal,
          enough,
          attemptsMax,
        },
      )
      if (end === 'left' && enough.aborted) return
      await done(own)
      await time.sleep(paceMs, enough).catch(() => {})
    }
  }
}
