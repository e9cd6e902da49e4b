import { dirname } from 'node:path'
import type { Time } from '../../edge/time.ts'
import type { Task, TaskEnd } from '../messages.ts'
import type { CollectorChild } from './child.ts'
import { type Lost, type SpawnDeps, type StartedProcess, spawnChild } from './child-spawn.ts'
import type { ProcessGroup } from './sandbox.ts'

/** Dependencies of `Processes`. */
interface ProcessesDeps {
  readonly start: (group: ProcessGroup) => Promise<CollectorChild>
  /** Idle time after which a process is ended, in milliseconds. */
  readonly idleMsMax: number
  /** Concurrent processes of one's own code, at most. */
  readonly processesMax: number
  readonly time: Time
  /** Aborted when the runner closes. */
  readonly stopping: AbortSignal
}

/**
 * Keeps one process for each group. The number of processes that run user code is limited: an idle one is ended when
 * another group needs its place; if all are busy, the group waits.
 */
export class Processes {
  readonly #deps: ProcessesDeps
  readonly #byKey = new Map<string, SharedProcess>()
  /** Processes that run user code, not shipped collectors. */
  readonly #own = new Set<SharedProcess>()
  #taken = 0
  #rested = Promise.withResolvers<void>()

  constructor(deps: ProcessesDeps) {
    this.#deps = deps
  }

  /** Runs a task. Never rejects. */
  async run(task: Task, group: ProcessGroup): Promise<TaskEnd | Lost> {
    const shared = this.#byKey.get(group.key) ?? this.#sharedOf(group)
    this.#byKey.set(group.key, shared)
    return shared.run(task)
  }

  /**
   * Ends all processes; resolves when they have ended.
   *
   * @param keep is given those without work, with the keys of their groups. Default: they are ended, too
   */
  async stop(keep?: (key: string, process: StartedProcess) => void): Promise<void> {
    this.#tellRested()
    const all = [...this.#byKey].map(([key, shared]) => shared.stop(keep && (process => keep(key, process))))
    await Promise.all(all)
  }

  #sharedOf(group: ProcessGroup): SharedProcess {
    const { idleMsMax, time, stopping } = this.#deps
    const rested = () => this.#tellRested()
    const shared = new SharedProcess({ start: () => this.#start(group), rested, idleMsMax, time, stopping })
    if (!group.isShipped) this.#own.add(shared)
    return shared
  }

  async #start(group: ProcessGroup): Promise<CollectorChild> {
    // Runs in the other processes may wait for its prices.
    if (group.isShipped) return this.#deps.start(group)
    await this.#place()
    this.#taken += 1
    try {
      const child = await this.#deps.start(group)
      void child.gone.then(() => this.#leave())
      return child
    } catch (error) {
      this.#leave()
      throw error
    }
  }

  #leave(): void {
    this.#taken -= 1
    this.#tellRested()
  }

  async #place(): Promise<void> {
    while (this.#taken >= this.#deps.processesMax && !this.#deps.stopping.aborted) {
      const idle = [...this.#own].find(shared => shared.isIdle)
      if (idle) await idle.stop()
      else await this.#rested.promise
    }
  }

  #tellRested(): void {
    this.#rested.resolve()
    this.#rested = Promise.withResolvers<void>()
  }
}

/** Dependencies of `SharedProcess`. */
interface SharedDeps {
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
class SharedProcess {
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

/** Runs tasks each in a process of its own, a few at a time. */
export interface IsolatedProcess {
  /**
   * Runs a task. Never rejects.
   *
   * @param known whether the collector has failed before: it waits behind those that are probably innocent
   */
  run(task: Task, group: ProcessGroup, known: boolean): Promise<TaskEnd | Lost>
  /** Stops the service; resolves when it has stopped. */
  stop(): Promise<void>
}

interface PendingRun {
  readonly id: string
  readonly known: boolean
  start(): void
}

/**
 * Creates the pool. A collector holds one place at a time, however many hours of it wait, so that one culprit never
 * takes all places.
 *
 * @param places concurrent tasks, at most
 */
export function createIsolatedProcess(
  start: (group: ProcessGroup) => Promise<CollectorChild>,
  places: number,
  stopping: AbortSignal,
): IsolatedProcess {
  const children = new Set<CollectorChild>()
  const waiting: PendingRun[] = []
  const busy = new Set<string>()

  function startNext(): void {
    const next = busy.size < places ? nextOf(waiting, busy) : undefined
    if (!next) return
    waiting.splice(waiting.indexOf(next), 1)
    busy.add(next.id)
    next.start()
    startNext()
  }

  async function runInOwn(task: Task, group: ProcessGroup): Promise<TaskEnd | Lost> {
    if (stopping.aborted) return { kind: 'lost', how: 'was stopped' }
    const child = await start(group)
    children.add(child)
    if (stopping.aborted) await child.end()
    const end = await child.run(task)
    await child.end()
    children.delete(child)
    return end
  }

  return {
    async run(task, group, known) {
      const { id } = task.collector
      await new Promise<void>(begin => {
        waiting.push({ id, known, start: begin })
        startNext()
      })
      const end = await runInOwn(task, group)
      busy.delete(id)
      startNext()
      return end
    },
    async stop() {
      await Promise.all([...children].map(child => child.end()))
    },
  }
}

function nextOf(waiting: readonly PendingRun[], busy: ReadonlySet<string>): PendingRun | undefined {
  const free = waiting.filter(({ id }) => !busy.has(id))
  return free.find(({ known }) => !known) ?? free[0]
}

/** Starts a process for a group of collectors. */
export function startProcess(
  { isShipped, declared, configFile }: ProcessGroup,
  permitted: Pick<SpawnDeps, 'reads' | 'links' | 'heapMbMax' | 'memoryMbMax'>,
): StartedProcess {
  // Shipped code only opens what the configuration declares; no code of one's own runs in its process.
  const mayUseSqlite = isShipped && declared.length > 0
  const spawned = spawnChild({ ...permitted, mayUseSqlite, folder: dirname(configFile) })
  // An empty id: lines of the process as a whole.
  return { spawned, isReady: false, collectors: new Set(['']), lastPing: 0 }
}
