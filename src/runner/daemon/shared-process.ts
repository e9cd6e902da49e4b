import type { Time } from '../../edge/time.ts'
import type { Task, TaskEnd } from '../messages.ts'
import type { CollectorChild } from './child.ts'
import type { Lost } from './child-edge.ts'
import type { StartedProcess } from './started-process.ts'

/** Dependencies of `SharedProcess`. */
export interface SharedDeps {
  /** Starts a process, once there is a place for it. */
  start(): Promise<CollectorChild>
  /** Called when its work is done, or it has ended. */
  rested(): void
  /** Idle time after which it is ended, in milliseconds; this also makes changed imports of a collector take effect. */
  readonly idleMsMax: number
  readonly time: Time
  readonly stopping: AbortSignal
}

/**
 * A process that several collectors share. It is started on demand. It is replaced when it has ended, or when a run has
 * left pending work in it, as soon as the other runs have finished, so that leaks do not accumulate.
 */
export class SharedProcess {
  readonly #deps: SharedDeps
  readonly #children = new Set<CollectorChild>()
  #current: CollectorChild | undefined
  #starting: Promise<CollectorChild> | undefined
  /** When a run began or ended last, by the steady clock. */
  #usedAtMs = 0
  #isWaiting = false

  constructor(deps: SharedDeps) {
    this.#deps = deps
  }

  /** Runs a task. Never rejects. */
  async run(task: Task): Promise<TaskEnd | Lost> {
    this.#usedAtMs = this.#deps.time.steadyMs()
    const child = await this.#sound()
    if (this.#deps.stopping.aborted) return { kind: 'lost', how: 'was stopped' }
    const taskEnd = await child.run(task)
    this.#usedAtMs = this.#deps.time.steadyMs()
    if (child.idle()) {
      void (child.sound() ? this.#endWhenIdle() : this.#end(child))
      this.#deps.rested()
    }
    return taskEnd
  }

  /** Whether there is a process without work. */
  get isIdle(): boolean {
    return this.#children.size > 0 && !this.#starting && [...this.#children].every(child => child.idle())
  }

  /**
   * Ends its process; resolves when it has ended.
   *
   * @param keep is given a process that is without work, in place of its end. Default: it is ended, too
   */
  async stop(keep?: (process: StartedProcess) => void): Promise<void> {
    await this.#starting?.catch(() => {})
    const kept = keep && this.#current?.sound() && this.#current.idle() ? this.#current : undefined
    if (kept) {
      this.#children.delete(kept)
      keep?.(kept.release())
    }
    await Promise.all([...this.#children].map(child => this.#end(child)))
  }

  async #sound(): Promise<CollectorChild> {
    if (this.#current?.sound()) return this.#current
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #start(): Promise<CollectorChild> {
    const child = await this.#deps.start()
    this.#current = child
    this.#children.add(child)
    return child
  }

  async #end(child: CollectorChild): Promise<void> {
    if (child === this.#current) this.#current = undefined
    await child.end()
    this.#children.delete(child)
    this.#deps.rested()
  }

  /** Ends the process once nothing has run in it for a while. One wait serves all runs: each of them prolongs it. */
  async #endWhenIdle(): Promise<void> {
    const { time, idleMsMax, stopping } = this.#deps
    if (this.#isWaiting) return
    this.#isWaiting = true
    try {
      for (let leftMs = idleMsMax; leftMs > 0; leftMs = this.#usedAtMs + idleMsMax - time.steadyMs()) {
        await time.sleep(leftMs, stopping)
      }
    } catch {
      return
    } finally {
      this.#isWaiting = false
    }
    const child = this.#current
    if (child?.idle()) await this.#end(child)
  }
}
