import { z } from 'zod'
import { Loop } from '../../edge/loop.ts'
import type { Hour } from '../../model/hour.ts'
import { jsonOf } from '../../model/json.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { type OpenHour, resultOf } from './ping.ts'
import { PingSender, type PingSenderDeps } from './ping-sender.ts'

/** Interval of looking at the hour. */
const lookMs = 5_000

/** The hour that was reported last, which survives a restart. */
interface Beat {
  readonly hour: number
  readonly phase: 'started' | 'ended'
}

const storedBeat = z.object({ hour: z.number(), phase: z.enum(['started', 'ended']) })

/** Dependencies of `Heartbeat`. */
export interface HeartbeatDeps extends PingSenderDeps {
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
    this.#loop = new Loop(signal => this.#turn(signal))
    this.#loop.start()
  }

  /** Stops it; resolves when nothing is under way. A result that was not accepted yet is sent after a restart. */
  async stop(): Promise<void> {
    await Promise.all([this.#loop.stop(), this.#sender.stop()])
    await this.#ending
  }

  async #turn(signal: AbortSignal): Promise<void> {
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
    const ended: Beat = { hour, phase: 'ended' }
    this.#beat = ended
    // One that was not accepted is sent again after a restart.
    this.#ending = this.#sender.send(result).then(isOver => (isOver ? this.#save(ended) : undefined))
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
