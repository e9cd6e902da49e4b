import type { Time } from '../../../src/edge/time.ts'
import { VirtualTime } from '../../support/virtual-time.ts'

/** Virtual time in which a deadline passes only when the test says so. */
export class ScriptedTime extends VirtualTime {
  readonly #deadlines = new Set<AbortController>()

  override timeout(): AbortSignal {
    const deadline = new AbortController()
    this.#deadlines.add(deadline)
    return deadline.signal
  }

  /** All deadlines that were set so far have passed. */
  passDeadlines(): void {
    for (const deadline of this.#deadlines) deadline.abort(new DOMException('too late', 'TimeoutError'))
    this.#deadlines.clear()
  }
}

/** The clock of a machine that is wrong by `aheadMs`, which may change at any time. */
export class WrongTime implements Time {
  aheadMs = 0
  readonly #time: Time

  constructor(time: Time) {
    this.#time = time
  }

  nowMs(): number {
    return this.#time.nowMs() + this.aheadMs
  }

  steadyMs(): number {
    return this.#time.steadyMs()
  }

  chance(): number {
    return this.#time.chance()
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#time.sleep(ms, signal)
  }

  timeout(ms: number): AbortSignal {
    return this.#time.timeout(ms)
  }

  everyHour(tick: () => void): { stop(): void } {
    return this.#time.everyHour(tick)
  }
}
