import { z } from 'zod'
import { Loop } from '../../edge/loop.ts'
import type { Time } from '../../edge/time.ts'
import { jsonOf } from '../../model/json.ts'
import { oneLine } from '../../model/text.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import type { Counters } from '../../telemetry/counters.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Redactor } from '../../telemetry/redactor.ts'
import { ReceiverLog, sendReport } from '../send-report.ts'
import {
  afterLook,
  firstIncidents,
  incidents,
  type Notice,
  notice,
  type SeenTrouble,
  type TroubleWords,
} from './incidents.ts'
import type { NoticeReceiver } from './receivers.ts'

/** Interval of looking for troubles. */
const lookMs = 5_000

/** Notices that wait, at most: the oldest are given up. */
const waitingMax = 100

interface NotifierDeps {
  readonly receivers: readonly NoticeReceiver[]
  readonly outbox: Pick<Outbox, 'reports' | 'health'>
  /** All troubles of now. Rejects with the outbox's errors. */
  readonly look: () => Promise<readonly SeenTrouble[]>
  readonly time: Time
  readonly log: Log
  /** Counts the answers of receivers. Default: nothing is counted. */
  readonly counters?: Counters | undefined
  readonly redactor: Pick<Redactor, 'redact'>
}

/**
 * Looks for troubles and sends a notice when one begins and when it is over. Reported troubles, and notices that wait for a
 * receiver, are stored, so a restart repeats and loses nothing. Nothing waits for it: each receiver has a loop of its own.
 */
export class Notifier {
  readonly #deps: NotifierDeps
  readonly #names: readonly string[]
  readonly #loop: Loop
  readonly #senders: readonly NoticeSender[]
  #state: NotifyState | undefined
  #isStored = true
  #saving: Promise<void> = Promise.resolve()

  constructor(deps: NotifierDeps) {
    this.#deps = deps
    this.#names = deps.receivers.map(({ name }) => name)
    this.#loop = new Loop(signal => this.#pass(signal))
    this.#senders = deps.receivers.map(receiver => {
      const { name } = receiver
      const next = () => this.#state?.queue.find(entry => entry.receivers.includes(name))?.notice
      return new NoticeSender(receiver, { next, done: sent => this.#done(sent, name) }, deps)
    })
    this.#loop.start()
  }

