import type { Time } from '../../edge/time.ts'
import type { StartedProcess } from './child-spawn.ts'
import { runnerLimits } from './limits.ts'

/**
 * Processes without work that the next runner takes: those in which collectors were described. A start of their own is
 * a fifth of the time until the first value. Processes that are not taken are ended.
 */
export class WarmProcesses {
  readonly #time: Pick<Time, 'timeout'>
  readonly #byKey = new Map<string, StartedProcess>()

  constructor(time: Pick<Time, 'timeout'>) {
    this.#time = time
  }

  /** Keeps a process of a group, by the group's key, in place of an earlier one. */
  put(key: string, process: StartedProcess): void {
    this.#end(key)
    this.#byKey.set(key, process)
    const endThis = () => this.#byKey.get(key) === process && this.#end(key)
    void process.spawned.exited.then(endThis)
    this.#time.timeout(runnerLimits.idleMsMax).addEventListener('abort', endThis, { once: true })
  }

  take(key: string): StartedProcess | undefined {
    const process = this.#byKey.get(key)
    this.#byKey.delete(key)
    return process
  }

  /** Ends all without waiting for that. */
  abandon(): void {
    for (const key of this.#byKey.keys()) this.#end(key)
  }

  #end(key: string): void {
    this.take(key)?.spawned.abandon()
  }
}
