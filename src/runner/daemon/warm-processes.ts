import type { Time } from '../../edge/time.ts'
import type { Spawned } from './child-spawn.ts'
import { runnerLimits } from './limits.ts'

/**
 * Processes without work that the next runner takes: those in which collectors were described. Without that the first
 * value of `collect` would take 16 times as long as a bare Node's start, and not 11. Those that are not taken are ended.
 */
export class WarmProcesses {
  readonly #time: Pick<Time, 'timeout'>
  readonly #byKey = new Map<string, Spawned>()

  constructor(time: Pick<Time, 'timeout'>) {
    this.#time = time
  }

  /** Keeps a process of a group, by the group's key, in place of an earlier one. */
  put(key: string, process: Spawned): void {
    this.#end(key)
    this.#byKey.set(key, process)
    const endThis = () => this.#byKey.get(key) === process && this.#end(key)
    void process.exited.then(endThis)
    this.#time.timeout(runnerLimits.idleMsMax).addEventListener('abort', endThis, { once: true })
  }

  take(key: string): Spawned | undefined {
    const process = this.#byKey.get(key)
    this.#byKey.delete(key)
    return process
  }

  /** Ends all without waiting for that. */
  abandon(): void {
    for (const key of this.#byKey.keys()) this.#end(key)
  }

  #end(key: string): void {
    this.take(key)?.abandon()
  }
}
