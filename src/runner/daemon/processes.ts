import type { Time } from '../../edge/time.ts'
import type { Task, TaskEnd } from '../messages.ts'
import type { CollectorChild } from './child.ts'
import type { Lost, Spawned } from './child-spawn.ts'
import type { ProcessGroup } from './sandbox.ts'

/** Dependencies of `Processes`. */
interface ProcessesDeps {
  readonly start: (group: ProcessGroup) => Promise<CollectorChild>
  /** Idle time after which a process is ended, in milliseconds; this also makes changed imports take effect. */
  readonly idleMsMax: number
  /** Concurrent processes of one's own code, at most. */
  readonly processesMax: number
  readonly time: Time
  /** Aborted when the runner closes. */
  readonly stopSignal: AbortSignal
}

/** Given a process without work, with the key of its group. */
type Keep = (key: string, process: Spawned) => void

/**
 * Keeps one process for each group. The number of processes that run user code is limited: an idle one is ended when
 * another group needs its place; if all are busy, the group waits.
 */
export class Processes {
  readonly #deps: ProcessesDeps
  readonly #byKey = new Map<string, SharedProcess>()
  /** Places taken by processes that run one's own code. */
  #taken = 0
  #rested = Promise.withResolvers<void>()

  constructor(deps: ProcessesDeps) {
    this.#deps = deps
  }

  /** Runs a task. Rejects when no process can be started. */
  async run(task: Task, group: ProcessGroup): Promise<TaskEnd | Lost> {
    const shared = this.#byKey.get(group.key) ?? new SharedProcess(this.#deps, group, () => this.#start(group))
    this.#byKey.set(group.key, shared)
    const end = await shared.run(task)
    this.#tellRested()
    return end
  }

  /**
   * Ends all processes; resolves when they have ended.
   *
   * @param keep is given those without work. Default: they are ended, too
   */
  async stop(keep?: Keep): Promise<void> {
    this.#tellRested()
    await Promise.all([...this.#byKey].map(([key, shared]) => shared.stop(keep && (process => keep(key, process)))))
  }

  async #start(group: ProcessGroup): Promise<CollectorChild> {
    // Runs in the other processes may wait for its prices.
    if (group.isShipped) return this.#deps.start(group)
    await this.#place()
    this.#taken += 1
    const leave = () => {
      this.#taken -= 1
      this.#tellRested()
    }
    try {
      const child = await this.#deps.start(group)
      void child.gone.then(leave)
      return child
    } catch (error) {
      leave()
      throw error
    }
  }

  async #place(): Promise<void> {
    while (this.#taken >= this.#deps.processesMax && !this.#deps.stopSignal.aborted) {
      const idle = [...this.#byKey.values()].find(shared => shared.isIdle && !shared.isShipped)
      if (idle) await idle.stop()
      else await this.#rested.promise
    }
  }

  #tellRested(): void {
    this.#rested.resolve()
    this.#rested = Promise.withResolvers<void>()
  }
}

/**
 * A process that several collectors share. It is started on demand, and again when it has ended. When its memory was not
 * enough for the hours that were under way, they are run again, half as many at once.
 */
class SharedProcess {
  readonly isShipped: boolean
  readonly #deps: Pick<ProcessesDeps, 'idleMsMax' | 'time' | 'stopSignal'>
  readonly #start: () => Promise<CollectorChild>
  #child: CollectorChild | undefined
  #starting: Promise<CollectorChild> | undefined
  /** Runs begun so far. */
  #runs = 0
  readonly #hours = new HourPlaces()

  /** @param start starts a process, once there is a place for it */
  constructor(
    deps: Pick<ProcessesDeps, 'idleMsMax' | 'time' | 'stopSignal'>,
    { isShipped }: ProcessGroup,
    start: () => Promise<CollectorChild>,
  ) {
    this.#deps = deps
    this.isShipped = isShipped
    this.#start = start
  }

  /** Runs a task. Rejects when no process can be started. */
  async run(task: Task): Promise<TaskEnd | Lost> {
    // Prices and lists take no place: the hours that have one wait for them.
    const takesPlace = task.kind === 'collect'
    for (;;) {
      if (takesPlace) await this.#hours.take()
      try {
        const { end, isTooMuch } = await this.#runOnce(task)
        if (!isTooMuch) return end
      } finally {
        if (takesPlace) this.#hours.leave()
      }
    }
  }

