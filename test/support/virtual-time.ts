import type { Time } from '../../src/edge/time.ts'
import { hourMs } from '../../src/model/limits.ts'

interface Sleeper {
  readonly atMs: number
  wake(): void
}

/** A steady clock at an instant: it has fractions, as the machine's has, so that a test fails where one would be stored. */
export function steadyAt(nowMs: number): number {
  return nowMs + (nowMs % 997) / 997
}

/** A clock that jumps to the next sleeper's instant whenever nothing else is left to do: hours pass in no time. */
export class VirtualTime implements Time {
  readonly #sleepers = new Set<Sleeper>()
  readonly #hourly = new Set<{ nextMs: number; tick(): void }>()
  #nowMs: number
  #chance: () => number
  #isJumping = false
  #untilMs = Number.POSITIVE_INFINITY

  constructor(startMs: number, chance: () => number = () => 0.5) {
    this.#nowMs = startMs
    this.#chance = chance
  }

  nowMs(): number {
    return this.#nowMs
  }

  steadyMs(): number {
    return this.#nowMs + 0.375
  }

  chance(): number {
    return this.#chance()
  }

  /** Time stands still at this instant. */
  stopAt(ms: number): void {
    this.#untilMs = ms
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const sleeper = { atMs: this.#nowMs + ms, wake: resolve }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', () => {
        this.#sleepers.delete(sleeper)
        reject(signal.reason)
      })
      this.#jumpWhenIdle()
    })
  }

  timeout(): AbortSignal {
    return new AbortController().signal
  }

  everyHour(tick: () => void): { stop(): void } {
    const entry = { nextMs: (Math.floor(this.#nowMs / hourMs) + 1) * hourMs, tick }
    this.#hourly.add(entry)
    return { stop: () => this.#hourly.delete(entry) }
  }

  #jumpWhenIdle(): void {
    if (this.#isJumping) return
    this.#isJumping = true
    const turn = (left: number) => {
      if (left > 0) return void setImmediate(() => turn(left - 1))
      this.#isJumping = false
      this.#jump()
      if (this.#sleepers.size > 0 && this.#nowMs < this.#untilMs) this.#jumpWhenIdle()
    }
    // A few turns of the event loop: code that runs on promises alone has reached its next sleep by then.
    turn(8)
  }

  #jump(): void {
    const nextMs = Math.min(...[...this.#sleepers].map(({ atMs }) => atMs))
    if (!Number.isFinite(nextMs)) return
    this.#nowMs = Math.max(this.#nowMs, Math.min(nextMs, this.#untilMs))
    for (const entry of this.#hourly) {
      if (entry.nextMs > this.#nowMs) continue
      entry.nextMs = (Math.floor(this.#nowMs / hourMs) + 1) * hourMs
      entry.tick()
    }
    for (const sleeper of [...this.#sleepers].filter(({ atMs }) => atMs <= this.#nowMs)) {
      this.#sleepers.delete(sleeper)
      sleeper.wake()
    }
  }
}
