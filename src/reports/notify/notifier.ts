import { z } from 'zod'
import { Loop } from '../../edge/loop.ts'
import type { Time } from '../../edge/time.ts'
import { jsonOf } from '../../model/json.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import type { Counters } from '../../telemetry/counters.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Redactor } from '../../telemetry/redactor.ts'
import { ReceiverLog, sendReport } from '../send-report.ts'
import {
  afterLook,
  firstIncidents,
  type Incidents,
  type Notice,
  type SeenTrouble,
  type TroubleWords,
  troubleKinds,
} from './incidents.ts'
import type { NoticeReceiver } from './receivers.ts'

/** Interval of looking for troubles. */
const lookMs = 5_000

/** Dependencies of `Notifier`. */
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
    const { receivers, time, log, redactor, counters } = deps
    this.#names = receivers.map(({ name }) => name)
    this.#loop = new Loop(signal => this.#pass(signal))
    this.#senders = receivers.map(receiver => {
      const { name } = receiver
      const next = () => this.#state?.queue.find(entry => entry.receivers.includes(name))?.notice
      const done = (notice: Notice) => this.#done(notice, name)
      return new NoticeSender({ receiver, next, done, time, log, redactor, counters })
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
    const before = this.#state ?? stateFrom(await outbox.reports.read('notify'))
    const clean = ({ what, why, do: instruction }: TroubleWords) => {
      return { what: redactor.redact(what), why: redactor.redact(why), do: redactor.redact(instruction) }
    }
    const seen = (await look()).map(trouble => ({
      ...trouble,
      ...clean(trouble),
      ...(trouble.items && { items: trouble.items.map(clean) }),
    }))
    const known = before?.incidents ?? firstIncidents(seen)
    const { incidents, notices } = afterLook(known, seen, time.nowMs())
    // Read again: a receiver may have accepted a notice meanwhile.
    const queue = forReceivers((this.#state ?? before)?.queue ?? [], this.#names)
    const isNews = notices.length > 0 || !before || JSON.stringify(incidents.lost) !== JSON.stringify(known.lost)
    this.#state = { incidents, queue: queued(queue, notices, this.#names) }
    if (isNews || !this.#isStored) await this.#save()
    for (const sender of this.#senders) sender.wake()
  }

  async #done(notice: Notice, receiver: string): Promise<void> {
    if (!this.#state) return
    this.#state = { ...this.#state, queue: without(this.#state.queue, notice, receiver) }
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

/** Dependencies of `NoticeSender`. */
interface NoticeSenderDeps {
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
class NoticeSender {
  readonly #deps: NoticeSenderDeps
  readonly #loop: Loop
  readonly #log: ReceiverLog
  readonly #aborting = new AbortController()
  #wake = Promise.withResolvers<void>()

  constructor(deps: NoticeSenderDeps) {
    this.#deps = deps
    this.#log = new ReceiverLog(deps.receiver.name, deps.log, deps.counters)
    this.#loop = new Loop(signal => this.#pass(signal))
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

  async #pass(enough: AbortSignal): Promise<void> {
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

/** Notices that wait for one receiver, at most: the oldest are given up. */
const waitingMax = 100

/** A notice and the receivers that have not accepted it yet. */
interface QueuedNotice {
  readonly notice: Notice
  /** Names. */
  readonly receivers: readonly string[]
}

/** State of notifications, which survives a restart. Plain data. */
interface NotifyState {
  readonly incidents: Incidents
  /** The oldest first. */
  readonly queue: readonly QueuedNotice[]
}

/** Adds notices for all receivers. Pure. */
export function queued(
  queue: readonly QueuedNotice[],
  notices: readonly Notice[],
  receivers: readonly string[],
): QueuedNotice[] {
  return [...queue, ...notices.map(notice => ({ notice, receivers }))].slice(-waitingMax)
}

/** Removes receivers that are not configured any more, and notices that wait for none. Pure. */
function forReceivers(queue: readonly QueuedNotice[], receivers: readonly string[]): QueuedNotice[] {
  return queue.flatMap(({ notice, receivers: waiting }) => {
    const left = waiting.filter(name => receivers.includes(name))
    return left.length === 0 ? [] : [{ notice, receivers: left }]
  })
}

/** Removes one notice for one receiver. Pure. */
export function without(queue: readonly QueuedNotice[], notice: Notice, receiver: string): QueuedNotice[] {
  return queue.flatMap(entry => {
    if (entry.notice !== notice) return [entry]
    const left = entry.receivers.filter(name => name !== receiver)
    return left.length === 0 ? [] : [{ notice, receivers: left }]
  })
}

const kind = z.enum(troubleKinds)
const subject = z.string()
const ms = z.number()

const storedState = z.object({
  incidents: z.object({
    open: z.array(
      z.object({
        kind,
        subjects: z.array(subject),
        hour: z.number(),
        what: z.string(),
        beganMs: ms,
        times: z.number(),
        clearSinceMs: z.exactOptional(ms),
      }),
    ),
    fresh: z.array(z.object({ kind, subject, sinceMs: ms })),
    past: z.array(z.object({ kind, subject, times: z.number(), endedMs: ms })),
    lost: z.record(z.string(), z.number()),
  }),
  queue: z.array(
    z.object({
      notice: z.object({
        trouble: kind,
        state: z.enum(['begin', 'over']),
        hour: z.string(),
        what: z.string(),
        why: z.string(),
        do: z.string(),
        items: z.array(z.object({ what: z.string(), why: z.string(), do: z.string() })),
      }),
      receivers: z.array(z.string()),
    }),
  ),
})

/** Reads a stored state; `undefined` when there is none, or it is of another form. */
function stateFrom(text: string | undefined): NotifyState | undefined {
  return text === undefined ? undefined : storedState.safeParse(jsonOf(text)).data
}
