import type { Time } from '../../src/edge/time.ts'
import { hourMs } from '../../src/model/limits.ts'
import { steadyAt } from '../support/virtual-time.ts'

const nextTurn = globalThis.setImmediate

/** More than anything needs that ends. */
const turnsMax = 1_000
const eventsMax = 300_000

/** Number of waits for the event loop's next turn: grouped commits do. */
let turnsWanted = 0

function counted<A extends unknown[]>(callback: (...args: A) => void, ...args: A): NodeJS.Immediate {
  turnsWanted += 1
  return nextTurn(() => {
    turnsWanted -= 1
    callback(...args)
  })
}

Object.assign(globalThis, { setImmediate: counted })

interface Appointment {
  readonly atMs: number
  readonly order: number
  fire: (() => void) | undefined
}

/** Work outside of this process that the world's time waits for. */
export interface Outside {
  /** Resolves when nothing of it is under way. */
  quiet(): Promise<void>
  /** The time jumps. */
  jumped(nowMs: number): Promise<void>
}

/** The world's time: it stands still while anything happens, then jumps to what happens next. */
export class Clock {
  /** Earliest last. */
  readonly #appointments: Appointment[] = []
  #nowMs: number
  #order = 0
  #events = 0
  readonly #outside: Outside | undefined

  /** @param outside default: there is nothing */
  constructor(startMs: number, outside?: Outside) {
    this.#nowMs = startMs
    this.#outside = outside
  }

  nowMs(): number {
    return this.#nowMs
  }

  /** Calls back at an instant, in whole milliseconds. @returns cancels it */
  at(atMs: number, fire: () => void): () => void {
    const appointment: Appointment = { atMs: Math.max(Math.ceil(atMs), this.#nowMs), order: this.#order++, fire }
    let [low, high] = [0, this.#appointments.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#appointments[middle]?.atMs ?? 0) > appointment.atMs) low = middle + 1
      else high = middle
    }
    this.#appointments.splice(low, 0, appointment)
    return () => {
      appointment.fire = undefined
    }
  }

  after(ms: number, fire: () => void): () => void {
    return this.at(this.#nowMs + ms, fire)
  }

  /**
   * Lets things happen until something is so, or nothing is left to happen.
   *
   * @throws Error when it never ends
   */
  async run(isOver: () => boolean): Promise<void> {
    for (;;) {
      await this.#settle()
      if (isOver()) return
      const next = this.#next()
      if (!next) return
      this.#events += 1
      if (this.#events > eventsMax) throw new Error('it never comes to rest')
      const isLater = next.atMs > this.#nowMs
      this.#nowMs = next.atMs
      if (isLater) await this.#outside?.jumped(next.atMs)
      next.fire?.()
    }
  }

  #next(): Appointment | undefined {
    for (;;) {
      const next = this.#appointments.pop()
      if (!next || next.fire) return next
    }
  }

  /** Code that runs on promises alone has reached its next wait by then. */
  async #settle(): Promise<void> {
    let turns = 0
    do {
      await new Promise(nextTurn)
      await this.#outside?.quiet()
    } while (turnsWanted > 0 && ++turns < turnsMax)
  }
}

/** The time one life of the process sees. Once it is over nothing wakes in it any more. */
export class LifeTime implements Time {
  readonly #clock: Clock
  readonly #chance: () => number
  readonly #isAlive: () => boolean
  readonly #aheadMs: () => number

  /** @param aheadMs how far the machine's clock is ahead */
  constructor(clock: Clock, chance: () => number, isAlive: () => boolean, aheadMs: () => number = () => 0) {
    this.#clock = clock
    this.#chance = chance
    this.#isAlive = isAlive
    this.#aheadMs = aheadMs
  }

  nowMs(): number {
    return this.#clock.nowMs() + this.#aheadMs()
  }

  steadyMs(): number {
    return steadyAt(this.#clock.nowMs())
  }

  chance(): number {
    return this.#chance()
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.#isAlive()) return
      if (signal?.aborted) return reject(signal.reason)
      const stopped = () => {
        cancel()
        reject(signal?.reason)
      }
      const cancel = this.#clock.after(ms, () => {
        signal?.removeEventListener('abort', stopped)
        if (this.#isAlive()) resolve()
      })
      signal?.addEventListener('abort', stopped, { once: true })
    })
  }

  timeout(): AbortSignal {
    return new AbortController().signal
  }

  everyHour(tick: () => void): { stop(): void } {
    let isStopped = false
    const next = () =>
      void this.#clock.at((Math.floor(this.#clock.nowMs() / hourMs) + 1) * hourMs, () => {
        if (isStopped || !this.#isAlive()) return
        tick()
        next()
      })
    next()
    return {
      stop() {
        isStopped = true
      },
    }
  }
}

/** Until when a loop that finds nothing to do may sleep. */
export interface Idleness {
  /** Goes up with whatever happens that the loop may have to do with. */
  activity(): number
  readonly restMsMax: number
  /** The next instant at which something changes; infinity when none is known. */
  changesAtMs(afterMs: number): number
}

/**
 * The same time for a loop that looks again and again for something to do: while it finds nothing it oversleeps, longer
 * each time, up to the next instant at which something changes. A machine may be that slow, and a day of looks
 * each second would take too long to simulate.
 */
export class LazyTime implements Time {
  readonly #time: Time
  readonly #clock: Clock
  readonly #idleness: Idleness
  readonly #fromMs: number
  #activity = -1
  #factor = 1

  /** @param fromMs shorter sleeps are as long as asked for */
  constructor(time: Time, clock: Clock, idleness: Idleness, fromMs: number) {
    this.#time = time
    this.#clock = clock
    this.#idleness = idleness
    this.#fromMs = fromMs
  }

  nowMs(): number {
    return this.#time.nowMs()
  }

  steadyMs(): number {
    return this.#time.steadyMs()
  }

  chance(): number {
    return this.#time.chance()
  }

  timeout(ms: number): AbortSignal {
    return this.#time.timeout(ms)
  }

  everyHour(tick: () => void): { stop(): void } {
    return this.#time.everyHour(tick)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms < this.#fromMs) return this.#time.sleep(ms, signal)
    const { restMsMax } = this.#idleness
    const activity = this.#idleness.activity()
    this.#factor = activity === this.#activity ? this.#factor * 8 : 1
    this.#activity = activity
    const nowMs = this.#clock.nowMs()
    const restMs = Math.max(ms, Math.min(ms * this.#factor, restMsMax))
    return this.#time.sleep(Math.max(1, Math.min(nowMs + restMs, this.#idleness.changesAtMs(nowMs)) - nowMs), signal)
  }
}
