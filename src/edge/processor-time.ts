import { readFileSync } from 'node:fs'
import type { Time } from './time.ts'

/** Processor time of the main thread of a process since its start, in milliseconds. */
export interface ProcessorTime {
  readonly ranMs: number
  /** Time for which it could have run and had no processor, be it for other work or for a bound of its container. */
  readonly waitedMs: number
  /** Time for which other threads of the process ran. */
  readonly otherThreadsMs: number
}

/** Duration of a tick, in which Linux counts the time of a process. */
const tickMs = 10

/** As Linux counts it; `undefined` on other systems, and for a process that has ended. */
export function processorTime(pid: number | undefined): ProcessorTime | undefined {
  try {
    const [ranNs, waitedNs] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ').map(Number)
    if (ranNs === undefined || waitedNs === undefined) return undefined
    const ranMs = ranNs / 1e6
    // The name of the program, in brackets, may have blanks.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? []
    const [userTicks, systemTicks] = fields.slice(11, 13).map(Number)
    const otherThreadsMs = Math.max(0, tickMs * ((userTicks ?? 0) + (systemTicks ?? 0)) - ranMs)
    return { ranMs, waitedMs: waitedNs / 1e6, otherThreadsMs }
  } catch {
    return undefined
  }
}

/** End of a limit of time: the process has had that time, or the machine was too busy to give it. */
export type TimeHad = 'had' | 'starved'

/** Factor by which a process may exceed its limit while it waits for a processor, and the least time that it is given. */
const starvedTimesMax = 10
const starvedMsLeast = 60_000

/**
 * The time that a process has had since an instant: the steady clock's, less what it has waited for a processor. A limit
 * of it ends a process that hangs, whether it computes or is blocked, and not one that the machine gives no time.
 */
export class ProcessStopwatch {
  readonly #time: Pick<Time, 'steadyMs' | 'sleep'>
  readonly #read: () => ProcessorTime | undefined
  readonly #startMs: number
  readonly #before: ProcessorTime | undefined

  /** Starts now. @param readTime reads the processor time of the process */
  constructor(time: Pick<Time, 'steadyMs' | 'sleep'>, readTime: () => ProcessorTime | undefined) {
    this.#time = time
    this.#read = readTime
    this.#startMs = time.steadyMs()
    this.#before = readTime()
  }

  get hadMs(): number {
    return this.#elapsedMs - this.starvedMs
  }

  /** Time that it has waited for a processor, but for what its own other threads may have taken; 0 where that is not known. */
  get starvedMs(): number {
    const [now, before] = [this.#read(), this.#before]
    if (!now || !before) return 0
    return Math.max(0, now.waitedMs - before.waitedMs - (now.otherThreadsMs - before.otherThreadsMs))
  }

  /** A clause about a process that has had too little of a processor. */
  get busySentence(): string {
    const ranMs = Math.max(0, (this.#read()?.ranMs ?? 0) - (this.#before?.ranMs ?? 0))
    return `this machine is too busy (${(ranMs / 1000).toFixed(1)} s of CPU in ${Math.round(this.#elapsedMs / 1000)} s)`
  }

  /**
   * Waits until the process has had so much time. Rejects with the signal's reason.
   *
   * @param onBusy called once when that takes longer than the limit, as the process has waited for a processor
   */
  async passed(limitMs: number, signal: AbortSignal, onBusy: () => void = () => {}): Promise<TimeHad> {
    let isReported = false
    for (let leftMs = limitMs - this.hadMs; leftMs > 0; leftMs = limitMs - this.hadMs) {
      if (this.#elapsedMs > Math.max(starvedTimesMax * limitMs, starvedMsLeast)) return 'starved'
      await this.#time.sleep(Math.ceil(leftMs), signal)
      if (isReported || this.#elapsedMs < limitMs || this.hadMs >= limitMs) continue
      isReported = true
      onBusy()
    }
    return 'had'
  }

  /** By the steady clock. */
  get #elapsedMs(): number {
    return this.#time.steadyMs() - this.#startMs
  }
}
