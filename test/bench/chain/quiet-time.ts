import { subscribe } from 'node:diagnostics_channel'
import { setImmediate as turn } from 'node:timers/promises'
import type { Time } from '../../../src/edge/time.ts'
import { hourMs } from '../../../src/model/limits.ts'

interface Sleeper {
  readonly atMs: number
  wake(): void
}

/** Turns of the event loop after which code that runs on promises alone has reached its next sleep. */
const turnsQuiet = 12

let requestsUnderWay = 0
const count = (change: number) => () => {
  requestsUnderWay += change
}
subscribe('undici:request:create', count(1))
subscribe('undici:request:trailers', count(-1))
subscribe('undici:request:error', count(-1))

/** A clock that stands still while a request of this process is under way, and else jumps to what is next. */
export class QuietTime implements Time {
  readonly #sleepers = new Set<Sleeper>()
  readonly #hourly = new Set<() => void>()
  #nowMs: number

  constructor(startMs: number) {
    this.#nowMs = startMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  steadyMs(): number {
    return this.#nowMs
  }

  chance(): number {
    return 0.5
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (signal?.aborted) return Promise.reject(signal.reason)
    const sleeper = { atMs: this.#nowMs + Math.max(0, ms), wake: resolve }
    this.#sleepers.add(sleeper)
    signal?.addEventListener('abort', () => {
      this.#sleepers.delete(sleeper)
      reject(signal.reason)
    })
    return promise
  }

  /** Never: nothing here takes long by this clock. */
  timeout(): AbortSignal {
    return new AbortController().signal
  }

  everyHour(tick: () => void): { stop(): void } {
    this.#hourly.add(tick)
    return { stop: () => this.#hourly.delete(tick) }
  }

  /** Lets time pass up to an instant. */
  async passUntil(untilMs: number): Promise<void> {
    for (;;) {
      for (let left = turnsQuiet; left > 0; left = requestsUnderWay > 0 ? turnsQuiet : left - 1) await turn()
      if (this.#nowMs >= untilMs) return
      this.#jump(untilMs)
    }
  }

  #jump(untilMs: number): void {
    const nextHourMs = (Math.floor(this.#nowMs / hourMs) + 1) * hourMs
    const nextMs = Math.min(nextHourMs, untilMs, ...[...this.#sleepers].map(({ atMs }) => atMs))
    this.#nowMs = Math.max(this.#nowMs, nextMs)
    if (this.#nowMs === nextHourMs) for (const tick of this.#hourly) tick()
    for (const sleeper of [...this.#sleepers].filter(({ atMs }) => atMs <= this.#nowMs)) {
      this.#sleepers.delete(sleeper)
      sleeper.wake()
    }
  }
}