  /** Stops it; a notice on its way gets its answer, if it comes soon. Waiting notices are sent after a restart. */
  async stop(): Promise<void> {
    await Promise.all([this.#loop.stop(), ...this.#senders.map(sender => sender.stop())])
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { outbox, time } = this.#deps
    // An outbox that cannot be read is reported by those that work with it.
    await this.#look().catch(error => outbox.health.recover(error))
    await time.sleep(lookMs, signal).catch(() => {})
  }

  async #look(): Promise<void> {
    const { look, time, redactor, outbox } = this.#deps
    const stateBefore = this.#state ?? stateFrom(await outbox.reports.read('notify'))
    // Each is a line of a message, which has others' words.
    const line = (text: string) => redactor.redact(oneLine(text))
    const redactWords = ({ what, why, do: instruction }: TroubleWords) => {
      return { what: line(what), why: line(why), do: line(instruction) }
    }
    const troubles = (await look()).map(trouble => ({
      ...trouble,
      ...redactWords(trouble),
      ...(trouble.items && { items: trouble.items.map(redactWords) }),
    }))
    const incidentsBefore = stateBefore?.incidents ?? firstIncidents(troubles)
    const { incidents, notices } = afterLook(incidentsBefore, troubles, time.nowMs())
    // Read again: a receiver may have accepted a notice meanwhile.
    const queue = waitingIn((this.#state ?? stateBefore)?.queue ?? [], name => this.#names.includes(name))
    const newEntries = notices.map(one => ({ notice: one, receivers: this.#names }))
    // With since when a trouble lasts, and is over: another daemon may look next.
    const isNews = notices.length > 0 || !stateBefore || JSON.stringify(incidents) !== JSON.stringify(incidentsBefore)
    this.#state = { incidents, queue: [...queue, ...newEntries].slice(-waitingMax) }
    if (isNews || !this.#isStored) await this.#save()
    for (const sender of this.#senders) sender.wake()
  }

  async #done(sent: Notice, receiver: string): Promise<void> {
    if (!this.#state) return
    const queue = waitingIn(this.#state.queue, (name, one) => one !== sent || name !== receiver)
    this.#state = { ...this.#state, queue }
    await this.#save()
  }

  /** Stores the state. Where that fails, a full disk say, it is tried again at the next look. */
  #save(): Promise<void> {
    const { reports, health } = this.#deps.outbox
    // One after the other, so that the last state is the one that stays.
    this.#saving = this.#saving
      .then(() => reports.save('notify', JSON.stringify(this.#state)))
      .then(
        () => {
          this.#isStored = true
        },
        error => {
          this.#isStored = false
          health.recover(error)
        },
      )
    return this.#saving
  }
}

/** Attempts at one notice: about a day. */
const attemptsMax = 300

/** Pause between two notices: Slack and Telegram take one a second. */
const paceMs = 1_000

/** Time for the answer to a notice that is on its way when the process stops. */
const graceMs = 2_000

interface WaitingNotices {
  /** The notice to be sent next; `undefined` when there is none. */
  next(): Notice | undefined
  /** Called once a notice needs no further attempt. Never rejects. */
  done(notice: Notice): Promise<void>
}

/** Sends one receiver its notices, one after the other. */
class NoticeSender {
  readonly #receiver: NoticeReceiver
  readonly #notices: WaitingNotices
  readonly #deps: NotifierDeps
  readonly #loop: Loop
  readonly #log: ReceiverLog
  readonly #aborting = new AbortController()
  #wake = Promise.withResolvers<void>()

  constructor(receiver: NoticeReceiver, notices: WaitingNotices, deps: NotifierDeps) {
    this.#receiver = receiver
    this.#notices = notices
    this.#deps = deps
    this.#log = new ReceiverLog(receiver.name, deps.log, deps.counters)
    this.#loop = new Loop(signal => this.#pass(signal))
    this.#loop.start()
  }

  /** Lets it look for a notice. */
  wake(): void {
    this.#wake.resolve()
  }

  /** Stops it; resolves when nothing is on its way any more. */
  async stop(): Promise<void> {
    const loopEnd = this.#loop.stop()
    this.wake()
    const sleepController = new AbortController()
    const grace = this.#deps.time.sleep(graceMs, sleepController.signal).catch(() => {})
    await Promise.race([loopEnd, grace])
    sleepController.abort()
    this.#aborting.abort(new Error('stopped'))
    await loopEnd
  }

  async #pass(giveUpSignal: AbortSignal): Promise<void> {
    const { time, redactor } = this.#deps
    const [receiver, notices] = [this.#receiver, this.#notices]
    await this.#wake.promise
    this.#wake = Promise.withResolvers<void>()
    for (let next = notices.next(); next && !giveUpSignal.aborted; next = notices.next()) {
      const notice = next
      const end = await sendReport(
        { post: () => receiver.post(notice), judge: receiver.judge },
        { time, receiver: this.#log, redactor, stop: this.#aborting.signal, giveUpSignal, attemptsMax },
      )
      if (end === 'left' && giveUpSignal.aborted) return
      await notices.done(notice)
      await time.sleep(paceMs, giveUpSignal).catch(() => {})
    }
  }
}

/** A notice and the names of the receivers that have not accepted it yet. */
const queuedNotice = z.object({ notice, receivers: z.array(z.string()).readonly() })
type QueuedNotice = z.infer<typeof queuedNotice>

/** State of notifications, which survives a restart; the oldest notice is first. */
const notifyState = z.object({ incidents, queue: z.array(queuedNotice) })
type NotifyState = z.infer<typeof notifyState>

/** The part of a queue that receivers still wait for. Pure. */
function waitingIn(
  queue: readonly QueuedNotice[],
  waitsFor: (name: string, notice: Notice) => boolean,
): QueuedNotice[] {
  return queue.flatMap(entry => {
    const receivers = entry.receivers.filter(name => waitsFor(name, entry.notice))
    return receivers.length === 0 ? [] : [{ ...entry, receivers }]
  })
}

/** Reads a stored state; `undefined` when there is none, or it is of another form. */
function stateFrom(text: string | undefined): NotifyState | undefined {
  return text === undefined ? undefined : notifyState.safeParse(jsonOf(text)).data
}
