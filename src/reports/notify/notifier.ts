import { Loop } from '../../edge/loop.ts'
import type { Time } from '../../edge/time.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import type { Counters } from '../../telemetry/counters.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Redactor } from '../../telemetry/redactor.ts'
import { afterLook, firstIncidents } from './incidents.ts'
import { forReceivers, type NotifyState, queued, stateFrom, without } from './notice-queue.ts'
import { NoticeSender } from './notice-sender.ts'
import type { NoticeReceiver } from './receivers.ts'
import type { Notice, SeenTrouble, TroubleWords } from './trouble.ts'

/** Interval of looking for troubles. */
const lookMs = 5_000

/** Dependencies of `Notifier`. */
export interface NotifierDeps {
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
    this.#loop = new Loop(signal => this.#turn(signal))
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

  async #turn(signal: AbortSignal): Promise<void> {
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