  /** @returns its end, and whether it was lost because too many hours were under way */
  async #runOnce(task: Task): Promise<{ readonly end: TaskEnd | Lost; readonly isTooMuch: boolean }> {
    this.#runs += 1
    const child = this.#deps.stopSignal.aborted ? undefined : await this.#living()
    if (!child || this.#deps.stopSignal.aborted) return { end: { kind: 'lost', how: 'was stopped' }, isTooMuch: false }
    const end = await child.run(task)
    if (child.isIdle) void this.#endWhenIdle(child)
    return { end, isTooMuch: end.kind === 'lost' && end.lacksMemory === true && this.#hours.halve(child) }
  }

  /** Whether there is a process without work. */
  get isIdle(): boolean {
    return this.#starting === undefined && this.#child?.isAlive === true && this.#child.isIdle && this.#hours.areFree
  }

  /**
   * Ends its process; resolves when it has ended.
   *
   * @param keep is given a process that is without work, in place of its end. Default: it is ended, too
   */
  async stop(keep?: (process: Spawned) => void): Promise<void> {
    await this.#starting?.catch(() => {})
    const child = this.#child
    this.#child = undefined
    if (keep && child?.isAlive && child.isIdle) keep(child.release())
    else await child?.end()
  }

  async #living(): Promise<CollectorChild> {
    if (this.#child?.isAlive) return this.#child
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined
    })
    this.#child = await this.#starting
    return this.#child
  }

  /** Ends the process once nothing has run in it for a while. */
  async #endWhenIdle(child: CollectorChild): Promise<void> {
    const { time, idleMsMax, stopSignal } = this.#deps
    const runs = this.#runs
    const isOver = await time.sleep(idleMsMax, stopSignal).then(
      () => true,
      () => false,
    )
    if (isOver && runs === this.#runs && child === this.#child) await this.stop()
  }
}

/** Factor by which the places of a process grow each time that it comes to rest. */
const growth = 1.1

/** Places of hours that are under way in one process. Unlimited until its memory was not enough for them. */
class HourPlaces {
  #taken = 0
  #places = Number.POSITIVE_INFINITY
  readonly #waiting: (() => void)[] = []
  /** The process that lacked memory last, and whether it had more than one hour. */
  #lost: { readonly child: CollectorChild; readonly hadMany: boolean } | undefined

  get areFree(): boolean {
    return this.#taken === 0
  }

  /** Resolves when a place is taken, in the order of the calls. */
  async take(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    this.#give()
    await promise
  }

  leave(): void {
    this.#taken -= 1
    this.#give()
    if (!this.areFree) return
    // A single hour that needs too much is repeated in a process of its own: it limits others no longer than now. Otherwise
    // the lack may have been the machine's, and have passed.
    this.#places = this.#places === 1 ? Number.POSITIVE_INFINITY : this.#places * growth
  }

  /**
   * Leaves half as many places after a process lacked memory. To be called before the hours that were lost leave theirs.
   *
   * @returns whether there are fewer than before: repeating an hour that was alone would not help
   */
  halve(child: CollectorChild): boolean {
    if (child !== this.#lost?.child) {
      this.#lost = { child, hadMany: this.#taken > 1 }
      if (this.#lost.hadMany) this.#places = Math.floor(this.#taken / 2)
    }
    return this.#lost.hadMany
  }

  #give(): void {
    while (this.#taken < this.#places) {
      const next = this.#waiting.shift()
      if (!next) return
      this.#taken += 1
      next()
    }
  }
}

interface PendingRun {
  readonly id: string
  readonly isKnown: boolean
  start(): void
}

/**
 * Runs tasks each in a process of its own, a few at a time. A collector holds one place at a time, however many hours of
 * it wait, so that one culprit never takes all places.
 */
export class LoneProcesses {
  readonly #start: (group: ProcessGroup) => Promise<CollectorChild>
  readonly #places: number
  readonly #stopping: AbortSignal
  readonly #children = new Set<CollectorChild>()
  readonly #waiting: PendingRun[] = []
  /** Ids of the collectors that have a place. */
  readonly #busy = new Set<string>()

  /** @param places concurrent tasks, at most @param stopSignal aborted when the runner closes */
  constructor(start: (group: ProcessGroup) => Promise<CollectorChild>, places: number, stopSignal: AbortSignal) {
    this.#start = start
    this.#places = places
    this.#stopping = stopSignal
  }

  /**
   * Runs a task. Rejects when no process can be started.
   *
   * @param isKnown whether the collector has failed before: it waits behind those that are probably innocent
   */
  async run(task: Task, group: ProcessGroup, isKnown: boolean): Promise<TaskEnd | Lost> {
    const { id } = task.collector
    await new Promise<void>(start => {
      this.#waiting.push({ id, isKnown, start })
      this.#startNext()
    })
    try {
      return await this.#runInOwn(task, group)
    } finally {
      this.#busy.delete(id)
      this.#startNext()
    }
  }

  /** Ends all processes; resolves when they have ended. */
  async stop(): Promise<void> {
    await Promise.all([...this.#children].map(child => child.end()))
  }

  #startNext(): void {
    const free = this.#busy.size < this.#places ? this.#waiting.filter(({ id }) => !this.#busy.has(id)) : []
    const next = free.find(({ isKnown }) => !isKnown) ?? free[0]
    if (!next) return
    this.#waiting.splice(this.#waiting.indexOf(next), 1)
    this.#busy.add(next.id)
    next.start()
    this.#startNext()
  }

  async #runInOwn(task: Task, group: ProcessGroup): Promise<TaskEnd | Lost> {
    if (this.#stopping.aborted) return { kind: 'lost', how: 'was stopped' }
    const child = await this.#start(group)
    this.#children.add(child)
    if (this.#stopping.aborted) await child.end()
    const end = await child.run(task)
    await child.end()
    this.#children.delete(child)
    return end
  }
}
