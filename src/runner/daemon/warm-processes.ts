import type { Time } from '../../edge/time.ts'
import { runnerLimits } from './limits.ts'
import type { StartedProcess } from './started-process.ts'

/**
 * Processes without work that the next runner takes, so that it waits for no start: one that was started while the
 * configuration was read, and those in which collectors were described. Those that are not taken are ended.
 */
export class WarmProcesses {
  /** Whether the processes can read chains. */
  readonly readsChains: boolean
  readonly #time: Pick<Time, 'timeout'>
  readonly #byKey = new Map<string, StartedProcess>()

  constructor(time: Pick<Time, 'timeout'>, readsChains: boolean) {
    this.#time = time
    this.readsChains = readsChains
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
