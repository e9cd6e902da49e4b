import type { Time } from '../edge/time.ts'
import { type Hour, hourText } from '../model/hour.ts'
import type { Log } from '../telemetry/log.ts'

/** Milliseconds of a long catch-up between two lines of the log. */
const lineMs = 60_000

/** Hours collected since the last line. */
interface CaughtUpHours {
  readonly sinceMs: number
  hours: number
  metrics: number
  oldest: Hour
  newest: Hour
}

/** Logs missed hours together, since a catch-up of a week would be a line for each collector and hour. */
export class CatchUpLog {
  readonly #log: Log
  readonly #time: Pick<Time, 'steadyMs'>
  #caughtUp: CaughtUpHours | undefined

  constructor(log: Log, time: Pick<Time, 'steadyMs'>) {
    this.#log = log
    this.#time = time
  }

  /** Adds an hour of a collector, and logs once a minute how far it is. */
  collected(hour: Hour, metrics: number): void {
    const nowMs = this.#time.steadyMs()
    this.#caughtUp ??= { sinceMs: nowMs, hours: 0, metrics: 0, oldest: hour, newest: hour }
    const all = this.#caughtUp
    all.hours += 1
    all.metrics += metrics
    if (hour < all.oldest) all.oldest = hour
    if (hour > all.newest) all.newest = hour
    if (nowMs - all.sinceMs >= lineMs) this.#line('catching up')
  }

  /** Logs the rest. To be called when nothing more is being collected. */
  ended(): void {
    if (this.#caughtUp) this.#line('caught up')
  }

  #line(message: string): void {
    if (!this.#caughtUp) return
    const { hours, metrics, oldest, newest } = this.#caughtUp
    this.#caughtUp = undefined
    this.#log.info({ hours, metrics, from: hourText(oldest), to: hourText(newest) }, message)
  }
}
